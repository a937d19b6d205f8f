"""`yume-shim doctor`: each line's state, the one thing to do next, the exit code."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.fake_server import LoopbackServer
from tests.helpers.windows_bash import bash_for_windows
from yume_shim.cli.doctor import machine
from yume_shim.cli.doctor.files import file_lines, session_lines
from yume_shim.cli.doctor.line import Line, as_json, as_text, is_fine, next_step
from yume_shim.cli.doctor.models import set_variable
from yume_shim.config.known_settings import line_of_setting, with_line

if TYPE_CHECKING:
    from pathlib import Path

    from tests.helpers.child import Ended
    from tests.helpers.fake_server import Exchange

KEY = "canary-key-41c7aa20"


def doctor(home: Path, *words: str, **env: str) -> Ended:
    return child.run(["doctor", *words], [], cwd=home, env=child.clean_environment(home, **env))


def checks(home: Path, *words: str, **env: str) -> dict[str, Any]:
    ended = doctor(home, *words, "--json", **env)
    assert ended.stderr == b""
    found: dict[str, Any] = json.loads(ended.stdout)
    assert found["ok"] is (ended.code == 0)
    return found


def named(found: dict[str, Any], group: str, name: str) -> dict[str, str]:
    (check,) = [check for check in found["checks"] if (check["group"], check["name"]) == (group, name)]
    return dict(check)


def test_replay_needs_nothing(tmp_path: Path) -> None:
    ended = doctor(tmp_path, "--provider", "replay")
    lines = ended.stdout.decode().splitlines()
    assert (ended.code, ended.stderr) == (0, b"")
    assert not [line for line in lines[1:] if "✗" in line]
    assert len([line for line in lines if line.startswith("  ✓ ")]) > 8
    next_step = 'nothing is missing. Try: yume-shim --provider replay --cassette DIR -p "Say hello"'
    assert lines[-1] == f"Do this next: {next_step}"


def test_a_missing_key_is_the_thing_to_do_next(tmp_path: Path) -> None:
    found = checks(tmp_path, "--provider", "openai", "--model", "gpt-5.4", GROQ_API_KEY=KEY)
    assert found["ok"] is False
    assert found["next"] == f"{set_variable('OPENAI_API_KEY')} (or run: yume-shim init --provider openai)"
    assert "$OPENAI_API_KEY" in named(found, "Keys", "openai")["text"]
    assert named(found, "Keys", "groq") == {
        "group": "Keys",
        "name": "groq",
        "state": "ok",
        "text": "from GROQ_API_KEY",
    }
    assert KEY not in json.dumps(found)


def test_the_command_that_sets_a_variable() -> None:
    assert set_variable("A_KEY", windows=False) == "export A_KEY=…"
    assert set_variable("A_KEY", windows=True) == "setx A_KEY …"


def test_what_may_be_meant_for_the_key_is_named(tmp_path: Path) -> None:
    """Another variable, another provider's key, a key with its quotation marks."""
    found = checks(tmp_path, OPENAI_API_KEY=f'"{KEY}"', ANTHROPIC_APIKEY=KEY)
    instead = "(or run: yume-shim init --provider openai, whose key is there)"
    assert found["next"] == f"{set_variable('ANTHROPIC_API_KEY')} {instead}"
    assert named(found, "Keys", "anthropic")["text"].endswith("; $ANTHROPIC_APIKEY is set, but not read")
    quoted = named(found, "Keys", "openai")
    assert (quoted["state"], "quotation marks" in quoted["text"]) == ("off", True)
    found = checks(tmp_path, ANTHROPIC_API_KEY="sk-…")
    assert named(found, "Keys", "anthropic")["state"] == "wrong"
    assert found["next"] == "enter ANTHROPIC_API_KEY again"


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_an_address_that_is_none_hides_nothing_else(provider: str, tmp_path: Path) -> None:
    chosen, variable = provider == "anthropic", f"{provider.upper()}_BASE_URL"
    found = checks(tmp_path, **{variable: "localhost:80", "ANTHROPIC_API_KEY": KEY}, **bash_for_windows())
    line = named(found, *(("Model", "address") if chosen else ("Keys", provider)))
    assert (line["state"], f"${variable}" in line["text"]) == ("wrong" if chosen else "off", True)
    assert found["ok"] is not chosen
    assert line["todo"].startswith(f"give the address of {provider}: ")
    assert named(found, "Sessions", "folder")["state"] == "off"


