"""What the engine gets from the other rooms, each through its port, as one value."""

from __future__ import annotations

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from yume_shim.engine.toolbox import Toolbox
    from yume_shim.types.calls import PreparedCall
    from yume_shim.types.child import Child
    from yume_shim.types.errors import Failure
    from yume_shim.types.file_patch import FilePatch
    from yume_shim.types.models import Cost, ModelSpec, Request, Usage
    from yume_shim.types.ports import (
        Asker,
        BackgroundTasks,
        Cancel,
        ChildOutput,
        Clock,
        Emit,
        FileCheckpoints,
        Gate,
        Hooks,
        Ids,
        PromptFiles,
        Provider,
        StreamWatcher,
    )
    from yume_shim.types.settings import Settings


def _not_refined(spec: ModelSpec, cancel: Cancel) -> ModelSpec:
    return spec


def _not_counted(request: Request, cancel: Cancel) -> int | None:
    return None


def _never() -> bool:
    return False


def _nothing_learned(spec: ModelSpec) -> ModelSpec:
    return spec


def _no_advice(failure: Failure, spec: ModelSpec) -> Failure:
    return failure


def _no_hooks() -> Hooks | None:
    return None


def _nothing() -> None:
    pass


def _no_tasks() -> BackgroundTasks | None:
    return None


class EngineServices(Value):
    """Composed in `app/`. A child loop gets a copy with its own emitter and tools."""

    settings: Settings
    emit: Emit
    clock: Clock
    ids: Ids
    toolbox: Toolbox
    gate: Gate
    asker: Asker
    provider_for: Callable[[ModelSpec], Provider]
    cost: Callable[[ModelSpec, Usage], Cost]
    log: Callable[[str, str], None]
    secrets: Sequence[str] = ()
    """Keys in use: removed from every tool's output. It grows when more keys are read."""
    refine: Callable[[ModelSpec, Cancel], ModelSpec] = _not_refined
    """The model with the limits that its endpoint reports, asked for when a turn begins; never raises."""
    await_tools: Callable[[Cancel], None] | None = None
    """Waits before a turn until sources that start slowly offer their tools, within their limits; never raises."""
    load_turn: Callable[[], None] | None = None
    """Loads what a turn needs, once its first line is out; None = the modules load one by one."""
    expand: Callable[[str, str, Cancel], str | None] | None = None
    """(command, arguments) → what a slash command of a source adds for the model; None = there is no such command.
    Raises ToolFailed or Cancelled."""
    output_blocked: Callable[[], bool] = _never
    """Whether a line waits because the host does not read."""
    learned: Callable[[ModelSpec], ModelSpec] = _nothing_learned
    """The model with the limits that refusals have named in this process; asked for before each request."""
    count: Callable[[Request, Cancel], int | None] = _not_counted
    """The provider's own count of a request's tokens; None if it has none. Never raises."""
    advise: Callable[[Failure, ModelSpec], Failure] = _no_advice
    """A failure that ends a turn, with what the user can do about it."""
    hooks: Callable[[], Hooks | None] = _no_hooks
    """The hooks as they are now: a host may register some later. None = there are none."""
    preview: Callable[[PreparedCall, Cancel], FilePatch | None] | None = None
    """What a call would change in a file; None if that is not known. Never raises but Cancelled."""
    save_rules: Callable[[str, tuple[str, ...]], None] | None = None
    """Keeps allow rules for the user ("user") or this folder ("project"). Raises OSError."""
    prompt_files: PromptFiles | None = None
    """Commands and skills of files; None = there are none."""
    skill_list: Callable[[int], str] | None = None
    """The list of skills for a model with this window; None = there are none."""
    own_hooks: Callable[[Mapping[str, Any], str], Hooks] | None = None
    """(hooks of a definition, agent type) → all hooks of a child that has some of its own."""
    checkpoints: FileCheckpoints | None = None
    forget_tools: Callable[[], None] = _nothing
    """A new conversation begins: what the tools know of the one before does not count any more."""
    tasks: Callable[[], BackgroundTasks | None] = _no_tasks
    """The tasks of the session; None = there has been none."""
    open_child: Callable[[Child], ChildOutput] | None = None
    """Where the events of a child go; None = this engine starts no children."""
    watch: Callable[[Cancel], StreamWatcher] | None = None
    """A watcher for the next answer; None = answers are not watched."""
    open_tasks: Callable[[], BackgroundTasks] | None = None
    """The registry of tasks, made for the first one; None = tasks are not reported here."""
    agent_id: str = ""
    """The child that these services belong to; "" = the session itself."""
    agent_type: str = ""
    """Its kind."""
    agent_types: tuple[str, ...] | None = None
    """The agents that this child may start; None = all."""
    in_background: bool = False
    """This child, or one above it, runs in the background."""
