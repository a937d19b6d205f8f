"""What lives in a Ray cluster: the coordinator, which also holds OUT, and the workers.

Both are plain classes, made into actors by `ray_engine`. Nodes import this module from their own installation, so a
worker first compares versions. What the user's machine sends (flags, settings, named variables) comes as arguments of
method calls, which go from process to process: Ray keeps arguments of constructors, and shows `runtime_env`.
"""

from __future__ import annotations

import os
import time

from yume_shim import __version__
from yume_shim.batch.coordinator import Coordinator
from yume_shim.batch.out_file import OutFile
from yume_shim.batch.worker import Worker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from yume_shim.batch.coordinator import Counts, Order, Stop
    from yume_shim.batch.run_plan import Plan
    from yume_shim.batch.worker import WorkerSettings
    from yume_shim.types.blocks import Json

UNREACHABLE_S = 60.0
"""How long a worker repeats a call while the network to the coordinator is down."""
PAUSE_S = 1.0
RAY_VARIABLES = "RAY_"
"""Variables of Ray's own processes; a tool that a model calls has no business with them."""


class Unfit(Exception):
    """A node that cannot run workers of this run; the text says why."""


class CoordinatorActor:
    """The one coordinator of a run, on the node of the process that started it: OUT is a file there."""

    def __init__(self) -> None:
        self._it: Coordinator | None = None
        self._places: dict[str, int] | None = None

    def open(self, plan: Plan) -> None:
        """Open OUT, and take over what earlier runs finished. Raises BadInvocation."""
        self._it = Coordinator(plan.tasks, OutFile(plan.out, resume=plan.resume, keep=plan.keep), plan.limits)
        self._places = plan.places()

    def next(self, worker: str, group: tuple[str, ...] | None) -> Order:
        return self._run.next(worker, group)

    def provider(self, group: tuple[str, ...], name: str) -> None:
        self._run.provider(group, name)

    def permit(self, worker: str, ticket: str, provider: str, tokens: int, cost_usd: float) -> float:
        return self._run.permit(worker, ticket, provider, tokens, cost_usd)

    def refused(self, worker: str, seconds: float) -> None:
        self._run.refused(worker, seconds)

    def done(self, worker: str, row: Json, tokens: int) -> None:
        self._run.done(worker, row, tokens)

    def lost(self, worker: str) -> None:
        self._run.lost(worker)

    def stop(self, reason: Stop) -> None:
        self._run.stop(reason)

    def stopped(self) -> Stop:
        return self._run.stopped()

    def counts(self) -> Counts:
        self._run.stopped()  # a deadline passes even if no worker asks
        return self._run.counts()

    def finish(self) -> None:
        self._run.finish(self._places)

    @property
    def _run(self) -> Coordinator:
        assert self._it is not None
        return self._it


class WorkerActor:
    """One worker on a node."""

    def __init__(self) -> None:
        self._worker: Worker | None = None

    def prepare(self, version: str, name: str, desk: Any, settings: WorkerSettings, sent: Mapping[str, str]) -> str:
        """Check that the node fits; its name. `desk` is the coordinator's handle, `sent` are variables of the user's
        machine. Raises Unfit."""
        node = node_name()
        if version != __version__:
            raise Unfit(f"{node} has yume_shim {__version__}, this run needs {version}")
        if settings.cwd and not os.path.isdir(settings.cwd):
            raise Unfit(f"{node} has no folder {settings.cwd} (--cwd names another one)")
        own = {name: text for name, text in os.environ.items() if not name.startswith(RAY_VARIABLES)}
        self._worker = Worker(name, RemoteDesk(desk), settings, own | dict(sent), node)
        return node

    def run(self) -> None:
        """Work until the run is over. Raises OSError if OUT cannot be written."""
        assert self._worker is not None
        self._worker.run()


class RemoteDesk:
    """The coordinator as a worker on another node sees it. A call whose answer got lost is repeated: the coordinator
    takes a repeated one for what it is."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    def next(self, worker: str, group: tuple[str, ...] | None) -> Order:
        order: Order = self._ask("next", worker, group)
        return order

    def provider(self, group: tuple[str, ...], name: str) -> None:
        self._ask("provider", group, name)

    def permit(self, worker: str, ticket: str, provider: str, tokens: int, cost_usd: float) -> float:
        seconds: float = self._ask("permit", worker, ticket, provider, tokens, cost_usd)
        return seconds

    def refused(self, worker: str, seconds: float) -> None:
        self._ask("refused", worker, seconds)

    def done(self, worker: str, row: Json, tokens: int) -> None:
        self._ask("done", worker, row, tokens)

    def stopped(self) -> Stop:
        reason: Stop = self._ask("stopped")
        return reason

    def _ask(self, method: str, *given: Any) -> Any:
        import ray
        from ray.exceptions import ActorUnavailableError

        give_up = time.monotonic() + UNREACHABLE_S
        while True:
            try:
                return ray.get(getattr(self._handle, method).remote(*given))
            except ActorUnavailableError:
                if time.monotonic() > give_up:
                    raise
                time.sleep(PAUSE_S)


def node_name() -> str:
    """How messages call the node of this process."""
    import socket

    import ray

    return f"node {ray.get_runtime_context().get_node_id()[:8]} ({socket.gethostname()})"
