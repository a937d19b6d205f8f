"""Plugins and folders of commands: where they come from, what is wrong with them, and what trust allows."""

from __future__ import annotations

import json
import os
import shlex
from typing import TYPE_CHECKING, Any

import pytest

from yume_shim.config.build import build_settings
from yume_shim.config.setting_sources import SettingSources

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.types.settings import Settings

HOOKS = {"Stop": [{"hooks": [{"type": "command", "command": "check"}]}]}


class Desk:
    """A home and a working folder with files, and what was logged."""

    def __init__(self, base: Path) -> None:
        self.home, self.cwd = base / "home", base / "work"
        self.home.mkdir()
        self.cwd.mkdir()
        self.logged: list[str] = []

    def write(self, name: str, data: Any, *, home: bool = False) -> Path:
        path = (self.home if home else self.cwd) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(data if isinstance(data, str) else json.dumps(data), "utf-8")
        return path

    def build(self, *, flat: bool = False, **flags: Any) -> Settings:
        sources = SettingSources(
            {name.replace("_", "-"): given for name, given in flags.items()},
            (),
            flat=flat,
            env={"HOME": str(self.home), "ANTHROPIC_API_KEY": "k"},
            cwd=str(self.cwd),
            log=lambda level, message: self.logged.append(message),
        )
        return build_settings(sources)

    def plugin(self, *names: str) -> Settings:
        return self.build(plugin_dir=tuple(f"plug{name}" for name in names or ("",)))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def below(root: str, *names: str) -> str:
    return os.path.join(root, *names)


def test_all_parts_of_a_plugin_are_found(desk: Desk) -> None:
    desk.write("plug/.claude-plugin/plugin.json", {"name": "kit", "version": "1.0.0", "future": 1})
    desk.write("plug/commands/a.md", "A")
    desk.write("plug/skills/s/SKILL.md", "S")
    desk.write("plug/agents/g.md", "G")
    desk.write("plug/output-styles/o.md", "O")
    desk.write("plug/hooks/hooks.json", {"hooks": HOOKS})
    desk.write("plug/.mcp.json", {"mcpServers": {"srv": {"command": "${CLAUDE_PLUGIN_ROOT}/run", "args": ["x"]}}})
    settings = desk.plugin()
    [plugin] = settings.plugins.used
    root = str(desk.cwd / "plug")
    assert plugin.line() == {"name": "kit", "path": root, "source": "kit@inline", "version": "1.0.0"}
    assert (plugin.agents, plugin.output_styles) == ((below(root, "agents"),), (below(root, "output-styles"),))
    assert [(each.path, each.kind, each.plugin) for each in settings.prompts.prompt_folders] == [
        (below(root, "skills"), "skill", "kit"),
        (below(root, "commands"), "command", "kit"),
    ]
    [server] = settings.mcp.servers
    assert (server.name, server.source, server.command) == ("plugin:kit:srv", "plugin", f"{root}/run")
    assert server.env == {"CLAUDE_PLUGIN_ROOT": root}
    [(name, table)] = settings.hooks.sources
    assert name == "plugin:kit"
    assert table["Stop"][0]["hooks"][0]["command"] == f"export CLAUDE_PLUGIN_ROOT={shlex.quote(root)}; check"
    assert settings.instructions.style_folders == (("kit:", below(root, "output-styles")),)
    assert [(each.path, each.prefix) for each in settings.agents.folders] == [(below(root, "agents"), "kit:")]
    assert settings.plugins.errors == ()
    assert desk.logged == []


