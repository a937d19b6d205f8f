"""When a folder is trusted, and what an untrusted one may start, in each mode."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from yume_shim.cli.argv import parse
from yume_shim.config.build import build_settings
from yume_shim.config.setting_sources import SettingSources
from yume_shim.config.trust import MAX_RECORDED, decide, record_path, remember
from yume_shim.types.errors import BadInvocation
from yume_shim.types.settings import LeftOut

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.config.trust import Trust
    from yume_shim.types.settings import Settings

CLAUDE_FORM = ("-p", "hi")
HOOKS = {"PreToolUse": [{"hooks": [{"type": "command", "command": "true"}]}]}


class Desk:
    """A home, and a folder whose files configure a hook and a server."""

    def __init__(self, base: Path) -> None:
        self.home, self.cwd = base / "home", base / "code" / "ws"
        self.home.mkdir()
        (self.cwd / ".claude").mkdir(parents=True)
        self.env = {"HOME": str(self.home)}
        self.logged: list[str] = []

    def project(self, **data: Any) -> None:
        (self.cwd / ".claude" / "settings.json").write_text(json.dumps(data))
        (self.cwd / ".mcp.json").write_text(json.dumps({"mcpServers": {"words": {"command": "x"}}}))

    def config(self, text: str) -> None:
        (self.home / ".yume").mkdir(exist_ok=True)
        (self.home / ".yume" / "config.toml").write_text(text)

    def accepted(self, folder: Path, answer: object = True) -> None:
        data = {"projects": {str(folder): {"hasTrustDialogAccepted": answer}}}
        (self.home / ".claude.json").write_text(json.dumps(data))

    def build(self, *argv: str, **env: str) -> Settings:
        parsed = parse(argv)
        assert parsed.errors == ()
        return build_settings(
            SettingSources(
                parsed.values,
                parsed.words,
                flat=parsed.is_flat(),
                env={**self.env, **env},
                cwd=str(self.cwd),
                log=lambda level, message: self.logged.append(message),
            )
        )

    def decide(self, *, by_flag: bool = False, flat: bool = True, **config: Any) -> Trust:
        return decide(str(self.cwd), self.env, config, by_flag=by_flag, flat=flat)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def started(settings: Settings) -> tuple[list[str], list[str]]:
    return [name for name, _ in settings.hooks.sources], [server.name for server in settings.mcp.servers]


STARTED = (["project"], ["words"])
NOTHING: tuple[list[str], list[str]] = ([], [])


def left_out(reason: Any) -> tuple[LeftOut, ...]:
    return LeftOut("mcp_server", "words", "project", reason), LeftOut("hooks", "PreToolUse", "project", reason)


# ---------------------------------------------------------------- what makes a folder trusted


def test_an_unknown_folder_is_not_trusted(desk: Desk) -> None:
    assert not desk.decide().trusted
    assert not desk.decide(flat=False).trusted


def test_the_flag(desk: Desk) -> None:
    assert desk.decide(by_flag=True).trusted


@pytest.mark.parametrize("above", [0, 1, 2])
def test_the_dialog_of_the_claude_cli_counts_for_the_folder_and_those_below(desk: Desk, above: int) -> None:
    folder = [desk.cwd, *desk.cwd.parents][above]
    desk.accepted(folder)
    assert desk.decide().trusted


@pytest.mark.parametrize("answer", [False, "true", 1, None])
def test_only_true_counts(desk: Desk, answer: object) -> None:
    desk.accepted(desk.cwd, answer)
    assert not desk.decide().trusted


def test_a_folder_below_or_beside_does_not_count(desk: Desk) -> None:
    for other in (desk.cwd / "sub", desk.cwd.with_name("ws2"), desk.cwd.with_name("w")):
        desk.accepted(other)
        assert not desk.decide().trusted


@pytest.mark.parametrize("content", ["", "[]", "{", '{"projects": 5}', '{"projects": {"/": 7}}'])
def test_a_broken_file_trusts_nothing(desk: Desk, content: str) -> None:
    (desk.home / ".claude.json").write_text(content)
    assert not desk.decide().trusted


def test_always_for_a_folder_of_the_config_file(desk: Desk) -> None:
    always = {"trust": "always"}
    assert desk.decide(folders={str(desk.cwd): always}).trusted
    assert desk.decide(folders={str(desk.cwd.parent) + "/": always}).trusted
    assert not desk.decide(folders={str(desk.cwd / "sub"): always}).trusted
    assert not desk.decide(folders={"ws": always, "": always}).trusted
    nearer = {str(desk.cwd.parent): always, str(desk.cwd): {"trust": "strict"}}
    assert not desk.decide(folders=nearer).trusted


def test_a_home_folder_in_the_config_file(desk: Desk) -> None:
    inside = desk.home / "p"
    inside.mkdir()
    for path in ("~", "~/p"):
        found = decide(str(inside), desk.env, {"folders": {path: {"trust": "always"}}}, by_flag=False, flat=True)
        assert found.trusted


# ---------------------------------------------------------------- the modes


def test_default_modes(desk: Desk) -> None:
    assert (desk.decide().mode, desk.decide(flat=False).mode) == ("strict", "as-claude")
    assert desk.decide(flat=False, trust="strict").mode == "strict"
    assert desk.decide(trust="as-claude", folders={str(desk.cwd): {"trust": "ask"}}).mode == "ask"


def test_strict_and_as_claude(desk: Desk) -> None:
    desk.project(hooks=HOOKS)
    settings = desk.build()
    assert (started(settings), settings.left_out) == (NOTHING, left_out("untrusted"))
    assert len([text for text in desk.logged if "not trusted" in text]) == 2
    settings = desk.build(*CLAUDE_FORM)
    assert (started(settings), settings.left_out) == (STARTED, ())
    assert started(desk.build(YUME_TRUST="as-claude")) == STARTED
    assert started(desk.build(*CLAUDE_FORM, YUME_TRUST="strict")) == NOTHING
    desk.config('trust = "strict"')
    assert started(desk.build(*CLAUDE_FORM)) == NOTHING


@pytest.mark.parametrize("form", [(), CLAUDE_FORM])
def test_a_trusted_folder_starts_everything(desk: Desk, form: tuple[str, ...]) -> None:
    desk.project(hooks=HOOKS, permissions={"allow": ["Bash"]}, env={"A": "1"})
    settings = desk.build(*form, "--trust", YUME_TRUST="strict")
    assert (started(settings), settings.left_out) == (STARTED, ())
    assert (settings.permissions.rules.allow, settings.env["A"]) == (("Bash",), "1")


def test_as_claude_starts_but_grants_nothing(desk: Desk) -> None:
    granted = {
        "permissions": {
            "allow": ["Bash"],
            "deny": ["Write"],
            "defaultMode": "acceptEdits",
            "additionalDirectories": ["/etc"],
        },
        "env": {"A": "1"},
        "apiKeyHelper": "echo key",
        "disableAllHooks": True,
    }
    desk.project(hooks=HOOKS, **granted)
    settings = desk.build(*CLAUDE_FORM)
    assert started(settings) == STARTED
    permissions = settings.permissions
    assert (permissions.rules.allow, permissions.rules.deny, permissions.mode) == ((), ("Write",), "default")
    assert (permissions.add_dirs, settings.credentials.key_helper, settings.env.get("A")) == ((), "", None)
    assert [entry.name for entry in settings.left_out] == [
        *("permissions.allow", "permissions.defaultMode", "permissions.additionalDirectories"),
        *("env", "apiKeyHelper", "disableAllHooks"),
    ]


def test_ask_holds_back_what_the_answer_decides(desk: Desk) -> None:
    desk.project(hooks=HOOKS)
    settings = desk.build(YUME_TRUST="ask")
    assert (started(settings), settings.left_out) == (NOTHING, left_out("asking"))
    assert (settings.hooks.sources_if_trusted, settings.mcp.servers_if_trusted[0].name) == (
        (("project", HOOKS),),
        "words",
    )
    remember(str(desk.cwd), desk.env, False)
    settings = desk.build(YUME_TRUST="ask")
    assert (settings.hooks.sources_if_trusted, settings.mcp.servers_if_trusted, settings.left_out) == (
        (),
        (),
        left_out("untrusted"),
    )
    remember(str(desk.cwd), desk.env, True)
    assert started(desk.build(YUME_TRUST="ask")) == STARTED
    assert started(desk.build(YUME_TRUST="strict")) == NOTHING  # the answer was given to the mode that asks


@pytest.mark.parametrize("text", ['trust = "yes"', "trust = true", '[folders."/x"]\ntrust = "sometimes"'])
def test_a_wrong_mode_is_refused(desk: Desk, text: str) -> None:
    desk.config(text)
    with pytest.raises(BadInvocation, match="trust` must be"):
        desk.build()


def test_a_wrong_variable_is_refused(desk: Desk) -> None:
    desk.project(hooks=HOOKS)
    with pytest.raises(BadInvocation, match="YUME_TRUST must be strict, as-claude or ask, not 'maybe'"):
        desk.build(YUME_TRUST="maybe")


def test_a_project_cannot_choose_its_own_trust(desk: Desk) -> None:
    desk.project(hooks=HOOKS, trust="always", env={"YUME_TRUST": "as-claude"}, folders={str(desk.cwd): "always"})
    assert started(desk.build()) == NOTHING


def test_servers_of_an_untrusted_folder_cannot_name_keys(desk: Desk) -> None:
    servers = {"web": {"type": "http", "url": "http://x/${ANTHROPIC_API_KEY}/${MY_KEY}/${CITY}"}}
    (desk.cwd / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    desk.config('[endpoints.mine]\napi = "openai-chat"\nbase_url = "http://127.0.0.1:1"\nkey_vars = ["MY_KEY"]')
    env = {"ANTHROPIC_API_KEY": "k-1", "MY_KEY": "k-2", "CITY": "Rome"}
    [server] = desk.build(*CLAUDE_FORM, **env).mcp.servers
    assert server.url == "http://x/${ANTHROPIC_API_KEY}/${MY_KEY}/Rome"
    assert desk.logged[0] == "MCP server web: the variable ANTHROPIC_API_KEY is not set"
    [server] = desk.build(*CLAUDE_FORM, "--trust", **env).mcp.servers
    assert server.url == "http://x/k-1/k-2/Rome"


# ---------------------------------------------------------------- the record of answers


def test_a_no_is_for_one_folder_a_yes_for_those_below_too(desk: Desk) -> None:
    remember(str(desk.cwd.parent), desk.env, False)
    assert desk.decide(trust="ask").asks
    remember(str(desk.cwd.parent), desk.env, True)
    assert desk.decide(trust="ask").trusted
    remember(str(desk.cwd), desk.env, False)
    found = desk.decide(trust="ask")
    assert (found.trusted, found.asks) == (False, False)


def test_the_record_is_private_and_bounded(desk: Desk) -> None:
    path = record_path(desk.env)
    os.makedirs(os.path.dirname(path))
    with open(path, "w") as file:
        json.dump({"folders": {f"/f/{n}": True for n in range(MAX_RECORDED)} | {"/odd": "yes"}}, file)
    remember(str(desk.cwd), desk.env, True)
    with open(path) as file:
        folders = json.load(file)["folders"]
    assert (len(folders), "/f/0" in folders, "/odd" in folders) == (MAX_RECORDED, False, False)
    assert list(folders)[-1] == str(desk.cwd)
    assert os.name == "nt" or os.stat(path).st_mode & 0o077 == 0
    assert os.listdir(os.path.dirname(path)) == ["trust.json"]


@pytest.mark.parametrize("content", ["", "[]", '{"folders": []}', '{"folders": {"/": "yes"}}'])
def test_a_broken_record_is_no_answer(desk: Desk, content: str) -> None:
    (desk.home / ".yume").mkdir()
    (desk.home / ".yume" / "trust.json").write_text(content)
    assert desk.decide(trust="ask").asks


def test_a_record_inside_the_workspace_does_not_count(desk: Desk) -> None:
    env = {"HOME": str(desk.cwd)}
    (desk.cwd / ".yume").mkdir()
    (desk.cwd / ".yume" / "trust.json").write_text(json.dumps({"folders": {str(desk.cwd): True}}))
    assert decide(str(desk.cwd), env, {"trust": "ask"}, by_flag=False, flat=True).asks
    with pytest.raises(OSError, match="inside the folder"):
        remember(str(desk.cwd), env, True)


def test_in_the_home_folder_the_settings_file_is_the_users(desk: Desk) -> None:
    desk.cwd = desk.home
    (desk.home / ".claude").mkdir()
    (desk.home / ".claude" / "settings.json").write_text(json.dumps({"hooks": HOOKS, "apiKeyHelper": "echo k"}))
    settings = desk.build()
    assert (settings.hooks.sources, settings.credentials.key_helper) == ((("user", HOOKS),), "echo k")
    assert desk.logged == []


def test_rules_and_variables_wait_for_the_answer(desk: Desk) -> None:
    env = {"A": "1", "HOME": "/x", "OPENAI_BASE_URL": "http://x", "HTTPS_PROXY": "x"}
    desk.project(permissions={"allow": ["Bash(make *)"], "defaultMode": "plan"}, env=env)
    settings = desk.build(YUME_TRUST="ask")
    waiting = settings.permissions
    assert (waiting.allow_if_trusted, waiting.variables_if_trusted) == (("Bash(make *)",), {"A": "1"})
    assert waiting.rules.allow == ()
    reasons = {entry.name: entry.reason for entry in settings.left_out}
    assert reasons == {
        "env": "asking",
        "permissions.allow": "asking",
        "permissions.defaultMode": "untrusted",
        "words": "asking",
    }
    for mode in ("strict", "as-claude"):
        settings = desk.build(YUME_TRUST=mode)
        assert (settings.permissions.allow_if_trusted, settings.permissions.variables_if_trusted) == ((), {})