def test_every_mistake_of_the_config_file_has_its_line(tmp_path: Path) -> None:
    (tmp_path / ".yume").mkdir()
    config = tmp_path / ".yume" / "config.toml"
    config.write_text('provider = 3\nmodle = "x"\n[timeouts]\nconnect = "soon"\n')
    lines = [check for check in checks(tmp_path)["checks"] if check["name"] == "config"]
    assert [(line["state"], f"line {at}: " in line["text"]) for line, at in zip(lines, (1, 2, 4), strict=True)] == [
        ("wrong", True),
        ("off", True),
        ("wrong", True),
    ]
    config.write_bytes(b'model = "m"\n# \xff\n')
    assert "line 2 is not UTF-8" in named(checks(tmp_path), "Files", "config")["text"]
    if sys.platform != "win32":
        config.write_text(f'[keys]\nopenai = "{KEY}"\n')
        config.chmod(0o644)
        assert named(checks(tmp_path), "Files", "config")["todo"] == f"chmod 600 {config}"
        config.chmod(0o600)
        assert named(checks(tmp_path), "Files", "config")["state"] == "ok"
    config.unlink()
    config.mkdir()
    assert named(checks(tmp_path), "Files", "config")["state"] == "wrong"


def test_a_broken_config_file_hides_nothing_else(tmp_path: Path) -> None:
    (tmp_path / ".yume").mkdir()
    config = tmp_path / ".yume" / "config.toml"
    config.write_text('provider = "openai"\n\n[timeouts\nidle = 3\n')
    found = checks(tmp_path, **bash_for_windows())
    assert "line 3" in named(found, "Files", "config")["text"]
    assert found["next"] == f"edit {config}"
    assert named(found, "Settings", "model and keys")["state"] == "off"
    assert named(found, "Programs and confinement", "shell")["state"] == "ok"


def test_each_endpoint_is_asked_once(tmp_path: Path) -> None:
    def answer(exchange: Exchange) -> bool:
        status = {"/bad/models": 401, "/full/models": 429, "/broken/models": 500, "/other/models": 404}
        if exchange.request.path in status:
            body = {"error": {"message": f"Bad key {KEY}."}}
            exchange.reply(
                status[exchange.request.path], {"Content-Type": "application/json"}, json.dumps(body).encode()
            )
        else:
            exchange.reply(200, {"Content-Type": "application/json"}, b'{"data": [{"id": "m-1"}]}')
        return False

    (tmp_path / ".yume").mkdir()
    with LoopbackServer(answer) as server:
        rows = "".join(
            f'[endpoints.{name}]\napi = "openai-chat"\nbase_url = "{server.url}/{name}"\nkey_vars = ["THE_KEY"]\n'
            for name in ("good", "bad", "full", "broken", "other")
        )
        (tmp_path / ".yume" / "config.toml").write_text(f'provider = "good"\nmodel = "m-1"\n{rows}')
        found = checks(tmp_path, "--live", THE_KEY=KEY)
    group = "Endpoints, asked now"
    assert named(found, group, "good")["text"] == "1 model"
    for name, status, todo in (
        ("bad", 401, "correct the key of bad"),
        ("full", 429, "try again later: full is at its limit, which says nothing against the key"),
        ("broken", 500, "try again later: the fault is on the side of broken"),
        ("other", 404, "check the address of other; if it has no list of models, try it with a prompt"),
    ):
        refused = named(found, group, name)
        assert (refused["state"], f"models ({status})" in refused["text"], refused["todo"]) == ("wrong", True, todo)
    assert KEY not in json.dumps(found)
    assert sorted(request.path for request in server.requests) == [
        f"/{name}/models" for name in ("bad", "broken", "full", "good", "other")
    ]


# ---------------------------------------------------------------- parts


