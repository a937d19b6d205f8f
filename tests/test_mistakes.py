"""Mistakes of users in command lines and settings, through the real program: named, never sent to a model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.scripted_model import ModelServer, call, say

if TYPE_CHECKING:
    from pathlib import Path

FORMS = {"flat": ("--output-format", "flat"), "json": ("-p", "Hi", "--output-format", "json")}
KEYS = {"ANTHROPIC_API_KEY": "not-a-key", "OPENAI_API_KEY": "not-a-key"}


class Desk:
    """A home, a folder and a model on loopback."""

    def __init__(self, base: Path, *answers: Any) -> None:
        self.home, self.cwd = base / "home", base / "ws"
        self.home.mkdir()
        self.cwd.mkdir()
        self.server = ModelServer(*(answers or ([say("Hello.")],)))

    def run(self, *argv: str, script: tuple[Any, ...] = (), **env: str) -> child.Ended:
        given = child.clean_environment(self.home, ANTHROPIC_BASE_URL=self.server.url, **KEYS, **env)
        return child.run(argv, script, cwd=self.cwd, env=given)

    def settings(self, text: str, name: str = "home/.claude/settings.json") -> Path:
        path = self.home.parent / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


# ---------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("word", "meant"),
    [("docter", "doctor"), ("sesions", "sessions"), ("modles", "models"), ("updat", "update"), ("login", "init")],
)
def test_a_lone_word_near_a_sub_command_is_never_sent(desk: Desk, word: str, meant: str) -> None:
    ended = desk.run(word)
    assert (ended.code, ended.stdout) == (2, b"")
    assert f"Did you mean '{meant}'?" in ended.stderr.decode()
    assert f"yume-shim -p {word}" in ended.stderr.decode()
    assert desk.server.requests == []


def test_a_word_near_a_group_with_one_of_its_commands_is_never_sent(desk: Desk) -> None:
    ended = desk.run("session", "list")
    assert (ended.code, ended.stdout) == (2, b"")
    assert (
        "Did you mean 'sessions list'? To send it as a prompt, write: yume-shim -p 'session list'"
        in ended.stderr.decode()
    )
    assert desk.server.requests == []


def test_help_and_version_as_words(desk: Desk) -> None:
    assert desk.run("help").stdout.startswith(b"Usage: yume-shim")
    assert b"yume_shim" in desk.run("version").stdout
    assert desk.server.requests == []


@pytest.mark.parametrize("words", [("hello",), ("docter", "-p"), ("session", "ideas"), ("hello", "list")])
def test_other_words_are_prompts(desk: Desk, words: tuple[str, ...]) -> None:
    assert desk.run(*words).code == 0
    assert len(desk.server.requests) == 1


def test_sessions_alone_lists(desk: Desk) -> None:
    assert desk.run("sessions").stdout == b"No sessions.\n"
    desk.run("-p", "remember me")
    assert b"remember me" in desk.run("sessions").stdout


# ---------------------------------------------------------------- flags


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("model", ["openai/", "openai", "gemini"])
def test_a_provider_is_no_model(tmp_path: Path, form: str, model: str) -> None:
    env = child.clean_environment(tmp_path, **KEYS)
    ended = child.run([*FORMS[form], "--model", model], (), cwd=tmp_path, env=env)
    name = "google" if model == "gemini" else "openai"
    assert ended.code == (2 if form == "flat" else 1)
    assert f"'{name}' is a provider: name one of its models, --model {name}/MODEL" in ended.stderr.decode()


@pytest.mark.parametrize("form", FORMS)
def test_an_unknown_provider_at_a_moved_address_is_a_warning(desk: Desk, form: str) -> None:
    script = ({"type": "user", "content": "Hi"},) if form == "flat" else ()
    ended = desk.run(*FORMS[form], "--model", "opneai/gpt-4o", script=script)
    assert ended.code == 0
    assert "unknown provider 'opneai' in model 'opneai/gpt-4o'. Did you mean 'openai'?" in ended.stderr.decode()
    assert desk.server.requests[-1].json()["model"] == "opneai/gpt-4o"


@pytest.mark.parametrize("form", FORMS)
def test_unknown_tools_rules_and_folders_are_named(desk: Desk, form: str) -> None:
    desk.settings('{"permissions": {"deny": ["Wrte(x)", "mcp__a__b", "Task", "Notebook*"]}}')
    argv = ("--tools", "Raed,Bash", "--allowedTools", "Bsh(git:*)", "Frobnicate", "--add-dir", "/nope/nope")
    ended = desk.run(*FORMS[form], *argv)
    said = ended.stderr.decode()
    assert "--tools: 'Raed' is not a tool. Did you mean 'Read'?" in said
    assert "permission rule 'Bsh(git:*)': 'Bsh' is not a tool, so it has no effect. Did you mean 'Bash'?" in said
    assert "permission rule 'Frobnicate': 'Frobnicate' is not a tool, so it has no effect.\n" in said
    assert "permission rule 'Wrte(x)': 'Wrte' is not a tool, so it has no effect. Did you mean 'Write'?" in said
    assert "--add-dir /nope/nope: there is no such folder" in said
    assert "mcp__" not in said
    assert "Task" not in said


def test_names_of_the_claude_cli_and_aliases_never_warn(desk: Desk) -> None:
    names = "Agent,Task,TodoWrite,ExitPlanMode,KillBash,LSP,NotebookRead,WebSearch,ToolSearch,StructuredOutput"
    ended = desk.run(*FORMS["json"], "--tools", names, "--allowedTools", "Skill(x)", "mcp__server", "mcp__server__*")
    assert ended.stderr == b""


def test_a_list_that_took_the_prompt(desk: Desk) -> None:
    ended = desk.run("-p", "--allowedTools", "Read", "say hello")
    assert ended.code == 1
    assert "--allowedTools took 'say hello' into its list. Put the prompt before the flag" in ended.stderr.decode()
    ended = desk.run("--allowedTools", "Read", "say hello")
    assert "--allowedTools took 'say hello' into its list." in ended.stderr.decode()
    assert desk.run("--mcp-config", '{"mcpServers": {}}').stderr == b""  # it has blanks, and is no prompt
    assert desk.server.requests == []


@pytest.mark.parametrize("form", FORMS)
def test_nothing_to_continue(desk: Desk, form: str) -> None:
    ended = desk.run(*FORMS[form], "--continue")
    assert ended.code == 0
    assert "--continue: this folder has no session to continue, so a new one is started" in ended.stderr.decode()


@pytest.mark.parametrize("argv", [FORMS["flat"], FORMS["json"], ("doctor",), ("auth", "status")])
def test_a_deleted_working_folder(tmp_path: Path, argv: tuple[str, ...]) -> None:
    gone = tmp_path / "gone"
    code = f"import os, sys; os.mkdir({str(gone)!r}); os.chdir({str(gone)!r}); os.rmdir({str(gone)!r}); "
    code += f"os.execv(sys.executable, [sys.executable, '-m', 'yume_shim', *{list(argv)!r}])"
    env = child.clean_environment(tmp_path, **KEYS)
    env["PYTHONPATH"] = os.pathsep.join(filter(None, (os.getcwd(), env.get("PYTHONPATH", ""))))
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=env, input=b"", capture_output=True, check=False
    )
    assert b"Traceback" not in done.stderr
    assert b"the working folder cannot be used" in done.stderr
    if argv == FORMS["flat"]:
        line = json.loads(done.stdout)
        assert (done.returncode, line["type"], line["subtype"], line["code"]) == (2, "system", "error", "config")
    else:
        assert (done.returncode, done.stdout) == (2 if argv[0] == "doctor" else 1, b"")


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("form", FORMS)
def test_unknown_settings_are_reported_and_shown_by_doctor(desk: Desk, form: str) -> None:
    (desk.home / ".yume").mkdir()
    (desk.home / ".yume" / "config.toml").write_text('modle = "x"\n[retri]\ninitial = 1\n[retry]\nretrys = 1\n')
    desk.settings('{\n"permisions": {},\n"permissions": {"alow": [], "defaultMode": "acceptEdit"}, "newKey": 1}')
    ended, doctor = desk.run(*FORMS[form]), desk.run("doctor")
    assert ended.code == doctor.code == 0
    for text in (
        "config.toml, line 1: unknown setting `modle`. Did you mean 'model'?",
        "config.toml, line 2: unknown setting [retri]. Did you mean 'retry'?",
        "config.toml, line 5: unknown setting `retry.retrys`. Did you mean 'retries'?",
        "settings.json, line 2: unknown key `permisions`. Did you mean 'permissions'?",
        "settings.json, line 3: unknown key `permissions.alow`. Did you mean 'allow'?",
        "unknown permission mode 'acceptEdit'. Did you mean 'acceptEdits'?",
    ):
        assert text in ended.stderr.decode()
        assert text in doctor.stdout.decode()
    assert b"newKey" not in ended.stderr


BROKEN = {
    '{\n"permissions": {"allow": ["Bash"]\n': "line 3: it is not valid JSON",
    "[]": "line 1: it is not a JSON object",
    '{"model": "m",\n"permissions": {"allow": "Bash"}}': "line 2: `permissions.allow` must be a list of strings",
    '{"permissions": ["Bash"]}': "line 1: `permissions` must be an object",
    '{\n\n"env": []}': "line 3: `env` must be an object of strings",
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_damaged_settings_file_is_loud(desk: Desk, text: str) -> None:
    path = desk.settings(
        text, "home/.claude/settings.json" if "permissions" in text else "ws/.claude/settings.local.json"
    )
    ended, doctor = desk.run(*FORMS["flat"]), desk.run("doctor")
    assert ended.code == 0
    assert f"settings file {path}, {BROKEN[text]}" in ended.stderr.decode()
    assert "automatic approvals (read-only commands, acceptEdits) are off" in ended.stderr.decode()
    assert doctor.code == 1
    (row,) = [line for line in doctor.stdout.decode().splitlines() if f" {path}, {BROKEN[text]}" in line]
    assert row.startswith("  ✗ ")
    assert doctor.stdout.decode().endswith(f"Do this next: edit {path}\n")


CALLS = {
    "a read-only command": call("Bash", command="ls"),
    "a command that a file allows": call("Bash", command="touch made-by-bash"),
    "an edit": call("Write", file_path="made.txt", content="x"),
}


@pytest.mark.parametrize("damaged", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_while_a_settings_file_is_damaged_nothing_is_approved_automatically(
    tmp_path: Path, name: str, damaged: bool
) -> None:
    desk = Desk(tmp_path, [CALLS[name]], [say("Done.")])
    desk.settings('{"permissions": {"allow": ["Bash(touch:*)"], "defaultMode": "acceptEdits"}}')
    if damaged:
        desk.settings("{", "ws/.claude/settings.json")
    ended = desk.run("-p", "Go", "--output-format", "json")
    assert bool(ended.lines[0]["permission_denials"]) is damaged


@pytest.mark.parametrize("name", ["a read-only command", "an edit"])
@pytest.mark.parametrize("flags", [("--allowedTools", "Bash", "Write"), ("--permission-mode", "bypassPermissions")])
def test_rules_by_flag_and_bypass_hold_with_a_damaged_file(tmp_path: Path, name: str, flags: tuple[str, ...]) -> None:
    desk = Desk(tmp_path, [CALLS[name]], [say("Done.")])
    desk.settings("{")
    ended = desk.run("-p", "Go", "--output-format", "json", *flags, IS_SANDBOX="1")
    assert ended.lines[0]["permission_denials"] == []
