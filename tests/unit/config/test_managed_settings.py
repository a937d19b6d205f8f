"""Managed settings: where they come from, what they override, and that nothing lifts what they forbid."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from yume_shim.cli.argv import parse
from yume_shim.config.build import build_settings
from yume_shim.config.claude_settings import HONOURED, IGNORED, KEYS, UNMET
from yume_shim.config.setting_sources import SettingSources
from yume_shim.config.settings_files import managed_folder
from yume_shim.types.errors import BadInvocation
from yume_shim.types.settings import LeftOut, Rules

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.types.settings import Settings

HOOK = {"PreToolUse": [{"hooks": [{"type": "command", "command": "true"}]}]}


class Desk:
    """Folders for every layer."""

    def __init__(self, base: Path) -> None:
        self.home, self.cwd, self.managed = base / "home", base / "ws", base / "managed"
        for folder in (self.home / ".claude", self.cwd / ".claude"):
            folder.mkdir(parents=True)
        self.logged: list[str] = []

    def write(self, layer: str, data: Any, name: str = "") -> None:
        self.managed.mkdir(exist_ok=True)
        path = {
            "user": self.home / ".claude" / "settings.json",
            "project": self.cwd / ".claude" / "settings.json",
            "local": self.cwd / ".claude" / "settings.local.json",
            "managed": self.managed / (name or "managed-settings.json"),
        }[layer]
        path.parent.mkdir(exist_ok=True)
        path.write_text(data if isinstance(data, str) else json.dumps(data))

    def build(self, *argv: str, **env: str) -> Settings:
        parsed = parse(argv)
        assert parsed.errors == ()
        return build_settings(
            SettingSources(
                parsed.values,
                parsed.words,
                flat=parsed.is_flat(),
                env={"HOME": str(self.home), "IS_SANDBOX": "1", **env},
                cwd=str(self.cwd),
                log=lambda level, message: self.logged.append(message),
                managed=str(self.managed),
            )
        )


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_the_folder_of_each_system(monkeypatch: pytest.MonkeyPatch) -> None:
    folders = {
        "linux": "/etc/claude-code",
        "darwin": "/Library/Application Support/ClaudeCode",
        "win32": "C:\\Program Files\\ClaudeCode",
    }
    for platform, folder in folders.items():
        monkeypatch.setattr(sys, "platform", platform)
        assert managed_folder() == folder


# ---------------------------------------------------------------- precedence


def test_each_layer_overrides_the_ones_before(desk: Desk) -> None:
    argv = ["--trust"]
    seen = []
    for layer in ("user", "project", "local"):
        desk.write(layer, {"env": {"WHO": layer}, "model": f"m-{layer}", "permissions": {"deny": [f"mcp__{layer}"]}})
        seen.append(desk.build(*argv))
    given = {"env": {"WHO": "flag"}, "model": "m-flag", "permissions": {"deny": ["mcp__flag"]}}
    argv += ["--settings", json.dumps(given)]
    seen.append(desk.build(*argv))
    given = {"env": {"WHO": "host"}, "model": "m-host", "permissions": {"deny": ["mcp__host"]}}
    argv += ["--managed-settings", json.dumps(given)]
    seen.append(desk.build(*argv))
    desk.write("managed", {"env": {"WHO": "managed"}, "model": "m-managed", "permissions": {"deny": ["mcp__managed"]}})
    seen.append(desk.build(*argv))
    desk.write("managed", {"env": {"WHO": "more"}}, "managed-settings.d/20.json")
    desk.write("managed", {"env": {"WHO": "less"}}, "managed-settings.d/10.json")
    desk.write("managed", {"env": {"WHO": "never"}}, "managed-settings.d/.hidden.json")
    seen.append(desk.build(*argv))
    names = ["user", "project", "local", "flag", "host", "managed", "more"]
    assert [settings.env["WHO"] for settings in seen] == names
    assert [settings.model.name for settings in seen] == [*(f"m-{name}" for name in names[:-1]), "m-managed"]
    assert seen[-1].permissions.rules.deny == tuple(f"mcp__{name}" for name in names[:-1])
    assert seen[-1].permissions.managed.deny == ("mcp__host", "mcp__managed")
    assert desk.build(*argv, "--model", "m-given").model.name == "m-given"


def test_setting_sources_do_not_leave_managed_settings_out(desk: Desk) -> None:
    desk.write("user", {"permissions": {"deny": ["Read"]}})
    desk.write("managed", {"permissions": {"deny": ["Bash"]}})
    assert desk.build("--setting-sources", "").permissions.rules == Rules((), (), ("Bash",))
    assert "Bash" in desk.build("--restricted").permissions.rules.deny


def test_the_environment_of_the_process_is_overridden(desk: Desk) -> None:
    desk.write("managed", {"env": {"HTTPS_PROXY": "http://proxy:1"}})
    assert desk.build(HTTPS_PROXY="http://mine:1").env["HTTPS_PROXY"] == "http://proxy:1"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{\n\n]", "line 3: not valid JSON"),
        ("[]", "line 1: not a JSON object"),
        ('{\n"permissions": {"deny": "Bash"}}', "line 2: `permissions.deny` must be a list of strings"),
    ],
)
def test_a_policy_that_cannot_be_read_ends_the_start(desk: Desk, content: str, said: str) -> None:
    desk.write("managed", content)
    with pytest.raises(BadInvocation) as refused:
        desk.build()
    assert refused.value.message == f"the managed settings {desk.managed}{os.sep}managed-settings.json, {said}"
    desk.write("managed", "{}")
    desk.write("managed", content, "managed-settings.d/1.json")
    with pytest.raises(BadInvocation):
        desk.build()


def test_a_policy_that_is_no_file_ends_the_start(desk: Desk) -> None:
    (desk.managed / "managed-settings.json").mkdir(parents=True)
    with pytest.raises(BadInvocation, match="cannot be read"):
        desk.build()


def test_the_flag_takes_a_file(desk: Desk) -> None:
    (desk.cwd / "m.json").write_text('{"permissions": {"deny": ["Bash"]}}')
    assert desk.build("--managed-settings", str(desk.cwd / "m.json")).permissions.managed.deny == ("Bash",)
    for wrong in ("missing.json", "{"):
        with pytest.raises(BadInvocation):
            desk.build("--managed-settings", wrong)


def test_a_misspelt_key_is_named_with_its_line(desk: Desk) -> None:
    desk.write("managed", '{\n"allowManagedHookOnly": true}')
    desk.build()
    said = (
        f"{os.path.join(desk.managed, 'managed-settings.json')}, line 2: unknown key `allowManagedHookOnly`."
        " Did you mean 'allowManagedHooksOnly'?"
    )
    assert desk.logged == [said]


# ---------------------------------------------------------------- what only managed settings can do


def test_only_managed_permission_rules_allow(desk: Desk) -> None:
    desk.write("user", {"permissions": {"allow": ["Read"], "ask": ["LS"], "deny": ["Write"]}})
    desk.write("managed", {"permissions": {"allow": ["Grep"]}, "allowManagedPermissionRulesOnly": True})
    flags = ("--settings", '{"permissions":{"allow":["Edit"]}}', "--allowedTools", "Bash")
    host = '{"permissions":{"allow":["Glob"]}}'
    permissions = desk.build(*flags, "--managed-settings", host).permissions
    assert permissions.rules == Rules(("Grep",), ("LS",), ("Write",))
    assert permissions.managed_only
    desk.write("user", {"allowManagedPermissionRulesOnly": True, "permissions": {"allow": ["Read"]}})
    desk.write("managed", {})
    assert desk.build().permissions.rules.allow == ("Read",)


@pytest.mark.parametrize("layer", ["managed", "user", "project"])
def test_bypass_can_be_disabled(desk: Desk, layer: str) -> None:
    desk.write(layer, {"permissions": {"disableBypassPermissionsMode": "disable"}})
    for argv in (
        ("--dangerously-skip-permissions",),
        ("--permission-mode", "bypassPermissions"),
        ("--permission-mode", "auto"),
        ("--settings", '{"permissions":{"defaultMode":"bypassPermissions"}}'),
        ("-p", "hi", "--dangerously-skip-permissions"),
    ):
        permissions = desk.build(*argv, "--allow-dangerously-skip-permissions").permissions
        assert (permissions.mode, permissions.allow_bypass, permissions.no_bypass) == ("default", False, True), argv


def test_only_managed_hooks(desk: Desk) -> None:
    desk.write("user", {"hooks": HOOK})
    desk.write("managed", {"hooks": HOOK, "allowManagedHooksOnly": True})
    settings = desk.build("--settings", json.dumps({"hooks": {"Stop": []}}))
    assert [name for name, _ in settings.hooks.sources] == ["managed"]
    assert settings.left_out == (
        LeftOut("hooks", "PreToolUse", "user", "managed"),
        LeftOut("hooks", "Stop", "--settings", "managed"),
    )
    desk.write("managed", {"allowManagedHooksOnly": "yes"})  # a policy that is written wrongly holds
    assert desk.build().hooks.sources == ()
    desk.write("managed", {"allowManagedHooksOnly": False})
    assert [name for name, _ in desk.build().hooks.sources] == ["user"]


def test_others_cannot_disable_managed_hooks(desk: Desk) -> None:
    desk.write("user", {"hooks": HOOK, "disableAllHooks": True})
    desk.write("managed", {"hooks": HOOK})
    assert [name for name, _ in desk.build().hooks.sources] == ["managed"]
    desk.write("managed", {"hooks": HOOK, "disableAllHooks": True})
    assert desk.build().hooks.sources == ()


# ---------------------------------------------------------------- MCP servers


SERVERS = {
    "a": {"command": "run", "args": ["a"]},
    "b": {"command": "run", "args": ["b"]},
    "web": {"type": "http", "url": "https://mcp.example.com/v1"},
    "host": {"type": "sdk"},
}


@pytest.mark.parametrize(
    ("data", "left"),
    [
        ({"deniedMcpServers": [{"serverName": "a"}]}, ["b", "web", "host"]),
        ({"deniedMcpServers": [{"serverCommand": ["run", "b"]}]}, ["a", "web", "host"]),
        ({"deniedMcpServers": [{"serverUrl": "https://*.example.com/*"}]}, ["a", "b", "host"]),
        ({"allowedMcpServers": []}, ["host"]),
        ({"allowedMcpServers": "all"}, ["host"]),
        ({"allowedMcpServers": [{"serverName": "a"}]}, ["a", "host"]),
        ({"allowedMcpServers": [{"serverName": "a"}, {"serverName": "web"}]}, ["a", "web", "host"]),
        ({"allowedMcpServers": [{"serverName": "a"}, {"serverCommand": ["run", "b"]}]}, ["b", "host"]),
        ({"allowedMcpServers": [{"serverName": "b"}], "deniedMcpServers": [{"serverName": "b"}]}, ["host"]),
    ],
)
def test_admission_of_servers(desk: Desk, data: dict[str, Any], left: list[str]) -> None:
    desk.write("managed", data)
    settings = desk.build("--mcp-config", json.dumps({"mcpServers": SERVERS}))
    assert [server.name for server in settings.mcp.servers] == left
    assert [entry.name for entry in settings.left_out] == [name for name in SERVERS if name not in left]


def test_only_the_managed_list_of_servers(desk: Desk) -> None:
    desk.write("user", {"allowedMcpServers": [{"serverName": "b"}]})
    desk.write("managed", {"allowedMcpServers": [{"serverName": "a"}]})
    given = ("--mcp-config", json.dumps({"mcpServers": SERVERS}))
    assert [server.name for server in desk.build(*given).mcp.servers] == ["a", "b", "host"]
    desk.write("managed", {"allowedMcpServers": [{"serverName": "a"}], "allowManagedMcpServersOnly": True})
    assert [server.name for server in desk.build(*given).mcp.servers] == ["a", "host"]


def test_only_managed_domains_of_the_sandbox(desk: Desk) -> None:
    desk.write(
        "user",
        {"sandbox": {"network": {"allowedDomains": ["a.com"]}}, "permissions": {"allow": ["WebFetch(domain:b.com)"]}},
    )
    desk.write("managed", {"sandbox": {"network": {"allowedDomains": ["c.com"], "allowManagedDomainsOnly": True}}})
    assert desk.build().tools.claude_sandbox.domains == ("c.com",)


# ---------------------------------------------------------------- keys that other layers share


def test_additional_directories(desk: Desk) -> None:
    desk.write("user", {"permissions": {"additionalDirectories": ["~/more", "../side", "~"]}})
    base = desk.home.parent
    found = desk.build("--add-dir", "x").permissions.add_dirs
    assert found == (str(desk.cwd / "x"), str(base / "home/more"), str(base / "side"), str(base / "home"))
    desk.write("local", "{broken")
    assert desk.build().permissions.add_dirs == ()


def test_effort_thinking_and_compaction(desk: Desk) -> None:
    desk.write("user", {"effortLevel": "low", "alwaysThinkingEnabled": True, "autoCompactWindow": 200_000})
    desk.write("project", {"effortLevel": "max", "alwaysThinkingEnabled": False, "autoCompactWindow": 300_000})

    def chosen(*argv: str) -> tuple[object, ...]:
        settings = desk.build(*argv)
        return settings.model.effort, settings.model.thinking, settings.history.compact_tokens

    assert chosen() == ("low", "default", 200_000)
    assert chosen("--trust") == ("max", "disabled", 300_000)
    flags = ("--effort", "high", "--thinking", "adaptive", "--autocompact", "auto")
    assert chosen("--trust", *flags) == ("high", "adaptive", None)
    desk.write("user", {"effortLevel": "huge", "autoCompactWindow": -5})
    assert chosen() == (None, "default", None)
    assert "effortLevel of the user settings 'huge' is not one of" in desk.logged[-1]


def test_every_key_is_in_one_list() -> None:
    assert not HONOURED.keys() & IGNORED.keys()
    assert set(UNMET) <= IGNORED.keys(), "what is honoured must not be called ineffective"
    assert len(KEYS) == len(set(KEYS))
