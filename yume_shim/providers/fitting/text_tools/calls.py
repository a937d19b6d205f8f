"""Turns calls that a model writes as text into ToolCall blocks, while the answer streams.

Other text is passed on as it comes, and blocks are numbered again. White space around a call belongs to the call. A
result that the model writes itself is invented: the text from there on is dropped.
"""

# pyright: reportUnknownVariableType=false

from __future__ import annotations

import re

from yume_shim.providers.fitting.text_tools.bare_json import ARGUMENTS, BESIDES, NAMES
from yume_shim.providers.fitting.text_tools.scanner import MAX_CALLS, CallScanner, Written
from yume_shim.text import codec
from yume_shim.text.tool_arguments import parse_arguments
from yume_shim.types.blocks import Text, ToolCall
from yume_shim.types.events import (
    BlockDelta,
    BlockEnded,
    BlockStarted,
    LimitsReported,
    Notice,
    ResponseEnded,
    ResponseFailed,
    ResponseStarted,
)
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from re import Match
    from typing import Any

    from yume_shim.providers.pipeline import Decoding
    from yume_shim.types.blocks import Json, Opaque
    from yume_shim.types.events import ModelEvent
    from yume_shim.types.models import Request, ToolSpec, Usage

UNNAMED = "unnamed"
"""The name of a call without one. No tool has it, so the model gets an error result."""
_CUT = frozenset(("length", "window"))

_STRING = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)', re.DOTALL)
"""A string without an end extends to the end of the text: trying each of its quotes would take for ever."""
_NAMED = re.compile(r'"(?:name|tool|tool_name)"\s*:\s*"([^"\\\n]{1,128})"')
_FUNCTION = re.compile(r"<function=([^>]*)>(.*)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^<>]*)>\n?(.*?)\n?(?:</parameter>|(?=<parameter=)|\Z)", re.DOTALL)
_CONTROLS = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


class TextCalls:
    """Wraps a decoder and turns its text into text and calls."""

    def __init__(self, decoder: Decoding, request: Request, new_id: Callable[[], str]) -> None:
        self._decoder = decoder
        self._tools = {tool.name.lower(): tool for tool in request.tools}
        self._new_id = new_id
        self._next = 0
        self._passing: dict[int, int] = {}
        """Index of a block that is passed on unchanged -> its new index."""
        self._scanner: CallScanner | None = None
        self._calls = 0
        self._over = False
        self._split = False
        """The decoder's open block contained a call."""
        self._open: list[str] | None = None
        """The text block that was started."""
        self._blanks: list[str] = []
        self._ended: Opaque | None = None
        """The private data of the decoder's block, when that has ended."""

    def feed(self, frame: Json) -> list[ModelEvent]:
        """The events of a frame."""
        return self._translate(self._decoder.feed(frame))

    def finish(self) -> list[ModelEvent]:
        """The body ended."""
        return self._translate(self._decoder.finish())

    def reported(self) -> tuple[Usage, bool]:
        """The usage reported so far, and whether it is final."""
        return self._decoder.reported()

    def _translate(self, events: list[ModelEvent]) -> list[ModelEvent]:
        out: list[ModelEvent] = []
        for event in events:
            match event:
                case BlockStarted():
                    out += self._start(event)
                case BlockDelta():
                    out += self._piece(event)
                case BlockEnded():
                    out += self._end(event)
                case ResponseEnded():
                    out += self._settle(cut=event.stop in _CUT)
                    if self._calls and event.stop not in _CUT:
                        event = replace(event, stop="tool_calls", stop_reason="tool_use")
                    out.append(event)
                case ResponseStarted() | ResponseFailed() | Notice() | LimitsReported():
                    out.append(event)
        return out

    # ------------------------------------------------------------ the decoder's blocks

    def _start(self, event: BlockStarted) -> list[ModelEvent]:
        out = self._settle(cut=False)
        if not isinstance(event.block, Text):
            self._passing[event.index] = self._next
            self._next += 1
            self._calls += isinstance(event.block, ToolCall)
            return [*out, replace(event, index=self._passing[event.index])]
        self._scanner = CallScanner(self._tools, after_call=self._calls > 0)
        self._split = False
        return out + self._take(self._scanner.feed(event.block.text))

    def _piece(self, event: BlockDelta) -> list[ModelEvent]:
        if event.index in self._passing:
            return [replace(event, index=self._passing[event.index])]
        if self._scanner is None or event.kind != "text":
            return []
        return self._take(self._scanner.feed(event.text))

    def _end(self, event: BlockEnded) -> list[ModelEvent]:
        """A text may end in the middle of a call; the reason is known when the answer ends."""
        if event.index in self._passing:
            return [replace(event, index=self._passing.pop(event.index))]
        if self._scanner is None or not isinstance(event.block, Text):
            return []
        self._ended = event.block.opaque
        return [] if self._scanner.holds() else self._settle(cut=False)

    def _settle(self, *, cut: bool) -> list[ModelEvent]:
        """Close the text that the decoder has ended."""
        if self._scanner is None:
            return []
        out = self._take(self._scanner.finish(cut=cut))
        self._scanner = None
        if not self._split and self._open is None and not self._over:
            out += self._show("".join(self._blanks))
        self._blanks.clear()
        opaque, self._ended = self._ended, None
        return out + self._close_text(None if self._split else opaque)

    # ------------------------------------------------------------ our blocks

    def _take(self, pieces: list[str | Written]) -> list[ModelEvent]:
        out: list[ModelEvent] = []
        for piece in () if self._over else pieces:
            if isinstance(piece, str):
                out += self._add_text(piece)
                continue
            self._split = True
            out += self._close_text(None)
            self._blanks.clear()
            for name, arguments in read_calls(piece, self._tools)[: MAX_CALLS - self._calls]:
                out += self._call(name, arguments)
        if self._scanner is not None and not self._over:
            full = self._calls >= MAX_CALLS
            self._over = full or self._scanner.over
            if full:
                out.append(Notice("text_tools", f"{MAX_CALLS} calls in one answer: the rest was left out"))
        return out

    def _add_text(self, text: str) -> list[ModelEvent]:
        if self._open is not None:
            self._open.append(text)
            return [BlockDelta(self._next - 1, "text", text)]
        if not text.strip():
            self._blanks.append(text)
            return []
        before = "".join(self._blanks)
        self._blanks.clear()
        return self._show((before + text).lstrip() if self._split else before + text)

    def _show(self, text: str) -> list[ModelEvent]:
        self._open = [text]
        started = BlockStarted(self._next, Text(""))
        self._next += 1
        return [started, BlockDelta(started.index, "text", text)] if text else [started]

    def _close_text(self, opaque: Opaque | None) -> list[ModelEvent]:
        if self._open is None:
            return []
        text, self._open = "".join(self._open), None
        return [BlockEnded(self._next - 1, Text(text) if opaque is None else Text(text, opaque))]

    def _call(self, name: str, arguments: str) -> list[ModelEvent]:
        self._calls += 1
        index, own = self._next, self._new_id()
        self._next += 1
        given, broken = parse_arguments(arguments)
        out: list[ModelEvent] = [BlockStarted(index, ToolCall(own, name, {}))]
        if arguments:
            out.append(BlockDelta(index, "json", arguments))
        return [*out, BlockEnded(index, ToolCall(own, name, given, broken))]


