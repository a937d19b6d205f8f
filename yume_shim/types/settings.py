"""Settings: everything that flags, environment and files decide, resolved before the first turn, grouped by subject."""

from __future__ import annotations

from yume_shim.types.agents import AgentSettings
from yume_shim.types.blocks import NOTHING
from yume_shim.types.instruction_settings import PROMPT_SIZES as PROMPT_SIZES
from yume_shim.types.instruction_settings import InstructionSettings as InstructionSettings
from yume_shim.types.left_out import LeftOut as LeftOut
from yume_shim.types.plugins import PluginSettings
from yume_shim.types.prompt_files import PromptSettings
from yume_shim.types.script_settings import ScriptSettings
from yume_shim.types.telemetry_settings import TelemetrySettings as TelemetrySettings
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    from yume_shim.types.effort import Effort
    from yume_shim.types.mcp_admission import McpAdmission
    from yume_shim.types.models import ThinkingMode

    OutputFormat = Literal["flat", "stream-json", "json", "text"]
    InputFormat = Literal["lines", "text"]

SETTING_SOURCES = ("user", "project", "local")
"""The settings.json files, weakest first."""
TRUST_MODES = ("strict", "as-claude", "ask")
"""What happens to hooks and servers of a folder that is not trusted: left out, started, or the host is asked."""
CLAUDE_MODES = ("default", "acceptEdits", "plan", "dontAsk", "bypassPermissions")
"""Permission modes that behave as in the Claude CLI; a settings file may name them."""
AUTO_MODE = "auto"
"""Flat: bypassPermissions; Claude formats: acceptEdits, since there is no classifier here."""
FLAT_MODES = ("interactive", "deny")
"""Permission modes of the flat dialect only."""
MODE_ALIASES = {"manual": "default"}
SANDBOXES = {"workspace": True, "workspace-nonet": False}
"""Sandboxes of Bash: name -> may it use the network?"""
FLAT_LINE_BYTES = 98_304
NESTED_LINE_BYTES = 1_000_000
"""The longest output line of each dialect, newline included. The Python Agent SDK fails above 1 MiB."""


class Rules(Value):
    """Permission rules as the user wrote them, by their effect."""

    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class RetrySettings(Value):
    """Overrides of the endpoint's Backoff; None = the endpoint's own value. Times in seconds."""

    initial: float | None = None
    multiplier: float | None = None
    cap: float | None = None
    jitter: float | None = None
    retries: int | None = None


class Timeouts(Value):
    """Seconds. `idle`: longest silence in a stream; `total`: longest response; `background`: wait for tasks at EOF."""

    connect: float = 30.0
    first_byte: float = 300.0
    idle: float = 120.0
    total: float = 1_800.0
    approval: float = 300.0
    """0 = a question waits until it is answered, or the turn or the input ends."""
    tool_heartbeat: float = 30.0
    shutdown: float = 2.0
    background: float = 600.0


# ---------------------------------------------------------------- groups


class HostSettings(Value):
    """What we exchange with the program that started us: formats, the first prompt, optional messages."""

    output_format: OutputFormat = "flat"
    input_format: InputFormat = "lines"
    """"lines" = JSON lines on stdin; "text" = all of stdin is (part of) the prompt."""
    prompt: str | None = None
    swallowed_prompt: str = ""
    """A sentence about the flag whose list may have taken the prompt, if there is no prompt."""
    read_stdin: bool = True
    """Text input: what stdin holds belongs to the prompt (not with `--no-stdin`)."""
    typed: bool = False
    """A person types the lines: stdin is a terminal."""
    attended: bool = False
    """Text input: a person waits: stdin or stderr is a terminal. An interrupt ends the process as the signal would."""
    live: bool = False
    """Text output: stdout is a terminal, so the answer is shown while it comes."""
    verbose: bool = False
    partial_messages: bool = False
    replay_user_messages: bool = False
    max_line_bytes: int = 0
    """0 = the dialect's own cap."""
    session_states: bool = False
    """Send `session_state_changed` when the session runs, waits for the host, or becomes idle."""
    session_mirror: bool = False
    """Send every transcript entry to the host (`--session-mirror`)."""
    slash_commands: bool = True
    """False: `/compact` and `/clear` go to the model as text (`--disable-slash-commands`)."""
    details: bool = False
    """Flat: events for hosts that draw what happens (waiting calls, live output, how full the context is)."""
    tool_deltas: bool = False
    """Flat: show the arguments of calls as they stream (`--tool-use-deltas`)."""
    request_permits: bool = False
    """Flat: the host is asked before each request to a model (`--request-permits`)."""
    delta_interval: float = 0.0
    """Flat: seconds for which pieces of text are collected into one line (`--delta-interval`, milliseconds)."""
    watch_streams: bool = False  # stop answers that repeat themselves, and edits that cannot match
    merge_waiting: bool = False
    """Claude formats: prompts that wait are joined into one turn, and inserted between tool rounds."""


