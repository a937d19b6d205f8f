"""Defers tools that an endpoint's limit or the context has no room for, and offers ToolSearch, which finds them.

A tool that was found or called is offered from the next request on. Loaded with the first MCP tool, not before.
"""

from __future__ import annotations

import re

from yume_shim.context.estimate import frame_size
from yume_shim.types.calls import PreparedCall
from yume_shim.types.errors import ToolFailed
from yume_shim.types.models import ToolSpec
from yume_shim.types.outputs import ToolOutput
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from yume_shim.types.blocks import ToolCall
    from yume_shim.types.models import ModelSpec
    from yume_shim.types.outputs import ToolContext

TOOL_NAME = "ToolSearch"
DEFAULT_SHARE = 0.1
"""The part of the window that tools of MCP servers may take before some are deferred."""
MAX_ROOM = 32
"""How many found tools are offered at most; the limit of a small endpoint leaves less."""
DEFAULT_RESULTS, MAX_RESULTS = 5, 20
LISTED = 400
"""The longest list of servers in the description of the search tool; OpenAI takes descriptions of 1,024 characters."""
SUMMARY = 160
"""The longest description of a found tool in a result: its full description is in the tool list then."""
_SELECT = "select:"
_WORDS = re.compile(r"[^\W_]+")
_DESCRIPTION = (
    "Finds tools that are available but not listed here, because there are too many. A tool that it finds can be "
    "called from your next step on. Not listed: {listed}."
)
_SCHEMA = {
    "type": "object",
    "properties": {
        "query": {
            "type": "string",
            "description": "Words to look for in names and descriptions (`+word`: must be in the name), or "
            "`select:NAME,NAME` for tools whose names are known",
        },
        "max_results": {"type": "number", "description": f"How many tools to return; {DEFAULT_RESULTS} by default"},
    },
    "required": ["query"],
}


class Offer(Value):
    """What a request offers, and how many tools it leaves out."""

    specs: tuple[ToolSpec, ...]
    deferred: int = 0
    total: int = 0


class _Split(Value):
    """For which tools and limits it was made, the tools that are always offered, how many found ones may join them,
    and the deferred ones by name."""

    key: tuple[object, ...]
    first: tuple[ToolSpec, ...]
    room: int
    deferred: Mapping[str, ToolSpec]


def search_share(env: Mapping[str, str]) -> float:
    """The share of the window for MCP tools, by ENABLE_TOOL_SEARCH as the Claude CLI reads it: `true` defers all of
    them, `false` none (an endpoint's limit counts in any case), `auto:N` = N percent."""
    wanted = env.get("ENABLE_TOOL_SEARCH", "").strip().lower()
    if wanted in ("false", "0", "no", "off"):
        return float("inf")
    if wanted in ("true", "1", "yes", "on"):
        return 0.0
    percent = wanted.removeprefix("auto:")
    if wanted.startswith("auto:") and percent.isdecimal() and len(percent) < 4:
        return min(int(percent), 100) / 100
    return DEFAULT_SHARE


