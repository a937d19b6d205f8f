"""Builds a `Document` step by step. Readers say what happened, in the order of their source; the assembler sorts it
into turns, puts results to their calls and agents into theirs, and measures times."""

from __future__ import annotations

from yume_shim.pages.document import (
    Agent,
    Answer,
    Aside,
    Call,
    Document,
    Mark,
    Prompt,
    Request,
    Result,
    Span,
    Thinking,
    Tokens,
    Turn,
    Words,
)
from yume_shim.pages.readers.parts import result_parts
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from yume_shim.pages.cleaning import Cleaner
    from yume_shim.pages.document import Item, MarkKind, Part, PromptKind
    from yume_shim.types.blocks import Json

MAX_NESTING = 8
"""Agents inside agents that are shown nested."""
MOST_NAMED = 5
"""Names in the title of a run of attachments."""
ATTACHED = "Attached: "
"""How the titles of attachments begin."""


class DraftCall:
    """A call whose result, and whose agent's conversation, may still come."""

    def __init__(self, call: Call, turn: DraftTurn, depth: int) -> None:
        self.call, self.turn, self.depth = call, turn, depth
        self.items: list[Item | DraftCall] = []
        self.agent_kind = self.agent_description = ""


class DraftTurn:
    """A turn that is being read."""

    def __init__(self, number: int, prompt: Prompt | None) -> None:
        self.number, self.prompt = number, prompt
        self.items: list[Item | DraftCall] = []
        self.requests: dict[str, Request] = {}
        self.spans: list[Span] = []
        self.started = self.ended = prompt.at if prompt is not None else None
        self.failure = ""
        self.interrupted = False
        self.calls = self.errors = self.retries = 0

    def seen(self, at: float | None) -> None:
        if at is not None:
            self.started = at if self.started is None else min(self.started, at)
            self.ended = at if self.ended is None else max(self.ended, at)


