"""The flag table: one row per flag. Source of the parser, of `--help`, and of the flag list in the README.

Statuses: "honoured" does what it says; "accepted" is allowed and has no effect; "refused" ends the program with a clear
message (interactive and cloud features that a headless program cannot offer).
Kinds: "switch" takes no value, "value" takes one, "optional" may take one, "variadic" takes every following word that
does not begin with "-", "repeat" takes one value each time it is given.
"""

from __future__ import annotations

from yume_shim.types.settings import AUTO_MODE, CLAUDE_MODES, FLAT_MODES, MODE_ALIASES, PROMPT_SIZES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Kind = Literal["switch", "value", "optional", "variadic", "repeat"]
    Status = Literal["honoured", "accepted", "refused"]


class Flag:
    """One row. `names[0]`, without dashes, is its `key` everywhere else.

    No `Value`: each start makes all rows, and an ordinary class makes them in a third of the instructions.
    """

    __slots__ = ("choices", "help", "kind", "names", "ours", "status", "value_name")

    def __init__(
        self,
        names: str,
        kind: Kind,
        text: str,
        value_name: str = "",
        choices: tuple[str, ...] = (),
        status: Status = "honoured",
        ours: bool = False,
    ) -> None:
        """`ours`: a flag of this program that the Claude CLI does not have."""
        self.names = tuple(names.split())
        self.kind: Kind = kind
        self.help = text
        self.value_name = value_name
        self.choices = choices
        self.status: Status = status
        self.ours = ours

    @property
    def key(self) -> str:
        """The long name without dashes."""
        return self.names[0].lstrip("-")

    @property
    def usage(self) -> str:
        """How the flag is written in messages, e.g. `--output-format <format>`."""
        shown = ", ".join(sorted(self.names, key=len))
        match self.kind:
            case "switch":
                return shown
            case "optional":
                return f"{shown} [{self.value_name}]"
            case "variadic":
                return f"{shown} <{self.value_name}...>"
            case "value" | "repeat":
                return f"{shown} <{self.value_name}>"


def _switch(names: str, text: str, status: Status = "honoured", *, ours: bool = False) -> Flag:
    return Flag(names, "switch", text, "", (), status, ours)


def _value(
    names: str,
    value_name: str,
    text: str,
    status: Status = "honoured",
    *,
    choices: tuple[str, ...] = (),
    kind: Kind = "value",
    ours: bool = False,
) -> Flag:
    return Flag(names, kind, text, value_name, choices, status, ours)


FORMATS = ("flat", "text", "json", "stream-json")
MODES = (*CLAUDE_MODES, AUTO_MODE, *MODE_ALIASES, *FLAT_MODES)

