"""`headersHelper`: a command of the user that prints headers for a server as a JSON object."""

from __future__ import annotations

from yume_shim.extensions.mcp.errors import McpError
from yume_shim.text import codec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.extensions.mcp.services import McpServices
    from yume_shim.types.ports import Cancel
    from yume_shim.types.settings import McpServer

HELPER_S = 10.0
MAX_OUTPUT = 64 << 10
"""Bytes of its output that are read; a command that prints more is refused."""


def helper_headers(
    config: McpServer, services: McpServices, cancel: Cancel, stopper: Callable[[Callable[[], None]], None]
) -> dict[str, str]:
    """The headers that the command prints; it is ended with its group if it takes too long. `stopper` is given what
    ends it. Raises McpError or Cancelled."""
    import subprocess
    from contextlib import nullcontext

    from yume_shim.system.processes import end_group, start
    from yume_shim.system.programs import NO_CURRENT_FOLDER
    from yume_shim.system.short_commands import printed_by

    env = {
        **services.env,
        **NO_CURRENT_FOLDER,
        "CLAUDE_CODE_MCP_SERVER_NAME": config.name,
        "CLAUDE_CODE_MCP_SERVER_URL": config.url,
    }
    watcher = services.watcher
    try:
        if watcher is not None:
            watcher.pipe()
        with watcher.starting() if watcher is not None else nullcontext():
            process = start(
                config.headers_helper,
                shell=True,
                cwd=services.cwd,
                env=env if watcher is None else watcher.marked(env),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            if watcher is not None:
                watcher.add(process.pid)
    except (OSError, ValueError) as error:
        raise McpError(f"headersHelper cannot be started: {error}") from None

    def stop() -> None:
        if process.returncode is None:  # else its number may belong to another process
            end_group(process.pid)

    stopper(stop)
    with cancel.guard(stop):
        printed, code = printed_by(process, MAX_OUTPUT, HELPER_S)
    if watcher is not None:
        watcher.remove(process.pid)
    cancel.check()
    if code is None and len(printed) <= MAX_OUTPUT:
        raise McpError(f"headersHelper did not end within {HELPER_S:g} s")
    return _headers(printed, code or 0)


def _headers(printed: bytes, code: int) -> dict[str, str]:
    if len(printed) > MAX_OUTPUT:
        raise McpError(f"headersHelper printed more than {MAX_OUTPUT >> 10} KB")
    found = codec.loads_object(printed) if code == 0 else None
    if found is None:
        raise McpError(f"headersHelper must print a JSON object of headers (exit code {code})")
    return {str(name): str(text) for name, text in found.items()}
