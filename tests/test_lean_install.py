"""An installation without most packages: turns work on the direct transport, and what needs a package names it."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.media_files import b64, noise, saved
from tests.helpers.page_samples import long_session
from tests.helpers.scripted_model import call, say
from tests.test_mistakes import KEYS, Desk
from yume_shim.types.packages import PACKAGES, install_command, missing_package

if TYPE_CHECKING:
    from pathlib import Path

TURN = ("tree_sitter", "tree_sitter_bash")
"""Needed for commands that run unasked; `docs/install.md` lists them with orjson."""
LEFT_OUT = tuple(name for name in PACKAGES if name not in TURN)


def lean(*modules: str) -> tuple[str, ...]:
    """The program in an interpreter that cannot import these modules."""
    blocked = f"import sys; sys.modules.update(dict.fromkeys({modules!r}))"
    return (sys.executable, "-c", f"{blocked}; from yume_shim.cli.main import entry; entry()")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path, [call("Bash", command="echo lean")], [say("Done.")])


def run(desk: Desk, *argv: str, without: tuple[str, ...] = LEFT_OUT, script: Any = (), **env: str) -> child.Ended:
    given = child.clean_environment(
        desk.home, ANTHROPIC_BASE_URL=desk.server.url, OPENAI_BASE_URL=f"{desk.server.url}/v1", **KEYS, **env
    )
    return child.run(argv, script, cwd=desk.cwd, env=given, program=lean(*without))


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "openai/gpt-5.4"])
def test_a_turn_with_a_command_needs_none_of_them(desk: Desk, model: str) -> None:
    ended = run(desk, "-p", "Hi", "--model", model, "--output-format", "json", "--verbose")
    assert (ended.code, ended.stderr) == (0, b"")
    result = json.loads(ended.stdout)[-1]
    assert (result["result"], result["permission_denials"]) == ("Done.", [])


def test_without_the_shell_parser_every_command_is_asked(desk: Desk) -> None:
    ended = run(desk, "-p", "Hi", "--output-format", "json", without=TURN)
    result = json.loads(ended.stdout)
    assert [denial["tool_name"] for denial in result["permission_denials"]] == ["Bash"]


@pytest.mark.parametrize(
    ("provider", "package"), [("anthropic", "anthropic"), ("openai", "openai"), ("google", "google-genai")]
)
def test_the_sdk_transport_names_its_package(desk: Desk, provider: str, package: str) -> None:
    ended = run(
        desk, "-p", "Hi", "--provider", provider, "--model", "m", "--transport", "sdk", GEMINI_API_KEY="not-a-key"
    )
    assert ended.code == 1
    assert f"needs the package {package}" in ended.stdout.decode()
    assert f"pip install {package}" in ended.stdout.decode()
    assert desk.server.requests == []


@pytest.mark.parametrize(
    "words", ["replay {} --html", "replay {} --html -o page.html", "sessions index --all", "watch --no-open"]
)
def test_pages_name_their_package(desk: Desk, words: str) -> None:
    """In a sentence, at once, and not in a traceback, nor when a browser asks."""
    transcript = desk.cwd / "a.jsonl"
    transcript.write_bytes(long_session(1))
    ended = run(desk, *words.format(transcript).split(), without=("markdown_it",))
    assert (ended.code, ended.stdout) == (2, b"")
    needed = "Error: The HTML page of a session needs the package markdown-it-py, which cannot be imported"
    assert ended.stderr.decode() == f"{needed}: pip install markdown-it-py\n"


@pytest.mark.parametrize(
    ("provider", "package", "module"),
    [("anthropic", "anthropic", "anthropic"), ("openai", "openai", "openai"), ("google", "google-genai", "google")],
)
def test_each_sdk_is_named(desk: Desk, provider: str, package: str, module: str) -> None:
    ended = run(
        desk,
        *("-p", "Hi", "--provider", provider, "--model", "m", "--transport", "sdk"),
        without=(module,),
        GEMINI_API_KEY="not-a-key",
    )
    assert (ended.code, f"pip install {package}" in ended.stdout.decode()) == (1, True)


def test_a_sub_command_names_click(desk: Desk) -> None:
    ended = run(desk, "doctor")
    assert (ended.code, ended.stdout) == (2, b"")
    assert ended.stderr.decode() == (
        "Error: This sub-command needs the package click, which cannot be imported: pip install click\n"
    )


def test_signing_in_to_a_server_names_mcp(desk: Desk) -> None:
    """Also where what it brings is missing as well."""
    desk.settings('{"mcpServers": {"web": {"type": "http", "url": "http://127.0.0.1:9"}}}', "ws/.mcp.json")
    ended = run(desk, "mcp", "login", "web", without=("mcp", "anyio"))
    assert (ended.code, "pip install 'yume_shim[mcp]'" in ended.stderr.decode()) == (1, True), ended


def test_a_schema_names_jsonschema(desk: Desk) -> None:
    ended = run(desk, "-p", "Hi", "--json-schema", '{"type":"object"}')
    assert (ended.code, ended.stdout) == (1, b"")
    assert "--json-schema: Checking a JSON Schema needs the package jsonschema" in ended.stderr.decode()


def test_a_setting_names_ftfy(desk: Desk) -> None:
    config = desk.settings("repair_mojibake = true\n", "home/.yume/config.toml")
    ended = run(desk, "-p", "Hi", YUME_CONFIG=str(config))
    assert (ended.code, "pip install ftfy" in ended.stderr.decode()) == (1, True)


def test_an_image_that_must_be_scaled_names_pillow(tmp_path: Path) -> None:
    desk = Desk(tmp_path, [say("I see nothing.")])
    picture = b64(saved(noise(9000, 8), "PNG"))
    source = {"type": "base64", "media_type": "image/png", "data": picture}
    line = {"type": "user", "message": {"role": "user", "content": [{"type": "image", "source": source}]}}
    argv = ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
    blocked = tmp_path / "site"
    blocked.mkdir()
    (blocked / "PIL.py").write_text("raise ImportError('none', name='PIL')\n")  # the worker is a process of its own
    env = {"PYTHONPATH": str(blocked)}
    given = child.clean_environment(desk.home, ANTHROPIC_BASE_URL=desk.server.url, **KEYS, **env)
    ended = child.run(argv, [line], cwd=desk.cwd, env=given)
    assert ended.code == 0
    sent = json.dumps(desk.server.requests[0].json())
    assert "Scaling and converting images needs the package pillow" in sent
    assert picture not in sent


@pytest.mark.parametrize("extra", ["azure", "bedrock", "mcp", "otel", "ray"])
def test_an_extra_is_named_whichever_part_of_its_package_is_missing(extra: str) -> None:
    """Others install a part of `azure` and of `opentelemetry`."""
    (package,) = (package for package in PACKAGES.values() if package.extra == extra)
    for module in (package.module, package.module.partition(".")[0], f"{package.module}.more"):
        message = missing_package(ModuleNotFoundError(name=module)) or ""
        assert message.endswith(f"pip install 'yume_shim[{extra}]'"), module


def test_every_package_of_the_table_is_one_that_the_program_imports() -> None:
    assert missing_package(ModuleNotFoundError(name="numpy")) is None
    assert missing_package(ModuleNotFoundError(name="mcp.client.auth")) == (
        "Signing in to MCP servers needs the package mcp, which cannot be imported: pip install 'yume_shim[mcp]'"
    )
    assert install_command(PACKAGES["boto3"]) == "pip install 'yume_shim[bedrock]'"


def test_the_command_is_for_the_environment_of_the_program(tmp_path: Path) -> None:
    """`pip` would install into another one than that of `uv tool install` and `pipx install`."""
    (tmp_path / "pipx_metadata.json").touch()
    assert install_command(PACKAGES["openai"], str(tmp_path)) == "pipx runpip yume_shim install openai"
    (tmp_path / "uv-receipt.toml").touch()
    expected = f"uv pip install --python {tmp_path} 'yume_shim[mcp]'"
    assert install_command(PACKAGES["mcp"], str(tmp_path)) == expected
