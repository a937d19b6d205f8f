"""One frozen Settings: everything that flags, environment and files decide, resolved before the first turn."""

from __future__ import annotations

from yume_shim.types.blocks import NOTHING
from yume_shim.types.value import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    from yume_shim.types.models import Effort

    OutputFormat = Literal["flat", "stream-json", "json", "text"]
    InputFormat = Literal["lines", "text"]


@value
class Rules:
    """Permission rules as written, by what they do."""

    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


@value
class RetrySettings:
    """Overrides of the endpoint's Backoff; None = the endpoint's own value. Times in seconds."""

    initial: float | None = None
    multiplier: float | None = None
    cap: float | None = None
    jitter: float | None = None
    retries: int | None = None


@value
class Timeouts:
    """Seconds. `idle` is the longest silence inside a stream, `total` the longest single response."""

    connect: float = 30.0
    first_byte: float = 300.0
    idle: float = 120.0
    total: float = 1_800.0
    approval: float = 300.0
    tool_heartbeat: float = 30.0
    shutdown: float = 2.0


@value
class Settings:
    """The resolved wishes of whoever started us."""

    # --- how to talk
    output_format: OutputFormat = "flat"
    input_format: InputFormat = "lines"
    """"lines" = JSON lines on stdin; "text" = the whole of stdin is (part of) the prompt."""
    prompt: str | None = None
    verbose: bool = False
    partial_messages: bool = False
    replay_user_messages: bool = False
    max_line_bytes: int = 0
    """0 = the dialect's own cap."""
    log_level: str = "warning"
    debug_file: str = ""

    # --- which model
    provider: str = ""
    model: str = ""
    api: str = ""
    api_base: str = ""
    api_key_env: str = ""
    transport: Literal["", "direct", "sdk"] = ""
    aliases: Mapping[str, str] = NOTHING
    endpoints: Mapping[str, Any] = NOTHING
    """Extra endpoint rows from the config file, same shape as `catalog/endpoints.json`."""
    fallback_model: str = ""
    effort: Effort | None = None
    thinking: Literal["default", "adaptive", "enabled", "disabled"] = "default"
    thinking_budget: int | None = None
    thinking_display: str = ""
    max_output_tokens: int | None = None
    custom_headers: Mapping[str, str] = NOTHING
    cassette: str = ""
    record: str = ""
    retry: RetrySettings = RetrySettings()
    timeouts: Timeouts = Timeouts()

    # --- what to tell the model
    system_prompt: str | None = None
    append_system_prompt: str = ""

    # --- limits
    max_turns: int | None = None
    max_budget_usd: float | None = None
    tool_concurrency: int = 1
    on_cut: Literal["continue", "restart"] = "continue"
    join_continuations: bool = True
    """The result of an answer that hit the output limit is all of it; the Claude forms tell its last part only."""
    merge_waiting: bool = False
    """Claude forms: prompts that waited are joined into one turn, and injected between tool rounds."""

    # --- tools and permissions
    tools: tuple[str, ...] | None = None
    """None = the default set."""
    permission_mode: str = "default"
    allow_bypass: bool = False
    prompt_tool: str = ""
    """"stdio" = ask the host; "" = nobody to ask."""
    ask_nobody: bool = False
    """--permission-prompts none."""
    rules: Rules = Rules()
    add_dirs: tuple[str, ...] = ()
    env: Mapping[str, str] = NOTHING
    """The environment after the settings files' `env` was laid over it."""

    # --- session
    cwd: str = ""
    session_id: str = ""
    persist: bool = True
    session_dir: str = ""
    entrypoint: str = "sdk-cli"
    repair_mojibake: bool = False
    setting_sources: tuple[str, ...] = ("user", "project", "local")
    json_schema: Mapping[str, Any] | None = None
    """The answer must fit this JSON Schema (`--json-schema`)."""
    session_states: bool = False
    """Tell the host when the session runs, waits for it, or is idle (`session_state_changed`)."""
    keys: Mapping[str, Any] = NOTHING
    """Keys from the config file, by endpoint name: one text or a list of them."""
    config_file: str = ""
    default_provider: str = ""
    """From environment or config file: weaker than `provider/model` names and aliases, unlike `provider`."""
    provider_model: str = ""
    """The model to use when a host asks for a Claude alias that the chosen provider does not know."""
    web_allow_private: tuple[str, ...] = ()
    """Hosts that WebFetch may reach although their addresses are private (loopback, the local network …)."""
    sandbox: str = ""
    """Bash on Linux: "" = none, "workspace" = only workspace and tmp writable, "workspace-nonet" = no network too."""
    history_trimming: bool = True
    """Old tool results are cut before a summary of the history is asked for."""
    max_history_tokens: int | None = None
    """The size at which trimming begins; None = the model's own share of its window."""
    keep_recent_user_turns_in_chained_tool_calls: int = 1
    """While tools run, so many of the newest user turns are not trimmed."""
    trim_caps: tuple[int, ...] = ()
    """Characters left of a tool result, newest age first; () = worked out from budget and history."""
    auto_compact: bool = True
    """Sum the history up before a request that would not fit."""
    autocompact_tokens: int | None = None
    """The size at which that happens (`--autocompact`); None = the model's own share of its window."""
    slash_commands: bool = True
    """False: `/compact` and `/clear` go to the model as text (`--disable-slash-commands`)."""
    resume: str = ""
    """The session to take up again: its id or its title."""
    resume_newest: bool = False
    """Take up the newest session of this folder, if there is one (`--continue`)."""
    fork: bool = False
    """Leave the old transcript as it is and go on under a new id."""
    resume_at: str = ""
    """Go on after the message with this uuid; what followed it is left aside."""
    model_chosen: bool = False
    """The model or the provider was named by flag: a resumed session does not keep its own."""
    session_mirror: bool = False
    """Tell the host every transcript entry (`--session-mirror`)."""
    redact_output: bool = True
    """Take keys out of tools' output (`[secrets] redact_output` in the config file)."""
    keys_for_tools: bool = False
    """Leave providers' keys in the environment of tool processes (`[secrets] keys_for_tools`)."""
    file_checkpoints: bool = False
    """Keep what the file tools change, so that the host can rewind it (`rewind_files`)."""
    memory: bool = True
    """Read CLAUDE.md files (`--bare` does not)."""
    confined: bool = False
    """File tools never leave the working folders, whatever mode and rules say (`--restricted`)."""
    temperature: float | None = None
    """0.0 to 2.0; rows of `models` go before it."""
    top_p: float | None = None
    stop_sequences: tuple[str, ...] = ()
    models: Mapping[str, Any] = NOTHING
    """What the config file says about single models (`[models."name"]`): limits, abilities, sampling."""
    profile: str = ""
    """The named credential to use (`--profile`, YUME_PROFILE, `profile` in the config file)."""
    profiles: Mapping[str, Any] = NOTHING
    """The config file's `[profiles.NAME]` tables."""
    key_helper: str = ""
    """A command that prints a key (`apiKeyHelper` of a trusted settings file)."""
    compat: tuple[str, ...] = ()
    """Quirks of the endpoint at `api_base` (`--compat`, YUME_COMPAT): `noStreaming`, `tools=false`, …"""