class LogSettings(Value):
    """What we log, and where."""

    level: str = "warning"
    debug_file: str = ""
    as_json: bool = False
    """Each line is a JSON object (`--log-format json`)."""
    keep_errors: bool = True
    """Keep a record of each failed request for `yume-shim doctor --last-errors`."""

    @property
    def debugs(self) -> bool:
        """Debug messages are written somewhere. Otherwise they are not even made."""
        return self.level == "debug" or bool(self.debug_file)


class ModelSettings(Value):
    """Which model answers, how much it thinks, and how it samples."""

    provider: str = ""
    """From a flag: stronger than `provider/model` names and aliases."""
    default_provider: str = ""
    """From environment or config file: weaker than `provider/model` names and aliases."""
    name: str = ""
    project_name: str = ""
    """The model that files of an untrusted project name. It is used if it is at the same provider as `name`."""
    provider_model: str = ""
    """The model to use when a host asks for a Claude alias that the chosen provider does not know."""
    chosen_by_flag: bool = False
    """A flag named the model or the provider: a resumed session does not keep its own."""
    aliases: Mapping[str, str] = NOTHING
    fallback: str = ""
    """Models to try when this one fails, separated by commas or blanks (`--fallback-model`)."""
    overrides: Mapping[str, Any] = NOTHING
    """The config file's `[models."name"]` tables: limits, abilities, sampling of single models."""
    effort: Effort | None = None
    thinking: ThinkingMode = "default"
    thinking_budget: int | None = None
    thinking_display: str = ""
    max_output_tokens: int | None = None
    temperature: float | None = None
    """0.0 to 2.0; rows of `overrides` are stronger."""
    top_p: float | None = None
    stop_sequences: tuple[str, ...] = ()
    price: tuple[float, float] | None = None
    """USD per million tokens of input and output (`--price`), for models of the first provider that is resolved."""


class EndpointSettings(Value):
    """Changes to the catalogue's endpoints: rows of the config file, and flags for the endpoint of the chosen model."""

    rows: Mapping[str, Any] = NOTHING
    """Extra endpoint rows from the config file, same shape as `catalog/endpoints.json`."""
    api: str = ""
    api_base: str = ""
    api_key_env: str = ""
    """The environment variable that holds the key, instead of the endpoint's own variables."""
    compat: tuple[str, ...] = ()
    """Quirks of the endpoint at `api_base` (`--compat`, YUME_COMPAT): `noStreaming`, `tools=false`, …"""
    custom_headers: Mapping[str, str] = NOTHING


class NetworkSettings(Value):
    """How requests are sent, repeated, recorded and replayed."""

    transport: Literal["", "direct", "sdk"] = ""
    retry: RetrySettings = RetrySettings()
    on_cut: Literal["continue", "restart"] = "continue"
    """After a stream broke off: ask for the rest of the answer, or for all of it again."""
    cassette: str = ""
    record: str = ""
    share_limits: bool = True
    """A key that one process found at its limit is not used by the others until the limit ends."""


class CredentialSettings(Value):
    """Where keys come from, and what is allowed to see them."""

    keys: Mapping[str, Any] = NOTHING
    """Keys from the config file, by endpoint name: one text or a list of them."""
    profile: str = ""
    """The named credential to use (`--profile`, YUME_PROFILE, `profile` in the config file)."""
    profiles: Mapping[str, Any] = NOTHING
    """The config file's `[profiles.NAME]` tables."""
    key_helper: str = ""
    """A command that prints a key (`apiKeyHelper` of a trusted settings file)."""
    redact_output: bool = True
    """Remove keys from tool output (`[secrets] redact_output` in the config file)."""
    keys_for_tools: bool = False
    """Leave provider keys in the environment of tool processes (`[secrets] keys_for_tools`)."""


