"""Attaches files that a prompt mentions with `@`: the Read tool reads them if the gate allows that without asking."""

from __future__ import annotations

from yume_shim.context.mentions import attachment, mentioned
from yume_shim.types.blocks import Text, ToolCall
from yume_shim.types.errors import Cancelled, ToolFailed
from yume_shim.types.outputs import ToolContext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from yume_shim.engine.services import EngineServices
    from yume_shim.types.blocks import Block
    from yume_shim.types.ports import Cancel

READER = "Read"


def attachments(services: EngineServices, blocks: Iterable[Block], cancel: Cancel) -> list[str]:
    """One note with the content of each mentioned file that exists and may be read. Other mentions are ignored."""
    spec = services.toolbox.find(READER)
    if spec is None:
        return []
    notes: list[str] = []
    for path in [path for block in blocks if isinstance(block, Text) for path in mentioned(block.text)]:
        call = ToolCall(services.ids.call_id(), READER, {spec.path_field: path})
        try:
            prepared = services.toolbox.prepare(call)
            decision = services.gate.decide(prepared.call, spec)
            if decision.verdict != "allow":
                continue
            content = services.toolbox.run(prepared.at(decision.judged), ToolContext(call.id, cancel)).content
        except (ToolFailed, Cancelled):
            continue
        if isinstance(content, str):
            notes.append(attachment(path, content))
    return notes