class Assembler:
    """Collects one document. `first_turn` numbers the turns of a part of a session."""

    def __init__(self, cleaner: Cleaner, first_turn: int = 1) -> None:
        self.cleaner = cleaner
        self._turns: list[DraftTurn] = []
        self._next_turn = first_turn
        self._calls: dict[str, DraftCall] = {}
        self._lost: dict[str, DraftCall] = {}
        """Agents whose call is unknown, by the id of that call."""
        self._models: dict[str, None] = {}
        self._last_at: float | None = None
        self._began: float | None = None
        """When the request for the newest answer was sent."""
        self._answering = ""
        """The answer to which the newest part of the main conversation belongs."""
        self.unread = 0
        self.total_cost: float | None = None

    @property
    def turn(self) -> DraftTurn:
        """The current turn."""
        if not self._turns:
            self._turns.append(DraftTurn(0, None))
        return self._turns[-1]

    # ------------------------------------------------------------ what happened

    def prompt(
        self, at: float | None, kind: PromptKind, parts: tuple[Part, ...], title: str = "", scope: str = ""
    ) -> None:
        """A prompt. One that somebody typed, a notice or a summary begins a turn; context joins the current one."""
        prompt = Prompt("", at, kind, parts, title)
        if scope or kind == "context":
            self.add(prompt, scope)
            return
        self._turns.append(DraftTurn(self._next_turn, prompt))
        self._next_turn += 1
        self._last_at, self._answering = at, ""

    def joined(self, at: float | None, parts: tuple[Part, ...]) -> None:
        """A prompt that became part of the one before, or of the running turn."""
        turn = self.turn
        if turn.prompt is not None and not turn.items and turn.prompt.kind in ("user", "command"):
            turn.prompt = replace(turn.prompt, parts=turn.prompt.parts + parts)
        else:
            self.add(Prompt("", at, "user", parts))

    def text(self, at: float | None, text: str, model: str = "", scope: str = "") -> None:
        """A text of the model."""
        if text.strip():
            self.add(Answer("", at, self.cleaner.words(text), self.model(model)), scope)

    def thinking(self, at: float | None, text: str, scope: str = "") -> None:
        """A thought; without a text if the provider kept it."""
        self.add(Thinking("", at, self.cleaner.words(text)), scope)

    def call(
        self, at: float | None, call_id: str, name: str, given: Json, broken: str = "", scope: str = ""
    ) -> DraftCall:
        """A tool call."""
        cleaner = self.cleaner
        call = Call("", at, cleaner.line(name) or "?", cleaner.fields(given), cleaner.text(broken))
        draft = DraftCall(call, self._turn_of(scope), self._depth(scope) + 1)
        lost = self._lost.pop(call_id, None)
        if lost is not None:
            draft.items, draft.agent_kind, draft.agent_description = lost.items, lost.agent_kind, lost.agent_description
        if call_id:
            self._calls[call_id] = draft
        self.add(draft, scope)
        draft.turn.calls += 1
        return draft

    def result(
        self,
        at: float | None,
        call_id: str,
        content: Any,
        *,
        is_error: bool,
        facts: Any = None,
        duration_ms: int | None = None,
        waited_ms: int = 0,
        denied: bool = False,
        scope: str = "",
    ) -> None:
        """The result of a call. One without its call is shown on its own."""
        draft = self._calls.get(call_id)
        if draft is None:
            draft = self.call(None, call_id, "unknown call", {}, scope=scope)
        elif draft.call.result is not None:
            return  # a second result of one call: the first is what the model read
        result = Result(at, result_parts(content, self.cleaner), is_error, facts)
        asked = draft.call.at
        if duration_ms is None and at is not None and asked is not None and at >= asked:
            duration_ms = round((at - asked) * 1000) - waited_ms
        draft.call = replace(
            draft.call,
            result=result,
            duration_ms=max(duration_ms, 0) if duration_ms is not None else None,
            waited_ms=waited_ms,
            denied=denied or draft.call.denied,
        )
        draft.turn.errors += is_error
        self._tool_span(draft, at)
        draft.turn.seen(at)
        if not scope and at is not None:
            self._last_at, self._answering = at, ""

    def task_ended(self, at: float | None, call_id: str, summary: str, scope: str = "") -> None:
        """A task has ended. One that its call waited for is told by the call's result."""
        draft = self._calls.get(call_id)
        if draft is None or draft.call.result is not None:
            self.mark(at, "notice", summary, scope=scope)

    def denied(self, call_id: str) -> None:
        """A call that was not permitted."""
        draft = self._calls.get(call_id)
        if draft is not None:
            draft.call = replace(draft.call, denied=True)

    def mark(
        self, at: float | None, kind: MarkKind, title: str, detail: str = "", *, wait_ms: int = 0, scope: str = ""
    ) -> None:
        """Something that happened to the session."""
        cleaner = self.cleaner
        self.add(Mark("", at, kind, cleaner.line(title), cleaner.text(detail), wait_ms), scope)
        turn = self._turn_of(scope)
        if kind == "retry":
            turn.retries += 1
            if at is not None:
                turn.spans.append(Span("retry", at, at + wait_ms / 1000, cleaner.line(title)))
                if not scope:
                    self._last_at = at + wait_ms / 1000
        turn.interrupted = turn.interrupted or (kind == "interrupted" and not scope)
        if kind == "failure" and not scope:
            turn.failure = cleaner.line(detail or title)

    def aside(self, at: float | None, title: str, items: tuple[Item, ...]) -> None:
        """Items that are not part of the conversation."""
        if items:
            self.add(Aside("", at, title, items))

    def agent(self, call_id: str, kind: str, description: str) -> None:
        """What is known about the agent of a call."""
        draft = self._owner(call_id)
        draft.agent_kind = self.cleaner.line(kind) or draft.agent_kind
        draft.agent_description = self.cleaner.line(description) or draft.agent_description

    def model(self, name: object) -> str:
        """The shown name of a model, noted as one of the document's."""
        shown = self.cleaner.line(name)
        if shown:
            self._models[shown] = None
        return shown

    def used(
        self,
        key: str,
        model: str,
        tokens: Tokens,
        cost: float | None,
        *,
        at: float | None = None,
        first_ms: int | None = None,
        scope: str = "",
    ) -> None:
        """The figures of an answer; those of a later line of the same answer replace them."""
        turn, known = self._turn_of(scope), None
        known = turn.requests.get(key)
        began = self._began if self._answering == key else self._last_at
        started = known.started if known is not None else (None if scope else began)
        if known is not None:
            tokens = tokens if tokens.total >= known.tokens.total else known.tokens
            cost = known.cost_usd if cost is None else cost
            first_ms = known.first_ms if first_ms is None else first_ms
        turn.requests[key] = Request(self.model(model), tokens, cost, started, at, first_ms)

    def answered(self, at: float | None, key: str, model: str) -> None:
        """A part of an answer of the main conversation is complete."""
        if at is None:
            return
        start, turn = self._last_at, self.turn
        if key != self._answering:
            self._began = start
        if start is not None and at > start:
            last = turn.spans[-1] if turn.spans else None
            if key == self._answering and last is not None and last.kind == "model":
                turn.spans[-1] = replace(last, end=at)
            else:
                turn.spans.append(Span("model", start, at, model))
        self._last_at, self._answering = at, key

    def add(self, item: Item | DraftCall, scope: str = "") -> None:
        """Append an item to the main conversation or to an agent's."""
        turn = self._turn_of(scope)
        (self._owner(scope).items if scope else turn.items).append(item)
        turn.seen(item.call.at if isinstance(item, DraftCall) else item.at)

    # ------------------------------------------------------------ inside

    def _owner(self, call_id: str) -> DraftCall:
        known = self._calls.get(call_id) or self._lost.get(call_id)
        if known is None:
            known = self._lost[call_id] = DraftCall(Call("", None, "Agent", {}), self.turn, 0)
        return known

    def _turn_of(self, scope: str) -> DraftTurn:
        return self._owner(scope).turn if scope else self.turn

    def _depth(self, scope: str) -> int:
        return self._owner(scope).depth if scope else 0

    def _tool_span(self, draft: DraftCall, at: float | None) -> None:
        if at is None or draft.depth > 1:
            return
        call = draft.call
        seconds, waited = (call.duration_ms or 0) / 1000, call.waited_ms / 1000
        if waited:
            draft.turn.spans.append(Span("wait", at - seconds - waited, at - seconds, call.name))
        if seconds:
            draft.turn.spans.append(Span("tool", at - seconds, at, call.name))

    # ------------------------------------------------------------ the document

    def finish(self, title: str, session_id: str, source: str, **facts: Any) -> Document:
        """The document; `facts` are further fields of it."""
        turns = tuple(_turn(draft) for draft in self._turns)
        agents = tuple(
            found for place, draft in enumerate(self._lost.values()) if (found := _agent(draft, f"a{place + 1}"))
        )
        begun = [turn.started for turn in turns if turn.started is not None]
        ended = [turn.ended for turn in turns if turn.ended is not None]
        costs = [turn.cost_usd for turn in turns if turn.cost_usd is not None]
        cost = self.total_cost if self.total_cost is not None else (sum(costs) if costs else None)
        return Document(
            self.cleaner.line(title or _first_words(turns)) or "Untitled session",
            self.cleaner.line(session_id),
            source,
            models=tuple(self._models),
            turns=turns,
            started=min(begun) if begun else None,
            ended=max(ended) if ended else None,
            cost_usd=cost,
            agents=agents,
            unread=self.unread,
            **facts,
        )


