"""Settings from flags, environment and files, and the refusals."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from yume_shim.cli.argv import parse
from yume_shim.config.build import build_settings
from yume_shim.config.setting_sources import SettingSources
from yume_shim.config.settings_files import MAX_CONFIG_BYTES
from yume_shim.types.errors import BadInvocation
from yume_shim.types.settings import HistorySettings, RetrySettings, Rules, Timeouts

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.types.settings import Settings

SID = "11111111-2222-4333-8444-555555555555"


class Start:
    """Builds settings in a scratch home and folder."""

    def __init__(self, base: Path) -> None:
        self.home, self.cwd = base / "home", base / "ws"
        self.home.mkdir()
        self.cwd.mkdir()
        self.logged: list[tuple[str, str]] = []
        self.terminals: tuple[int, ...] = ()

    def __call__(self, *argv: str, **env: str) -> Settings:
        parsed = parse(argv)
        assert parsed.errors == ()
        return build_settings(
            SettingSources(
                parsed.values,
                parsed.words,
                flat=parsed.is_flat(),
                env={"HOME": str(self.home), **env},
                cwd=str(self.cwd),
                log=lambda level, message: self.logged.append((level, message)),
                is_terminal=self.terminals.__contains__,
            )
        )

    def config(self, text: str) -> None:
        (self.home / ".yume").mkdir(exist_ok=True)
        (self.home / ".yume" / "config.toml").write_text(text, encoding="utf-8", newline="")

    def settings_file(self, where: str, data: Any) -> None:
        folder = self.home / ".claude" if where == "user" else self.cwd / ".claude"
        folder.mkdir(exist_ok=True)
        name = "settings.local.json" if where == "local" else "settings.json"
        (folder / name).write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")

    def trust(self) -> None:
        data = {"projects": {str(self.cwd): {"hasTrustDialogAccepted": True}}}
        (self.home / ".claude.json").write_text(json.dumps(data))


@pytest.fixture
def start(tmp_path: Path) -> Start:
    return Start(tmp_path)


def test_without_flags_the_format_is_flat(start: Start) -> None:
    s = start()
    assert (s.host.output_format, s.host.input_format, s.network.on_cut) == ("flat", "lines", "continue")
    assert (s.tools.concurrency, s.host.merge_waiting) == (1, False)


@pytest.mark.parametrize(
    ("terminals", "argv", "typed", "attended", "live", "on_cut"),
    [
        ((0, 1, 2), [], True, False, False, "continue"),
        ((1, 2), [], False, False, False, "continue"),
        ((0, 1, 2), ["-p", "x"], False, True, True, "continue"),
        ((1,), ["-p", "x"], False, False, True, "continue"),
        ((2,), ["-p", "x"], False, True, False, "restart"),
        ((0, 1, 2), ["-p", "x", "--on-cut", "restart"], False, True, False, "restart"),
        ((0, 1, 2), ["-p", "x", "--output-format", "json"], False, True, False, "restart"),
        ((0, 1, 2), ["-p", "x", "--output-format", "flat"], False, True, False, "continue"),
        (
            (2,),
            [*["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]],
            False,
            False,
            False,
            "restart",
        ),
    ],
)
def test_terminals(
    start: Start, terminals: tuple[int, ...], argv: list[str], typed: bool, attended: bool, live: bool, on_cut: str
) -> None:
    start.terminals = terminals
    s = start(*argv)
    assert (s.host.typed, s.host.attended, s.host.live, s.network.on_cut) == (typed, attended, live, on_cut)


def test_claude_formats(start: Start) -> None:
    s = start("-p", "hi")
    assert (s.host.output_format, s.host.input_format, s.host.prompt) == ("text", "text", "hi")
    assert (s.network.on_cut, s.tools.concurrency, s.host.merge_waiting) == ("restart", 8, True)
    s = start("--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "ignored")
    assert (s.host.input_format, s.host.prompt) == ("lines", None)
    s = start("-p", "hi", "--output-format", "flat")
    assert (s.host.output_format, s.host.input_format) == ("flat", "text")


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["-p", "x", "--output-format", "stream-json"], "--verbose"),
        (["--input-format", "stream-json", "--output-format", "json"], "--input-format"),
        (["-p", "x", "--include-partial-messages"], "--include-partial-messages"),
        (["-p", "x", "--replay-user-messages"], "--replay-user-messages"),
        (["--no-stdin"], "--no-stdin needs a prompt"),
        (["-p", "x", "--max-turns", "abc"], "--max-turns"),
        (["-p", "x", "--max-turns", "1.5"], "whole number"),
        (["-p", "x", "--max-budget-usd", "abc"], "positive number"),
        (["-p", "x", "--max-budget-usd", "-1"], "positive number"),
        (["-p", "x", "--session-id", "nope"], "UUID"),
        (["-p", "x", "--system-prompt-file", "missing.txt"], "System prompt file not found"),
        (["-p", "x", "--settings", "{oops"], "Settings file not found: {oops"),
        (["-p", "x", "--permission-mode", "interactive"], "flat"),
        (["--config", "missing.toml"], "missing.toml"),
        (["-p", "x", "--mcp-config", "missing.json"], "Invalid MCP configuration"),
        (["-p", "x", "--mcp-config", "{}"], "Invalid MCP configuration"),
        (["-p", "x", "--agents", "[1]"], "Invalid --agents configuration"),
        (["-p", "x", "--agents", "{oops"], "Invalid --agents configuration"),
        (["-p", "x", "--agents", '{"a":{"prompt":"p"}}'], "'a' needs a `description`"),
        (["-p", "x", "--json-schema", "{oops"], "--json-schema"),
        (["-p", "x", "--json-schema", '{"type":"nope"}'], "--json-schema"),
        (["--autocompact", "soon"], "--autocompact"),
        (["--idle-timeout", "0"], "--idle-timeout"),
        (["--max-retries", "nan"], "--max-retries"),
    ],
)
def test_refusals(start: Start, argv: list[str], words: str) -> None:
    with pytest.raises(BadInvocation) as refused:
        start(*argv)
    assert words in refused.value.message


def test_an_unknown_effort_only_warns(start: Start) -> None:
    assert start("-p", "x", "--effort", "huge").model.effort is None
    assert start.logged[0][0] == "warning"
    assert start("-p", "x", "--effort", "max").model.effort == "max"


def test_config_file(start: Start) -> None:
    start.config(
        """
        provider = "openai"
        model = "gpt-5.5"
        [aliases]
        sonnet = "google/gemini-3.8-flash"
        [keys]
        openai = "from-the-file"
        [retry]
        initial = 0.25
        retries = 7
        [timeouts]
        idle = 5.0
        [env]
        EXTRA = "1"
        HOME = "ignored: already set"
        """
    )
    s = start()
    assert (s.model.default_provider, s.model.name, s.model.provider_model) == ("openai", "gpt-5.5", "gpt-5.5")
    assert s.model.aliases == {"sonnet": "google/gemini-3.8-flash"}
    assert s.credentials.keys == {"openai": "from-the-file"}
    assert s.network.retry == RetrySettings(initial=0.25, retries=7)
    assert s.limits.timeouts == Timeouts(idle=5.0, tool_heartbeat=5.0)
    assert s.env["EXTRA"] == "1"
    assert s.env["HOME"] == str(start.home)


def test_a_byte_order_mark_before_config_and_settings(start: Start) -> None:
    """Editors on Windows write one."""
    start.config("\ufeffmodel = 'gpt-5.5'\r\n")
    start.settings_file("user", "\ufeff" + json.dumps({"permissions": {"deny": ["Read(./secret)"]}}))
    assert (start().model.name, start().permissions.rules.deny[0]) == ("gpt-5.5", "Read(./secret)")


def test_the_history_settings_of_the_config_file(start: Start) -> None:
    start.config(
        "history_trimming = false\nmax_history_tokens = 5000\nkeep_recent_user_turns_in_chained_tool_calls = 3\n"
        "trim_caps = [4000, 800]\nauto_compact = false\n"
        "[retry]\ninitial = 0.5\nmultiplier = 3\ncap = 9\njitter = 0\nretries = 2\n"
    )
    s = start()
    assert s.history == HistorySettings(
        trimming=False,
        max_tokens=5000,
        keep_recent_user_turns_in_chained_tool_calls=3,
        trim_caps=(4000, 800),
        auto_compact=False,
        compact_small=s.history.compact_small,
    )
    assert s.network.retry == RetrySettings(0.5, 3, 9, 0, 2)
    assert start.logged == []


WRONG = (
    *("= 1", "provider = 3", "aliases = 3", "retry = 3", '[retry]\ninitial = "fast"', "[retry]\nretries = 1.5"),
    *("[timeouts]\nidle = 0", 'history_trimming = "no"', "trim_caps = 3", "trim_caps = [0]", "trim_caps = []"),
    *("keep_recent_user_turns_in_chained_tool_calls = 0", "max_history_tokens = true", "[retry]\njitter = -1"),
    *("auto_compact = 1", '[secrets]\nredact_output = "yes"', "[web]\nallow_private = [1]", "fallback = [1]"),
)


@pytest.mark.parametrize("text", WRONG)
def test_an_invalid_config_file_is_refused(start: Start, text: str) -> None:
    start.config(text)
    with pytest.raises(BadInvocation):
        start()


def test_a_config_file_that_is_too_long_is_refused(start: Start) -> None:
    start.config(f"#{'x' * (MAX_CONFIG_BYTES - 1)}")
    start()
    start.config(f"#{'x' * MAX_CONFIG_BYTES}")
    with pytest.raises(BadInvocation, match=r"config\.toml is longer than 131,072 bytes: make it shorter"):
        start()


def test_an_unreadable_config_file_is_reported(start: Start) -> None:
    start()
    assert start.logged == []
    (start.home / ".yume" / "config.toml").mkdir(parents=True)
    start()
    [(level, message)] = start.logged
    assert level == "warning"
    assert message.startswith(f"the config file {start.home / '.yume' / 'config.toml'} is ignored: it cannot be read (")


def test_flags_beat_environment_beats_files(start: Start) -> None:
    start.config('model = "from-file"\nprovider = "openai"')
    assert start().model.name == "from-file"
    assert start(YUME_MODEL="from-env").model.name == "from-env"
    assert start("--model", "from-flag", YUME_MODEL="from-env").model.name == "from-flag"
    s = start("--provider", "google")
    assert (s.model.provider, s.model.default_provider) == ("google", "openai")
    assert start(YUME_PROVIDER="groq").model.default_provider == "groq"
    assert start("--max-retries", "2", CLAUDE_CODE_MAX_RETRIES="9").network.retry.retries == 2
    assert start(CLAUDE_CODE_MAX_RETRIES="9").network.retry.retries == 9


def test_rules_from_flags_and_layers(start: Start) -> None:
    start.settings_file("user", {"permissions": {"allow": ["Read"], "deny": ["Bash(rm:*)"]}})
    s = start("--allowedTools", "Bash(git log, git status) Edit", "--disallowedTools", "WebFetch,LS")
    assert s.permissions.rules == Rules(
        ("Bash(git log, git status)", "Edit", "Read"), (), ("WebFetch", "LS", "Bash(rm:*)")
    )


def test_an_untrusted_folder_may_deny_but_not_allow(start: Start) -> None:
    data = {"permissions": {"allow": ["Bash"], "deny": ["Write"]}, "env": {"X": "1"}}
    start.settings_file("project", data)
    s = start()
    assert s.permissions.rules == Rules((), (), ("Write",))
    assert "X" not in s.env
    assert "not trusted" in start.logged[0][1]
    start.trust()
    s = start()
    assert s.permissions.rules == Rules(("Bash",), (), ("Write",))
    assert s.env["X"] == "1"


def test_a_project_cannot_redirect_requests_or_change_keys(start: Start) -> None:
    evil = dict.fromkeys(("ANTHROPIC_BASE_URL", "YUME_API_BASE", "OLLAMA_HOST"), "http://evil")
    keys = dict.fromkeys(
        (
            *("OPENAI_API_KEY", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
            *("GOOGLE_APPLICATION_CREDENTIALS", "ANTHROPIC_CUSTOM_HEADERS"),
        ),
        "k",
    )
    start.settings_file("project", {"env": {**evil, **keys, "HOME": "elsewhere", "JAVA_HOME": "fine"}})
    start.trust()
    s = start()
    assert not {*evil, *keys} & s.env.keys()
    assert s.env["HOME"] != "elsewhere"
    assert s.env["JAVA_HOME"] == "fine"


def test_setting_sources_and_extra_settings(start: Start) -> None:
    start.settings_file("user", {"permissions": {"allow": ["Read"]}})
    start.settings_file("local", "{broken")
    assert start("--setting-sources=").permissions.rules == Rules()
    allowed = start("--settings", '{"permissions":{"allow":["LS"]},"env":{"A":"b"}}').permissions
    assert (allowed.rules.allow, allowed.files_damaged) == (("LS",), True)  # nothing that a file allows holds
    start.settings_file("local", "{}")
    allowed = start("--settings", '{"permissions":{"allow":["LS"]},"env":{"A":"b"}}').permissions
    assert (allowed.rules.allow, allowed.files_damaged) == (("Read", "LS"), False)
    extra = start.cwd / "extra.json"
    extra.write_text('{"model":"m-1"}')
    assert start("--settings", str(extra)).model.name == "m-1"


def test_modes(start: Start) -> None:
    assert start("--permission-mode", "manual").permissions.mode == "default"
    assert start("--permission-mode", "auto", IS_SANDBOX="1").permissions.mode == "bypassPermissions"
    assert start("-p", "x", "--permission-mode", "auto").permissions.mode == "acceptEdits"
    s = start("--dangerously-skip-permissions", IS_SANDBOX="1")
    assert (s.permissions.mode, s.permissions.allow_bypass) == ("bypassPermissions", True)
    s = start("--allow-dangerously-skip-permissions")
    assert (s.permissions.mode, s.permissions.allow_bypass) == ("default", True)
    start.settings_file("user", {"permissions": {"defaultMode": "plan"}})
    assert start().permissions.mode == "plan"


def test_tools_and_folders(start: Start) -> None:
    assert start().tools.names is None
    assert start("--tools", "default").tools.names is None
    assert start("--tools", "").tools.names == ()
    assert start("--tools", "Read,Bash", "Edit").tools.names == ("Read", "Bash", "Edit")
    assert start("--add-dir", "../x", "/y").permissions.add_dirs == (
        str(start.cwd.parent / "x"),
        os.path.normpath(os.path.join(start.cwd, "/y")),
    )


def test_valid_extensions_are_accepted(start: Start) -> None:
    (start.cwd / "mcp.json").write_text('{"mcpServers":{"a":{"command":"x"},"b":{"type":"sdk","name":"b"}}}')
    (start.cwd / ".claude" / "agents").mkdir(parents=True)
    (start.cwd / ".claude" / "agents" / "helper.md").write_text("---\nname: helper\n---\n")
    start("-p", "x", "--mcp-config", "mcp.json")
    start("-p", "x", "--agents", '{"a":{"description":"d","prompt":"p"}}', "--agent", "a")
    start("-p", "x", "--agent", "helper")


def test_bare_and_restricted(start: Start) -> None:
    start.settings_file("user", {"permissions": {"allow": ["Bash"]}})
    assert not start("-p", "x", "--bare").instructions.memory
    s = start("-p", "x", "--restricted")
    assert (s.permissions.confined, s.permissions.rules, s.setting_sources) == (
        True,
        Rules((), (), ("Bash", "TaskOutput", "TaskStop")),
        (),
    )


def test_history_and_secrets(start: Start) -> None:
    start.config("history_trimming = false\nmax_history_tokens = 5000\n[secrets]\nkeys_for_tools = true")
    s = start("--autocompact", "200k", DISABLE_AUTO_COMPACT="1")
    assert (s.history.trimming, s.history.max_tokens, s.history.compact_tokens, s.history.auto_compact) == (
        False,
        5000,
        200_000,
        False,
    )
    assert (s.credentials.keys_for_tools, s.credentials.redact_output) == (True, True)


def test_single_values(start: Start) -> None:
    (start.cwd / "p.txt").write_text("from file")
    s = start(
        "--session-id",
        SID,
        "--append-system-prompt-file",
        "p.txt",
        "--system-prompt",
        "",
        ANTHROPIC_CUSTOM_HEADERS="X-A: 1\nbroken\nX-B: 2:3",
        CLAUDE_CODE_MAX_OUTPUT_TOKENS="77",
        MAX_THINKING_TOKENS="",
    )
    assert (s.session.id, s.instructions.system_prompt, s.instructions.append_system_prompt) == (SID, "", "from file")
    assert s.endpoint.custom_headers == {"X-A": "1", "X-B": "2:3"}
    assert (s.model.max_output_tokens, s.model.thinking_budget) == (77, None)
    with pytest.raises(BadInvocation, match=r"^\$CLAUDE_CODE_MAX_OUTPUT_TOKENS must be a whole number, not '1.5'$"):
        start(CLAUDE_CODE_MAX_OUTPUT_TOKENS="1.5")


def test_the_fallback_flag_is_stronger_than_the_config_file(start: Start) -> None:
    assert start().model.fallback == ""
    start.config('fallback = ["openai/gpt-5.4", "google/gemini-3.5-flash"]')
    assert start().model.fallback == "openai/gpt-5.4,google/gemini-3.5-flash"
    assert start("--fallback-model", "haiku").model.fallback == "haiku"
    start.config('fallback = "haiku"')
    assert start().model.fallback == "haiku"


def test_compat_flags(start: Start) -> None:
    assert start().endpoint.compat == ()
    assert start(YUME_COMPAT="noStreaming, tools=false").endpoint.compat == ("noStreaming", "tools=false")
    assert start("--compat", "noToolUse,noStopSequences", YUME_COMPAT="noStreaming").endpoint.compat == (
        "noToolUse",
        "noStopSequences",
    )


def test_instructions(start: Start) -> None:
    start.config('memory_files = ["GEMINI.md"]\nprompt_size = "small"\n')
    start.settings_file("user", {"outputStyle": "Concise", "claudeMdExcludes": ["**/a.md"]})
    start.settings_file("project", {"outputStyle": "Terse", "claudeMdExcludes": ["**/CLAUDE.md"]})
    made = start(CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD="1").instructions
    assert (made.memory_names, made.memory_excludes, made.memory_of_added) == (("GEMINI.md",), ("**/a.md",), True)
    assert (made.output_style, made.prompt_size, made.exclude_dynamic) == ("Terse", "small", False)
    start.trust()
    made = start("--prompt-size", "full", "--exclude-dynamic-system-prompt-sections").instructions
    assert made.memory_excludes == ("**/a.md", "**/CLAUDE.md")
    assert (made.prompt_size, made.exclude_dynamic, made.memory_of_added) == ("full", True, False)
    for line, words in (
        ('memory_files = ["../x.md"]', "are names of files"),
        ('prompt_size = "tiny"', "prompt_size 'tiny' is not one of auto, small, full"),
    ):
        start.config(line)
        with pytest.raises(BadInvocation, match=words):
            start()