def test_every_settings_file_has_a_line(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "own")}
    work, managed = tmp_path / "ws", tmp_path / "managed"
    for folder in (tmp_path / "own", work / ".claude", managed / "managed-settings.d", tmp_path / ".yume"):
        folder.mkdir(parents=True)
    (tmp_path / "own" / "settings.json").write_text('{\n "permisions": {}\n}')
    (work / ".claude" / "settings.json").write_text('{"permissions": {\n"allow": 1}}')
    (work / ".claude" / "settings.local.json").write_text("{}")
    (managed / "managed-settings.d" / "a.json").write_text("{")
    (work / ".mcp.json").write_text('{\n"mcpServers"\n}')
    (tmp_path / ".yume" / "config.toml").write_text('[retry]\nretries = "x"\n')
    lines = list(file_lines(env, str(work), str(managed)))
    shown = {(line.name, line.state): line.text for line in lines}
    assert "line 2: unknown key `permisions`" in shown["user", "off"]
    assert "line 2: `permissions.allow` must be" in shown["project", "wrong"]
    assert shown["local", "ok"].endswith("settings.local.json")
    assert "does not exist" in shown["managed", "off"]
    assert "a.json, line 1: it is not valid JSON" in shown["managed", "wrong"]
    assert ".mcp.json, line 3: it is not valid JSON" in shown["MCP servers", "wrong"]
    assert "config.toml, line 2: `retry.retries` must be" in shown["config", "wrong"]
    assert "does not exist" in shown["saved rules", "off"]


SETTINGS = """{
  "permissions": {"allow": [
    "Bash(git status",
    "Raed(x)"], "deny": ["Bash(rm:*)"]},
  "hooks": {
    "Stop": [{"hooks": [{"type": "command", "command": "true"}]}],
    "PreToolUse": [
      {"matcher": "Edit", "hooks": [{"type": "command"}]},
      {"matcher": "(", "hooks": [{"type": "command", "command": "true"}]}],
    "Nope": []}
}"""


def test_mistakes_inside_a_file_have_their_line(tmp_path: Path) -> None:
    env, work = {"HOME": str(tmp_path)}, tmp_path / "ws"
    for folder in (tmp_path / ".claude", tmp_path / ".yume", work):
        folder.mkdir()
    (tmp_path / ".claude" / "settings.json").write_text(SETTINGS)
    state = {"mcpServers": {"a": {"command": "x"}}, "projects": {str(work): {"mcpServers": {"b": {"command": 1}}}}}
    (tmp_path / ".claude.json").write_text(json.dumps(state, indent=1))
    (work / ".mcp.json").write_text('{"mcpServers": {\n"good": {"command": "x"},\n"c": {"type": "http"}}}')
    (tmp_path / ".yume" / "permissions.json").write_text(
        '{"user": {"allow": ["Read"]},\n"folders": {"/a": {"allow": [\n"Bash("]}},\n"rules": 1}'
    )
    (tmp_path / ".yume" / "trust.json").write_text('{"folders": {"/a": true,\n"/b": "yes"}}')
    found = [
        (line.name, line.state, line.text.partition(", line ")[2])
        for line in file_lines(env, str(work), str(tmp_path / "managed"))
        if ", line " in line.text
    ]
    guard = "; what it matches is refused"
    broken = "the matcher '(' is not a regular expression (missing ), unterminated subpattern at position 0)"
    unknown = "permission rule 'Raed(x)': 'Raed' is not a tool, so it has no effect. Did you mean 'Read'?"
    assert found == [
        ("user", "wrong", "3: this permission rule is invalid and has no effect: Bash(git status"),
        ("user", "off", f"4: {unknown}"),
        ("user", "wrong", f"8: a PreToolUse hook is not run: the hook has no command{guard}"),
        ("user", "wrong", f"9: a PreToolUse hook is not run: {broken}{guard}"),
        ("user", "off", "10: hooks of the event 'Nope' are not run: there is no such event"),
        ("state", "wrong", "10: MCP server b: it needs a `command`, a text that is not empty"),
        ("MCP servers", "wrong", "3: MCP server c: it needs a `url`, a text that is not empty"),
        ("saved rules", "off", "4: unknown key `rules`: it has no effect"),
        ("saved rules", "wrong", "3: this permission rule is invalid and has no effect: Bash("),
        ("trust", "wrong", "2: the answer about /b must be true or false"),
    ]


