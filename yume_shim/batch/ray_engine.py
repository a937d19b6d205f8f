"""Runs the workers as actors of an existing Ray cluster; the coordinator is an actor on this process's node.

This process only watches: it starts actors, replaces those whose node or process is gone, and shows progress. Ray is
told to restart nothing by itself: a worker that is lost gives its task back first.
"""

from __future__ import annotations

import os
import time

from yume_shim import __version__
from yume_shim.batch.out_file import OutBusy
from yume_shim.batch.progress import to_stderr
from yume_shim.batch.ray_actors import CoordinatorActor, WorkerActor
from yume_shim.types.errors import BadInvocation
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from yume_shim.batch.coordinator import Counts, Stop
    from yume_shim.batch.run_plan import Plan

ADDRESS = "RAY_ADDRESS"
STDOUT, STDERR = 1, 2
CONNECT_S = 20
"""Seconds for the way to the cluster."""
TICK_S = 0.5
END_S = 30.0
"""Seconds that workers get to end after the run is over, or was stopped."""
STARTS = 3
"""Times that a worker may die before it works; then its place stays empty."""
RESTART_S = 1.0
"""Pause before a lost worker is replaced."""
BUSY_S = 15.0
"""How long OUT may still be held by a run that was killed: its coordinator lives a moment longer."""
QUIET_S = 15.0
"""Seconds after which workers that wait for resources are mentioned."""


class Cluster(Value):
    """What the user said about the cluster."""

    resources: Mapping[str, float]
    """What each worker reserves: CPU, GPU, memory (bytes), and names of the cluster's own."""
    sent: Mapping[str, str]
    """Variables of this machine that workers get."""