class LimitSettings(Value):
    """What a session may use up: turns, money, time."""

    max_turns: int | None = None
    max_budget_usd: float | None = None
    timeouts: Timeouts = Timeouts()
    repeat_warn: int = 3
    """After so many identical failures of one call the model reads that repeating it is useless; 0 = never."""
    repeat_stop: int = 8
    """After so many the turn ends; 0 = never."""


class HistorySettings(Value):
    """When earlier messages are trimmed or compacted."""

    trimming: bool = True
    """Trim old tool results before the history is compacted."""
    max_tokens: int | None = None
    """The size at which trimming begins; None = the model's own share of its window."""
    keep_recent_user_turns_in_chained_tool_calls: int = 1
    """While tools run, this many of the newest user turns are not trimmed."""
    trim_caps: tuple[int, ...] = ()
    """Characters left of a tool result, newest age first; () = computed from budget and history."""
    auto_compact: bool = True
    """Compact the history before a request that would not fit."""
    compact_small: bool = True
    """A summary that the user asked for is used even if it is longer than what it replaces: in the Claude formats, as
    the Claude CLI does."""
    compact_tokens: int | None = None
    """The size at which that happens (`--autocompact`); None = the model's own share of its window."""


class SandboxSettings(Value):
    """The `sandbox` table of the Claude CLI's settings. All paths are absolute."""

    enabled: bool = False
    auto_allow: bool = True
    """Commands that run in the sandbox need no approval (`autoAllowBashIfSandboxed`)."""
    allow_open: bool = True
    """A call may ask to run outside (`allowUnsandboxedCommands`)."""
    required: bool = False
    """Where there is no sandbox, no command runs (`failIfUnavailable`)."""
    excluded: tuple[str, ...] = ()
    """Commands that run outside (`excludedCommands`)."""
    write: tuple[str, ...] = ()
    deny_write: tuple[str, ...] = ()
    deny_read: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    """Hosts that commands may reach, through a proxy of ours; `*.x` is every host below x."""
    denied_domains: tuple[str, ...] = ()
    unix_sockets: bool = False
    proxy_port: int = 0
    """A proxy of the user's on this machine that is used instead."""


class ToolSettings(Value):
    """Which tools there are, and how they run."""

    names: tuple[str, ...] | None = None
    """None = the default set."""
    concurrency: int = 1
    web_allow_private: tuple[str, ...] = ()
    """Hosts that WebFetch may reach although their addresses are private (loopback, the local network …)."""
    sandbox: str = ""
    """Bash on Linux: "" = none, "workspace" = only workspace and tmp are writable, "workspace-nonet" = the same
    without network."""
    claude_sandbox: SandboxSettings = SandboxSettings()
    bash_path: str = ""
    """Windows: the bash that runs commands; "" = it is searched."""
    unasked_env: tuple[str, ...] = ()
    """Variables that look like secrets (`*_TOKEN` …) and that commands that run unasked may see nevertheless."""
    file_checkpoints: bool = False
    """Keep copies of files before the file tools change them, for the host's `rewind_files`."""
    repair_mojibake: bool = False


class PermissionSettings(Value):
    """Which calls may run, and whether the host is asked about the others."""

    mode: str = "default"
    allow_bypass: bool = False
    no_bypass: bool = False
    """bypassPermissions cannot be switched on, by whomever (`disableBypassPermissionsMode`)."""
    prompt_tool: str = ""
    """"stdio" = ask the host; "" = ask no one."""
    never_ask: bool = False
    """--permission-prompts none."""
    rules: Rules = Rules()
    allow_if_trusted: tuple[str, ...] = ()
    variables_if_trusted: Mapping[str, str] = NOTHING
    """More allow rules, and variables for commands, used if the host trusts the folder."""
    managed: Rules = Rules()
    """Those of `rules` that managed settings wrote: no answer of the host removes them."""
    saved: tuple[str, ...] = ()
    """Allow rules that the user saved with answers to permission questions, for all projects or for this folder."""
    managed_only: bool = False
    """No answer of the host adds an allow rule (`allowManagedPermissionRulesOnly`)."""
    add_dirs: tuple[str, ...] = ()
    confined: bool = False
    """File tools never leave the working folders, whatever mode and rules say (`--restricted`)."""
    files_damaged: bool = False
    """A settings file cannot be used, so rules that should guard may be missing: nothing but rules given by flag or by
    the host, and bypassPermissions, allows commands and edits without asking."""


