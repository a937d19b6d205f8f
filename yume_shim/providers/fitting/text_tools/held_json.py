"""Text that is held back because it may be a call as bare JSON: a whole answer, or a code fence."""

from __future__ import annotations

import re

from yume_shim.providers.fitting.text_tools.bare_json import bare_calls, begins_call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

CALL_FENCES = ("tool_call", "tool_calls", "tool_code")
"""Labels of fences that can only mean calls."""
JSON_FENCES = ("json", "")
"""Labels of fences that may hold calls; they do if the answer ends with them, or another fence follows."""
FENCE_LINE = 48
"""Characters of a fence's line that are read."""
_FENCE_END = re.compile(r"[ \t]{0,3}(`{3,}|~{3,})[ \t\r]*\n?")


class HeldJson:
    """`mark` is the fence, with `label` after it; "" = the text is the whole answer. `tools` are lower-case names."""

    def __init__(self, tools: Collection[str], mark: str = "", label: str = "") -> None:
        self._tools = tools
        self._mark = mark
        self._meant = label in CALL_FENCES
        self._parts: list[str] = []
        self._line = ""
        """The beginning of the current line."""
        self._opening = True
        """The current line is the one that opens the fence."""
        self.closed = False
        """The fence has ended."""
        self.size = 0

    @property
    def text(self) -> str:
        """All that is held back."""
        return "".join(self._parts)

    def feed(self, data: str) -> int:
        """Take text up to the end of the fence. Returns how much was taken."""
        if not self._mark:
            return self._take(data)
        place = 0
        while place < len(data) and not self.closed:
            end = data.find("\n", place) + 1 or len(data)
            self._line = (self._line + data[place:end])[: FENCE_LINE + 1]
            self._take(data[place:end])
            place = end
            if data[end - 1] == "\n":
                self.closed = not self._opening and self._closes(self._line)
                self._line, self._opening = "", False
        return place

    def _take(self, text: str) -> int:
        self._parts.append(text)
        self.size += len(text)
        return len(text)

    def _closes(self, line: str) -> bool:
        found = _FENCE_END.fullmatch(line)
        return found is not None and found.group(1)[0] == self._mark[0] and len(found.group(1)) >= len(self._mark)

    def verdict(self, rest: str) -> bool | None:
        """Can what was held back be judged as calls (True), or is it a quotation (False)? `rest` is the text after the
        fence so far; None = more is needed."""
        after = rest.lstrip()
        if self._meant or after.startswith(("```", "~~~")):
            return True
        return None if not after or after in ("`", "``", "~", "~~") else False

    def calls(self, *, cut: bool) -> tuple[str, bool] | None:
        """(JSON, whether it is complete) of the calls; None if this is text. `cut`: by the output limit. What only a
        call can be, but cannot be read, is a call all the same: the model then reads how to write one."""
        inside = self._inside()
        whole = bare_calls(inside, self._tools, any_name=self._meant or not self._mark)
        if whole:
            return whole, True
        if (self._meant and inside.strip()) or (cut and begins_call(inside, self._tools)):
            return inside.strip(), False
        return None

    def _inside(self) -> str:
        if not self._mark:
            return self.text
        inside = self.text.partition("\n")[2].rstrip()
        before, _, last = inside.rpartition("\n")
        return before if self._closes(last) else inside
