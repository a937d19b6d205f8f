"""The text of an answer that may come in parts: after a cut, the output limit or a provider's pause."""

from __future__ import annotations

from yume_shim.types.blocks import Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from yume_shim.types.blocks import AssistantBlock


class AnswerText:
    """Text is added response by response. Each response begins a new answer, unless `continues_part` or `next_part` was
    called before it: then it continues the answer so far, in the same part (after a cut) or in a new one."""

    def __init__(self) -> None:
        self._parts: list[str] = [""]
        self._gaps: list[str] = [""]
        self._continues = self._new_part = False
        self._gap = ""

    @property
    def text(self) -> str:
        """All parts, joined."""
        return "".join(gap + part for gap, part in zip(self._gaps, self._parts, strict=True))

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of an answer that has more than one, else ()."""
        return tuple(self._parts) if len(self._parts) > 1 else ()

    @property
    def shown(self) -> str:
        """What the next response continues; "" if it begins a new answer."""
        return self.text if self._continues else ""

    def continues_part(self) -> None:
        """The next response continues a part that was cut off."""
        self._continues, self._new_part = True, False

    def next_part(self, last: Sequence[AssistantBlock]) -> None:
        """The next response is another part; `last` are the blocks of the one before. A text that was broken off
        continues without a gap."""
        self._continues = self._new_part = True
        self._gap = "" if not last or isinstance(last[-1], Text) else "\n"

    def add(self, blocks: Sequence[AssistantBlock]) -> None:
        """The text of a response, complete or not."""
        self.put("\n".join(block.text for block in blocks if isinstance(block, Text)))

    def put(self, said: str) -> None:
        """The same for a text."""
        if not self._continues:
            self._parts, self._gaps = [said], [""]
        elif not self._new_part or not self._parts[-1]:
            self._parts[-1] += said
        elif said:
            self._parts.append(said)
            self._gaps.append(self._gap)
        self._continues = False