def _first_words(turns: tuple[Turn, ...]) -> str:
    """The first line that somebody typed."""
    typed = (turn.prompt for turn in turns if turn.prompt is not None and turn.prompt.kind in ("user", "command"))
    words = (
        part.text.strip().partition("\n")[0] for prompt in typed for part in prompt.parts if isinstance(part, Words)
    )
    return next(filter(None, words), "")


def _turn(draft: DraftTurn) -> Turn:
    name = f"t{draft.number}"
    return Turn(
        draft.number,
        None if draft.prompt is None else replace(draft.prompt, id=f"{name}-p"),
        _items(draft.items, name),
        tuple(draft.requests.values()),
        tuple(draft.spans),
        draft.started,
        draft.ended,
        draft.failure,
        draft.calls,
        draft.errors,
        draft.retries,
    )


def _items(drafts: Sequence[Item | DraftCall], above: str) -> tuple[Item, ...]:
    """Finished items, each named after its place. Attachments are one item as long as nothing comes between: the Claude
    CLI attaches a dozen to a prompt."""
    made: list[Item] = []
    context: list[Prompt] = []
    """The run of attachments that may go on."""
    for place, draft in enumerate(drafts):
        if isinstance(draft, Prompt) and draft.title.startswith(ATTACHED):
            context.append(replace(draft, id=f"{above}-{place + 1}"))
            continue
        made += _together(context)
        context = []
        made.append(_item(draft, f"{above}-{place + 1}"))
    return (*made, *_together(context))


def _item(draft: Item | DraftCall, name: str) -> Item:
    if isinstance(draft, DraftCall):
        return replace(draft.call, id=name, agent=_agent(draft, name))
    if isinstance(draft, Aside):
        return replace(draft, id=name, items=_items(draft.items, name))
    if isinstance(draft, Call) and draft.agent is not None:
        return replace(draft, id=name, agent=replace(draft.agent, items=_items(draft.agent.items, name)))
    return replace(draft, id=name)


def _together(context: list[Prompt]) -> list[Item]:
    if len(context) < 2:
        return list(context)
    return [Aside(context[0].id, context[0].at, _context_title(context), _inside(context))]


def _context_title(found: Sequence[Prompt]) -> str:
    names = list(dict.fromkeys(each.title.removeprefix(ATTACHED) for each in found))
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"Context: {', '.join(names[:MOST_NAMED])}{more}"


def _inside(found: Sequence[Prompt]) -> tuple[Item, ...]:
    above = found[0].id
    return tuple(replace(each, id=f"{above}-{place + 1}") for place, each in enumerate(found))


def _agent(draft: DraftCall, name: str) -> Agent | None:
    if not draft.items or draft.depth > MAX_NESTING:
        return None
    given = draft.call.input
    kind = draft.agent_kind or given.get("subagent_type") or "agent"
    description = draft.agent_description or given.get("description") or ""
    return Agent(str(kind), str(description), _items(draft.items, name))
