"""The table of limits in docs/reliability.md: where each is defined, and what happens when it is reached."""

from __future__ import annotations

import importlib

MIB = 1 << 20
LIMITS = (
    ("Turns", "", "", ""),
    (
        "yume_shim.engine.turn_preparation",
        "READ_LIMIT_S",
        "s",
        "how long a turn waits for files before its first request; then it continues without them",
    ),
    (
        "yume_shim.engine.cancel",
        "GRACE_S",
        "s",
        "wait for cancelled work to stop; then it is abandoned, with a warning",
    ),
    ("yume_shim.engine.cancel", "HURRIED_S", "s", "the same after a second interrupt, and at the end of the session"),
    (
        "yume_shim.host.signals",
        "GRACE",
        "s",
        "wait after a signal, on top of `timeouts.shutdown`; then the process ends at once",
    ),
    ("yume_shim.engine.calls", "MAX_CALLS", "", "calls of one answer that run; each further one gets an error result"),
    ("yume_shim.engine.loop", "MAX_CONTINUATIONS", "", "continuations of an answer that reached its output limit"),
    ("yume_shim.engine.loop", "MAX_CUTS", "", "continuations of interrupted answers in one turn"),
    ("yume_shim.engine.model_client", "MAX_NUDGES", "", "requests that tell the model what was wrong with its answer"),
    ("yume_shim.engine.schema_process", "SECONDS", "s", "matching one output against the patterns of `--json-schema`"),
    ("yume_shim.engine.inbox", "MAX_WAITING", "", "waiting prompts; a further one is refused"),
    ("yume_shim.app.acp.turns", "MAX_WAITING", "", "waiting prompts of one ACP session; a further one is refused"),
    ("yume_shim.engine.children", "MAX_DEPTH", "", "agents inside agents"),
    ("yume_shim.engine.children", "MAX_RUNNING", "", "agents at the same time"),
    ("Answers of endpoints", "", "", ""),
    ("yume_shim.net.message", "MAX_HEAD_BYTES", "bytes", "head of a response"),
    ("yume_shim.net.message", "MAX_INFORMATIONAL", "", "1xx responses before the final one"),
    ("yume_shim.providers.http.transport", "MAX_REDIRECTS", "", "redirects of one request"),
    ("yume_shim.net.message", "MAX_INFLATED", "bytes", "decompressed size of one read"),
    ("yume_shim.providers.http.frames", "MAX_EVENT_BYTES", "bytes", "one event of a stream"),
    ("yume_shim.providers.http.frames", "MAX_ANSWER_BYTES", "bytes", "one answer"),
    (
        "yume_shim.providers.http.stream",
        "END_WAIT_S",
        "s",
        "how long a complete answer without an end mark may stay open (direct transport)",
    ),
    ("yume_shim.providers.wire.block_assembler", "MAX_CONTENT", "characters", "texts and arguments of one answer"),
    ("yume_shim.providers.wire.block_assembler", "MAX_BLOCKS", "", "blocks of one answer"),
    ("Lines", "", "", ""),
    ("yume_shim.host.reader", "MAX_INPUT_LINE", "bytes", "a line on stdin; a longer one is answered with an error"),
    ("yume_shim.types.settings", "FLAT_LINE_BYTES", "bytes", "a line of the flat dialect; longer ones are shortened"),
    ("yume_shim.types.settings", "NESTED_LINE_BYTES", "bytes", "a line of the Claude forms; longer ones are shortened"),
    ("yume_shim.providers.keys.pauses", "MAX_PAUSE_S", "s", "longest pause of a key that other processes respect"),
    ("Telemetry", "", "", ""),
    (
        "yume_shim.telemetry.feed",
        "MAX_WAITING",
        "",
        "events that wait for export; further ones are dropped and counted",
    ),
    (
        "yume_shim.telemetry.options",
        "FLUSH_MS",
        "ms",
        "the last export of a process (`CLAUDE_CODE_OTEL_SHUTDOWN_TIMEOUT_MS`)",
    ),
    ("yume_shim.telemetry.headers_helper", "HELPER_S", "s", "`otelHeadersHelper`"),
    ("Commands, hooks, servers", "", "", ""),
    ("yume_shim.tools.bash", "MAX_TIMEOUT_MS", "ms", "a command"),
    ("yume_shim.tools.shell.shown_output", "MAX_SHOWN", "characters", "output of a command that the model reads"),
    ("yume_shim.tools.shell.sink", "MAX_SAVED", "bytes", "output of a command that is kept in a file"),
    ("yume_shim.tools.shell.shell_session", "MAX_BACKGROUND", "", "commands in the background at the same time"),
    ("yume_shim.extensions.hooks.commands", "MAX_OUTPUT", "bytes", "output of a hook"),
    ("yume_shim.extensions.mcp.stdio", "MAX_MESSAGE_BYTES", "bytes", "a message of an MCP server"),
    ("yume_shim.extensions.mcp.server", "CLOSE_S", "s", "until an MCP server that does not end is killed"),
)
"""Module, name, unit, meaning; a row without a name is a heading."""


def limit_table() -> str:
    """The table as Markdown."""
    rows = ["\n| limit | default | where | what it bounds |\n|---|---|---|---|\n"]
    for module, name, unit, meaning in LIMITS:
        if not name:
            rows.append(f"| **{module}** | | | |\n")
            continue
        number = getattr(importlib.import_module(module), name)
        path = "/".join(module.split(".")[1:])
        rows.append(f"| {name} | {_shown(number, unit)} | `{path}.py` | {meaning} |\n")
    return "".join([*rows, "\n"])


def _shown(number: float, unit: str) -> str:
    if unit == "bytes" and number % MIB == 0:
        return f"{number // MIB:g} MiB"
    return f"{int(number) if number == int(number) else number:,} {unit}".strip()
