"""Every setting of the config file: its type, its meaning, and the flag and variable that override it.

The check of the config file and the table in docs/settings.md come from here. Loaded only if there is a config file.
"""

from __future__ import annotations

from yume_shim.disk.bounded import read_text
from yume_shim.text.nearest import did_you_mean
from yume_shim.types.errors import BadInvocation
from yume_shim.types.settings import TRUST_MODES
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any


MAX_CONFIG_BYTES = 4 << 20


class Setting(Value):
    """One setting. `*` in a key is a name that the user chooses; a kind is a key of KINDS."""

    key: str
    kind: str
    meaning: str
    default: str = ""
    flag: str = ""
    variable: str = ""


def _number(item: Any) -> bool:
    return isinstance(item, int | float) and not isinstance(item, bool) and item == item


def _texts(item: Any) -> bool:
    return isinstance(item, list) and all(isinstance(text, str) and text for text in item)


KINDS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "text": ("a string", lambda item: isinstance(item, str)),
    "texts": ("a list of texts", lambda item: _texts(item) or (isinstance(item, str) and bool(item))),
    "switch": ("true or false", lambda item: isinstance(item, bool)),
    "whole": ("a whole number of at least 1", lambda item: type(item) is int and item >= 1),
    "count": ("a whole number of at least 0", lambda item: type(item) is int and item >= 0),
    "number": ("a number of at least 0", lambda item: _number(item) and 0 <= item < float("inf")),
    "seconds": ("a number above 0", lambda item: _number(item) and 0 < item < float("inf")),
    "wholes": (
        "a list of whole numbers of at least 1",
        lambda item: isinstance(item, list) and bool(item) and all(type(one) is int and one >= 1 for one in item),
    ),
    "trust": ("`strict`, `as-claude` or `ask`", lambda item: item in TRUST_MODES),
    "folder trust": ("`always`, `strict`, `as-claude` or `ask`", lambda item: item in ("always", *TRUST_MODES)),
    "checked": ("", lambda item: True),
}
""""checked": its own module checks it (profiles, endpoints, models)."""

