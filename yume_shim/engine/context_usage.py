"""How full the context is: the answer to `get_context_usage`."""

from __future__ import annotations

from yume_shim.context.estimate import frame_size, size_of
from yume_shim.types.token_estimate import by_characters

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.engine.conversation import Conversation

_COLOURS = {"system": "promptBorder", "tools": "inactive", "memory": "claude", "messages": "purple", "free": "subtle"}


def context_usage(conversation: Conversation) -> dict[str, Any]:
    """Figures by part. What the provider counted last is the total; the parts are estimates."""
    services, spec = conversation.services, conversation.models.current()
    offer = services.toolbox.offer(services.learned(spec), services.settings.env)
    tools = services.toolbox.specs() if offer is None else offer.specs
    if conversation.small:
        from yume_shim.engine.instructions import offered

        tools = offered(services, tools, small=True)
    files = () if conversation.memory is None else tuple(conversation.memory.files)
    history = tuple(conversation.history)  # the session's thread may add to it meanwhile
    figures = {
        "system": ("System prompt", frame_size(conversation.system, ())),
        "tools": ("System tools", frame_size((), tools)),
        "memory": ("Memory files", by_characters(conversation.preamble)),
        "messages": ("Messages", size_of(history)),
    }
    estimated = sum(tokens for _, tokens in figures.values())
    counted = conversation.measured
    total = counted.size(list(history)) if counted is not None and counted.origin == spec.origin else estimated
    free = max(0, spec.window - total)
    shown = [*figures.items(), ("free", ("Free space", free))]
    settings = services.settings
    threshold = settings.history.compact_tokens or round(spec.window * spec.shares(spec.window)[1])
    return {
        "categories": [
            {
                "id": key,
                "name": name,
                "tokens": tokens,
                "color": _COLOURS[key],
                "kind": "free" if key == "free" else "used",
            }
            for key, (name, tokens) in shown
        ],
        "totalTokens": total,
        "maxTokens": spec.window,
        "rawMaxTokens": spec.window,
        "percentage": round(100 * total / spec.window),
        "gridRows": [],
        "model": spec.id,
        "memoryFiles": [{"path": file.path, "type": file.kind, "tokens": file.tokens} for file in files],
        "mcpTools": [],
        "agents": [],
        "isAutoCompactEnabled": settings.history.auto_compact,
        "autoCompactThreshold": threshold,
        "estimated": counted is None,
        "apiUsage": None,
    }