FLAGS: tuple[Flag, ...] = (
    # --- input and output
    _switch("--print -p", "Print the answer and exit (the prompt is the positional argument, stdin, or both)"),
    _value("--output-format", "format", "What is written to stdout", choices=FORMATS),
    _value("--input-format", "format", "What is read from stdin", choices=("text", "stream-json")),
    _switch("--no-stdin", "-p: leave stdin to others, as `ssh -n` does, e.g. in a `while read` loop", ours=True),
    _switch("--verbose", "Required by stream-json; makes json an array of all messages"),
    _switch("--include-partial-messages", "stream-json: add stream_event lines while the answer streams"),
    _switch("--replay-user-messages", "stream-json input and output: echo user lines with isReplay"),
    _switch("--request-permits", "flat: ask the host before each request to a model", ours=True),
    _switch("--tool-use-deltas", "flat: show the arguments of tool calls as they stream", ours=True),
    _value("--delta-interval", "ms", "flat: collect pieces of text for so long into one line (0: not)", ours=True),
    _value("--max-line-bytes", "bytes", "Lower the size limit of an output line", ours=True),
    # --- model
    _value("--model", "model", "Model: an alias, an id, or provider/model"),
    _value("--provider", "name", "Provider to use; --model is then passed on unchanged", ours=True),
    _value("--api", "name", "Wire API to use instead of the provider's own", ours=True),
    _value("--api-base", "url", "Base URL of the endpoint", ours=True),
    _value("--api-key-env", "name", "Name of the variable that holds the key", ours=True),
    _value("--compat", "names", "What the endpoint cannot do, e.g. noStreaming,schema_drop=[default]", ours=True),
    _value("--profile", "name", "Named credential from the config file", ours=True),
    _value("--transport", "kind", "How requests are sent", choices=("direct", "sdk"), ours=True),
    _value("--fallback-model", "models", "Models that take over when the first is overloaded or unknown"),
    _value("--effort", "level", "Reasoning effort: low, medium, high, xhigh, max"),
    _value("--thinking", "mode", "Reasoning on, adaptive or off", choices=("enabled", "adaptive", "disabled")),
    _value("--thinking-display", "how", "How the provider returns reasoning"),
    _value("--max-thinking-tokens", "n", "Reasoning budget, for models that have one"),
    _value("--betas", "name", "Extra beta headers", "accepted", kind="variadic"),
    _value("--cassette", "dir", "Folder with the recording that the replay provider plays", ours=True),
    _value(
        "--record",
        "dir",
        "Record the responses of the provider and of MCP servers into a cassette folder, without secrets",
        ours=True,
    ),
    _value("--config", "file", "Configuration file (default ~/.yume/config.toml)", ours=True),
    # --- retries and time
    _value("--max-retries", "n", "Retries after the first attempt", ours=True),
    _value("--retry-initial", "seconds", "First retry wait", ours=True),
    _value("--retry-max-wait", "seconds", "Longest retry wait", ours=True),
    _value("--idle-timeout", "seconds", "Longest silence inside a stream", ours=True),
    _value("--response-timeout", "seconds", "Longest single response", ours=True),
    _value("--approval-timeout", "seconds", "How long a call waits for the host's approval (0: no limit)", ours=True),
    _value("--background-timeout", "seconds", "How long the end of input waits for background tasks (600)", ours=True),
    _value("--on-cut", "how", "What to do after an interrupted stream", choices=("continue", "restart"), ours=True),
    # --- system prompt and answer
    _value("--system-prompt", "text", "Replace the default system prompt"),
    _value("--system-prompt-file", "file", "The same, from a file"),
    _value("--append-system-prompt", "text", "Add to the end of the system prompt"),
    _value("--append-system-prompt-file", "file", "The same, from a file"),
    _switch(
        "--exclude-dynamic-system-prompt-sections",
        "Facts about the machine go before the first prompt: the system prompt is the same everywhere",
    ),
    _value(
        "--prompt-size",
        "size",
        "A short system prompt and few tools: auto = for models with a small window",
        choices=PROMPT_SIZES,
        ours=True,
    ),
    _value("--json-schema", "schema", "Require an answer that matches a JSON Schema"),
    # --- limits
    _value("--max-turns", "n", "Stop after this many model requests (0 = no limit)"),
    _value("--max-budget-usd", "amount", "Stop once the cost passes this amount"),
    _value("--price", "in,out", "Price of the model in USD per million tokens of input and output", ours=True),
    # --- scripts
    _value("--exit-codes", "how", "Exit codes: detailed tells the cause", choices=("plain", "detailed"), ours=True),
    _value("--fail-on", "ends", "Successes that count as failures: truncated,denied,refused", ours=True),
    _value("--deadline", "seconds", "End the whole run after this time, with a result", ours=True),
    _value("--max-tool-calls", "n", "Stop before more tool calls than this in the whole run", ours=True),
    _switch("--retry-forever", "Repeat requests refused with 429 or 529 without end, with a sign of life", ours=True),
    _value("--errors", "where", "-p text: where errors are printed", choices=("stdout", "stderr"), ours=True),
    # --- tools and permissions
    _value("--tools", "names", "Tools offered to the model; an empty value offers none", kind="variadic"),
    _value("--allowedTools --allowed-tools", "rules", "Rules that allow calls", kind="variadic"),
    _value("--disallowedTools --disallowed-tools", "rules", "Rules that deny calls", kind="variadic"),
    _value("--permission-mode", "mode", "Permission mode to start in", choices=MODES),
    _switch("--dangerously-skip-permissions", "Start in bypassPermissions"),
    _switch("--allow-dangerously-skip-permissions", "Let the host switch to bypassPermissions later"),
    _value("--permission-prompt-tool", "name", "Who answers permission questions: stdio (the host) or an MCP tool"),
    _value(
        "--permission-prompts",
        "who",
        "Who answers permission questions; none denies them all",
        choices=("host", "none"),
    ),
    _value("--add-dir", "dirs", "Additional folders that tools may use", kind="variadic"),
    _value("--settings", "file-or-json", "An additional settings layer"),
    _value("--setting-sources", "sources", "Settings files to read: user, project, local"),
    _value("--managed-settings", "file-or-json", "Settings that override all others"),
    _switch(
        "--trust", "Trust the working folder: its settings may allow calls, its hooks and servers start", ours=True
    ),
    # --- session
    _value("--session-id", "uuid", "Id of the new session"),
    _value("--session-dir", "dir", "Folder for transcripts", ours=True),
    _switch("--no-session-persistence", "Write no transcript"),
    _value("--resume -r", "id", "Continue a stored session", kind="optional"),
    _switch("--continue -c", "Continue the newest session of this folder"),
    _switch("--fork-session", "With resume or continue: write to a new session"),
    _value("--resume-session-at", "uuid", "With resume: continue after that message"),
    _value("--name -n", "text", "Title of the session, for lists"),
    _switch("--session-mirror", "stream-json: add transcript_mirror lines with every transcript entry"),
    # --- extensions
    _value("--mcp-config", "files-or-json", "MCP servers to start: files, or JSON", kind="variadic"),
    _switch("--strict-mcp-config", "Only the servers of --mcp-config"),
    _value("--agents", "json-or-file", "Agents besides those of files: JSON, or a file with it"),
    _value("--agent", "name", "Run as this agent: its system prompt, tools and model"),
    _switch("--include-hook-events", "stream-json: add lines about hooks"),
    _switch("--forward-subagent-text", "stream-json: include agents' text, and agents of agents"),
    _switch("--disable-slash-commands", "No commands and no skills: send slash commands to the model as text"),
    _value("--plugin-dir", "dir", "Use the plugin in this folder", kind="repeat"),
    _value("--plugin-dir-no-mcp", "dir", "The same without its MCP servers", kind="repeat"),
    # --- diagnostics
    _value("--debug -d", "filter", "Debug log on stderr", kind="optional"),
    _value("--debug-file", "file", "Debug log to a file"),
    _value("--log-format", "format", "Form of log lines", choices=("text", "json"), ours=True),
    _switch("--debug-to-stderr", "Debug log on stderr"),
    _switch("--version -v", "Print the version"),
    _switch("--help -h", "Print this help"),
    # --- accepted without effect
    _value("--prompt-suggestions", "on", "Prompt suggestions", "accepted", kind="optional"),
    _value("--system-prompt-snapshot", "on-off", "Recorded system prompt", "accepted", choices=("on", "off")),
    _value("--autocompact", "tokens", "Automatic compaction window"),
    _switch("--brief", "Vendor tool", "accepted"),
    _switch("--bare", "Minimal mode: no CLAUDE.md files"),
    _switch("--safe-mode", "Turn all customisation off", "accepted"),
    _switch("--restricted", "No commands, no settings files; file tools stay in the working folders"),
    _value("--task-budget", "n", "Task budget of the upstream request", "accepted"),
    _switch("--await-initialize", "Wait for initialize", "accepted"),
    _value("--project-config-root", "dir", "Project configuration root", "accepted"),
    _value("--resume-drops-turn", "uuid", "Resume option of the SDKs", "accepted"),
    # --- refused
    _value("--plugin-url", "url", "Fetch a plugin", "refused", kind="repeat"),
    _value("--worktree -w", "name", "New git worktree", "refused", kind="optional"),
    _value("--file", "specs", "Download file resources", "refused", kind="variadic"),
    _value("--from-pr", "pr", "Resume from a pull request", "refused", kind="optional"),
    _switch("--background --bg", "Start detached", "refused"),
    _switch("--ide", "IDE integration", "refused"),
    _switch("--chrome", "Browser integration", "refused"),
    _switch("--no-chrome", "Browser integration", "accepted"),
    _switch("--desktop", "Desktop integration", "refused"),
    _switch("--tmux", "Terminal multiplexer", "refused"),
    _switch("--ax-screen-reader", "Screen reader mode", "accepted"),
    _value("--cloud", "text", "Cloud session", "refused", kind="optional"),
    _value("--environment", "name", "Cloud environment", "refused"),
    _value("--teleport", "id", "Cloud session", "refused", kind="optional"),
    _value("--remote-control", "name", "Remote control", "refused", kind="optional"),
    _value("--remote-control-session-name-prefix", "text", "Remote control", "refused"),
)

