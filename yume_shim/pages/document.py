"""The document model: a session as people read it, independent of the format it was stored in. Plain frozen values."""

from __future__ import annotations

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Literal

    from yume_shim.types.blocks import Json

    PromptKind = Literal["user", "command", "notice", "context", "summary"]
    MarkKind = Literal["compaction", "retry", "failure", "interrupted", "model", "notice", "warning", "hook"]


class Words(Value):
    """Prose; `cut` is how many characters are not shown, `lines` how many lines such a text has in all."""

    text: str
    cut: int = 0
    lines: int = 0


class Picture(Value):
    """An image whose bytes were looked at. `data` is base64."""

    media_type: str
    data: str
    width: int = 0
    height: int = 0


class Attachment(Value):
    """Something that is named, not shown: a document, an image that cannot be shown, a block of an unknown kind."""

    kind: str
    name: str
    note: str = ""


class Tokens(Value):
    """What one or several answers used."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
        )

    @property
    def total(self) -> int:
        """All tokens that the model read or wrote."""
        return self.input + self.output + self.cache_read + self.cache_write


class Prompt(Value):
    """What was sent to the model in the user's name. Only the kinds "user" and "command" were typed by somebody."""

    id: str
    at: float | None
    kind: PromptKind
    parts: tuple[Part, ...]
    title: str = ""


class Answer(Value):
    """Text of the model."""

    id: str
    at: float | None
    words: Words
    model: str = ""


class Thinking(Value):
    """Reasoning of the model; without text, the provider kept it."""

    id: str
    at: float | None
    words: Words


class Result(Value):
    """What a call gave. `facts` is the structured form, if the program that ran it kept one."""

    at: float | None
    parts: tuple[Part, ...]
    is_error: bool
    facts: Any = None

    @property
    def text(self) -> str:
        """All text of it."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Words))


class Agent(Value):
    """The conversation of an agent that a call started."""

    kind: str
    description: str
    items: tuple[Item, ...]


class Call(Value):
    """A tool call with its result. Without a result it is still running, or the session ended before it did."""

    id: str
    at: float | None
    name: str
    input: Json
    broken: str = ""
    result: Result | None = None
    duration_ms: int | None = None
    waited_ms: int = 0
    denied: bool = False
    agent: Agent | None = None

    @property
    def state(self) -> str:
        """`ok`, `error`, `denied` or `open`."""
        if self.result is None:
            return "open"
        return "denied" if self.denied else "error" if self.result.is_error else "ok"


class Mark(Value):
    """Something that happened to the session: a compaction, a retry, a failure."""

    id: str
    at: float | None
    kind: MarkKind
    title: str
    detail: str = ""
    wait_ms: int = 0


class Aside(Value):
    """Lines that are not part of the conversation: a rewound branch, an answer that was dropped, copies."""

    id: str
    at: float | None
    title: str
    items: tuple[Item, ...]


class Span(Value):
    """A stretch of time in a turn, in seconds since the epoch."""

    kind: Literal["model", "tool", "wait", "retry"]
    start: float
    end: float
    label: str = ""


class Request(Value):
    """One answer of a model, with what it used."""

    model: str
    tokens: Tokens
    cost_usd: float | None
    started: float | None = None
    ended: float | None = None
    first_ms: int | None = None
    """Time to the first part of the answer."""


class Turn(Value):
    """A prompt and everything until the next one. `number` is 0 for what came before the first prompt."""

    number: int
    prompt: Prompt | None
    items: tuple[Item, ...]
    requests: tuple[Request, ...] = ()
    spans: tuple[Span, ...] = ()
    started: float | None = None
    ended: float | None = None
    failure: str = ""
    calls: int = 0
    errors: int = 0
    retries: int = 0

    @property
    def id(self) -> str:
        """The anchor of it."""
        return f"t{self.number}"

    @property
    def tokens(self) -> Tokens:
        """What all its answers used."""
        return sum((request.tokens for request in self.requests), Tokens())

    @property
    def cost_usd(self) -> float | None:
        """What it cost; None if no price is known."""
        known = [request.cost_usd for request in self.requests if request.cost_usd is not None]
        return sum(known) if known else None


class Document(Value):
    """A whole session."""

    title: str
    session_id: str
    source: str
    """What was read: "transcript", "stream-json" or "flat"."""
    folder: str = ""
    branch: str = ""
    program: str = ""
    models: tuple[str, ...] = ()
    turns: tuple[Turn, ...] = ()
    started: float | None = None
    ended: float | None = None
    cost_usd: float | None = None
    cost_note: str = ""
    """How far the cost can be trusted: "" = as billed by the provider's price list when it was used."""
    agents: tuple[Agent, ...] = ()
    """Agents whose call was not found."""
    unread: int = 0
    """Lines that could not be read."""

    @property
    def tokens(self) -> Tokens:
        """What all its turns used."""
        return sum((turn.tokens for turn in self.turns), Tokens())


Part = Words | Picture | Attachment
Item = Prompt | Answer | Thinking | Call | Mark | Aside
