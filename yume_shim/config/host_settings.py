"""Builds HostSettings, LogSettings and SessionSettings: what we exchange with the host, log and store."""

from __future__ import annotations

from yume_shim.types.errors import BadInvocation
from yume_shim.types.settings import HostSettings, LogSettings, SessionSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.config.setting_sources import SettingSources

LOG_LEVELS = ("debug", "info", "warning", "error")
LIST_FLAGS = ("allowedTools", "disallowedTools", "tools", "add-dir", "mcp-config", "betas")
"""Flags that take every following word."""
LOG_FORMATS = ("text", "json")
STDIN, STDOUT, STDERR = 0, 1, 2


def host_settings(sources: SettingSources) -> HostSettings:
    """Formats, the first prompt, and the messages that a host can turn on. Raises BadInvocation."""
    stream_in = sources.text("input-format") == "stream-json"
    output = "flat" if sources.flat else sources.text("output-format") or "text"
    one_shot = bool(sources.words) or sources.on("print")
    lines = stream_in or (sources.flat and not one_shot)
    _check_formats(sources, output, stream_in)
    if lines and sources.on("no-stdin"):
        raise BadInvocation('Error: --no-stdin needs a prompt on the command line: yume-shim --no-stdin -p "…"')
    terminal = sources.is_terminal
    return HostSettings(
        output_format=output,  # type: ignore[arg-type]  # the flag table checked the choice
        input_format="lines" if lines else "text",
        prompt=sources.words[0] if sources.words and not stream_in else None,
        swallowed_prompt="" if sources.words else _swallowed(sources),
        read_stdin=not sources.on("no-stdin"),
        typed=lines and terminal(STDIN),
        attended=not lines and (terminal(STDIN) or terminal(STDERR)),
        live=streams_text(sources),
        verbose=sources.on("verbose"),
        partial_messages=sources.on("include-partial-messages"),
        replay_user_messages=sources.on("replay-user-messages"),
        max_line_bytes=sources.whole("max-line-bytes", "YUME_MAX_LINE_BYTES", least=1024) or 0,
        session_states=sources.is_true("CLAUDE_CODE_SDK_READS_SESSION_STATE")
        or sources.is_true("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS"),
        session_mirror=sources.on("session-mirror"),
        slash_commands=not sources.on("disable-slash-commands"),
        details=sources.flat,
        tool_deltas=sources.on("tool-use-deltas"),
        request_permits=sources.on("request-permits") and sources.flat and lines,
        delta_interval=(sources.whole("delta-interval", "YUME_DELTA_INTERVAL") or 0) / 1000,
        merge_waiting=not sources.flat,
        watch_streams=_watch_streams(sources),
    )


def streams_text(sources: SettingSources) -> bool:
    """Whether the answer is shown while it comes: as text, to a terminal. Shown text cannot be taken back, so not where
    a cut answer is to be asked for again from its start."""
    as_text = not sources.flat and sources.text("output-format") in (None, "", "text")
    return as_text and sources.text("on-cut") != "restart" and sources.is_terminal(STDOUT)


def _swallowed(sources: SettingSources) -> str:
    """A list takes every word after its flag, the prompt too. Without `-p` there would be no error, because a start
    without a prompt is a flat one: a value that looks like a sentence (not like a rule, not like JSON) is reported at
    once."""
    for flag in LIST_FLAGS:
        for given in reversed(sources.many(flag)):
            text = f"--{flag} took '{given}' into its list. Put the prompt before the flag, or after `--`"
            sentence = len(given.split()) > 1 and "(" not in given and not given.lstrip().startswith("{")
            if sources.flat and not sources.on("output-format") and sentence:
                sources.report.warn(text)
            return text
    return ""


def _check_formats(sources: SettingSources, output: str, stream_in: bool) -> None:
    """Refuse the combinations that the Claude CLI refuses."""
    if output == "stream-json" and not sources.on("verbose"):
        raise BadInvocation("Error: When using --print, --output-format=stream-json requires --verbose")
    if stream_in and output not in ("stream-json", "flat"):
        raise BadInvocation("Error: --input-format=stream-json requires output-format=stream-json.")
    if sources.on("include-partial-messages") and output != "stream-json" and not sources.flat:
        raise BadInvocation("Error: --include-partial-messages requires --print and --output-format=stream-json.")
    if sources.on("replay-user-messages") and not (stream_in and output == "stream-json") and not sources.flat:
        raise BadInvocation(
            "Error: --replay-user-messages requires both --input-format=stream-json and --output-format=stream-json."
        )


def log_settings(sources: SettingSources) -> LogSettings:
    """`--debug` overrides YUME_LOG, which overrides the config file's `log`. Raises BadInvocation."""
    debug = sources.on("debug") or sources.on("debug-to-stderr")
    level = "debug" if debug else sources.env.get("YUME_LOG", "") or sources.conf("log") or "warning"
    if level not in LOG_LEVELS:
        raise BadInvocation(f"log level '{level}' is not one of {', '.join(LOG_LEVELS)}")
    form = sources.text("log-format") or sources.env.get("YUME_LOG_FORMAT", "") or sources.conf("log_format") or "text"
    if form not in LOG_FORMATS:
        raise BadInvocation(f"log format '{form}' is not one of {', '.join(LOG_FORMATS)}")
    keep = sources.config.get("keep_errors", True)
    if not isinstance(keep, bool):
        raise BadInvocation(f"{sources.config_path}: `keep_errors` must be true or false")
    if sources.env.get("YUME_KEEP_ERRORS") in ("0", "false"):
        keep = False
    return LogSettings(level, sources.text("debug-file") or "", as_json=form == "json", keep_errors=keep)


def session_settings(sources: SettingSources) -> SessionSettings:
    """The session's id, the session to resume, and the folder of the transcripts. Raises BadInvocation."""
    return SessionSettings(
        id=_session_id(sources),
        persist=not sources.on("no-session-persistence"),
        folder=sources.text("session-dir") or sources.env.get("YUME_SESSION_DIR", "") or sources.conf("session_dir"),
        entrypoint=sources.env.get("CLAUDE_CODE_ENTRYPOINT", "sdk-cli"),
        resume=_resume(sources),
        resume_newest=sources.on("continue"),
        resume_at=sources.text("resume-session-at") or "",
        fork=sources.on("fork-session"),
        title=" ".join((sources.text("name") or "").split()),
    )


def _session_id(sources: SettingSources) -> str:
    given = sources.text("session-id")
    if not given:
        return ""
    from yume_shim.text.uuids import is_uuid

    if not is_uuid(given):
        raise BadInvocation("Error: Invalid session ID. Must be a valid UUID.")
    return given


def _resume(sources: SettingSources) -> str:
    """The flag's value is optional, but only an interactive program could ask which session is meant."""
    given = sources.text("resume")
    if sources.on("resume") and not given:
        raise BadInvocation("Error: --resume needs a session ID or a session title in a non-interactive session.")
    return given or ""


def _watch_streams(sources: SettingSources) -> bool:
    """On in flat and off in the Claude forms, unless it is set."""
    given = sources.env.get("YUME_STREAM_WATCHERS", "")
    if given:
        return sources.is_true("YUME_STREAM_WATCHERS")
    return sources.config.get("stream_watchers", sources.flat) is True