BY_NAME: dict[str, Flag] = {name: flag for flag in FLAGS for name in flag.names}
SUBCOMMANDS = ("batch", "check-stream", "doctor", "init", "mcp", "models", "replay", "schema", "sessions", "watch")
"""Words that click parses; `acp` and the Claude CLI's own sub-commands are answered without it."""
CLAUDE_SUBCOMMANDS = (
    "agents",
    "attach",
    "auth",
    "auto-mode",
    "gateway",
    "import",
    "install",
    "logs",
    "plugin",
    "plugins",
    "purge",
    "respawn",
    "rm",
    "setup-token",
    "stop",
    "kill",
    "ultrareview",
    "update",
    "upgrade",
)
"""Those of the Claude CLI that this program does not have, or answers in its place (`claude_subcommands.py`)."""
SUBCOMMAND_HELP = {
    "acp": "Speak the Agent Client Protocol on stdin and stdout, for editors",
    "auth": "Show which key each provider gets, and why; `auth status` as in the Claude CLI",
    "batch": "Run many prompts, with rates, a budget and resumption",
    "check-stream": "Check a stream of lines against the protocol",
    "doctor": "Show what a start here would use, what is missing, and what to do",
    "init": "Write a commented config file, test the key, set up clients",
    "mcp": "List, add, remove and sign in to MCP servers",
    "models": "Show models, providers and what each cannot do",
    "replay": "Show any transcript or recorded output as a page or as text",
    "schema": "Print the JSON Schemas of the protocol",
    "sessions": "List, show, search, export and delete stored sessions",
    "watch": "Show running sessions live in the browser",
}
GROUPS = (
    ("Input and output", "print"),
    ("Model and provider", "model"),
    ("Retries and time", "max-retries"),
    ("System prompt and answer", "system-prompt"),
    ("Limits", "max-turns"),
    ("Scripts", "exit-codes"),
    ("Tools and permissions", "tools"),
    ("Session", "session-id"),
    ("Extensions", "mcp-config"),
    ("Diagnostics and rest", "debug"),
)
"""The groups of `--help`: a title, and the first flag of the group."""
