"""`yume-shim auth`, run as users run it: which key would be used, why, and never the key itself."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from yume_shim.text import codec

if TYPE_CHECKING:
    from pathlib import Path

    from tests.helpers.child import Ended

KEY = "key-that-nobody-sees-1234"


def auth(home: Path, *argv: str, **env: str) -> Ended:
    return child.run(("auth", *argv), (), cwd=home, env=child.clean_environment(home, **env))


def reports(home: Path, *argv: str, **env: str) -> list[dict[str, Any]]:
    ended = auth(home, "--json", *argv, **env)
    assert (ended.code, ended.stderr) == (0, b"")
    assert KEY.encode() not in ended.stdout
    found: list[dict[str, Any]] = codec.loads(ended.stdout)["providers"]
    return found


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".yume").mkdir()
    (tmp_path / ".codex").mkdir()
    auth_file = tmp_path / ".codex" / "auth.json"
    auth_file.write_text(json.dumps({"OPENAI_API_KEY": KEY}))
    auth_file.chmod(0o600)
    return tmp_path


def test_the_used_key_and_the_weaker_ones(home: Path) -> None:
    config = home / ".yume" / "config.toml"
    codex = "~/.codex/auth.json OPENAI_API_KEY"
    assert reports(home, "openai", OPENAI_API_KEY=KEY) == [
        {
            "provider": "openai",
            "uses": [{"source": codex, "kind": "key"}],
            "looked_at": [
                {"place": f"[keys] openai in {config}", "state": "nothing"},
                {"place": codex, "state": "used"},
                {"place": "$OPENAI_API_KEY", "state": "there"},
            ],
        }
    ]


def test_the_text_output_has_one_block_per_provider(home: Path) -> None:
    config = home / ".yume" / "config.toml"
    config.write_text(
        f'[keys]\nopenai = ["{KEY}", "{KEY}x"]\n[profiles.vault]\nprovider = "groq"\nkey_command = "touch ran"\n'
    )
    ended = auth(home, "openai", "gemini", "groq", "ollama", OLLAMA_API_KEY=KEY)
    assert (ended.code, ended.stderr) == (0, b"")
    assert ended.stdout.decode() == (
        "openai: key from config file [keys] openai #1, then config file [keys] openai #2\n"
        f"  1. [keys] openai in {config}: used\n"
        "  2. ~/.codex/auth.json OPENAI_API_KEY: there\n"
        "  3. $OPENAI_API_KEY: nothing (not set)\n"
        "google: no key\n"
        f"  1. [keys] google in {config}: nothing\n"
        "  2. ~/.gemini/.env GEMINI_API_KEY: nothing (not there)\n"
        "  3. $GEMINI_API_KEY: nothing (not set)\n"
        "  4. $GOOGLE_API_KEY: nothing (not set)\n"
        "groq: key from profile 'vault' (key_command)\n"
        f"  1. [keys] groq in {config}, profile 'vault': used\n"
        "  2. $GROQ_API_KEY: nothing (not set)\n"
        "ollama: key from OLLAMA_API_KEY\n"
        f"  1. [keys] ollama in {config}: nothing\n"
        "  2. $OLLAMA_API_KEY: used\n"
    )
    assert not (home / "ran").exists(), "commands are not run"


def test_all_providers_without_a_name_and_a_chosen_profile(home: Path) -> None:
    (home / ".yume" / "config.toml").write_text(f'[profiles.work]\nprovider = "openai"\nkey = "{KEY}"\n')
    by_name = {each["provider"]: each for each in reports(home, "--profile", "work")}
    assert by_name["openai"]["looked_at"] == [{"place": "profile 'work'", "state": "used"}]
    assert by_name["anthropic"]["uses"] == []
    assert by_name["ollama"]["uses"] == [{"source": "none", "kind": "none"}]
    assert {"google", "mistral", "azure", "compatible"} <= by_name.keys()


def test_a_bad_address_of_one_provider_hides_only_that_one(home: Path) -> None:
    ended = auth(home, "--json", OPENAI_BASE_URL="htp:/x")
    assert ended.code == 1
    assert ended.stderr.startswith(b"yume-shim: bad base URL 'htp:/x' in $OPENAI_BASE_URL: ")
    names = {report["provider"] for report in codec.loads(ended.stdout)["providers"]}
    assert ({"anthropic", "groq"} <= names, "openai" in names) == (True, False)
    assert auth(home, "openai", OPENAI_BASE_URL="htp:/x").code == 2


def test_an_unknown_provider_and_sub_commands_of_the_claude_cli(home: Path) -> None:
    ended = auth(home, "opnai")
    assert ended.code == 2
    assert b"Did you mean 'openai'?" in ended.stderr
    assert auth(home, "login").code == 1
    status = auth(home, "status", "--json", ANTHROPIC_API_KEY=KEY)
    assert status.code == 0
    assert codec.loads(status.stdout)["apiKeySource"] == "ANTHROPIC_API_KEY"
    assert auth(home, "status").code == 1
