"""The toolbox of a session: which tools it has, and name -> module on first use."""

from __future__ import annotations

from yume_shim.tools._specs import SPECS
from yume_shim.tools._state import ToolState
from yume_shim.types.errors import ToolFailed
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from yume_shim.types.blocks import ToolCall
    from yume_shim.types.models import ToolSpec
    from yume_shim.types.outputs import ToolContext, ToolOutput
    from yume_shim.types.ports import Toolbox
    from yume_shim.types.settings import Settings

DEFAULT_WORD = "default"


def open_toolbox(
    settings: Settings, scratch_dir: str, env: Mapping[str, str], log: Callable[[str, str], None]
) -> Toolbox:
    """The tools these settings ask for. `scratch_dir` takes outputs too long to show, `env` is what commands see."""
    state = ToolState(settings.cwd or ".", settings.add_dirs, scratch_dir, env, log, settings.env)
    return BuiltinTools(chosen_specs(settings.tools, settings.rules.deny), state)


def chosen_specs(wanted: tuple[str, ...] | None, denied: tuple[str, ...]) -> tuple[ToolSpec, ...]:
    """The specs in their stable order: what was asked for (None = all), without those whose bare name is denied."""
    every = wanted is None or DEFAULT_WORD in wanted
    names = frozenset(wanted or ())
    out = frozenset(denied)
    return tuple(
        spec
        for spec in SPECS
        if (every or spec.name in names or names.intersection(spec.aliases))
        and spec.name not in out
        and not out.intersection(spec.aliases)
    )


def module_name(tool: str) -> str:
    """`MultiEdit` lives in `multi_edit`."""
    made = ""
    for place, char in enumerate(tool):
        hump = char.isupper() and tool[place - 1 : place].islower()
        made += f"_{char.lower()}" if hump else char.lower()
    return made


class BuiltinTools:
    """Implements `types.ports.Toolbox`."""

    def __init__(self, specs: tuple[ToolSpec, ...], state: ToolState) -> None:
        self._specs = specs
        self._state = state
        self._by_name = {name: spec for spec in specs for name in (*spec.aliases, spec.name)}

    def specs(self) -> tuple[ToolSpec, ...]:
        return self._specs

    def names(self) -> tuple[str, ...]:
        return tuple(spec.name for spec in self._specs)

    def find(self, name: str) -> ToolSpec | None:
        return self._by_name.get(name)

    def complete(self, call: ToolCall) -> ToolCall:
        spec = self.find(call.name)
        if spec is None or call.broken is not None:
            return call
        from yume_shim.tools._validate import with_defaults

        full = with_defaults(call.input, spec.schema)
        return call if full is call.input else replace(call, input=full)

    def check(self, call: ToolCall) -> None:
        from yume_shim.tools._validate import check_input

        check_input(self._need(call.name), call.input, call.broken)

    def run(self, call: ToolCall, context: ToolContext) -> ToolOutput:
        """Checks the input once more: hooks and approvals may have changed it."""
        from importlib import import_module

        from yume_shim.tools._validate import check_input, settle

        spec = self._need(call.name)
        check_input(spec, call.input, call.broken)
        context.cancel.check()
        tool = import_module(f"yume_shim.tools.{module_name(spec.name)}")
        output: ToolOutput = tool.run(settle(call.input, spec.schema), self._state, context)
        return output

    def close(self) -> None:
        self._state.close()

    def _need(self, name: str) -> ToolSpec:
        spec = self.find(name)
        if spec is not None:
            return spec
        text = f"Error: No such tool available: {name}"
        known = any(name == other.name or name in other.aliases for other in SPECS)
        why = ". It is switched off in this session." if known else f". There are: {', '.join(self.names()) or 'none'}"
        raise ToolFailed(text + why, before_run=True, structured=text)
