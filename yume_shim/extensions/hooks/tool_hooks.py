"""Hooks of the type `mcp_tool`: a tool of a configured MCP server answers as a command would."""

from __future__ import annotations

import re

from yume_shim.extensions.hooks.answers import HookRun
from yume_shim.text import codec
from yume_shim.types.errors import ToolFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from yume_shim.extensions.hooks.specs import Hook
    from yume_shim.types.blocks import Json
    from yume_shim.types.ports import Cancel

    CallTool = Callable[[str, str, Json, float, Cancel], tuple[str, bool]]
    """(server, tool, arguments, seconds, cancel) -> (its text, whether it is an error); raises ToolFailed, TimeoutError
    or Cancelled. A failure `before_run` means that the tool was not called."""

_FIELD = re.compile(r"\$\{([A-Za-z0-9_.\-]+)\}")


def call_tool(hook: Hook, event: Json, call: CallTool, cancel: Cancel) -> HookRun:
    """Call the tool. Raises Cancelled."""
    try:
        text, is_error = call(hook.server, hook.tool, filled(dict(hook.given), event), hook.seconds, cancel)
    except ToolFailed as failed:
        return HookRun(hook, 1, stderr=failed.message, failed=failed.message, unrun=failed.before_run)
    except TimeoutError:
        return HookRun(hook, timed_out=True, failed="it timed out")
    if is_error:
        return HookRun(hook, 1, text, text, failed="the tool reported an error")
    return HookRun(hook, 0, text)


def filled(given: Any, event: Json) -> Any:
    """The arguments with `${path}` in their texts replaced by the event's field; "" if there is none."""
    if isinstance(given, dict):
        return {name: filled(item, event) for name, item in given.items()}
    if isinstance(given, list):
        return [filled(item, event) for item in given]
    return _FIELD.sub(lambda found: _field(found[1], event), given) if isinstance(given, str) else given


def _field(path: str, event: Json) -> str:
    found: Any = event
    for name in path.split("."):
        if isinstance(found, list) and name.isdigit() and int(name) < len(found):
            found = found[int(name)]
        elif isinstance(found, dict):
            found = found.get(name)
        else:
            found = None
    if found is None or isinstance(found, str):
        return found or ""
    return codec.dumps(found).decode("utf-8")
