"""Files that a hostile repository brings and that are read at the start: pipes, devices, links, huge files, folders.

The program must start, warn, and answer the prompt: a file that is not what it seems never blocks it and never fills
the memory. Files that the user's rules hide stay out of the instructions, whoever imports them.
"""

from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.scripted_model import ModelServer, say
from tests.helpers.settings import settings_with
from tests.helpers.timing import SOON
from yume_shim.config.file_report import FileReport
from yume_shim.config.settings_files import MAX_SETTINGS_BYTES, read_layers
from yume_shim.context.environment import facts
from yume_shim.context.memory import Memory, MemoryPlaces
from yume_shim.gate.permissions import Permissions
from yume_shim.store.index import look
from yume_shim.types.settings import Rules

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes, devices and links")

AT_START = (
    *(".claude/settings.json", ".claude/settings.local.json", ".git/HEAD"),
    *("CLAUDE.md", "CLAUDE.local.md", ".mcp.json"),
)
KINDS = ("pipe", "link to a pipe", "/dev/zero", "/dev/tty", "folder", "endless link", "huge")
MODES = ("default", "acceptEdits", "plan", "dontAsk", "bypassPermissions")


def plant(path: Path, kind: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "link to a pipe":
            os.mkfifo(path.with_name("some-pipe-" + path.name))
            path.symlink_to("some-pipe-" + path.name)
        case "folder":
            path.mkdir()
        case "endless link":
            path.symlink_to(path.name)
        case "huge":
            with path.open("wb") as file:
                file.truncate(MAX_SETTINGS_BYTES * 64)
        case _:
            path.symlink_to(kind)


def promptly(work: Callable[[], Any]) -> Any:
    """The result of something that might hang."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(work()), daemon=True)
    thread.start()
    thread.join(SOON)
    assert results, "it hangs, or it raised"
    return results[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [".claude/settings.json", ".claude/settings.local.json"])
def test_settings_files(tmp_path: Path, name: str, kind: str) -> None:
    plant(tmp_path / name, kind)
    warnings: list[str] = []
    env = {"HOME": str(tmp_path / "home")}

    def read() -> object:
        report = FileReport(lambda _, text: warnings.append(text))
        return read_layers(("project", "local"), None, str(tmp_path), env, report, lambda: False)

    assert promptly(read) == []
    [warning] = warnings
    assert warning.startswith(f"settings file {tmp_path / name}: it cannot be read (")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [".git/HEAD", ".git", "elsewhere/HEAD"])
def test_git_files(tmp_path: Path, name: str, kind: str) -> None:
    if name.startswith("elsewhere"):
        (tmp_path / ".git").write_text("gitdir: elsewhere\n")
    plant(tmp_path / name, kind)
    assert promptly(lambda: facts(str(tmp_path), 0.0, {})).branch == ""


def test_a_git_file_that_is_a_pipe_is_reported(tmp_path: Path) -> None:
    plant(tmp_path / ".git" / "HEAD", "pipe")
    warnings: list[str] = []
    facts(str(tmp_path), 0.0, {}, warnings.append)
    assert warnings == [f"{tmp_path}/.git/HEAD is ignored: it cannot be read (not a regular file)"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name", ["CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", "AGENTS.md", ".claude/rules/x.md", "import.md"]
)
def test_instruction_files(tmp_path: Path, name: str, kind: str) -> None:
    if name == "import.md":
        (tmp_path / "CLAUDE.md").write_text("see @import.md\n")
    (tmp_path / ".git").mkdir()
    plant(tmp_path / name, kind)
    note = promptly(lambda: Memory(MemoryPlaces(str(tmp_path), str(tmp_path / "home"))).note)
    assert "\0" not in note
    assert len(note) < 10_000


def test_a_link_of_the_project_that_leads_out_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("SECRET")
    project = tmp_path / "project"
    (project / "a" / "b").mkdir(parents=True)
    (project / ".git").mkdir()
    (project / "down").symlink_to("../project/a/b")
    (project / "out").symlink_to("..")
    (project / "CLAUDE.md").write_text(
        "@out/secret.md @down/../../../secret.md @../secret.md @out/project/../secret.md"
    )
    (project / ".claude").mkdir()
    (project / ".claude" / "CLAUDE.md").symlink_to("../../secret.md")
    assert "SECRET" not in Memory(MemoryPlaces(str(project), str(tmp_path / "home"))).note


@pytest.mark.parametrize("kind", ["pipe", "link to a pipe", "/dev/zero", "folder"])
def test_session_files(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "s.jsonl"
    plant(path, kind)
    assert promptly(lambda: look(str(path)) or "nothing") == "nothing"


@pytest.mark.parametrize("flag", ["--settings", "--mcp-config", "--system-prompt-file", "--config"])
def test_files_of_flags(tmp_path: Path, flag: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    ended = child.run(["-p", "x", flag, "pipe"], [], cwd=tmp_path, env=child.clean_environment(tmp_path))
    assert ended.code != 0
    assert b"pipe" in ended.stdout + ended.stderr


@pytest.mark.parametrize("kind", ["pipe", "/dev/zero", "huge"])
@pytest.mark.parametrize("form", ["flat", "nested"])
def test_the_program_starts_and_answers(tmp_path: Path, form: str, kind: str) -> None:
    work, home = tmp_path / "work", tmp_path / "home"
    for name in AT_START:
        plant(work / name, kind)
    home.mkdir()
    with ModelServer([say("Hello.")]) as server:
        env = child.clean_environment(home, ANTHROPIC_BASE_URL=server.url, ANTHROPIC_API_KEY="not-a-key")
        flags = ["--output-format", "flat"] if form == "flat" else ["-p", "Hi", "--output-format", "stream-json"]
        script = [{"type": "user", "content": "Hi"}] if form == "flat" else []
        ended = child.run([*flags, "--verbose"], script, cwd=work, env=env)
    assert ended.code == 0, ended.stderr
    assert b"Hello." in ended.stdout
    said = (ended.stdout + ended.stderr).decode()
    assert f"{work}/.claude/settings.json: it cannot be read" in said
    assert f"{work}/.claude/settings.local.json: it cannot be read" in said
    assert f"{work}/.mcp.json cannot be read" in said


SHADOWS = ("anthropic", "click", "httpx", "json", "orjson", "select", "socket", "ssl", "threading")


@pytest.mark.parametrize(
    "words", [["--transport", "direct", "-p", "Hi"], ["--transport", "sdk", "-p", "Hi"], ["models"]]
)
def test_no_module_of_the_workspace_is_imported(tmp_path: Path, words: list[str]) -> None:
    """`python -m` puts the working folder first on the path; a workspace may have a file for every name."""
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    home.mkdir()
    for name in SHADOWS:
        (work / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write({name!r} + ' ')\n")
    with ModelServer([say("Hello.")]) as server:
        env = child.clean_environment(home, ANTHROPIC_BASE_URL=server.url, ANTHROPIC_API_KEY="not-a-key")
        ended = child.run(words, [], cwd=work, env=env)
    assert ended.code == 0, ended.stderr
    assert not (tmp_path / "ran").exists(), (tmp_path / "ran").read_text()


# ---------------------------------------------------------------- settings that would move the conversation

MOVES: list[dict[str, Any]] = [
    {"model": "openai/gpt-5.4"},
    {"model": "gpt-5.4"},
    {"model": "ollama/llama"},
    {"provider": "openai", "model": "gpt-5.4"},
    {"fallback": ["openai/gpt-5.4"], "fallbackModel": "openai/gpt-5.4"},
    {"env": {"YUME_PROVIDER": "openai", "YUME_MODEL": "gpt-5.4", "ANTHROPIC_MODEL": "openai/gpt-5.4"}},
    {"env": {"ANTHROPIC_BASE_URL": "{other}", "YUME_API_BASE": "{other}"}},
    {"aliases": {"default": "openai/gpt-5.4"}, "endpoints": {"anthropic": {"base_url": "{other}"}}},
]


@pytest.mark.parametrize("file", ["settings.json", "settings.local.json"])
@pytest.mark.parametrize("given", MOVES)
def test_a_project_does_not_move_the_conversation(tmp_path: Path, given: dict[str, Any], file: str) -> None:
    """Not even when the user's own vendor refuses and a key for the other one is there."""
    work, home = tmp_path / "work", tmp_path / "home"
    (work / ".claude").mkdir(parents=True)
    (work / ".yume").mkdir()
    home.mkdir()
    with ModelServer([say("Hello.")]) as own, ModelServer([say("Moved.")]) as other:
        text = json.dumps(given).replace("{other}", other.url)
        (work / ".claude" / file).write_text(text)
        (work / ".yume" / "config.toml").write_text(
            f'model = "openai/gpt-5.4"\n[env]\nANTHROPIC_BASE_URL = "{other.url}"\n'
        )
        env = child.clean_environment(home, ANTHROPIC_BASE_URL=own.url, ANTHROPIC_API_KEY="not-a-key")
        env |= {"OPENAI_API_KEY": "not-a-key", "OPENAI_BASE_URL": other.url, "OLLAMA_HOST": other.url}
        ended = child.run(["-p", "Hi"], [], cwd=work, env=env)
        assert other.requests == []
    assert (ended.code, ended.stdout) == (0, b"Hello.\n"), ended.stderr
    assert b"ignored" in ended.stderr


# ---------------------------------------------------------------- files that rules hide

HIDDEN = [
    ("Read(./CLAUDE.md)", "CLAUDE.md"),
    ("Read(CLAUDE.md)", "CLAUDE.md"),
    ("Read(./notes/**)", "notes/a.md"),
    ("Read(./notes/a.md)", "notes/a.md"),
    ("Read(./real/**)", "notes/linked.md"),
    ("Read(*.md)", "CLAUDE.md"),
    ("Read(**)", "CLAUDE.md"),
    ("Read(./CLAUDE.local.md)", "CLAUDE.local.md"),
    ("Read(~/secret.md)", "home import"),
    ("Read(~/**)", "home import"),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("rule", "what"), HIDDEN)
def test_what_rules_hide_is_no_instruction(tmp_path: Path, rule: str, what: str, mode: str) -> None:
    work, home = tmp_path / "work", tmp_path / "home"
    for name, text in (
        ("CLAUDE.md", "CANARY of CLAUDE.md @notes/a.md @notes/linked.md @notes/../notes/a.md"),
        ("CLAUDE.local.md", "CANARY of CLAUDE.local.md"),
        ("notes/a.md", "CANARY of notes/a.md"),
        ("real/b.md", "CANARY of notes/linked.md"),
        ("other/AGENTS.md", "unused"),
    ):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)
    (work / "notes" / "linked.md").symlink_to("../real/b.md")
    (home / ".claude").mkdir(parents=True)
    (home / "secret.md").write_text("CANARY of home import")
    (home / ".claude" / "CLAUDE.md").write_text(f"mine @{home}/secret.md")
    settings = settings_with(permission_mode=mode, rules=Rules(deny=(rule,)), cwd=str(work))
    gate = Permissions(settings, str(work), str(home), False, lambda *_: None)
    warnings: list[str] = []
    places = MemoryPlaces(str(work), str(home / ".claude"))
    note = Memory(places, hidden=gate.hides, warn=warnings.append).note
    assert f"CANARY of {what}" not in note
    assert any("a permission rule denies reading it" in text for text in warnings)
    full = Memory(places).note
    assert f"CANARY of {what}" in full


def test_a_denied_file_does_not_reach_the_model(tmp_path: Path) -> None:
    work, home = tmp_path / "work", tmp_path / "home"
    (work / ".claude").mkdir(parents=True)
    home.mkdir()
    (work / ".claude" / "settings.json").write_text(json.dumps({"permissions": {"deny": ["Read(./private/**)"]}}))
    (work / "private").mkdir()
    (work / "private" / "p.md").write_text("CANARY")
    (work / "CLAUDE.md").write_text("plain words @private/p.md")
    with ModelServer([say("Hello.")]) as server:
        env = child.clean_environment(home, ANTHROPIC_BASE_URL=server.url, ANTHROPIC_API_KEY="not-a-key")
        ended = child.run(["-p", "Hi"], [], cwd=work, env=env)
        sent = json.dumps([request.json() for request in server.requests])
    assert ended.code == 0, ended.stderr
    assert "plain words" in sent
    assert "CANARY" not in sent