class ToolSearch:
    """Implements `types.ports.ToolSource` with the one search tool. `found` is kept by the toolbox: the names of the
    tools that were found or called, in that order."""

    own_schemas = False

    def __init__(self, found: list[str]) -> None:
        self._found = found
        self._split = _Split((), (), MAX_ROOM, {})
        """Replaced as a whole: a host may ask how full the context is while a turn runs."""

    # ------------------------------------------------------------ what is offered

    def offer(self, specs: tuple[ToolSpec, ...], model: ModelSpec, env: Mapping[str, str]) -> Offer:
        """The tools for a request: all of them if they fit. Otherwise the first ones that fit, the search tool, and
        the tools found so far, in the order in which they were found."""
        limit, tokens = model.endpoint.quirks.max_tools, model.window * search_share(env)
        if self._split.key != (specs, limit, tokens):
            self._split = _split(specs, limit, tokens)
        split = self._split
        if not split.deferred:
            return Offer(specs)
        found = [split.deferred[name] for name in dict.fromkeys(self._found) if name in split.deferred][-split.room :]
        return Offer((*split.first, self._spec(), *found), len(split.deferred), len(specs))

    def note_call(self, name: str) -> None:
        """A deferred tool was called directly: offer it from now on."""
        if name in self._split.deferred and name not in self._found:
            self._found.append(name)

    # ------------------------------------------------------------ ToolSource

    def specs(self) -> tuple[ToolSpec, ...]:
        return (self._spec(),) if self._split.deferred else ()

    def find(self, name: str) -> ToolSpec | None:
        return self._spec() if name == TOOL_NAME and self._split.deferred else None

    def why_missing(self, name: str) -> str:
        return ""

    def complete(self, call: ToolCall, spec: ToolSpec, *, fix_arguments: bool = False) -> ToolCall:
        return call

    def prepare(self, call: ToolCall, spec: ToolSpec) -> PreparedCall:
        return PreparedCall(call, spec, self)

    def run(self, prepared: PreparedCall, context: ToolContext) -> ToolOutput:
        """Find tools, and offer them from the next request on."""
        query, wanted = str(prepared.call.input["query"]), prepared.call.input.get("max_results", DEFAULT_RESULTS)
        if not query.strip():
            raise ToolFailed("InputValidationError: `query` is empty", before_run=True)
        most = max(1, min(round(wanted), MAX_RESULTS)) if isinstance(wanted, int | float) else DEFAULT_RESULTS
        matches = find_tools(query, tuple(self._split.deferred.values()), most)
        for spec in matches:  # found again = used last: it stays when the room is full
            if spec.name in self._found:
                self._found.remove(spec.name)
            self._found.append(spec.name)
        structured = {
            "matches": [spec.name for spec in matches],
            "query": query,
            "total_deferred_tools": len(self._split.deferred),
        }
        if not matches:
            return ToolOutput(f"No tools match {query!r}. {self._listed()}", structured)
        lines = "\n".join(f"- {spec.name}: {_summary(spec)}" for spec in matches)
        return ToolOutput(f"These tools can be called now:\n{lines}", structured)

    def _spec(self) -> ToolSpec:
        text = _DESCRIPTION.format(listed=self._listed())
        return ToolSpec(TOOL_NAME, text, _SCHEMA, source="engine", gated=False)

    def _listed(self) -> str:
        """Where the deferred tools come from: `kit (120 tools), files (12 tools)`."""
        counts: dict[str, int] = {}
        for name in self._split.deferred:
            prefix = name.split("__")[1] if name.startswith("mcp__") else "other"
            counts[prefix] = counts.get(prefix, 0) + 1
        text = ", ".join(f"{prefix} ({count} tools)" for prefix, count in counts.items())
        return text if len(text) <= LISTED else f"{text[:LISTED]} …"


def find_tools(query: str, specs: Sequence[ToolSpec], most: int) -> list[ToolSpec]:
    """The tools that fit a query best, best first."""
    if query.strip().lower().startswith(_SELECT):
        names = [name.strip() for name in query.strip()[len(_SELECT) :].split(",")]
        known = {spec.name: spec for spec in specs}
        return [known[name] for name in dict.fromkeys(names) if name in known][:MAX_RESULTS]
    must = {word for part in query.lower().split() if part.startswith("+") for word in _words(part)}
    words = set(_words(query.lower()))
    ranked = []
    for spec in specs:
        name, text = set(_words(spec.name.lower())), set(_words(spec.description.lower()))
        whole = spec.name.lower()
        if all(word in whole for word in must):
            score = sum(4 * (word in name) + 2 * (word in whole) + (word in text) for word in words)
            if score:
                ranked.append((score, spec))
    ranked.sort(key=lambda pair: -pair[0])  # stable: equal ones stay in the order of their servers
    return [spec for _, spec in ranked[:most]]


def _words(text: str) -> Iterable[str]:
    return _WORDS.findall(text)


def _summary(spec: ToolSpec) -> str:
    first = spec.description.strip().split("\n", 1)[0]
    return first if len(first) <= SUMMARY else f"{first[:SUMMARY]}…"


def _split(specs: tuple[ToolSpec, ...], limit: int, tokens: float) -> _Split:
    """Tools of MCP servers are deferred before our own."""
    key = (specs, limit, tokens)
    foreign = [spec for spec in specs if spec.source == "mcp"]
    sizes = [frame_size((), (spec,)) for spec in foreign]
    if (not limit or len(specs) <= limit) and sum(sizes) <= tokens:
        return _Split(key, specs, MAX_ROOM, {})
    room = min(MAX_ROOM, max(1, limit // 4)) if limit else MAX_ROOM
    places = limit - room - 1 if limit else len(specs)
    own = [spec for spec in specs if spec.source != "mcp"][: max(0, places)]
    kept, left = {spec.name for spec in own}, tokens
    for spec, size in zip(foreign, sizes, strict=True):
        left -= size
        if len(kept) >= places or left < 0:
            break
        kept.add(spec.name)
    first = tuple(spec for spec in specs if spec.name in kept)
    return _Split(key, first, room, {spec.name: spec for spec in specs if spec.name not in kept})
