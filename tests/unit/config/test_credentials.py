"""Where keys are found, in which order, and the warnings about broken places."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.fakes import cancel
from yume_shim.catalog.resolve import Catalog
from yume_shim.cli.argv import parse
from yume_shim.config.build import build_settings
from yume_shim.config.credentials import (
    check_places,
    find_credential,
    find_keys,
    missing_key,
    secrets_of,
    tool_environment,
)
from yume_shim.config.setting_sources import SettingSources
from yume_shim.types.errors import BadInvocation
from yume_shim.types.models import Credential

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.types.models import Endpoint
    from yume_shim.types.settings import Settings

posix = pytest.mark.skipif(sys.platform == "win32", reason="file modes and pipes of POSIX")


class Home:
    """A home folder that a test fills, and the keys found in it."""

    def __init__(self, base: Path) -> None:
        self.path = base
        self.config_file = base / ".yume" / "config.toml"
        self.warnings: list[str] = []
        self.learned: list[str] = []

    def write(self, name: str, text: str, mode: int = 0o600) -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def config(self, text: str) -> None:
        self.write(".yume/config.toml", text)

    def settings(self, *argv: str, **env: str) -> Settings:
        parsed = parse(argv)
        return build_settings(
            SettingSources(
                parsed.values,
                parsed.words,
                flat=True,
                env={"HOME": str(self.path), "PATH": os.environ["PATH"], **env},
                cwd=str(self.path),
                log=lambda level, message: None,
            )
        )

    def endpoint(self, name: str, settings: Settings) -> Endpoint:
        return Catalog(settings, lambda _: True).endpoint(name)

    def found(self, name: str, *argv: str, **env: str) -> list[tuple[str, str, str]]:
        """(key, kind, place) of every key that would be used."""
        settings = self.settings(*argv, **env)
        keys = find_keys(self.endpoint(name, settings), settings, self.warnings.append, self.learned.append)
        credentials = [key.get(cancel()) for key in keys]
        return [(each.key, each.kind, each.source) for each in credentials]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


CODEX = "~/.codex/auth.json OPENAI_API_KEY"


def test_vendor_files_are_stronger_than_the_environment(home: Home) -> None:
    home.write(".codex/auth.json", json.dumps({"OPENAI_API_KEY": "of-codex", "tokens": {"access_token": "sign-in"}}))
    home.write(".gemini/.env", "# mine\nexport GEMINI_API_KEY='of-gemini' # really\nOTHER=1\n")
    home.write(".vibe/.env", "MISTRAL_API_KEY=of-vibe\n")
    env = {"OPENAI_API_KEY": "of-env", "GEMINI_API_KEY": "of-env", "MISTRAL_API_KEY": "of-env"}
    assert home.found("openai", **env) == [("of-codex", "key", CODEX)]
    assert home.found("google", **env) == [("of-gemini", "key", "~/.gemini/.env GEMINI_API_KEY")]
    assert home.found("mistral", **env) == [("of-vibe", "key", "~/.vibe/.env MISTRAL_API_KEY")]
    assert home.warnings == []
    assert home.learned == ["of-codex", "of-gemini", "of-vibe"]


def test_for_anthropic_the_environment_is_stronger_than_the_file(home: Home) -> None:
    home.write(".claude.json", json.dumps({"primaryApiKey": "of-login"}))
    assert home.found("anthropic", ANTHROPIC_API_KEY="of-env") == [("of-env", "key", "ANTHROPIC_API_KEY")]
    assert home.found("anthropic", ANTHROPIC_AUTH_TOKEN="t") == [("t", "token", "ANTHROPIC_AUTH_TOKEN")]
    assert home.found("anthropic") == [("of-login", "key", "~/.claude.json primaryApiKey")]
    other = home.write("elsewhere/.claude.json", json.dumps({"primaryApiKey": "of-there"}))
    place = f"{other} primaryApiKey"
    assert home.found("anthropic", CLAUDE_CONFIG_DIR=str(other.parent)) == [("of-there", "key", place)]


def test_sign_in_tokens_are_never_used(home: Home) -> None:
    home.write(".codex/auth.json", json.dumps({"OPENAI_API_KEY": None, "tokens": {"access_token": "sign-in"}}))
    home.write(".claude/.credentials.json", json.dumps({"claudeAiOauth": {"accessToken": "sign-in"}}))
    assert home.found("openai") == []
    assert home.found("anthropic") == []
    assert home.warnings == []


@pytest.mark.parametrize(
    ("argv", "env"),
    [
        (("--api-base", "http://127.0.0.1:9/v1"), {}),
        ((), {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}),
    ],
)
def test_vendor_files_are_used_for_the_vendors_own_address_only(
    home: Home, argv: tuple[str, ...], env: dict[str, str]
) -> None:
    home.write(".codex/auth.json", json.dumps({"OPENAI_API_KEY": "of-codex"}))
    assert home.found("openai", *argv, **env, OPENAI_API_KEY="of-env") == [("of-env", "key", "OPENAI_API_KEY")]


def test_an_endpoint_row_with_another_address_names_its_own_files(home: Home) -> None:
    home.write(".codex/auth.json", json.dumps({"OPENAI_API_KEY": "of-codex"}))
    home.config('[endpoints.openai]\nbase_url = "http://127.0.0.1:9/v1"\n')
    assert home.found("openai") == []
    home.write("mine.txt", "of-mine\n")
    home.config(
        '[endpoints.openai]\nbase_url = "http://127.0.0.1:9/v1"\n'
        'key_files = [{root = "~", file = "mine.txt", format = "text"}]\n'
    )
    assert home.found("openai") == [("of-mine", "key", "~/mine.txt")]


def test_the_config_file_is_strongest_and_may_list_several_keys(home: Home) -> None:
    home.write(".codex/auth.json", json.dumps({"OPENAI_API_KEY": "of-codex"}))
    home.config('[keys]\nopenai = ["one", "two"]\ngroq = "three"\n')
    place = "config file [keys] openai"
    assert home.found("openai", OPENAI_API_KEY="e") == [("one", "key", f"{place} #1"), ("two", "key", f"{place} #2")]
    assert home.found("groq") == [("three", "key", "config file [keys] groq")]


PROFILES = """
[keys]
openai = "plain"
[profiles.work]
provider = "openai"
keys = ["w1", "w2"]
[profiles.home]
provider = "openai"
key_env = "HOME_KEY"
[profiles.gateway]
provider = "anthropic"
key_file = "~/gateway.token"
kind = "token"
[profiles.vault]
provider = "groq"
key_command = "echo of-vault"
"""


def test_profiles_of_a_provider_are_used_in_turn_unless_one_is_chosen(home: Home) -> None:
    home.config(PROFILES)
    home.write("gateway.token", "gt\n")
    plain = ("plain", "key", "config file [keys] openai")
    work = [("w1", "key", "profile 'work' #1"), ("w2", "key", "profile 'work' #2")]
    own = ("h", "key", "profile 'home' ($HOME_KEY)")
    assert home.found("openai", HOME_KEY="h") == [plain, *work, own]
    assert home.found("openai", "--profile", "work", HOME_KEY="h") == work
    assert home.found("openai", YUME_PROFILE="home", HOME_KEY="h") == [own]
    assert home.found("anthropic", ANTHROPIC_API_KEY="e") == [("gt", "token", "profile 'gateway' (~/gateway.token)")]
    assert home.found("groq") == [("of-vault", "key", "profile 'vault' (key_command)")]


@pytest.mark.parametrize("name", ["google", "Google", "gemini", "GEMINI"])
def test_a_provider_may_be_named_by_an_alias_in_any_case(home: Home, name: str) -> None:
    home.config(f'[keys]\n{name} = "in-keys"\n[profiles.mine]\nprovider = "{name}"\nkey = "in-profile"\n')
    assert home.found("google", GEMINI_API_KEY="in-env") == [
        ("in-keys", "key", f"config file [keys] {name}"),
        ("in-profile", "key", "profile 'mine'"),
    ]
    assert home.found("google", "--profile", "mine") == [("in-profile", "key", "profile 'mine'")]
    assert home.found("openai") == []


def test_a_chosen_profile_does_not_affect_other_providers(home: Home) -> None:
    home.config('profile = "vault"\n' + PROFILES)
    assert home.found("mistral", MISTRAL_API_KEY="e") == [("e", "key", "MISTRAL_API_KEY")]
    assert home.found("groq") == [("of-vault", "key", "profile 'vault' (key_command)")]


def test_a_chosen_profile_without_a_key_has_no_substitute(home: Home) -> None:
    home.config(PROFILES)
    settings = home.settings("--profile", "home", OPENAI_API_KEY="e")
    endpoint = home.endpoint("openai", settings)
    assert find_credential(endpoint, settings) is None
    assert missing_key(endpoint, settings).message == (
        "no key for provider 'openai': looked at profile 'home' ($HOME_KEY is not set). "
        "Set one of them (`yume-shim init` asks for it), or choose another provider with --provider."
    )


def test_api_key_env_names_the_only_place(home: Home) -> None:
    home.config(PROFILES)
    argv = ("--api-key-env", "MINE", "--profile", "work")
    assert home.found("openai", *argv, MINE="m", OPENAI_API_KEY="e") == [("m", "key", "MINE")]
    assert home.found("openai", *argv, OPENAI_API_KEY="e") == []


def test_the_error_for_a_missing_key_names_every_place(home: Home) -> None:
    settings = home.settings()
    assert missing_key(home.endpoint("openai", settings), settings).message == (
        f"no key for provider 'openai': looked at [keys] openai in {home.config_file}, {CODEX}, $OPENAI_API_KEY. "
        "Set one of them (`yume-shim init` asks for it), or choose another provider with --provider."
    )


def test_an_endpoint_may_need_no_key(home: Home) -> None:
    settings = home.settings()
    endpoint = home.endpoint("ollama", settings)
    assert find_credential(endpoint, settings) == Credential("", "none", "none")
    assert home.found("ollama", OLLAMA_API_KEY="o") == [("o", "key", "OLLAMA_API_KEY")]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[keys]\nopenai = 3\n", "[keys] openai must be a text or a list of texts"),
        ('[keys]\nopenai = ["a", ""]\n', "[keys] openai must be a text or a list of texts"),
        ("[profiles]\nx = 1\n", "[profiles.x] must be a table"),
        ('[profiles.x]\nkey = "a"\n', "[profiles.x] needs a `provider`"),
        ('[profiles.x]\nprovider = "openai"\n', "needs exactly one of key, keys, key_env, key_file, key_command"),
        ('[profiles.x]\nprovider = "openai"\nkey = "a"\nkey_env = "B"\n', "needs exactly one of"),
        ('[profiles.x]\nprovider = "openai"\nkey = "a"\nkind = "magic"\n', "`kind` is not one of key, token"),
        ('[profiles.x]\nprovider = "openai"\nkey = "a"\nttl = -1\n', "`ttl` must be a number of seconds"),
        ('profile = "work"\n', "there is no profile 'work' in"),
        ('profile = "y"\n[profiles.x]\nprovider = "openai"\nkey = "a"\n', "it has x"),
    ],
)
def test_invalid_keys_and_profiles_are_refused(home: Home, text: str, what: str) -> None:
    home.config(text)
    with pytest.raises(BadInvocation) as caught:
        home.settings()
    assert what in caught.value.message


BROKEN = "the file is broken, or its content is not a key"


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("{", BROKEN),
        ("[1]", BROKEN),
        ('{"OPENAI_API_KEY": "two words"}', BROKEN),
        ('{"OPENAI_API_KEY": "línea"}', BROKEN),
        (json.dumps({"OPENAI_API_KEY": "k" * 20_000}), BROKEN),
        ('{"x": "' + "y" * 16_777_216 + '"}', "longer than 16,777,216 bytes"),
    ],
    ids=["half", "array", "blank", "not ascii", "long key", "long file"],
)
def test_a_broken_file_is_reported_and_skipped(home: Home, text: str, note: str) -> None:
    home.write(".codex/auth.json", text)
    assert home.found("openai", OPENAI_API_KEY="e") == [("e", "key", "OPENAI_API_KEY")]
    assert home.warnings == [f"{CODEX}: {note}"]


@pytest.mark.parametrize("text", ["{}", '{"OPENAI_API_KEY": ""}', '{"OPENAI_API_KEY": 3}'])
def test_a_file_without_a_key_causes_no_warning(home: Home, text: str) -> None:
    home.write(".codex/auth.json", text)
    assert home.found("openai") == []
    assert home.warnings == []


@posix
def test_a_file_readable_by_others_is_used_with_a_warning(home: Home) -> None:
    home.write("real.json", '{"OPENAI_API_KEY": "k"}', mode=0o640)
    (home.path / ".codex").mkdir()
    (home.path / ".codex" / "auth.json").symlink_to(home.path / "real.json")
    assert home.found("openai") == [("k", "key", CODEX)]
    assert home.warnings == [f"{CODEX} can be read by others: chmod 600 it"]


@posix
def test_pipes_and_folders_do_not_block(home: Home) -> None:
    (home.path / ".codex").mkdir()
    os.mkfifo(home.path / ".codex" / "auth.json")
    (home.path / ".vibe" / ".env").mkdir(parents=True)
    assert home.found("openai") == []
    assert home.found("mistral") == []
    why = "cannot be read (not a regular file)"
    assert home.warnings == [f"{CODEX}: {why}", f"~/.vibe/.env MISTRAL_API_KEY: {why}"]


def test_a_refused_key_is_read_again_from_its_file(home: Home) -> None:
    home.write(".codex/auth.json", '{"OPENAI_API_KEY": "old"}')
    settings = home.settings()
    [source] = find_keys(home.endpoint("openai", settings), settings, learn=home.learned.append)
    old = source.get(cancel())
    assert (source.fixed, source.renew(old, cancel())) == (False, False)
    home.write(".codex/auth.json", '{"OPENAI_API_KEY": "new"}')
    assert source.renew(old, cancel())
    assert source.get(cancel()) == Credential("new", "key", CODEX)
    assert source.renew(old, cancel()), "another thread's renewal counts"
    home.write(".codex/auth.json", "{")
    assert not source.renew(source.get(cancel()), cancel())
    assert home.learned == ["old", "old", "new"]


def test_weaker_places_are_not_checked(home: Home) -> None:
    home.write(".codex/auth.json", "{")
    home.config('[keys]\nopenai = "k"\n')
    assert home.found("openai") == [("k", "key", "config file [keys] openai")]
    assert home.warnings == []
    settings = home.settings()
    assert [place.name for place in check_places(home.endpoint("openai", settings), settings)] == [
        f"[keys] openai in {home.config_file}",
        CODEX,
        "$OPENAI_API_KEY",
    ]


def test_configured_keys_are_secrets_and_key_variables_are_hidden_from_tools(home: Home) -> None:
    home.config(PROFILES + '[endpoints.acme]\napi = "openai-chat"\nbase_url = "http://a"\nkey_vars = ["ACME"]\n')
    settings = home.settings(HOME_KEY="h", OPENAI_API_KEY="eight-or-more", ACME="a", PLAIN="p")
    assert secrets_of(settings, Credential("mine", "key", "x")) == ("eight-or-more", "plain", "w1", "w2", "mine")
    shown = tool_environment(settings)
    assert {name: shown.get(name) for name in ("HOME_KEY", "OPENAI_API_KEY", "ACME", "PLAIN")} == {
        "HOME_KEY": None,
        "OPENAI_API_KEY": None,
        "ACME": None,
        "PLAIN": "p",
    }


def test_cloud_sign_in_variables_are_secrets(home: Home) -> None:
    names = ("AZURE_CLIENT_SECRET", "AZURE_PASSWORD", "AWS_SECRET_ACCESS_KEY", "AZURE_CLIENT_CERTIFICATE_PASSWORD")
    env = {name: f"value-of-{name}" for name in names}
    settings = home.settings(**env)
    assert not env.keys() & tool_environment(settings).keys()
    assert set(secrets_of(settings, None)) == set(env.values())


def test_keys_in_headers_are_secrets(home: Home) -> None:
    row = '[endpoints.acme]\napi = "openai-chat"\nbase_url = "http://a"\n'
    home.config(row + 'headers = {X-Gateway-Key = "of-the-row", X-Title = "a title of mine"}\n')
    custom = "Authorization: Bearer of-the-gateway\nX-Team: team-number-one"
    settings = home.settings(ANTHROPIC_CUSTOM_HEADERS=custom)
    assert set(secrets_of(settings, None)) == {custom, "of-the-row", "of-the-gateway", "Bearer of-the-gateway"}


def test_a_repository_cannot_choose_profiles_or_key_folders(home: Home) -> None:
    home.config(PROFILES)
    home.write(".claude.json", json.dumps({"projects": {str(home.path): {"hasTrustDialogAccepted": True}}}))
    env: dict[str, Any] = {"YUME_PROFILE": "work", "CODEX_HOME": "/x", "VIBE_HOME": "/x", "OK": "1"}
    home.write(".claude/settings.local.json", json.dumps({"env": env}))
    settings = home.settings()
    assert settings.credentials.profile == ""
    assert {name: settings.env.get(name) for name in env} == dict.fromkeys(env) | {"OK": "1"}