def test_a_manifest_names_other_places(desk: Desk) -> None:
    manifest = {
        "name": "kit",
        "commands": ["./c1/a.md", "./c2"],
        "agents": "./g.md",
        "skills": "./more",
        "hooks": HOOKS,
    }
    desk.write("plug/.claude-plugin/plugin.json", {**manifest, "mcpServers": {"m": {"command": "x"}}})
    for name in ("commands/unused.md", "c1/a.md", "c2/b.md", "g.md", "skills/s/SKILL.md", "more/t/SKILL.md"):
        desk.write(f"plug/{name}", "x")
    [plugin] = desk.plugin().plugins.used
    root = str(desk.cwd / "plug")
    assert plugin.commands == (below(root, "c1", "a.md"), below(root, "c2"))
    assert plugin.skills == (below(root, "skills"), below(root, "more"))
    assert plugin.agents == (below(root, "g.md"),)
    assert (len(plugin.hooks), list(plugin.mcp_servers)) == (1, ["m"])


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ("{nope", "is not valid JSON"),
        ([], "it must be an object"),
        ({"version": "1"}, "name: a text is needed"),
        ({"name": "my plugin"}, "name: it cannot have blanks"),
        ({"name": "a:b"}, "name: it cannot have blanks"),
        ({"name": "k", "version": 3, "commands": 5}, "version: it must be a text; commands: each must be a path"),
        ({"name": "k", "commands": ["../out.md"]}, "commands: each must be a path that begins with ./"),
        ({"name": "k", "agents": "/etc"}, "agents: each must be a path"),
        ({"name": "k", "skills": "./a/../../b"}, "skills: each must be a path"),
        ({"name": "k", "hooks": 3}, "hooks: it must be an object or a path"),
    ],
)
def test_a_wrong_manifest_is_named_part_by_part(desk: Desk, manifest: Any, message: str) -> None:
    desk.write("plug/.claude-plugin/plugin.json", manifest)
    desk.write("plug2/commands/a.md", "A")
    settings = desk.plugin("", "2")
    assert [plugin.name for plugin in settings.plugins.used] == ["plug2"]  # the folder's name, without a manifest
    [error] = settings.plugins.errors
    assert (error["plugin"], error["type"], error["path"]) == ("inline[0]", "generic-error", str(desk.cwd / "plug"))
    assert message in error["message"]
    assert [message in text for text in desk.logged] == [True]


def test_a_part_that_cannot_be_read_leaves_the_others(desk: Desk) -> None:
    desk.write("plug/.claude-plugin/plugin.json", {"name": "kit", "commands": ["./missing.md"]})
    desk.write("plug/hooks/hooks.json", "{nope")
    desk.write("plug/.mcp.json", "[]")
    desk.write("plug/skills/s/SKILL.md", "S")
    settings = desk.build(plugin_dir=("plug", "nowhere"))
    found = [(error["plugin"], error["type"]) for error in settings.plugins.errors]
    own = "plug@inline"
    expected = [(own, "path-not-found"), (own, "hook-load-failed"), (own, "mcp-config-invalid")]
    assert found == [*expected, ("inline[1]", "path-not-found")]
    assert len(settings.prompts.prompt_folders) == 1


def test_servers_can_be_left_out(desk: Desk) -> None:
    desk.write("plug/.mcp.json", {"mcpServers": {"srv": {"command": "x"}}})
    assert desk.build(plugin_dir_no_mcp=("plug",)).mcp.servers == ()


def test_managed_settings_keep_out_hooks_of_plugins(desk: Desk) -> None:
    desk.write("plug/hooks/hooks.json", {"hooks": HOOKS})
    settings = desk.build(plugin_dir=("plug",), managed_settings='{"allowManagedHooksOnly": true}')
    assert settings.hooks.sources == ()
    assert [(entry.kind, entry.name, entry.reason) for entry in settings.left_out] == [("hooks", "Stop", "managed")]


# ---------------------------------------------------------------- installed plugins


def install(desk: Desk, **more: Any) -> str:
    root = desk.home / ".claude" / "plugins" / "cache" / "m" / "q" / "1.2.0"
    desk.write(".claude/plugins/cache/m/q/1.2.0/commands/c.md", "C", home=True)
    entries = [{"scope": "user", "installPath": str(root), "version": "1.2.0", **more}]
    desk.write(".claude/plugins/installed_plugins.json", {"version": 2, "plugins": {"q@m": entries}}, home=True)
    return str(root)


