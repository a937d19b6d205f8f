"""What a refusal teaches: a request that was wrong in a way the endpoint named is put right and sent again, once each.

Which sentence teaches what stands in `_lessons.py`; here is what a lesson does to this and all later requests.
"""

from __future__ import annotations

from yume_shim.types.blocks import NOTHING, Document, Image, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.events import Notice
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from yume_shim.types.blocks import Block, Json, Message
    from yume_shim.types.errors import Failure
    from yume_shim.types.models import Request, WireRequest

MAX_LESSONS = 6
"""So many refusals of one request are learned from."""
STRIPS = 2
"""An endpoint that refuses its own reasoning more often than this gets none back any more."""
TEACHING = frozenset(("bad_request", "not_found", "context_length", "server"))
"""Failures whose sentence is read; proxies pass a refusal on as any of these."""
NAMING = (400, 422, None)
"""Statuses that can mean a parameter; None = the refusal came inside a stream."""
REFUSED = "{model} at {endpoint} refuses {name}: it is left out."
TOO_LARGE = "[left out: the request was too large]"


class Learned:
    """Everything learned from refusals; kept for the life of the provider."""

    def __init__(self) -> None:
        self._count = 0
        self._quirks: dict[str, Any] = {}
        self._taught: set[tuple[str, Any]] = set()
        """Values of quirks that were tried: none comes back."""
        self._variants: set[str] = set()
        """Ways of declaring functions that were refused."""
        self._efforts: tuple[str, ...] = ()
        self._paths: list[tuple[str, ...]] = []
        """Where parameters stand that are left out."""
        self._stripped: set[int] = set()
        """Reasoning and echo data that was refused, by fingerprint."""
        self._strips = 0
        self._think_later = False
        """Thinking is not asked for while the chain of calls at the end misses its reasoning."""
        self._media: dict[int, int] = {}
        """Images and documents that made a request too large: how many of each fingerprint, from the oldest on. One
        that is shown again later is not among them."""
        self._toolless: Request | None = None
        """The request that is sent without tools."""
        self._notices: list[Notice] = []
        self._body: Json = {}
        """What was sent last."""
        self._asked: Request | None = None
        self._lessons = 0
        """How much the request of now has taught."""
        self._before: dict[str, Any] = {}
        """What was known before that request, by attribute."""

    # ------------------------------------------------------------ using it

    def apply(self, request: Request) -> Request:
        """The request with what was learned about histories, tools and declarations."""
        if not self._count:  # the way of nearly every session
            return request
        if request is self._toolless:
            request = replace(request, tools=(), tool_choice="auto")
        if self._quirks or self._efforts:
            endpoint = request.model.endpoint
            endpoint = replace(endpoint, quirks=replace(endpoint.quirks, **self._quirks))
            model = replace(request.model, endpoint=endpoint, efforts=self._efforts or request.model.efforts)
            request = replace(request, model=model)
        if self._efforts and request.effort and request.effort not in self._efforts:
            from yume_shim.providers.fitting.refusal_rules import nearest

            request = replace(request, effort=nearest(request.effort, self._efforts))
        if self._stripped:
            request = replace(request, messages=self._without_reasoning(request.messages))
        if self._think_later and _unreasoned(request.messages):
            request = replace(request, thinking="disabled", thinking_budget=None)
        if self._media:
            request = replace(request, messages=self._without_media(request.messages))
        return request

    def edit(self, wire: WireRequest) -> WireRequest:
        """The encoded request without parameters that were refused by name."""
        for path in self._paths:
            if _holds(wire.body, path):
                wire = replace(wire, body=_without(wire.body, path))
        self._body = wire.body
        return wire

    def notices(self) -> list[Notice]:
        """What the user should know of it."""
        return self._notices

    # ------------------------------------------------------------ learning

    def learn(self, request: Request, failure: Failure) -> str | None:
        """What to do differently, as a few words for the log; None if this refusal teaches nothing (new)."""
        if failure.kind not in TEACHING or failure.nudge:  # with a nudge it is the model's own words that are refused
            return None
        if request is not self._asked:
            self._before = {name: _copied(item) for name, item in vars(self).items() if name not in _OF_NOW}
            self._asked, self._lessons = request, 0
        if self._lessons >= MAX_LESSONS:
            return None
        lesson = self._by_sentence(request, failure)
        if lesson is None and failure.kind == "bad_request" and failure.status in NAMING:
            lesson = self._by_name(request, failure) or self._send_without_tools(request)
        if lesson is not None:
            self._lessons += 1
            self._count += 1
        return lesson

    def forget(self, failure: Failure) -> bool:
        """The request of now was refused in the end, whatever it had taught: what the refusals named was not what was
        wrong, or came out of the conversation that they quote. So the lessons go; False if there are none to go."""
        if not self._lessons or failure.retryable or failure.kind == "context_length":
            return False
        vars(self).update(self._before)
        self._asked, self._lessons = None, 0
        return True

    def _by_sentence(self, request: Request, failure: Failure) -> str | None:
        from yume_shim.providers.fitting.refusal_rules import rows_for

        ways: dict[str, Callable[[Request, Failure], str | None]] = {
            "strip": self._strip,
            "flat": self._flatten,
            "stand_ins": self._use_stand_ins,
            "think_later": self._postpone_thinking,
            "declare": self._declare,
            "declare_parameters": self._declare_parameters,
            "effort": self._change_effort,
            "old_media": self._drop_old_media,
        }
        for row in rows_for(failure):
            for step in row.teaches:
                lesson = ways[step](request, failure) if isinstance(step, str) else self._set(request, *step)
                if lesson is not None:
                    return lesson
        return None

    def _by_name(self, request: Request, failure: Failure) -> str | None:
        """A parameter that the refusal names, that was sent, and that a request can do without."""
        from yume_shim.providers.fitting.refusal_rules import named_parameters

        for named in named_parameters(request.model.endpoint.api, failure):
            if named.quirk is not None:
                lesson = self._set(request, *named.quirk)
                if lesson is not None:
                    return lesson
            elif _holds(self._body, named.path) and named.path not in self._paths:
                if named.name == "tool_choice" and request.tool_choice not in ("auto", "none"):
                    lesson = self._set(request, "forced_choice", False)
                    if lesson is not None:
                        return lesson
                self._paths.append(named.path)
                self._tell(request, "parameter_left_out", REFUSED.replace("{name}", named.name))
                return f"without {'.'.join(named.path)}"
        return None

    # ------------------------------------------------------------ single lessons

    def _set(self, request: Request, quirk: str, to: Any) -> str | None:
        if (quirk, to) in self._taught or self._quirk(request, quirk) == to:
            return None
        from yume_shim.providers.fitting.refusal_rules import NOTICES

        self._taught |= {(quirk, to), (quirk, self._quirk(request, quirk))}
        self._quirks[quirk] = to
        if quirk in NOTICES:
            self._tell(request, *NOTICES[quirk])
        return f"{quirk} = {to!r}"

    def _strip(self, request: Request, failure: Failure) -> str | None:
        """Reasoning of now is not sent again; what comes later is, until that is refused too."""
        new = {
            _fingerprint(block)
            for message in request.messages
            for block in message.blocks
            if _has_private(block) and not self._refuses(block)
        }
        if not new:
            return None
        self._stripped |= new
        self._strips += 1
        return "without the reasoning so far"

    def _flatten(self, request: Request, failure: Failure) -> str | None:
        told = any(isinstance(block, ToolCall | ToolResult) for message in request.messages for block in message.blocks)
        return self._set(request, "flat_results", True) if told else None

    def _use_stand_ins(self, request: Request, failure: Failure) -> str | None:
        """Models that think by level get stand-ins anyhow."""
        return None if request.model.thinking == "level" else self._set(request, "checks_signatures", True)

    def _postpone_thinking(self, request: Request, failure: Failure) -> str | None:
        if self._think_later or not _unreasoned(self._without_reasoning(request.messages)):
            return None
        self._think_later = True
        return "without thinking until this chain of calls has ended"

    def _declare(self, request: Request, failure: Failure) -> str | None:
        """The next way of declaring functions."""
        from yume_shim.providers.fitting.refusal_rules import VARIANTS

        self._variants.add(self._quirk(request, "declarations"))
        free = [variant for variant in VARIANTS if variant not in self._variants]
        return self._declare_as(free[0]) if free else None

    def _declare_parameters(self, request: Request, failure: Failure) -> str | None:
        self._variants.add(self._quirk(request, "declarations"))
        return None if "parameters" in self._variants else self._declare_as("parameters")

    def _declare_as(self, variant: str) -> str:
        self._quirks["declarations"] = variant
        return f"functions declared as {variant!r}"

    def _change_effort(self, request: Request, failure: Failure) -> str | None:
        from yume_shim.providers.fitting.refusal_rules import allowed_efforts, nearest

        allowed = allowed_efforts(failure.message)
        if not allowed or not request.effort or request.effort in allowed or allowed == self._efforts:
            return None
        self._efforts = allowed
        level = nearest(request.effort, allowed)
        self._tell(request, "effort_changed", f"{{model}} knows no effort {request.effort}: {level} is asked for.")
        return f"effort {level}"

    def _drop_old_media(self, request: Request, failure: Failure) -> str | None:
        """Images and documents of all messages but the newest that has any."""
        old: dict[int, int] = {}
        for message in request.messages[: _newest_media(request.messages)]:
            for item in _media(message):
                mark = _fingerprint(item)
                old[mark] = old.get(mark, 0) + 1
        if all(count <= self._media.get(mark, 0) for mark, count in old.items()):
            return None
        self._media |= old
        self._tell(request, "images_left_out", "Older images and documents are left out: the request was too large.")
        return "without older images and documents"

    def _send_without_tools(self, request: Request) -> str | None:
        wanted = self._quirk(request, "continuation_without_tools") and request.tools and request is not self._toolless
        if not wanted or not any(isinstance(block, ToolResult) for block in request.messages[-1].blocks):
            return None
        self._toolless = request
        self._tell(request, "tools_left_out", "{model} at {endpoint} refused results beside tools: none are offered.")
        return "without tools"

    # ------------------------------------------------------------ parts

    def _quirk(self, request: Request, name: str) -> Any:
        return self._quirks.get(name, getattr(request.model.endpoint.quirks, name))

    def _tell(self, request: Request, code: str, text: str) -> None:
        model = request.model
        self._notices.append(Notice(code, text.format(model=model.id, endpoint=model.endpoint.name)))

    def _refuses(self, block: Block) -> bool:
        return _has_private(block) and (self._strips > STRIPS or _fingerprint(block) in self._stripped)

    def _without_reasoning(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        def change(block: Block) -> Block | None:
            if not self._refuses(block):
                return block
            return replace(block, opaque=NOTHING) if isinstance(block, Text | ToolCall) else None

        return _each_block(messages, change)

    def _without_media(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        left = dict(self._media)

        def change_part(part: Text | Image | Document) -> Text | Image | Document:
            mark = 0 if isinstance(part, Text) else _fingerprint(part)
            if not left.get(mark):
                return part
            left[mark] -= 1
            return Text(TOO_LARGE)

        def change(block: Block) -> Block:
            if isinstance(block, Image | Document):
                return change_part(block)
            if isinstance(block, ToolResult) and not isinstance(block.content, str):
                parts = tuple(map(change_part, block.content))
                return block if parts == block.content else replace(block, content=parts)
            return block

        newest = _newest_media(messages)
        return _each_block(messages[:newest], change) + messages[newest:]


_OF_NOW = frozenset(("_body", "_asked", "_lessons", "_before"))
"""What is about the request of now; all the rest was learned."""


def _copied(item: Any) -> Any:
    return item.copy() if isinstance(item, dict | list | set) else item


# ---------------------------------------------------------------- histories


def _has_private(block: Block) -> bool:
    return isinstance(block, Thinking) or (isinstance(block, Text | ToolCall) and bool(block.opaque))


def _fingerprint(block: Block) -> int:
    return hash(repr(block))


def _unreasoned(messages: tuple[Message, ...]) -> bool:
    """Does the chain of calls that is still going on, since the user last said something, begin without reasoning?"""
    first: Message | None = None
    for message in reversed(messages):
        if message.role == "assistant":
            first = message
        elif not any(isinstance(block, ToolResult) for block in message.blocks):
            break
    return first is not None and not any(isinstance(block, Thinking) for block in first.blocks[:1])


def _newest_media(messages: tuple[Message, ...]) -> int:
    """The place of the newest message with images or documents; 0 if none has any."""
    return max((place for place, message in enumerate(messages) if any(True for _ in _media(message))), default=0)


def _media(message: Message) -> Iterator[Image | Document]:
    for block in message.blocks:
        if isinstance(block, Image | Document):
            yield block
        elif isinstance(block, ToolResult) and not isinstance(block.content, str):
            yield from (part for part in block.content if isinstance(part, Image | Document))


def _each_block(messages: tuple[Message, ...], change: Callable[[Block], Block | None]) -> tuple[Message, ...]:
    """The messages with each block changed or (None) left out; a message that has nothing left is left out too."""
    out: list[Message] = []
    for message in messages:
        blocks = tuple(kept for block in message.blocks if (kept := change(block)) is not None)
        if blocks:
            out.append(message if blocks == message.blocks else replace(message, blocks=blocks))
    return tuple(out)


# ---------------------------------------------------------------- bodies


def _holds(body: Json, path: tuple[str, ...]) -> bool:
    spot: Any = body
    for step in path:
        if not isinstance(spot, dict) or step not in spot:
            return False
        spot = spot[step]
    return True


def _without(body: Json, path: tuple[str, ...]) -> Json:
    """The body without what stands at the path, and without an object that has nothing left."""
    first, *rest = path
    if not rest:
        return {key: item for key, item in body.items() if key != first}
    inner = _without(body[first], tuple(rest))
    return {**body, first: inner} if inner else {key: item for key, item in body.items() if key != first}