SETTINGS: tuple[Setting, ...] = (
    Setting("provider", "text", "Provider to use", "", "--provider", "YUME_PROVIDER"),
    Setting("model", "text", "Model to use", "", "--model", "YUME_MODEL"),
    Setting("fallback", "texts", "Models that take over when the first fails, in this order", "", "--fallback-model"),
    Setting("aliases.*", "text", "Another name for a model, or for `provider/model`"),
    Setting("temperature", "checked", "0.0 to 2.0", "the provider's own", "", "YUME_TEMPERATURE"),
    Setting("top_p", "checked", "0.0 to 1.0", "the provider's own"),
    Setting("stop_sequences", "checked", "Texts at which an answer ends"),
    Setting("models.*.temperature", "checked", "The same for one model (its name or `provider/name`)"),
    Setting("models.*.top_p", "checked", "Likewise"),
    Setting("models.*.stop_sequences", "checked", "Likewise"),
    Setting("models.*.window", "checked", "Its context window in tokens"),
    Setting("models.*.max_output", "checked", "The longest answer in tokens"),
    Setting(
        "models.*.prices", "checked", "USD per million tokens: input, output, cache read, cache write", "", "--price"
    ),
    Setting("models.*.thinking", "checked", "How it is asked to think: adaptive, budget, effort, level, or empty"),
    Setting("models.*.efforts", "checked", "The effort levels that it accepts"),
    Setting("models.*.tools", "checked", "It calls tools natively"),
    Setting("models.*.streaming", "checked", "It can stream"),
    Setting("models.*.images", "checked", "It accepts images"),
    Setting("models.*.forced_choice", "checked", "It accepts a forced tool choice"),
    Setting("models.*.sampling", "checked", "It accepts temperature, top_p and stop sequences"),
    Setting("endpoints.*", "checked", "A provider of your own, or changes to one: see docs/providers.md"),
    Setting("keys.*", "checked", "Key or keys of a provider"),
    Setting("profile", "text", "The profile to use", "", "--profile", "YUME_PROFILE"),
    Setting("profiles.*.provider", "checked", "The provider that the profile is for"),
    Setting("profiles.*.key", "checked", "The key; or one of the next four"),
    Setting("profiles.*.keys", "checked", "Several keys, used in turn"),
    Setting("profiles.*.key_env", "checked", "The variable that holds the key"),
    Setting("profiles.*.key_file", "checked", "The file that holds the key"),
    Setting("profiles.*.key_command", "checked", "A command that prints the key"),
    Setting("profiles.*.kind", "checked", "`key` or `token`", "key"),
    Setting("profiles.*.ttl", "checked", "Seconds for which a printed key is used"),
    Setting("secrets.redact_output", "switch", "Remove keys from tool output", "true"),
    Setting("secrets.keys_for_tools", "switch", "Leave provider keys in the environment of tools", "false"),
    Setting("env.*", "checked", "A variable to set if the environment does not have it"),
    Setting(
        "retry.initial",
        "number",
        "First wait in seconds",
        "the provider's own",
        "--retry-initial",
        "YUME_RETRY_INITIAL",
    ),
    Setting("retry.multiplier", "number", "Each wait is this many times the one before", "the provider's own"),
    Setting(
        "retry.cap",
        "number",
        "Longest wait in seconds",
        "the provider's own",
        "--retry-max-wait",
        "YUME_RETRY_MAX_WAIT",
    ),
    Setting("retry.jitter", "number", "Random part of a wait, 0.1 = 10 %", "the provider's own"),
    Setting(
        "retry.retries",
        "count",
        "Retries after the first attempt",
        "the provider's own",
        "--max-retries",
        "CLAUDE_CODE_MAX_RETRIES",
    ),
    Setting("timeouts.connect", "seconds", "Connecting", "30"),
    Setting("timeouts.first_byte", "seconds", "Until the first byte of an answer", "300"),
    Setting(
        "timeouts.idle", "seconds", "Longest silence inside a stream", "120", "--idle-timeout", "YUME_IDLE_TIMEOUT"
    ),
    Setting(
        "timeouts.total", "seconds", "Longest single response", "1800", "--response-timeout", "YUME_RESPONSE_TIMEOUT"
    ),
    Setting(
        "timeouts.approval",
        "number",
        "How long a call waits for approval; 0 = without a limit",
        "300",
        "--approval-timeout",
        "YUME_APPROVAL_TIMEOUT",
    ),
    Setting(
        "timeouts.background",
        "seconds",
        "How long the end of input waits for background tasks",
        "600",
        "--background-timeout",
        "YUME_BACKGROUND_TIMEOUT",
    ),
    Setting("timeouts.tool_heartbeat", "seconds", "Between signs of life of a running tool", "5 in flat, else 30"),
    Setting("timeouts.shutdown", "seconds", "How long an orderly end may take", "2"),
    Setting("transport", "text", "`direct` or `sdk`", "direct where possible", "--transport"),
    Setting(
        "share_limits",
        "switch",
        "A key that one process found at its limit is not used by the others until the limit ends",
        "true",
        "",
        "YUME_SHARE_LIMITS",
    ),
    Setting("history_trimming", "switch", "Trim old tool results before the history is compacted", "true"),
    Setting("max_history_tokens", "whole", "The size at which trimming begins", "the model's share of its window"),
    Setting(
        "keep_recent_user_turns_in_chained_tool_calls",
        "whole",
        "While tools run, this many of the newest user turns are not trimmed",
        "1",
    ),
    Setting(
        "trim_caps",
        "wholes",
        "Characters left of a tool result by age, newest first",
        "computed from budget and history",
    ),
    Setting(
        "auto_compact", "switch", "Compact the history before it no longer fits", "true", "", "DISABLE_AUTO_COMPACT"
    ),
    Setting(
        "stream_watchers",
        "switch",
        "Stop an answer that repeats itself, and an Edit whose old text is not in the file, while they stream",
        "true in flat, false in the Claude forms",
        "",
        "YUME_STREAM_WATCHERS",
    ),
    Setting("repeat_warn", "count", "The model gets a note after this many identical failing calls; 0 = never", "3"),
    Setting("repeat_stop", "count", "The turn ends after this many identical failing calls; 0 = never", "8"),
    Setting("memory_files", "texts", "Names of further files that are read like CLAUDE.md, e.g. `GEMINI.md`"),
    Setting(
        "prompt_size",
        "text",
        "The short system prompt and few tools: `auto` (models with a small window), `small` or `full`",
        "auto",
        "--prompt-size",
    ),
    Setting("bash_path", "text", "The bash of the Bash tool on Windows", "it is searched", "", "YUME_BASH_PATH"),
    Setting("sandbox", "text", "Bash on Linux: `workspace` or `workspace-nonet`", "", "", "YUME_SANDBOX"),
    Setting(
        "trust",
        "trust",
        "Hooks and servers of a folder that is not trusted: left out, started, or the host is asked",
        "strict in flat, as-claude in the Claude forms",
        "",
        "YUME_TRUST",
    ),
    Setting("folders.*.trust", "folder trust", "The same for one folder and those below it; `always` trusts it"),
    Setting("web.allow_private", "texts", "Hosts that WebFetch may reach although their addresses are private"),
    Setting("unasked_env", "texts", "Variables that commands which run unasked may see"),
    Setting("repair_mojibake", "switch", "Repair wrongly decoded text in tool arguments", "false"),
    Setting("session_dir", "text", "Folder for transcripts", "", "--session-dir", "YUME_SESSION_DIR"),
    Setting("log", "text", "debug, info, warning or error", "warning", "--debug", "YUME_LOG"),
    Setting("log_format", "text", "`text` or `json`", "text", "--log-format", "YUME_LOG_FORMAT"),
    Setting("keep_errors", "switch", "Keep a small record of failed requests", "true", "", "YUME_KEEP_ERRORS"),
)