def test_an_installed_plugin_is_used_if_the_user_enables_it(desk: Desk) -> None:
    root = install(desk)
    assert desk.build().plugins.used == ()
    desk.write(".claude/settings.json", {"enabledPlugins": {"q@m": True, "gone@m": True}}, home=True)
    settings = desk.build()
    assert [(plugin.source, plugin.root, plugin.name) for plugin in settings.plugins.used] == [("q@m", root, "q")]
    assert [(error["plugin"], error["type"]) for error in settings.plugins.errors] == [("gone@m", "plugin-not-found")]
    assert desk.build(bare=True).plugins.used == ()


def test_an_untrusted_folder_switches_plugins_off_and_never_on(desk: Desk) -> None:
    install(desk)
    desk.write(".claude/settings.json", {"enabledPlugins": {"q@m": True}})
    assert desk.build().plugins.used == ()
    assert [plugin.name for plugin in desk.build(trust=True).plugins.used] == ["q"]
    desk.write(".claude/settings.json", {"enabledPlugins": {"q@m": True}}, home=True)
    desk.write(".claude/settings.json", {"enabledPlugins": {"q@m": False}})
    assert desk.build().plugins.used == ()


def test_a_plugin_of_another_project_is_not_used(desk: Desk) -> None:
    install(desk, scope="project", projectPath="/elsewhere")
    desk.write(".claude/settings.json", {"enabledPlugins": {"q@m": True}}, home=True)
    settings = desk.build()
    assert settings.plugins.used == ()
    assert [error["type"] for error in settings.plugins.errors] == ["plugin-not-found"]


# ---------------------------------------------------------------- folders of commands and skills


def test_folders_of_user_and_project_up_to_the_repository(desk: Desk) -> None:
    desk.write(".claude/skills/u/SKILL.md", "U", home=True)
    desk.write(".claude/commands/p.md", "P")
    above = desk.cwd
    inner = desk.cwd / "inner"
    inner.mkdir()
    desk.cwd = inner
    users = (str(desk.home / ".claude" / "skills"), "user", True)
    assert [(each.path, each.source, each.grants) for each in desk.build().prompts.prompt_folders] == [users]
    (above / ".git").mkdir()
    found = [(each.path, each.source, each.grants) for each in desk.build().prompts.prompt_folders]
    assert found == [users, (str(above / ".claude" / "commands"), "project", True)]
    assert [each.source for each in desk.build(setting_sources="project").prompts.prompt_folders] == ["project"]
    for switch in ("disable_slash_commands", "bare", "restricted"):
        assert desk.build(**{switch: True}).prompts.prompt_folders == ()


@pytest.mark.parametrize(
    ("flat", "trust", "trusted", "grants"),
    [(True, False, False, False), (True, True, True, True), (False, False, False, True), (False, True, True, True)],
)
def test_what_files_of_a_project_may_grant(desk: Desk, flat: bool, trust: bool, trusted: bool, grants: bool) -> None:
    """As in the Claude CLI where `as-claude` holds, which is the default of its forms."""
    desk.write(".claude/commands/p.md", "P")
    [folder] = desk.build(flat=flat, **({"trust": True} if trust else {})).prompts.prompt_folders
    assert (folder.trusted, folder.grants, folder.inside) == (trusted, grants, str(desk.cwd))


def test_files_may_switch_shell_commands_off_and_narrow_skills(desk: Desk) -> None:
    desk.write(".claude/commands/p.md", "P")
    desk.write(".claude/settings.json", {"skillOverrides": {"a": "off", "b": "on", "c": "sometimes"}}, home=True)
    overrides = {"a": "on", "b": "name-only", "d": "off"}
    desk.write(".claude/settings.json", {"skillOverrides": overrides, "disableSkillShellExecution": True})
    prompts = desk.build().prompts
    assert not prompts.prompt_shell
    assert prompts.skill_overrides == {"a": "off", "b": "name-only", "d": "off"}
    assert desk.build(trust=True).prompts.skill_overrides == overrides