TOML = """# model = 1
model = "m"
[models."gpt-5.4"]
windw = 3
[endpoints.acme.quirks]
noTools = true
"""


@pytest.mark.parametrize(
    ("name", "line"),
    [("model", 2), ("models.gpt-5.4.windw", 4), ("models.gpt-5.4", 3), ("endpoints.acme.quirks.noTools", 6), ("x", 0)],
)
def test_the_line_of_a_setting(name: str, line: int) -> None:
    assert line_of_setting(TOML, name) == line


def test_messages_that_name_no_setting_stay_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text(TOML)
    path = str(tmp_path / "c.toml")
    assert with_line(path, f"{path}: `model` must be a text") == f"{path}, line 2: `model` must be a text"
    assert with_line(path, f"{path}: nothing is named") == f"{path}: nothing is named"
    assert with_line(path, "`model` elsewhere") == "`model` elsewhere"


def test_missing_bytecode_where_nothing_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    assert machine.bytecode_line(str(tmp_path)).text == "written when a module is first loaded"
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    line = machine.bytecode_line(str(tmp_path))
    assert (line.state, line.text.startswith("missing for 1 of 1 modules")) == ("off", True)
    assert line.todo.endswith(f"-m compileall -q {tmp_path}")
    import compileall

    assert compileall.compile_dir(tmp_path, quiet=2)
    assert machine.bytecode_line(str(tmp_path)).text == "complete"


def test_missing_packages_have_their_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "is_there", lambda module: module not in ("openai", "mcp"))
    direct = {line.name: line for line in machine.install_lines("")}
    assert (direct["openai"].state, direct["openai"].todo) == ("off", "pip install openai")
    assert (direct["mcp"].state, direct["mcp"].todo) == ("off", "pip install 'yume_shim[mcp]'")
    assert direct["packages"].text == "15 of 16: a lean installation"
    assert is_fine(list(direct.values()))
    assert next_step(list(machine.install_lines("sdk"))) == "pip install openai"
    # google-genai brings opentelemetry-api, which exports nothing
    monkeypatch.setattr(machine, "is_there", lambda module: module != "opentelemetry.sdk")
    assert "opentelemetry-sdk" in [line.name for line in machine.install_lines("") if line.state == "off"]


def test_the_folder_of_sessions(tmp_path: Path) -> None:
    assert [line.state for line in session_lines(str(tmp_path / "later"))] == ["off"]
    (tmp_path / "file").write_text("")
    assert [line.state for line in session_lines(str(tmp_path / "file"))] == ["wrong"]
    project = tmp_path / "projects" / "-ws"
    project.mkdir(parents=True)
    (project / "11111111-1111-4111-8111-111111111111.jsonl").write_text("not a transcript\n")
    folder, disk = session_lines(str(tmp_path / "projects"))
    assert "not a session: 11111111" in folder.text
    assert disk.name == "disk"


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX terminals")
def test_a_server_that_hangs_is_named_while_it_is_waited_for(tmp_path: Path) -> None:
    from tests.helpers.terminals import Terminal

    servers = {"mcpServers": {"stuck": {"command": sys.executable, "args": ["-c", "input()"]}}}
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / ".claude.json").write_text(json.dumps(servers))
    env = child.clean_environment(tmp_path, ANTHROPIC_API_KEY=KEY, MCP_TIMEOUT="500")
    with Terminal(["doctor"], cwd=tmp_path, env=env, on=(0, 2)) as terminal:
        assert terminal.end() == 1
    assert terminal.seen == "Starting the MCP servers: stuck …\n"
    assert "✗ stuck " in terminal.piped.decode()


def test_output_for_people_and_programs() -> None:
    lines = [Line("A", "one", "ok", "x\x1b[2J"), Line("B", "two", "wrong", "broken", "mend it")]
    assert as_text(lines, "done").splitlines()[2:] == [
        "A",
        "  ✓ one            x",
        "",
        "B",
        "  ✗ two            broken → mend it",
        "",
        "Do this next: mend it",
    ]
    assert json.loads(as_json(lines[:1], "done"))["next"] == "done"
