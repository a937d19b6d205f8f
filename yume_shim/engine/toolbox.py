"""The tools of a session, joined from their sources: found by name, completed, prepared, run."""

from __future__ import annotations

from yume_shim.types.errors import ToolFailed
from yume_shim.types.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from yume_shim.engine.tool_search import Offer, ToolSearch
    from yume_shim.types.blocks import ToolCall
    from yume_shim.types.calls import PreparedCall
    from yume_shim.types.models import ModelSpec, ToolSpec
    from yume_shim.types.outputs import ToolContext, ToolOutput
    from yume_shim.types.ports import ToolSource


class ToolLimit(Value):
    """The tools that an agent may use: those with one of the `names` (None = all), but none of `without`. A name may be
    an alias, or `mcp__server` for all tools of a server."""

    names: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()

    def allows(self, spec: ToolSpec) -> bool:
        """May the agent use this tool? What the engine itself needs is no matter of limits."""
        if spec.source == "engine":
            return True
        return (self.names is None or _is_named(spec, self.names)) and not _is_named(spec, self.without)


def _is_named(spec: ToolSpec, names: tuple[str, ...]) -> bool:
    if spec.name in names or any(alias in names for alias in spec.aliases):
        return True
    if spec.source != "mcp":
        return False
    servers = (name.removesuffix("*").removesuffix("__") for name in names if name.startswith("mcp__"))
    return any(server == "mcp" or spec.name.startswith(f"{server}__") for server in servers)


class Toolbox:
    """If two sources offer the same name, the earlier source wins. `limits` limit it to some tools (those of an agent).
    It caches nothing, so a source may change what it offers between two requests."""

    def __init__(
        self, sources: Sequence[ToolSource], limits: tuple[ToolLimit, ...] = (), found: list[str] | None = None
    ) -> None:
        self._sources = tuple(sources)
        self._limits = limits
        self.found: list[str] = [] if found is None else found
        """Deferred tools that were found or called (`engine/tool_search.py`)."""
        self._search: ToolSearch | None = None

    def add(self, source: ToolSource) -> None:
        """Offer the tools of one more source from now on. Safe from any thread: the sources are replaced as a whole."""
        self._sources = (*self._sources, source)

    def with_source(self, source: ToolSource) -> Toolbox:
        """The same tools and those of one more source."""
        return Toolbox((*self._sources, source), self._limits, self.found)

    def limited_to(self, names: tuple[str, ...] | None, without: Sequence[str] = ()) -> Toolbox:
        """Only the tools with these names or aliases (None = all), without some. `mcp__server` names all tools of a
        server."""
        return Toolbox(self._sources, (*self._limits, ToolLimit(names, tuple(without))))

    def specs(self) -> tuple[ToolSpec, ...]:
        """What the model is offered, in a stable order."""
        found: dict[str, ToolSpec] = {}
        for source in self._sources:
            for spec in source.specs():
                if not self._limits or self._allows(spec):
                    found.setdefault(spec.name, spec)
        return tuple(found.values())

    def offer(self, model: ModelSpec, env: Mapping[str, str]) -> Offer | None:
        """What a request to this model offers, if not simply `specs`: tools are deferred if its endpoint or the
        context has no room for all."""
        specs, limit = self.specs(), model.endpoint.quirks.max_tools
        if (not limit or len(specs) <= limit) and not any(spec.source == "mcp" for spec in specs):
            return None
        if self._search is None:
            from yume_shim.engine.tool_search import ToolSearch

            self._search = ToolSearch(self.found)
        return self._search.offer(specs, model, env)

    def names(self) -> tuple[str, ...]:
        return tuple(spec.name for spec in self.specs())

    def find(self, name: str) -> ToolSpec | None:
        """By name or alias; None if this session does not have it."""
        found = self._find(name)
        return None if found is None else found[1]

    def complete(self, call: ToolCall, *, fix_arguments: bool = False) -> ToolCall:
        """The call with defaults applied, without fields that only the host fills; unchanged if the tool is unknown."""
        found = self._find(call.name)
        if found is None:
            return call
        source, spec = found
        if any(name in call.input for name in spec.host_fields):
            call = replace(call, input={k: v for k, v in call.input.items() if k not in spec.host_fields})
        return source.complete(call, spec, fix_arguments=fix_arguments)

    def complete_for_host(self, call: ToolCall) -> ToolCall:
        """As `complete`, for input that the host has changed: it may fill its own fields."""
        found = self._find(call.name)
        return call if found is None else found[0].complete(call, found[1])

    def prepare(self, call: ToolCall) -> PreparedCall:
        """Find the tool and validate the input; raises ToolFailed(before_run=True)."""
        found = self._find(call.name)
        if found is None:
            raise self._missing(call.name)
        source, spec = found
        if self._search is not None:
            self._search.note_call(spec.name)
        if not source.own_schemas:
            check_foreign_input(call, spec)
        return source.prepare(call, spec)

    def run(self, prepared: PreparedCall, context: ToolContext) -> ToolOutput:
        """Run it; raises ToolFailed or Cancelled."""
        return prepared.source.run(prepared, context)

    def _find(self, name: str) -> tuple[ToolSource, ToolSpec] | None:
        for source in self._sources:
            spec = source.find(name)
            if spec is not None and self._allows(spec):
                return source, spec
        spec = None if self._search is None else self._search.find(name)
        return None if spec is None or self._search is None else (self._search, spec)

    def _allows(self, spec: ToolSpec) -> bool:
        return all(limit.allows(spec) for limit in self._limits)

    def _missing(self, name: str) -> ToolFailed:
        text = f"Error: No such tool available: {name}"
        why = next((why for source in self._sources if (why := source.why_missing(name))), "")
        more = f". {why}" if why else f". Available: {', '.join(self.names()) or 'none'}"
        return ToolFailed(text + more, before_run=True, structured=text)


def check_foreign_input(call: ToolCall, spec: ToolSpec) -> None:
    """Validate input against a schema that another program wrote; raises ToolFailed(before_run=True)."""
    from yume_shim.text.json_schema import schema_problems

    problems = (
        ["the input is not one complete JSON object"]
        if call.broken is not None
        else schema_problems(spec.schema, call.input, trusted=False)
    )
    if problems:
        lines = "\n".join(problems)
        message = f"InputValidationError: {spec.name} failed due to the following issue(s):\n{lines}"
        raise ToolFailed(message, before_run=True, structured=f"InputValidationError: {'; '.join(problems)}")