OTHER_VARIABLES: Mapping[str, str] = {
    "ANTHROPIC_CUSTOM_HEADERS": "Extra headers for Anthropic's API, one `Name: value` per line",
    "ANTHROPIC_DEFAULT_OPUS_MODEL": "What `opus` means (`…_SONNET_…`, `…_HAIKU_…`, `…_FABLE_…` likewise)",
    "ANTHROPIC_MODEL": "Model to use, after `YUME_MODEL`",
    "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD": "1 = read the instruction files of additional folders, too",
    "CLAUDE_CODE_API_KEY_HELPER_TTL_MS": "Milliseconds for which the key of `apiKeyHelper` is used",
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1 = commands stop at their time limit, and agents run in the foreground",
    "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS": "Send `session_state_changed` lines",
    "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "Keep copies of files that tools change, for `rewind_files`",
    "CLAUDE_CODE_ENABLE_TELEMETRY": "1 = export telemetry, as docs/telemetry.md describes",
    "CLAUDE_CODE_ENTRYPOINT": "Written into transcripts",
    "CLAUDE_CODE_GIT_BASH_PATH": "The bash of the Bash tool on Windows, before `bash_path`",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "The longest answer in tokens",
    "CLAUDE_CODE_OTEL_HEADERS_HELPER_DEBOUNCE_MS": "Milliseconds for which headers of `otelHeadersHelper` are used",
    "CLAUDE_CODE_OTEL_SHUTDOWN_TIMEOUT_MS": "Milliseconds that the last export of telemetry may take",
    "CLAUDE_CODE_SDK_READS_SESSION_STATE": "Send `session_state_changed` lines",
    "CLAUDE_CODE_SUBAGENT_MODEL": "The model of all agents, whatever their definitions say",
    "CLAUDE_CONFIG_DIR": "Folder of settings and transcripts instead of `~/.claude`",
    "MAX_MCP_OUTPUT_TOKENS": "The longest result of an MCP tool, in tokens",
    "MCP_TIMEOUT": "Milliseconds in which an MCP server must start",
    "ENABLE_TOOL_SEARCH": "When MCP tools are deferred behind ToolSearch: true, false, auto:N (percent of the window)",
    "MCP_TOOL_TIMEOUT": "Milliseconds that a call of an MCP tool may take",
    "IS_SANDBOX": "1 = root may skip permissions",
    "MAX_THINKING_TOKENS": "Reasoning budget (`--max-thinking-tokens`)",
    "YUME_SESSION_PROCESS": "Set for commands, hooks and servers: their daemons are found by it when the session ends",
    "YUME_HOOK": "Set for the processes of hooks: those that leave their process group are found by it",
    "TIKTOKEN_CACHE_DIR": "Folder with tiktoken's data, for exact counts",
    "YUME_API": "Wire API (`--api`)",
    "YUME_API_BASE": "Base URL of the endpoint (`--api-base`)",
    "YUME_COMPAT": "What the endpoint cannot do (`--compat`)",
    "YUME_CONFIG": "The config file (`--config`)",
    "YUME_DEADLINE": "Seconds for the whole run (`--deadline`)",
    "YUME_DELTA_INTERVAL": "Milliseconds for which pieces of text are collected (`--delta-interval`)",
    "YUME_MAX_LINE_BYTES": "Size limit of an output line (`--max-line-bytes`)",
    "YUME_MAX_TOOL_CALLS": "Tool calls of the whole run (`--max-tool-calls`)",
    "YUME_TEST_CLOCK": "A fixed clock, for byte-exact output in tests",
    "YUME_TEST_IDS": "Counted ids, for byte-exact output in tests",
}
"""Variables without a setting in the config file. Keys and addresses: see the table of providers."""