class McpServer(Value):
    """An MCP server as it is configured, variables replaced."""

    name: str
    kind: Literal["stdio", "http", "sse", "sdk"] = "stdio"
    source: str = "dynamic"
    """Where it comes from: "dynamic" (command line, host), "local", "project", "user", "sdk"."""
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = NOTHING
    url: str = ""
    headers: Mapping[str, str] = NOTHING
    headers_helper: str = ""
    """A command that prints more headers as a JSON object."""
    waited_for: bool = False
    """The first turn waits for it as long as a connection may take; for others it waits a short time."""
    problem: str = ""
    """What is wrong with its description: it is not started, and its status is `failed` with this reason."""

    def __repr__(self) -> str:
        return f"McpServer({self.name!r}, {self.kind!r}, {self.source!r})"  # env and headers may hold keys


class HookSettings(Value):
    """Hooks of settings files. `sources` are (name of the file's layer, its `hooks` table)."""

    sources: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    sources_if_trusted: tuple[tuple[str, Mapping[str, Any]], ...] = ()  # more, used if the host trusts the folder
    fail_closed: bool = False  # a guard that fails refuses the call (`hooks.failClosed`)
    show_all: bool = False  # report hooks of all events (`--include-hook-events`)
    http_urls: tuple[str, ...] | None = None
    http_variables: tuple[str, ...] | None = None
    """Addresses that hooks may be posted to, and variables that their headers may use; None = any."""


class McpSettings(Value):
    """MCP servers and their limits."""

    servers: tuple[McpServer, ...] = ()
    servers_if_trusted: tuple[McpServer, ...] = ()
    """More servers, started if the host trusts the folder."""
    admission: McpAdmission | None = None
    """Servers that the host adds later must be admitted, too; None = all are."""
    connect_s: float = 30.0
    """How long a server may take to connect and to list its tools (`MCP_TIMEOUT`, milliseconds)."""
    call_s: float = 600.0
    """How long a call may take without progress (`MCP_TOOL_TIMEOUT`, milliseconds)."""
    output_tokens: int = 25_000
    """The longest result that the model gets (`MAX_MCP_OUTPUT_TOKENS`)."""


class SessionSettings(Value):
    """Which session this is, which one it continues, and where its transcript is stored."""

    id: str = ""
    persist: bool = True
    folder: str = ""
    entrypoint: str = "sdk-cli"
    resume: str = ""
    """The session to resume: its id or its title."""
    resume_newest: bool = False
    """Resume the newest session of this folder, if there is one (`--continue`)."""
    resume_at: str = ""
    """Resume after the message with this uuid; later messages are dropped."""
    fork: bool = False
    """Leave the old transcript unchanged and continue under a new id."""
    title: str = ""
    """The title that the session gets (`--name`)."""


class Settings(Value):
    """All groups, and the surroundings they were read from."""

    cwd: str = ""
    env: Mapping[str, str] = NOTHING
    """The environment, with the `env` tables of the settings files applied."""
    config_file: str = ""
    setting_sources: tuple[str, ...] = SETTING_SOURCES
    """Which settings.json files were read."""

    host: HostSettings = HostSettings()
    log: LogSettings = LogSettings()
    model: ModelSettings = ModelSettings()
    endpoint: EndpointSettings = EndpointSettings()
    network: NetworkSettings = NetworkSettings()
    credentials: CredentialSettings = CredentialSettings()
    instructions: InstructionSettings = InstructionSettings()
    limits: LimitSettings = LimitSettings()
    script: ScriptSettings = ScriptSettings()
    history: HistorySettings = HistorySettings()
    tools: ToolSettings = ToolSettings()
    permissions: PermissionSettings = PermissionSettings()
    session: SessionSettings = SessionSettings()
    mcp: McpSettings = McpSettings()
    hooks: HookSettings = HookSettings()
    prompts: PromptSettings = PromptSettings()
    plugins: PluginSettings = PluginSettings()
    agents: AgentSettings = AgentSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    left_out: tuple[LeftOut, ...] = ()
    """What init lines name as not used."""
