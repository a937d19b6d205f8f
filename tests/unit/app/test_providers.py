"""The provider of each model: made once, with its keys; replaced when the profile changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.fakes import FakeClock, FakeIds, cancel
from tests.helpers.settings import settings_with
from yume_shim.app.models import EndpointKeys, ModelResolver
from yume_shim.app.providers import MissingKeyProvider, Providers
from yume_shim.host.host_requests import HostRequests
from yume_shim.providers.cassettes.replay import ReplayProvider
from yume_shim.providers.keys.keyring import KeyringProvider
from yume_shim.types.blocks import Message, Text
from yume_shim.types.errors import BadInvocation
from yume_shim.types.events import ResponseFailed
from yume_shim.types.models import Request

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.types.models import ModelSpec

OPENAI = {"OPENAI_API_KEY": "sk-openai-key"}
PROFILES = {
    "work": {"provider": "openai", "key": "sk-work-key"},
    "home": {"provider": "openai", "keys": ["sk-home-1", "sk-home-2"]},
}


class Stage:
    """The providers of a process."""

    def __init__(self, env: dict[str, str], **settings: Any) -> None:
        self.logged: list[tuple[str, str]] = []
        made = settings_with(env=env, config_file="config.toml", **settings)
        keys = EndpointKeys(made)
        self.models = ModelResolver(made, keys)
        self.providers = Providers(
            made,
            keys,
            FakeIds(),
            FakeClock(),
            lambda *line: self.logged.append(line),
            HostRequests(lambda _: "", FakeIds()),
        )

    def spec(self, name: str = "openai/gpt-5.4") -> ModelSpec:
        return self.models.resolve(name)


def test_a_provider_is_made_once() -> None:
    stage = Stage(OPENAI)
    first = stage.providers.provider_for(stage.spec())
    assert stage.providers.provider_for(stage.spec()) is first
    stage.providers.close()


def test_models_that_were_asked_are_known_by_their_id() -> None:
    stage = Stage(OPENAI)
    assert stage.providers.asked("gpt-5.4") is None
    stage.providers.provider_for(stage.spec())
    assert stage.providers.asked("gpt-5.4") == stage.spec()
    stage.providers.close()


def test_without_a_key_every_request_fails_as_a_missing_login() -> None:
    stage = Stage({})
    provider = stage.providers.provider_for(stage.spec())
    assert isinstance(provider, MissingKeyProvider)
    request = Request(stage.spec(), (Message("user", (Text("Hi"),)),))
    [failed] = provider.stream(request, cancel())
    assert isinstance(failed, ResponseFailed)
    assert failed.failure.kind == "auth"
    assert "OPENAI_API_KEY" in failed.failure.message
    provider.close()


def test_several_keys_are_used_in_turn_and_logged_by_place() -> None:
    stage = Stage({}, profiles=PROFILES, profile="home")
    assert isinstance(stage.providers.provider_for(stage.spec()), KeyringProvider)
    [(level, message)] = stage.logged
    assert level == "info"
    assert message.startswith("2 keys for openai, used in this order: ")
    assert "sk-home" not in message
    stage.providers.close()


def test_a_profile_change_makes_a_new_provider_and_keeps_the_old_one_until_the_end() -> None:
    stage = Stage(OPENAI, profiles=PROFILES)
    stage.providers.use_profile("work")
    assert stage.providers.profile == "work"
    work = stage.providers.provider_for(stage.spec())
    stage.providers.use_profile("home")
    home = stage.providers.provider_for(stage.spec())
    assert home is not work
    stage.providers.close()


def test_an_unknown_profile_keeps_the_providers() -> None:
    stage = Stage(OPENAI, profiles=PROFILES)
    provider = stage.providers.provider_for(stage.spec())
    with pytest.raises(BadInvocation, match="nope"):
        stage.providers.use_profile("nope")
    assert stage.providers.provider_for(stage.spec()) is provider
    stage.providers.close()


def test_warnings_about_keys_are_logged_when_a_provider_is_made(tmp_path: Path) -> None:
    profiles = {"file": {"provider": "openai", "key_file": str(tmp_path / "missing")}}
    stage = Stage(OPENAI, profiles=profiles, profile="file")
    stage.providers.provider_for(stage.spec())
    assert [level for level, _ in stage.logged] == ["warning"]
    stage.providers.close()


def test_a_cassette_is_replayed(tmp_path: Path) -> None:
    (tmp_path / "cassette.toml").write_text('api = "openai-chat"\nmodel = "gpt-5.4"\n', "utf-8")
    (tmp_path / "wire").mkdir()
    (tmp_path / "wire" / "01.jsonl").write_text("{}\n", "utf-8")
    stage = Stage({}, provider="replay", cassette=str(tmp_path))
    assert isinstance(stage.providers.provider_for(stage.spec("")), ReplayProvider)
    stage.providers.close()


def test_a_model_that_the_catalogue_knows_is_not_asked_about() -> None:
    stage = Stage(OPENAI)
    assert stage.providers.refine(stage.spec(), cancel()) == stage.spec()


def test_a_model_without_a_key_is_not_asked_about() -> None:
    stage = Stage({})
    spec = stage.spec("openrouter/someone/unknown-model")
    assert not spec.known
    assert stage.providers.refine(spec, cancel()) == spec