def check_config(config: Mapping[str, Any], path: str) -> list[str]:
    """Warnings about unknown keys, at every level. Raises BadInvocation for a value of a wrong type."""
    warnings = []
    for text, wrong in config_mistakes(config, path):
        if wrong:
            raise BadInvocation(text)
        warnings.append(text)
    return warnings


def config_mistakes(config: Mapping[str, Any], path: str) -> Iterator[tuple[str, bool]]:
    """(message, is it a value of a wrong type?) of everything that is not as it should be."""
    return _check(config, _TREE, path, "")


def _check(table: Mapping[str, Any], tree: Mapping[str, Any], path: str, above: str) -> Iterator[tuple[str, bool]]:
    for key, item in table.items():
        known = tree.get(key, tree.get("*"))
        name = f"{above}{key}"
        if known is None:
            what = f"[{name}]" if isinstance(item, dict) else f"`{name}`"
            yield with_line(path, f"{path}: unknown setting {what}.{did_you_mean(key, tree)}"), False
        elif isinstance(known, Setting):
            expected, good = KINDS[known.kind]
            if not good(item):
                yield f"{_place(path, name)}: `{name}` must be {expected}", True
        elif isinstance(item, dict):
            yield from _check(item, known, path, f"{name}.")
        elif not above:  # deeper ones are checked, and named better, where they are read
            yield f"{_place(path, name)}: `{name}` must be a table", True


def _place(path: str, name: str) -> str:
    return with_line(path, f"{path}: `{name}`").removesuffix(f": `{name}`")


def with_line(path: str, message: str) -> str:
    """A message that begins with the path of the config file and names a setting, with the line of that setting."""
    import re

    rest = message.removeprefix(f"{path}: ")
    named = re.search(r"`([^`]+)`|\[([^\]]+)\]", rest)
    if rest == message or named is None:
        return message
    try:
        text = read_text(path, MAX_CONFIG_BYTES).decode("utf-8", "replace")
    except OSError:  # a pipe, or gone
        return message
    line = line_of_setting(text, named.group(1) or named.group(2))
    return f"{path}, line {line}: {rest}" if line else message


def line_of_setting(text: str, name: str) -> int:
    """The line on which `a.b.c`, or the nearest table above it, begins; 0 if it is not found."""
    table, best, matched = "", 0, 0
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if bare.startswith("["):
            table = full = _unquoted(bare.strip("[] ").partition("]")[0])
        else:
            key, assigned, _ = bare.partition("=")
            if not assigned or key.startswith("#"):
                continue
            full = f"{table}.{_unquoted(key)}" if table else _unquoted(key)
        if (name == full or name.startswith(f"{full}.")) and len(full) > matched:
            best, matched = number, len(full)
    return best


def _unquoted(key: str) -> str:
    return key.strip().replace('"', "").replace("'", "")


def _tree() -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for setting in SETTINGS:
        *above, last = setting.key.split(".")
        node = tree
        for part in above:
            node = node.setdefault(part, {})
        node[last] = setting
    return tree


_TREE = _tree()
