"""Reads transcripts, this program's and the Claude CLI's, into a `Document`."""

from __future__ import annotations

from yume_shim.pages.readers.assembler import Assembler
from yume_shim.pages.readers.messages import MessageReader
from yume_shim.pages.readers.side_chains import SideChains
from yume_shim.pages.readers.times import money, seconds_of
from yume_shim.pages.readers.transcript_lines import SPOKEN, Lines
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from yume_shim.pages.cleaning import Cleaner
    from yume_shim.pages.document import Document, Item, Tokens
    from yume_shim.types.blocks import Json

    Price = Callable[[str, Tokens], "float | None"]
    """What an answer of a model cost in USD, by list prices; None = unknown."""

LIST_PRICES = "computed from list prices"
_TITLES = ("customTitle", "aiTitle", "agentName", "summary")


class AgentLines(Value):
    """The transcript of an agent: the call that started it ("" = unknown), what its metadata says, its lines."""

    agent_id: str
    call_id: str
    kind: str
    description: str
    lines: Iterable[bytes]


def read_transcript(
    lines: Iterable[bytes],
    cleaner: Cleaner,
    *,
    session_id: str = "",
    agents: Sequence[AgentLines] = (),
    price: Price | None = None,
    first_turn: int = 1,
    whole: bool = True,
) -> Document:
    """The document of a transcript. `whole`: it begins at its start, so that abandoned branches can be recognised."""
    return _TranscriptReader(cleaner, price, first_turn).read(Lines(lines), session_id, agents, whole=whole)


class _TranscriptReader:
    def __init__(self, cleaner: Cleaner, price: Price | None, first_turn: int) -> None:
        self._cleaner = cleaner
        self._price = price
        self._made = Assembler(cleaner, first_turn)
        self._reader = MessageReader(self._made, price)
        self._titles: dict[str, str] = {}
        self._facts: dict[str, str] = {}
        self._state_cost: float | None = None
        self._state_seen: set[str] = set()

    def read(self, lines: Lines, session_id: str, agents: Sequence[AgentLines], *, whole: bool) -> Document:
        made = self._made
        left = lines.left() if whole else {}
        chains = SideChains(lines.all)
        aside: list[Json] = []
        why = ""
        for place, line in enumerate(lines.all):
            reason = left.get(place, "")
            if aside and reason != why and line.get("type") in SPOKEN:
                self._aside(aside, why)
                aside = []
            if reason:
                aside.append(line)
                why = reason
            else:
                self._line(line, chains.scope_of(line))
        self._aside(aside, why)
        made.unread = lines.unread
        for agent in agents:
            self._agent(agent, chains)
        if self._state_cost is not None:
            made.total_cost = self._state_cost + sum(self._reader.costs_without(self._state_seen))
        facts = {key: self._cleaner.line(text) for key, text in self._facts.items() if key != "sessionId"}
        estimated = self._reader.estimated and self._state_cost is None
        return made.finish(
            self._title(),
            session_id or self._facts.get("sessionId", ""),
            "transcript",
            cost_note=LIST_PRICES if estimated else "",
            **facts,
        )

    def _title(self) -> str:
        return next((self._titles[key] for key in _TITLES if self._titles.get(key)), "")

    # ------------------------------------------------------------ lines

    def _line(self, line: Json, scope: str) -> None:
        kind, at = line.get("type"), seconds_of(line.get("timestamp"))
        if kind in SPOKEN:
            for key, name in (("cwd", "folder"), ("gitBranch", "branch"), ("version", "program"), ("sessionId",) * 2):
                if isinstance(line.get(key), str) and line[key]:
                    self._facts.setdefault(name, line[key])
            if kind == "user":
                self._reader.user(line, at, scope)
            else:
                self._reader.assistant(line, at, scope)
        elif kind == "system":
            self._reader.system(line, at, scope)
        elif kind == "attachment":
            self._reader.attachment(line, at, scope)
        elif kind == "cost-state":
            total = money(line.get("totalCostUSD"))
            if total is not None:
                self._state_cost, self._state_seen = total, set(self._reader.costs)
        else:
            for key in _TITLES:
                if isinstance(line.get(key), str):
                    self._titles[key] = line[key]

    def _aside(self, lines: list[Json], title: str) -> None:
        """Lines beside the conversation, read on their own."""
        if not lines:
            return
        side = Assembler(self._cleaner)
        reader = MessageReader(side, None)
        for line in lines:
            at = seconds_of(line.get("timestamp"))
            (reader.user if line.get("type") == "user" else reader.assistant)(line, at, "")
        items: list[Item] = []
        for turn in side.finish("", "", "transcript").turns:
            items += ([turn.prompt] if turn.prompt is not None else []) + list(turn.items)
        self._made.aside(seconds_of(lines[0].get("timestamp")), title, tuple(items))

    def _agent(self, agent: AgentLines, chains: SideChains) -> None:
        lines = Lines(agent.lines)
        scope = agent.call_id or chains.call_of(agent.agent_id, lines.all) or f"agent {agent.agent_id}"
        self._made.agent(scope, agent.kind, agent.description)
        chains.learn(lines.all)
        for line in lines.all:
            self._line(line, scope)
        self._made.unread += lines.unread
