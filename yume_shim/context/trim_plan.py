"""The plan by which old tool results are trimmed, and its use. Pure. `result_trimming.py`, which makes plans, is loaded
when a history becomes long."""

from __future__ import annotations

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from yume_shim.types.blocks import Message


class TrimPlan(Value):
    """The cap in characters for the results of each message, from the first message on. Later messages stay whole."""

    caps: tuple[int, ...] = ()

    def joined(self, other: TrimPlan) -> TrimPlan:
        """Both plans together: a result that was trimmed never grows again."""
        longer, shorter = sorted((self.caps, other.caps), key=len, reverse=True)
        return TrimPlan(tuple(map(min, longer, shorter)) + longer[len(shorter) :])


def apply_trim(messages: Sequence[Message], plan: TrimPlan) -> tuple[Message, ...]:
    """The history to send: the same messages, with the results trimmed by the plan."""
    if not plan.caps:
        return tuple(messages)
    from yume_shim.context.result_trimming import trimmed_message

    return tuple(
        trimmed_message(message, plan.caps[place]) if place < len(plan.caps) else message
        for place, message in enumerate(messages)
    )
