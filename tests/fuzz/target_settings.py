"""Configuration: settings files, `.mcp.json`, config.toml, the command line, the files in which facts are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fuzz.harness import Target
from yume_shim.cli.argv import parse
from yume_shim.cli.flags import FLAGS
from yume_shim.config.build import build_settings
from yume_shim.config.hook_settings import hook_settings
from yume_shim.config.profiles import read_profile
from yume_shim.config.setting_sources import SettingSources
from yume_shim.extensions.hooks.reading import hooks_of_settings
from yume_shim.extensions.mcp import tokens
from yume_shim.gate.permissions import Permissions
from yume_shim.providers.facts.fact_file import FactFile
from yume_shim.store.error_records import add_error, errors_path, read_errors
from yume_shim.text import codec
from yume_shim.types.blocks import ToolCall
from yume_shim.types.errors import BadInvocation

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.types.blocks import Json
    from yume_shim.types.settings import Settings

NAMES = ("settings", "mcp-config", "config", "argv", "kept-facts")
HOOK = {"type": "command", "command": "echo", "timeout": 5, "if": "Bash(git *)", "onFailure": "block", "once": True}
SETTINGS: tuple[Json, ...] = (
    {"model": "opus", "permissions": {"allow": ["Bash(ls:*)"], "deny": ["Read(./.env)"], "ask": ["Write"],
     "defaultMode": "acceptEdits", "additionalDirectories": ["../x"], "disableBypassPermissionsMode": "disable"},
     "env": {"A": "b", "PATH": "/x"}, "cleanupPeriodDays": 20, "apiKeyHelper": "echo k", "outputStyle": "x"},
    {"hooks": {"PreToolUse": [{"matcher": "Bash|Edit", "hooks": [HOOK, {"type": "http", "url": "http://127.0.0.1/",
     "headers": {"A": "b"}, "allowedEnvVars": ["X"]}, {"type": "prompt", "prompt": "p", "model": "m"}]}],
     "Stop": [{"hooks": [HOOK]}]}, "disableAllHooks": False, "allowedHttpHookUrls": ["*"]},
    {"enabledPlugins": {"a@b": True}, "extraKnownMarketplaces": {"b": {"source": {"source": "github", "repo": "x/y"}}},
     "enableAllProjectMcpServers": True, "allowedMcpServers": [{"serverName": "x"}], "deniedMcpServers": []},
    {"sandbox": {"enabled": True, "autoAllowBashIfSandboxed": True, "excludedCommands": ["git"],
     "network": {"allowedDomains": ["*.x.org"], "allowUnixSockets": []}, "filesystem": {"denyRead": ["~/.ssh"]}},
     "temperature": 0.5, "maxTurns": 3, "thinking": {"budget": 1000}, "alwaysThinkingEnabled": True},
)  # fmt: skip
MCP: tuple[Json, ...] = (
    {"mcpServers": {"a": {"command": "run", "args": ["x"], "env": {"K": "${HOME:-x}"}, "timeout": 5000},
     "b": {"type": "http", "url": "https://x/${A}", "headers": {"H": "v"}, "headersHelper": "sh"},
     "c": {"type": "sse", "url": "http://127.0.0.1", "oauth": {"clientId": "i", "callbackPort": 7}}}},
)  # fmt: skip
CONFIG = (
    (
        b'model = "openai/gpt-5"\nsmall_model = "x"\nfallback_models = ["a", "b"]\nmax_tokens = 1000\n'
        b'[providers.own]\nbase_url = "http://127.0.0.1:1/v1"\napi = "openai-chat"\nkey_env = "OWN"\n'
        b'[providers.own.quirks]\nsystem_role = "system"\n[models."own/x"]\ncontext_window = 8000\nprices = [1.0, 2.0]\n'
    ),
    b'[profiles.work]\nprovider = "anthropic"\nkey_env = "K"\n[profiles.all]\nprovider="openai"\nkeys = ["a","b"]\n',
    b'[env]\nA = "b"\n[timeouts]\nidle = 30\n[retry]\nmax = 3\n[trust]\nfolders = ["/w"]\n[sampling]\ntemperature = 1\n',
)
CONFIG_WORDS = (b"[[", b"]]", b"[profiles.", b'"""', b"'''", b" = ", b"inf", b"nan", b"1979-05-27", b"0x", b"{a=", b".")
ARGV = (
    b"-p\nhello\n--output-format\nstream-json\n--verbose\n--model\nopus\n--max-turns\n3",
    b"--resume\n11111111-2222-4333-8444-555555555555\n--fork-session\n--permission-mode=plan\n--settings\n{\"env\":{}}",
    b"--mcp-config\n{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}\n--agents\n{\"r\":{\"description\":\"d\",\"prompt\":\"p\"}}",
    b"--json-schema\n{\"type\":\"object\"}\n--allowedTools\nRead,Bash(git *)\n--add-dir\n/tmp\n--\nwords",
)  # fmt: skip
FACT = {"openai/x": {"asked": {"at": 999, "until": 1999, "value": {"window": 8000}}}}
KEPT = (
    codec.dumps(FACT),
    b'{"code":"auth","at":"2026-01-01"}\n{"code":"x"}\n',
    codec.dumps({"https://x/": {"access_token": "t", "expires_at": 1, "refresh_token": "r"}}),
)
CALL = ToolCall("c", "Bash", {"command": "git status"})
NOW = 1_000.0


class Files:
    """A home and a workspace, and settings that are read from them."""

    def __init__(self, folder: Path) -> None:
        self.home, self.work = folder / "home", folder / "work"
        for place in (self.home / ".claude", self.home / ".yume", self.work / ".claude"):
            place.mkdir(parents=True)
        self.env = {"HOME": str(self.home), "PATH": "/nowhere"}

    def settings(self, *argv: str) -> Settings | None:
        """The settings; None where the program refuses to start."""
        parsed = parse(argv)
        if parsed.errors:
            assert all(parsed.errors)
            return None
        try:
            sources = SettingSources(
                *(parsed.values, parsed.words),
                flat=parsed.is_flat(),
                env=self.env,
                cwd=str(self.work),
                log=lambda level, text: None,
                managed=str(self.home / "managed"),
            )
            made = build_settings(sources)
            hook_settings(sources)
            Permissions(made, str(self.work), str(self.home), parsed.is_flat(), lambda level, text: None)
        except BadInvocation as bad:
            codec.dumps({"message": bad.message})
            assert bad.message
            return None
        return made


def open_target(name: str, folder: Path) -> Target:
    """The target of this name."""
    files = Files(folder)
    if name == "settings":
        users = files.home / ".claude" / "settings.json"
        seeds = tuple(codec.dumps(item) for item in SETTINGS)
        return Target(name, lambda data: check_file(files, users, data), seeds)
    if name == "mcp-config":
        return Target(
            name, lambda data: check_file(files, files.work / ".mcp.json", data), tuple(map(codec.dumps, MCP))
        )
    if name == "config":
        place = files.home / ".yume" / "config.toml"
        return Target(name, lambda data: check_file(files, place, data), CONFIG, CONFIG_WORDS)
    if name == "argv":
        flags = tuple(f"\n{spelling}\n".encode() for flag in FLAGS for spelling in flag.names)
        return Target(name, lambda data: check_argv(files, data), ARGV, (*flags, b"\n", b"=", b"-", b",", b"--"))
    return Target(name, lambda data: check_kept(files, data), KEPT)


def check_file(files: Files, path: Path, data: bytes) -> None:
    """Settings with this file, or a BadInvocation; what it names can be used."""
    path.write_bytes(data)
    made = files.settings("--trust") if path.name == ".mcp.json" else files.settings()
    if made is None:
        return
    for profile, table in made.credentials.profiles.items():
        try:
            read_profile(profile, table, "config.toml")
        except BadInvocation as bad:
            assert bad.message
    parsed = codec.loads_object(data)
    for hook in hooks_of_settings((parsed or {}).get("hooks"), "user"):
        hook.matches("Bash")


def check_argv(files: Files, data: bytes) -> None:
    """Any command line is accepted or refused with a reason."""
    words = data.replace(b"\0", b"").decode("utf-8", "surrogateescape").split("\n")
    files.settings(*words[:40])


def check_kept(files: Files, data: bytes) -> None:
    """Damaged files of facts, errors and tokens are like absent ones, and are written again."""
    place = str(files.home / ".yume" / "facts.json")
    facts = FactFile(place, lambda: NOW, lambda level, text: None)
    errors = errors_path(files.env)
    kept = tokens.tokens_path(files.env)
    for path in (place, errors, kept):
        with open(path, "wb") as file:
            file.write(data)
    facts.get("openai/x", "asked")
    facts.put("a", "asked", {"b": 1}, 60)
    assert facts.get("a", "asked") == {"b": 1}
    add_error(errors, {"code": "auth"})
    assert read_errors(errors)[-1] == {"code": "auth"}
    found = tokens.load("https://x/", files.env)
    assert found is None or isinstance(found, dict)