class _Place:
    """Room for one worker: the actor that has it now."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.actor: Any = None
        self.name = ""
        self.waits_for: Any = None
        """The call that is under way: `prepare`, then `run`."""
        self.works = False
        self.starts = 0
        self.made = 0
        self.not_before = 0.0
        self.given_up = False


class RayEngine:
    """The engine on a cluster."""

    def __init__(self, plan: Plan, cluster: Cluster, say: Callable[[str], None]) -> None:
        """Connects, and opens OUT. `say` gets sentences for the user. Raises BadInvocation."""
        self._plan, self._cluster, self._say = plan, cluster, say
        self._asked_to_stop: Stop = ""
        self._stop_sent = False
        self._failures: list[BaseException] = []
        self._unfit: list[BaseException] = []
        """Why places stay empty. The others do their work; it is a failure if none is left."""
        self._places = [_Place(number) for number in range(plan.limits.workers)]
        self._mentioned = False
        self._started = time.monotonic()
        connect()
        self._desk = self._open()
        self._counts: Counts = self._call("counts")

    def run(self, tick: Callable[[], None]) -> list[BaseException]:
        from ray.exceptions import RayActorError

        ended = 0.0
        try:
            while not all(place.given_up for place in self._places):
                self._step(over=bool(ended))
                tick()
                over = self._is_over()
                ended = (ended or time.monotonic()) if over else 0.0
                if over and (not any(place.works for place in self._places) or time.monotonic() > ended + END_S):
                    break
            self._give_up_all()
            self._counts = self._call("counts")
            if not self._is_over():
                self._failures += self._unfit
        except RayActorError:
            self._give_up_all()
            self._failures.append(RuntimeError("the run's coordinator is gone; --resume continues"))
        return self._failures

    def counts(self) -> Counts:
        return self._counts

    def stop(self, reason: Stop) -> None:
        self._asked_to_stop = reason

    def finish(self) -> None:
        import ray
        from ray.exceptions import RayActorError, RayTaskError

        try:
            self._call("finish")
        except RayTaskError as error:
            raise error.cause from None
        except RayActorError:
            pass  # said before: its rows are in OUT, in the order in which they came
        finally:
            ray.shutdown()

    def _step(self, *, over: bool) -> None:
        """Start what is missing, and take what has happened since."""
        import ray

        if self._asked_to_stop and not self._stop_sent:
            self._call("stop", self._asked_to_stop)
            self._stop_sent = True
        now = time.monotonic()
        for place in self._places:
            if place.actor is None and not place.given_up and not over and now >= place.not_before:
                self._start(place)
        waiting = {place.waits_for: place for place in self._places if place.waits_for is not None}
        if waiting:
            done, _ = ray.wait(list(waiting), num_returns=len(waiting), timeout=TICK_S)
            for ref in done:
                self._take(waiting[ref], ref)
        else:
            time.sleep(TICK_S)
        self._counts = self._call("counts")
        self._mention_waiting()

    def _start(self, place: _Place) -> None:
        place.made += 1
        place.name = f"w{place.number}" if place.made == 1 else f"w{place.number}-{place.made}"
        place.actor = _actor(WorkerActor, self._cluster.resources, "SPREAD")
        place.waits_for = place.actor.prepare.remote(
            __version__, place.name, self._desk, self._plan.settings, dict(self._cluster.sent)
        )

    def _take(self, place: _Place, ref: Any) -> None:
        """A call of a worker has ended: it is prepared, or done, or it failed, or its node is gone."""
        import ray
        from ray.exceptions import RayActorError, RayTaskError

        try:
            ray.get(ref)
        except RayTaskError as error:  # the node does not fit, or OUT cannot be written
            self._lose(place)
            place.given_up = True
            cause = error.cause if isinstance(error.cause, Exception) else error
            (self._failures if place.works else self._unfit).append(cause)
            place.works = False
            self._say(f"worker {place.name} has ended: {cause}")
        except RayActorError as error:
            self._lose(place)
            place.starts += not place.works
            place.given_up = place.starts >= STARTS
            place.works = False
            place.not_before = time.monotonic() + RESTART_S
            reason = str(error).strip().splitlines()[-1].strip()
            self._say(f"worker {place.name} is lost: {reason}")
            if place.given_up:
                self._unfit.append(RuntimeError(f"worker {place.name} cannot be started: {reason}"))
        else:
            if place.works:
                place.works, place.waits_for, place.given_up = False, None, True
                _kill(place.actor)
            else:
                place.works, place.starts = True, 0
                place.waits_for = place.actor.run.remote()

    def _lose(self, place: _Place) -> None:
        _kill(place.actor)
        self._call("lost", place.name)
        place.actor = place.waits_for = None

    def _is_over(self) -> bool:
        counts = self._counts
        return counts.done + counts.resumed >= counts.total or (bool(counts.stopped) and not counts.running)

    def _give_up_all(self) -> None:
        for place in self._places:
            if place.actor is not None:
                _kill(place.actor)
            place.actor = place.waits_for = None

    def _mention_waiting(self) -> None:
        """Once: how many workers do not work yet."""
        waiting = sum(place.actor is not None and not place.works for place in self._places)
        if waiting and not self._mentioned and time.monotonic() > self._started + QUIET_S:
            self._mentioned = True
            needs = ", ".join(f"{name} {amount:g}" for name, amount in self._cluster.resources.items())
            self._say(
                f"{waiting} of {len(self._places)} workers have no place in the cluster yet (each reserves {needs})"
            )

    def _open(self) -> Any:
        """The coordinator, with OUT open. Raises BadInvocation."""
        import ray
        from ray.exceptions import RayTaskError
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        give_up = time.monotonic() + BUSY_S
        while True:
            desk = _actor(CoordinatorActor, {"CPU": 0}, here)
            try:
                ray.get(desk.open.remote(self._plan))
            except RayTaskError as error:
                _kill(desk)
                if isinstance(error.cause, OutBusy) and time.monotonic() < give_up:
                    time.sleep(TICK_S)
                    continue
                ray.shutdown()
                if isinstance(error.cause, BadInvocation):
                    raise error.cause from None
                raise
            return desk

    def _call(self, method: str, *given: Any) -> Any:
        """Ask the coordinator. Raises RayActorError if it is gone."""
        import ray

        return ray.get(getattr(self._desk, method).remote(*given))


def connect() -> None:
    """Join the cluster of RAY_ADDRESS, or the one that runs on this machine. Raises BadInvocation."""
    address = os.environ.get(ADDRESS, "") or "auto"
    if "://" in address:
        raise BadInvocation(
            f"{ADDRESS}={address}: a batch runs on a machine of the cluster, because the coordinator writes OUT there; "
            "start it there (`ray job submit -- yume-shim batch …`), with HOST:PORT or nothing in RAY_ADDRESS"
        )
    import logging
    import threading

    import ray

    advice = f"Start one (`ray start --head`), or name one in {ADDRESS}."
    late = threading.Timer(CONNECT_S, _end, (f"Error: no answer from the Ray cluster at {address}\n{advice}\n",))
    late.daemon = True
    late.start()
    try:
        _probe(address)
        os.dup2(STDERR, STDOUT)  # Ray prints what it learns about nodes, whatever `log_to_driver` says
        ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL, configure_logging=False)
    except (OSError, ValueError, RuntimeError) as error:
        what = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise BadInvocation(f"no Ray cluster at {address}: {what}\n{advice}") from None
    finally:
        late.cancel()


def _probe(address: str) -> None:
    """Whether somebody listens at HOST:PORT; Ray itself would try for minutes. Raises OSError, ValueError."""
    import socket

    host, colon, port = address.rpartition(":")
    if colon:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()


def _end(message: str) -> None:
    """Ray cannot be told to give up; nothing has been run, and OUT is not open yet."""
    to_stderr(message)
    os._exit(2)


def _actor(plain: type, resources: Mapping[str, float], strategy: Any) -> Any:
    """An actor that Ray does not restart."""
    import ray

    special = {name: amount for name, amount in resources.items() if name not in ("CPU", "GPU", "memory")}
    options: dict[str, Any] = {
        "num_cpus": resources.get("CPU", 1),
        "num_gpus": resources.get("GPU", 0),
        "resources": special,
        "scheduling_strategy": strategy,
        "max_restarts": 0,
        "max_task_retries": 0,
    }
    if "memory" in resources:
        options["memory"] = int(resources["memory"])
    return ray.remote(plain).options(**options).remote()


def _kill(actor: Any) -> None:
    """End an actor that may be gone already."""
    import ray
    from ray.exceptions import RayError

    try:
        ray.kill(actor)
    except (RayError, ValueError):
        pass
