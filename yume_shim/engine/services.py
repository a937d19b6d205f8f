"""What the engine is given: every other room, behind its port."""

from __future__ import annotations

from yume_shim.types.value import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from yume_shim.types.models import ModelSpec, Usage
    from yume_shim.types.ports import Asker, Cancel, Clock, Emit, Gate, Ids, Provider, Toolbox
    from yume_shim.types.settings import Settings


def _as_it_is(spec: ModelSpec, cancel: Cancel) -> ModelSpec:
    return spec


@value
class EngineServices:
    """Plugged together in `app/program.py`."""

    settings: Settings
    emit: Emit
    clock: Clock
    ids: Ids
    toolbox: Toolbox
    gate: Gate
    asker: Asker
    provider_for: Callable[[ModelSpec], Provider]
    cost: Callable[[ModelSpec, Usage], tuple[float, bool]]
    log: Callable[[str, str], None]
    secrets: Sequence[str] = ()
    """Keys in use: taken out of every tool's output. It grows when a key is had later."""
    refine: Callable[[ModelSpec, Cancel], ModelSpec] = _as_it_is
    """The model with what its endpoint tells about it, asked for when a turn begins; never raises."""
