"""Separates calls from ordinary text while it streams: text in, text and written calls out.

A call is the opening tag followed by the beginning of JSON (or of a `<function=…>`); the tag alone is text. Directly
after a back-tick or inside a code fence it is a quotation, not a call, unless the fence begins with it: models like to
wrap their calls in one. A call ends where its JSON ends, so an end tag inside a string is part of the string; a broken
call ends at its end tag. Only text that may still become a tag or a fence is held back.

Many small models write the JSON without the tag: as the whole answer, in a fence of their own (`json`, `tool_call`,
`tool_code`), or after `[TOOL_CALLS]`. Such JSON is held back until it is clear whether it is a call (`bare_json`).
"""

from __future__ import annotations

import re

from yume_shim.providers.fitting.text_tools.bare_json import may_be_call
from yume_shim.providers.fitting.text_tools.held_json import CALL_FENCES, FENCE_LINE, JSON_FENCES, HeldJson
from yume_shim.text import codec
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Literal

    Look = tuple[Literal["plain", "wait", "call", "drop", "cut", "hold"], int]
    """What a mark begins, and where that ends."""

MAX_CALLS = 64
"""Calls in one answer; a model that writes more is repeating itself."""
MAX_CALL_CHARS = 1_000_000
MAX_BEGINNING = 256
"""Characters at the start of bare JSON in which its first key must be."""


def _partly(*steps: str) -> str:
    """A pattern for every beginning of these steps, the whole included."""
    nested = ""
    for step in reversed(steps):
        nested = f"(?:{step}{nested})?"
    return nested


_FEW, _SOME = r"\s{0,8}", r"\s{0,32}"
_NAME = r"[\w.:-]{1,128}"
_LANGUAGE = r"[a-zA-Z_]{0,12}"
_AFTER_JSON = r"[\s,;}\]]{0,64}"

_BEGIN = rf"(?=\{{|\[{_FEW}\{{|<function={_NAME}>{_FEW}(?:\{{|<parameter=))"
_BEGIN_PART = f"(?:{_partly(chr(92) + '[', _FEW)}|{_partly(*'<function=', _NAME, '>', _FEW, *'<parameter=')})"
_MARKERS = ("[TOOL_CALLS]", "<|python_tag|>", "<|tool_call|>")
"""Special tokens before calls that servers leave in the text: Mistral's, Llama's, Phi's and Granite's."""
_MARKER = "|".join(map(re.escape, _MARKERS))
_ARGS = re.escape("[ARGS]")
_OPEN = re.compile(
    rf"(?:<tool_call{_FEW}>{_SOME}(?P<fence>```{_LANGUAGE}{_FEW})?|(?=<function=)|(?:{_MARKER}){_SOME}){_BEGIN}"
    rf"|{re.escape(_MARKERS[0])}{_FEW}(?P<name>{_NAME}){_FEW}{_ARGS}{_FEW}(?=\{{)"
)
_FENCE_PART = _partly(*"```", _LANGUAGE, _FEW, _BEGIN_PART)
_TAG_PART = _partly(*"<tool_call", _FEW, ">", _SOME, f"(?:{_FENCE_PART}|{_BEGIN_PART})")
_MARKER_PART = "|".join(_partly(*map(re.escape, marker), _SOME, _BEGIN_PART) for marker in _MARKERS)
_NAMED_PART = _partly(*map(re.escape, _MARKERS[0]), _FEW, _NAME, _FEW, *map(re.escape, "[ARGS]"), _FEW)
_OPEN_PART = re.compile(f"(?:{_TAG_PART}|{_BEGIN_PART}|{_MARKER_PART}|{_NAMED_PART})")
_RESULT = re.compile(r"<tool_(?:response|result)[\s>]")
_RESULT_PART = re.compile(_partly(*"<tool_", f"(?:{_partly(*'response')}|{_partly(*'result')})"))