# ---------------------------------------------------------------- reading a call


def read_calls(written: Written, tools: dict[str, ToolSpec]) -> list[tuple[str, str]]:
    """(tool, argument text) of every call in a piece; text that is not a JSON object becomes a broken call.

    Seen in the wild: `parameters` or `input` for `arguments`, arguments as text, or beside the name; a list of calls;
    OpenAI's `{"function": {…}}`; line ends inside strings; brackets left out at the end.
    """
    if written.raw.startswith("<"):
        return [_read_function(written, tools)]
    parsed = _parse(written.raw)
    if parsed is None and written.missing:
        parsed = _parse(written.raw + written.missing)
    if parsed is None:
        named = _NAMED.search(written.raw)
        return [(_own_name(named.group(1) if named else "", tools), written.raw)]
    return [_read_call(item, tools) for item in (parsed if isinstance(parsed, list) else [parsed])]


def _parse(raw: str) -> Any:
    """The JSON of a call; None if it cannot be read."""
    for text in (raw, _STRING.sub(_escaped, raw)):
        try:
            parsed = codec.loads(text)
            codec.dumps(parsed)  # refuses what is nested too deeply to be sent again
        except ValueError:
            continue
        return parsed
    return None


def _escaped(string: Match[str]) -> str:
    return re.sub(r"[\n\r\t]", lambda found: _CONTROLS[found.group()], string.group())


def _read_call(item: Any, tools: dict[str, ToolSpec]) -> tuple[str, str]:
    if not isinstance(item, dict):
        return UNNAMED, _text(item)
    inner = item["function"] if isinstance(item.get("function"), dict) else item
    name = next((inner[key] for key in NAMES if isinstance(inner.get(key), str)), "")
    key = next((key for key in ARGUMENTS if key in inner), None)
    beside = {key: part for key, part in inner.items() if key not in BESIDES}
    return _own_name(name, tools), _arguments(beside if key is None else inner[key])


def _read_function(written: Written, tools: dict[str, ToolSpec]) -> tuple[str, str]:
    """`<function=name>` with a JSON object, or with `<parameter=key>` for each argument (Qwen's coder models)."""
    found = _FUNCTION.match(written.raw)
    name, inside = (found.group(1), found.group(2)) if found else ("", written.raw)
    own = _own_name(name, tools)
    if written.missing is None:
        return own, inside
    if not inside.lstrip().startswith("<parameter="):
        parsed = _parse(inside.strip())
        return own, inside.strip() if parsed is None else _text(parsed)
    known = tools[own.lower()].schema.get("properties") if own.lower() in tools else None
    types = known if isinstance(known, dict) else {}
    return own, _text({key: _typed(text, types.get(key)) for key, text in _PARAMETER.findall(inside)})


def _typed(text: str, schema: Any) -> Any:
    """A parameter is text, or JSON where the tool's schema asks for another type."""
    if not isinstance(schema, dict) or schema.get("type", "string") == "string":
        return text
    parsed = _parse(text)
    return text if parsed is None else parsed


def _arguments(given: Any) -> str:
    """Arguments as JSON text; they may be text already."""
    if not isinstance(given, str):
        return _text(given)
    parsed, broken = parse_arguments(given)
    return _text(parsed) if broken is None else given


def _own_name(name: str, tools: dict[str, ToolSpec]) -> str:
    """The tool's name in its own spelling, if there is such a tool."""
    name = name.strip()
    found = tools.get(name.lower())
    return found.name if found else name or UNNAMED


def _text(item: Any) -> str:
    return codec.dumps(item).decode()
