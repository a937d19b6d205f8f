"""Which model answers and with which key."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.fakes import cancel
from tests.helpers.settings import settings_with
from yume_shim.app.models import CASSETTE_SCHEME, EndpointKeys, ModelResolver
from yume_shim.types.errors import BadInvocation, Failure
from yume_shim.types.stored_session import StoredSession
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.types.models import ModelSpec

ANTHROPIC = {"ANTHROPIC_API_KEY": "sk-anthropic"}
OPENAI = {"OPENAI_API_KEY": "sk-openai"}
BOTH = ANTHROPIC | OPENAI
PROFILES = {
    "work": {"provider": "openai", "key": "sk-work-key"},
    "home": {"provider": "openai", "key_command": "echo sk-home-key"},
}


class Choice:
    """The real catalogue and keys under an environment."""

    def __init__(self, env: dict[str, str], **settings: Any) -> None:
        self.settings = settings_with(env=env, config_file="config.toml", **settings)
        self.keys = EndpointKeys(self.settings)
        self.models = ModelResolver(self.settings, self.keys)

    def first(self, stored: StoredSession | None = None) -> str:
        return name_of(self.models.first(stored))


def name_of(spec: ModelSpec) -> str:
    return f"{spec.endpoint.name}/{spec.id}"


def stored(model: str = "", foreign_model: str = "") -> StoredSession:
    return StoredSession("s-1", (), None, model=model, foreign_model=foreign_model)


# ---------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"model": "openai/gpt-5.4"}, "openai/gpt-5.4"),
        ({"model": "gpt-5.4"}, "openai/gpt-5.4"),
        ({"model": "gpt-5.4", "provider": "openai"}, "openai/gpt-5.4"),
        ({"model": "quick", "aliases": {"quick": "openai/gpt-5.4-mini"}}, "openai/gpt-5.4-mini"),
        ({"aliases": {"default": "openai/gpt-5.4"}}, "openai/gpt-5.4"),
    ],
)
def test_the_first_model_is_what_the_settings_name(settings: dict[str, Any], name: str) -> None:
    assert Choice(BOTH, **settings).first() == name


@pytest.mark.parametrize(
    ("settings", "project", "name", "ignored"),
    [
        ({}, "claude-haiku-4-5", "anthropic/claude-haiku-4-5", ""),
        ({}, "haiku", "anthropic/claude-haiku-5-5", ""),
        ({}, "anthropic/claude-haiku-4-5", "anthropic/claude-haiku-4-5", ""),
        ({"model": "claude-sonnet-4-5"}, "claude-haiku-4-5", "anthropic/claude-haiku-4-5", ""),
        (
            {"model": "claude-haiku-4-5"},
            "openai/gpt-5.4",
            "anthropic/claude-haiku-4-5",
            "it is at openai, not at anthropic",
        ),
        ({"model": "claude-haiku-4-5"}, "gpt-5.4", "anthropic/claude-haiku-4-5", "it is at openai, not at anthropic"),
        ({"model": "claude-haiku-4-5"}, "GPT/x", "anthropic/claude-haiku-4-5", "it is not known"),
        ({"model": "claude-haiku-4-5"}, "replay/x", "anthropic/claude-haiku-4-5", "it is at replay, not at anthropic"),
        ({"model": "claude-haiku-4-5"}, "ollama/x", "anthropic/claude-haiku-4-5", "it is at ollama, not at anthropic"),
        ({"model": "openai/gpt-5.4"}, "claude-haiku-4-5", "openai/gpt-5.4", "it is at anthropic, not at openai"),
        ({"model": "openai/gpt-5.4"}, "gpt-5.4-mini", "openai/gpt-5.4-mini", ""),
        ({"aliases": {"default": "openai/gpt-5.4"}}, "sonnet", "openai/gpt-5.4", "it is at anthropic, not at openai"),
        (
            {"model": "claude-haiku-4-5", "aliases": {"fast": "openai/gpt-5.4"}},
            "fast",
            "anthropic/claude-haiku-4-5",
            "it is at openai, not at anthropic",
        ),
        ({"default_provider": "openai"}, "gpt-5.4-mini", "openai/gpt-5.4-mini", ""),
        (
            {"default_provider": "openai", "provider_model": "gpt-5.4"},
            "anthropic/claude-haiku-4-5",
            "openai/gpt-5.4",
            "it is at anthropic, not at openai",
        ),
        ({"provider": "openai"}, "gpt-5.4-mini", "openai/gpt-5.4-mini", ""),
    ],
)
def test_an_untrusted_project_chooses_a_model_but_no_provider(
    settings: dict[str, Any], project: str, name: str, ignored: str
) -> None:
    choice = Choice(BOTH, project_name=project, **settings)
    assert choice.first() == name
    expected = [f"the model '{project}' of the project's settings is ignored: {ignored}"] if ignored else []
    assert choice.keys.take_notes() == expected


@pytest.mark.parametrize("settings", [{"model": "nowhere/gpt"}, {"provider": "nowhere"}])
def test_a_provider_that_does_not_exist(settings: dict[str, Any]) -> None:
    with pytest.raises(BadInvocation, match="nowhere"):
        Choice(BOTH, **settings).first()


def test_a_model_without_a_key_is_chosen_anyway() -> None:
    """A Claude form starts without a key; its requests fail."""
    choice = Choice({}, model="openai/gpt-5.4")
    assert choice.first() == "openai/gpt-5.4"
    assert choice.keys.known(choice.models.first(None).endpoint) is None


# ---------------------------------------------------------------- resumed sessions


@pytest.mark.parametrize(
    ("session", "settings", "name"),
    [
        (stored("openai/gpt-5.4"), {}, "openai/gpt-5.4"),
        (stored("openai/gpt-5.4"), {"model": "claude-haiku-4-5"}, "openai/gpt-5.4"),
        (stored("openai/gpt-5.4"), {"model": "claude-haiku-4-5", "chosen_by_flag": True}, "anthropic/claude-haiku-4-5"),
        (stored("nowhere/model"), {"model": "claude-haiku-4-5"}, "anthropic/claude-haiku-4-5"),
        (stored(foreign_model="claude-haiku-4-5"), {}, "anthropic/claude-haiku-4-5"),
        (stored(foreign_model="claude-haiku-4-5"), {"model": "openai/gpt-5.4"}, "openai/gpt-5.4"),
        (stored(foreign_model="claude-haiku-4-5"), {"default_provider": "openai", "provider_model": "gpt-5.4"}, None),
        (stored(foreign_model="claude-haiku-4-5"), {"aliases": {"default": "openai/gpt-5.4"}}, "openai/gpt-5.4"),
    ],
)
def test_a_resumed_session_keeps_its_model(session: StoredSession, settings: dict[str, Any], name: str | None) -> None:
    """Unless a flag names another one. A model that another program used gives way to every setting."""
    first = Choice(BOTH, **settings).first(session)
    assert first == name if name is not None else first.startswith("openai/")


def test_a_model_of_another_program_that_the_catalogue_does_not_know() -> None:
    choice = Choice(BOTH)
    assert choice.first(stored(foreign_model="claude-unheard-of-99x")) == Choice(BOTH).first()


def test_a_resumed_session_without_a_key_continues_with_another_model_and_says_so() -> None:
    choice = Choice(ANTHROPIC, model="claude-haiku-4-5")
    assert choice.first(stored("openai/gpt-5.4")) == "anthropic/claude-haiku-4-5"
    [note] = choice.keys.take_notes()
    assert "openai/gpt-5.4" in note
    assert "anthropic/claude-haiku-4-5" in note
    assert choice.keys.take_notes() == []


def test_without_any_key_the_session_keeps_its_model() -> None:
    """The message then names the key of that model."""
    choice = Choice({}, model="claude-haiku-4-5")
    assert choice.first(stored("openai/gpt-5.4")) == "openai/gpt-5.4"


# ---------------------------------------------------------------- fallbacks


def test_a_fallback_with_a_key() -> None:
    assert name_of(Choice(BOTH).models.fallback("openai/gpt-5.4")) == "openai/gpt-5.4"


def test_a_fallback_without_a_key_is_refused() -> None:
    with pytest.raises(BadInvocation, match="OPENAI_API_KEY") as caught:
        Choice(ANTHROPIC).models.fallback("gpt-5.4")
    assert caught.value.kind == "auth"


# ---------------------------------------------------------------- cassettes


def test_a_cassette_needs_its_folder() -> None:
    with pytest.raises(BadInvocation, match="--cassette DIR"):
        Choice({}, provider="replay").first()


def test_a_cassette_names_its_model(tmp_path: Path) -> None:
    (tmp_path / "cassette.toml").write_text('api = "openai-chat"\nmodel = "gpt-5.4"\ntools = false\n', "utf-8")
    (tmp_path / "wire").mkdir()
    (tmp_path / "wire" / "01.jsonl").write_text("{}\n", "utf-8")
    choice = Choice({}, provider="replay", cassette=str(tmp_path))
    spec = choice.models.first(None)
    assert (spec.id, spec.endpoint.api, spec.tools) == ("gpt-5.4", "openai-chat", False)
    assert spec.endpoint.base_url == CASSETTE_SCHEME + str(tmp_path)


# ---------------------------------------------------------------- keys and profiles


def test_keys_are_looked_for_once_per_address() -> None:
    choice = Choice(OPENAI)
    endpoint = choice.models.resolve("openai/gpt-5.4").endpoint
    assert choice.keys.at(endpoint) is choice.keys.at(endpoint)
    assert [key.known().key for key in choice.keys.at(endpoint)] == ["sk-openai"]
    assert choice.keys.secrets == ["sk-openai"]


def test_a_profile_change_takes_effect_at_the_next_lookup() -> None:
    choice = Choice(OPENAI, profiles=PROFILES)
    endpoint = choice.models.resolve("openai/gpt-5.4").endpoint
    choice.keys.use_profile("work")
    assert choice.keys.profile == "work"
    known = choice.keys.known(endpoint)
    assert known is not None
    assert (known.key, known.source) == ("sk-work-key", "profile 'work'")
    choice.keys.use_profile("")
    assert choice.settings.credentials.profile == ""
    assert len(choice.keys.at(endpoint)) == 2


def test_a_profile_of_the_settings_is_the_first_one() -> None:
    choice = Choice({}, profiles=PROFILES, profile="work")
    assert choice.keys.profile == "work"
    known = choice.keys.known(choice.models.resolve("openai/gpt-5.4").endpoint)
    assert known is not None
    assert known.key == "sk-work-key"


def test_an_unknown_profile_changes_nothing() -> None:
    choice = Choice({}, profiles=PROFILES, profile="work")
    with pytest.raises(BadInvocation, match=r"there is no profile 'nope' in config\.toml: it has work, home"):
        choice.keys.use_profile("nope")
    assert choice.keys.profile == "work"


def test_a_key_that_a_command_prints_is_known_when_asked_for() -> None:
    choice = Choice({"PATH": "/usr/bin:/bin"}, profiles=PROFILES, profile="home", cwd="/")
    endpoint = choice.models.resolve("openai/gpt-5.4").endpoint
    known = choice.keys.known(endpoint)
    assert known is not None
    assert known.key == ""
    got = choice.keys.get(endpoint, cancel())
    assert got is not None
    assert got.key == "sk-home-key"
    assert "sk-home-key" in choice.keys.secrets


def test_a_command_that_fails_or_a_cancel_gives_no_key() -> None:
    profiles = {"broken": {"provider": "openai", "key_command": "exit 3"}}
    choice = Choice({"PATH": "/usr/bin:/bin"}, profiles=profiles, profile="broken", cwd="/")
    endpoint = choice.models.resolve("openai/gpt-5.4").endpoint
    assert choice.keys.get(endpoint, cancel()) is None
    stop = cancel()
    stop.set()
    assert choice.keys.get(endpoint, stop) is None
    assert Choice({}).keys.get(endpoint, cancel()) is None


def test_the_missing_key_names_the_chosen_profile() -> None:
    profiles = {"empty": {"provider": "openai", "key_env": "NOT_SET"}}
    choice = Choice({}, profiles=profiles)
    endpoint = choice.models.resolve("openai/gpt-5.4").endpoint
    assert "OPENAI_API_KEY" in choice.keys.missing(endpoint).message
    choice.keys.use_profile("empty")
    assert "profile 'empty'" in choice.keys.missing(endpoint).message
    assert "OPENAI_API_KEY" not in choice.keys.missing(endpoint).message


def test_keys_and_profile_changes_from_several_threads() -> None:
    choice = Choice(OPENAI, profiles={"work": PROFILES["work"]})
    endpoint = choice.models.resolve("openai/gpt-5.4").endpoint
    wrong: list[str] = []

    def look() -> None:
        for _ in range(200):
            known = choice.keys.known(endpoint)
            if known is None or known.key not in ("sk-openai", "sk-work-key"):
                wrong.append(str(known))

    def change() -> None:
        for turn in range(200):
            choice.keys.use_profile("work" if turn % 2 else "")

    threads = [threading.Thread(target=work) for work in (look, look, change)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert wrong == []


# ---------------------------------------------------------------- models that do not exist


def test_a_missing_model_is_answered_with_similar_names() -> None:
    models = Choice(OPENAI).models
    missing = Failure("not_found", "The model does not exist", 404)
    told = models.advise(missing, models.resolve("openai/gpt-5.4-mni")).message
    assert told.startswith("The model does not exist (model 'gpt-5.4-mni'); similar names: openai/gpt-5.4-mini")
    assert "`yume-shim models` lists the known ones (openai: not_found, status 404). " in told
    named = replace(missing, message="no model 'zzz'")
    assert models.advise(named, models.resolve("openai/zzz")).message.startswith("no model 'zzz'; `yume-shim models`")
    stopped = Failure("cancelled", "stopped")
    assert models.advise(stopped, models.resolve("openai/gpt-5.4")).message == "stopped"


def test_the_host_cannot_switch_to_a_model_without_a_key() -> None:
    with pytest.raises(BadInvocation) as refused:
        Choice(OPENAI).models.switch_to("groq/zzz")
    assert (refused.value.kind, refused.value.provider) == ("auth", "groq")