_CLOSE = re.compile(rf"{_AFTER_JSON}(?:```)?{_SOME}</(tool_call|function){_FEW}>")
_MORE = re.compile(r"[\s,;]{0,64}(?=\{)")
_END = re.compile(rf"</tool_call{_FEW}>")
_END_PART = re.compile(_partly(*"</tool_call", _FEW))
_END_LINE = re.compile(rf"\n[ \t]{{0,16}}</tool_call{_FEW}>")
_END_LINE_PART = re.compile(_partly(r"\n[ \t]{0,16}", *"</tool_call", _FEW))
_FUNCTION_END = re.compile(rf"</(?:function|tool_call){_FEW}>")
_SLASH_PART = _partly(*"</", f"(?:{_partly(*'tool_call', _FEW)}|{_partly(*'function', _FEW)})")
_FUNCTION_END_PART = re.compile(_SLASH_PART)
_CLOSE_PART = re.compile(f"{_AFTER_JSON}(?:{_partly(*'```', _SOME, _SLASH_PART)}|{_SOME}{_SLASH_PART})")

_MARK = re.compile(r"<|\[(?=T|\Z)|`+|~+")
_LINE_END = re.compile(r"\n\s{0,16}")
_OUTSIDE = re.compile(r'["{}\[\]<]')
_INSIDE = re.compile(r'["\\\n]')
_CLOSERS = {"{": "}", "[": "]"}


class Written(Value):
    """A call as the model wrote it. `missing` are the brackets that would complete its JSON: "" = none, None = it was
    cut off or is broken, and must not be completed."""

    raw: str
    missing: str | None = ""


class CallScanner:
    """The text of one block. `tools` are the lower-case names of the tools; `after_call`: the answer holds a call
    already."""

    def __init__(self, tools: Collection[str] = (), *, after_call: bool = False) -> None:
        self._tools = tools
        self._state: Callable[[list[str | Written]], bool] = self._scan_start if tools else self._scan_text
        self._held = HeldJson(tools)
        self._name = ""
        """The name of the call, where it comes before the JSON."""
        self._data = ""
        self._place = 0
        self._before = "\n"
        self._line_blank = True
        self._fence = ""
        self._wrapped = False
        """The open fence contains calls: its end belongs to them."""
        self._after_call = after_call
        self._raw: list[str] = []
        self._size = 0
        self._open: list[str] = []
        self._in_string = False
        self._found = 0
        self.over = False
        """The rest of the answer is ignored."""

    def holds(self) -> bool:
        """Is text held back, or a call unfinished?"""
        return self._place < len(self._data) or self._state not in (self._scan_text, self._skip)

    def feed(self, text: str) -> list[str | Written]:
        """The text and calls that are certain now."""
        out: list[str | Written] = []
        self._data = self._data[self._place :] + text
        self._place = 0
        while self._state(out):
            pass
        return out

    def finish(self, *, cut: bool) -> list[str | Written]:
        """The block has ended; `cut`: because the output limit was reached."""
        out: list[str | Written] = []
        while self._state in (self._scan_json, self._scan_function):
            self._keep(self._data[self._place :])
            self._data, self._place = "", 0
            self._emit_call(out, None if cut or self._in_string else self._missing())
            while self._state(out):
                pass
        if self._state == self._scan_held:
            self._settle_held(out, calls=True, cut=cut)
        rest = self._data[self._place :]
        self._place = len(self._data)
        if self._state != self._skip and not (self._wrapped and not rest.strip("`~ \t\r\n")):
            out.append(rest)
        self._state = self._skip
        return [piece for piece in out if piece]

    # ------------------------------------------------------------ ordinary text

    def _scan_text(self, out: list[str | Written]) -> bool:
        data, start = self._data, self._place
        seen = place = start
        while found := _MARK.search(data, place):
            here = found.start()
            self._follow(data[seen:here])
            seen = here
            kind, end = self._look(data, here, found.group())
            match kind:
                case "plain":
                    place = end
                case "wait":
                    self._emit_text(out, start, here, here)
                    return False
                case "drop":
                    self._emit_text(out, start, here, end)
                    return True
                case "call":
                    self._emit_text(out, start, here, end)
                    self._begin_call(data[end])
                    return True
                case "hold":
                    self._emit_text(out, start, here, here)
                    self._state = self._scan_held
                    return True
                case "cut":
                    self._emit_text(out, start, here, end)
                    self._stop()
                    return True
        self._follow(data[seen:])
        self._emit_text(out, start, len(data), len(data))
        return False

    def _emit_text(self, out: list[str | Written], start: int, end: int, then: int) -> None:
        """Emit `data[start:end]` and continue at `then`."""
        if end > start:
            out.append(self._data[start:end])
        if then > start:
            self._before = self._data[then - 1]
        self._place = then

    def _follow(self, passed: str) -> None:
        """Remember whether the line is blank so far."""
        line = passed[passed.rfind("\n") + 1 :]
        self._line_blank = (self._line_blank or "\n" in passed) and not line.strip(" \t\r")

    def _look(self, data: str, here: int, mark: str) -> Look:
        if mark in "<[":
            return ("plain", here + 1) if self._fence else self._look_at_tag(data, here)
        end = here + len(mark)
        if not self._line_blank:
            return "plain", end
        if len(mark) < 3:
            return ("wait", here) if end == len(data) else ("plain", end)
        return self._look_at_fence(data, here, mark)

    def _look_at_tag(self, data: str, here: int) -> Look:
        before = data[here - 1] if here > self._place else self._before
        if before == "`":
            return "plain", here + 1
        if found := _OPEN.match(data, here):
            self._wrapped = self._wrapped or found.group("fence") is not None
            self._name = found.group("name") or ""
            return "call", found.end()
        if self._after_call and _RESULT.match(data, here):
            return "cut", here
        if _OPEN_PART.fullmatch(data, here) or (self._after_call and _RESULT_PART.fullmatch(data, here)):
            return "wait", here
        return "plain", here + 1

    def _look_at_fence(self, data: str, here: int, mark: str) -> Look:
        line_end = data.find("\n", here, here + FENCE_LINE)
        if line_end < 0:
            if len(data) - here < FENCE_LINE:
                return "wait", here
            line_end = here + FENCE_LINE
        info = data[here + len(mark) : line_end].strip()
        end = max(line_end, here + len(mark))
        if self._fence:
            if self._fence[0] == mark[0] and len(mark) >= len(self._fence) and not info:
                self._fence = ""
            return "plain", end
        if not info and self._wrapped:
            self._wrapped = False
            return "drop", end
        if mark[0] == "`" and "`" in info:
            return "plain", end
        blanks = _LINE_END.match(data, line_end)
        inside = blanks.end() if blanks else line_end
        if blanks and (found := _OPEN.match(data, inside)):
            self._wrapped = True
            return "call", found.end()
        if blanks and _OPEN_PART.fullmatch(data, inside):
            return "wait", here
        label = info.lower()
        if self._tools and blanks and label in (*CALL_FENCES, *JSON_FENCES):
            bare = True if label in CALL_FENCES else self._may_be_call(data, inside)
            if bare is None:
                return "wait", here
            if bare:
                self._held = HeldJson(self._tools, mark, label)
                return "hold", here
        self._fence = mark
        return "plain", end

    def _begin_text(self) -> None:
        self._state, self._line_blank, self._before = self._scan_text, True, "\n"

    # ------------------------------------------------------------ bare JSON

    def _scan_start(self, out: list[str | Written]) -> bool:
        """The answer may be nothing but calls."""
        bare = self._may_be_call(self._data, self._place)
        if bare is None:
            return False
        self._held = HeldJson(self._tools)
        self._state = self._scan_held if bare else self._scan_text
        return True

    def _may_be_call(self, data: str, place: int) -> bool | None:
        """Can bare JSON at this place be a call? None = more text is needed."""
        beginning = data[place : place + MAX_BEGINNING]
        found = may_be_call(beginning)
        return False if found is None and len(beginning) == MAX_BEGINNING else found

    def _scan_held(self, out: list[str | Written]) -> bool:
        held = self._held
        if not held.closed:
            self._place += held.feed(self._data[self._place :])
        if held.size > MAX_CALL_CHARS:  # no call is that long
            self._release(out)
            return True
        verdict = held.verdict(self._data[self._place :]) if held.closed else None
        if verdict is not None:
            self._settle_held(out, calls=verdict, cut=False)
        return verdict is not None

    def _settle_held(self, out: list[str | Written], *, calls: bool, cut: bool) -> None:
        """Emit what was held back, as calls if it is nothing else."""
        found = self._held.calls(cut=cut) if calls else None
        if found is None:
            self._release(out)
            return
        raw, complete = found
        self._raw = [raw]
        self._emit_call(out, "" if complete else None)
        if self._state == self._scan_close:
            self._begin_text()

    def _release(self, out: list[str | Written]) -> None:
        text = self._held.text
        out.append(text)
        self._begin_text()
        self._follow(text)
        self._before = text[-1:] or "\n"

    # ------------------------------------------------------------ calls

    def _begin_call(self, first: str) -> None:
        self._raw, self._size, self._open, self._in_string = [], 0, [], False
        self._state = self._scan_function if first == "<" else self._scan_json

    def _keep(self, text: str) -> None:
        self._raw.append(text)
        self._size += len(text)

    def _missing(self) -> str:
        return "".join(_CLOSERS[bracket] for bracket in reversed(self._open))

    def _emit_call(self, out: list[str | Written], missing: str | None) -> None:
        """Emit the finished call. If its quotes are broken, its end may have been missed: an end tag in text that is
        not JSON was the end, and the text after it is scanned again."""
        raw = "".join(self._raw)
        self._raw = []
        if self._name:
            raw = f'{{"name": "{self._name}", "arguments": {raw}'
            missing, self._name = None if missing is None else missing + "}", ""
        end = _END.search(raw)
        if end and not _is_json(raw + (missing or "")):
            self._data, self._place = raw[end.start() :] + self._data[self._place :], 0
            raw, missing = raw[: end.start()], None
        self._found += 1
        self._after_call = True
        self._state = self._scan_close
        if len(raw) > MAX_CALL_CHARS:
            raw, missing = raw[:MAX_CALL_CHARS], None
            self._stop()
        if self._found >= MAX_CALLS:
            self._stop()
        out.append(Written(raw, missing))

    def _rest(self, out: list[str | Written], held_from: int) -> bool:
        """The call continues in the next piece, which begins with `data[held_from:]`."""
        self._keep(self._data[self._place : held_from])
        self._place = held_from
        if self._size <= MAX_CALL_CHARS:
            return False
        self._emit_call(out, None)
        return True

    def _scan_json(self, out: list[str | Written]) -> bool:
        data, place = self._data, self._place
        while found := (_INSIDE if self._in_string else _OUTSIDE).search(data, place):
            here, mark = found.start(), found.group()
            place = here + 1
            match mark:
                case '"':
                    self._in_string = not self._in_string
                case "\\":
                    if place == len(data):
                        return self._rest(out, here)
                    place += 1
                case "{" | "[":
                    self._open.append(mark)
                case "}" | "]":
                    self._open.pop()
                    if not self._open:
                        self._keep(data[self._place : place])
                        self._place = place
                        self._emit_call(out, "")
                        return True
                case _:  # "<" outside a string, a line end inside one: JSON has neither
                    whole, part = (_END_LINE, _END_LINE_PART) if self._in_string else (_END, _END_PART)
                    if whole.match(data, here):
                        self._keep(data[self._place : here])
                        self._place = here
                        self._emit_call(out, None if self._in_string else self._missing())
                        return True
                    if part.fullmatch(data, here):
                        return self._rest(out, here)
        return self._rest(out, len(data))

    def _scan_function(self, out: list[str | Written]) -> bool:
        data, place = self._data, self._place
        while (here := data.find("</", place)) >= 0:
            if _FUNCTION_END.match(data, here):
                self._keep(data[self._place : here])
                self._place = here
                self._emit_call(out, "")
                return True
            if _FUNCTION_END_PART.fullmatch(data, here):
                return self._rest(out, here)
            place = here + 2
        return self._rest(out, len(data) - (1 if data.endswith("<") else 0))

    def _scan_close(self, out: list[str | Written]) -> bool:
        """After a call: its end tag, another call under the same tag, or text."""
        data, place = self._data, self._place
        if found := _CLOSE.match(data, place):
            self._place = found.end()
            if found.group(1) == "tool_call":
                self._begin_text()
            return True
        if found := _MORE.match(data, place):
            self._place = found.end()
            self._begin_call("{")
            return True
        if _CLOSE_PART.fullmatch(data, place):
            return False
        self._begin_text()
        return True

    def _stop(self) -> None:
        self._state, self.over = self._skip, True

    def _skip(self, out: list[str | Written]) -> bool:
        self._place = len(self._data)
        return False


def _is_json(text: str) -> bool:
    try:
        codec.loads(text)
    except ValueError:
        return False
    return True
