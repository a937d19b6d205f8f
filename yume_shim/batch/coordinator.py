"""Hands out tasks and takes results: budget, rates, deadline and OUT are held here, once for all workers.

Its methods take and return plain values only, so that it can live in this process or be an actor of a cluster. They are
called from several threads; the lock guards everything.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from itertools import islice

from yume_shim.batch.lanes import POLL, Lane
from yume_shim.batch.out_file import used_by
from yume_shim.types.models import COST_DECIMALS
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal

    Group = tuple[str, ...]

    from yume_shim.batch.out_file import OutFile
    from yume_shim.batch.task_file import Task
    from yume_shim.types.blocks import Json

    Stop = Literal["", "interrupted", "budget", "deadline", "out"]

LOOK_AHEAD = 200
"""Groups of waiting tasks that are looked through for one whose provider may be asked now."""
NEVER = -1.0
"""In place of a wait: the request may not be sent at all."""
RATE_ERRORS = frozenset({"rate_limit", "overloaded"})
"""After these a task goes back to the queue."""


class Limits(Value):
    """What the user set for the run."""

    workers: int = 4
    rps: float = 0.0
    tpm: float = 0.0
    budget_usd: float = 0.0
    deadline_s: float = 0.0
    tries: int = 3
    """Runs of one task: after a crash of its process, the loss of its machine, or a refusal for its rate."""


class Order(Value):
    """The answer to a worker that asks for work: a task, or how long to wait; neither = the run is over."""

    task: Task | None = None
    wait_s: float = 0.0
    tries: int = 0


class Counts(Value):
    """The progress of the run."""

    total: int
    done: int
    failed: dict[str, int]
    """Failed tasks by kind of error."""
    running: int
    tokens: int
    cost_usd: float
    cost_unknown: bool
    seconds: float
    resumed: int
    """Tasks that earlier runs had finished; not in `done`."""
    stopped: Stop
    problems: dict[str, int]
    """Tasks that succeeded, but were truncated, denied a tool, or refused."""
    pauses: tuple[tuple[str, float], ...] = ()
    """(provider that has asked to wait, seconds that are left)."""


class _Waits:
    """The requests of a worker's task so far."""

    def __init__(self) -> None:
        self.lane = ""
        """Of the last one."""
        self.tickets: set[str] = set()
        self.tokens = 0
        self.cost = 0.0

    def settle(self, worker: str, lane: Lane, tokens: int, *, ended: bool = False) -> None:
        """The task has needed so many tokens by now."""
        if tokens > self.tokens or ended:
            lane.settle(worker, tokens - self.tokens)
            self.tokens = tokens


class Coordinator:
    """The state of one run."""

    def __init__(
        self, tasks: Sequence[Task], out: OutFile, limits: Limits, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._out, self._limits, self._clock = out, limits, clock
        self._lock = threading.Lock()
        self._waiting: dict[Group, deque[Task]] = {}
        """By group, none of them empty."""
        self._resumed, self._total = 0, len(tasks)
        for task in tasks:
            if task.id in out.finished:
                self._resumed += 1
            else:
                self._waiting.setdefault(task.group, deque()).append(task)
        self._before: dict[str, Json] = dict(out.dropped)
        """By id: what the tries so far have used, of this run and of rows that are asked again."""
        self._tries: dict[str, int] = {}
        self._running: dict[str, tuple[Task, str]] = {}
        """By worker: its task and the lane that it was started in."""
        self._waits: dict[str, _Waits] = {}
        self._lost: dict[str, str] = {}
        """By worker that was given up: the task that it had. Another worker has it since."""
        self._lanes: dict[str, Lane] = {}
        self._lane_of: dict[Group, str] = {}
        self._lane_of_model: dict[str, str] = {}
        """The best guess for groups that had no process yet."""
        self._started = clock()
        self._stopped: Stop = ""
        self._done = 0
        self._failed: dict[str, int] = {}
        self._problems: dict[str, int] = {}
        self._tokens = 0
        self._cost: float = sum(out.finished.values()) + sum(row["cost_usd"] for row in out.dropped.values())
        self._cost_here = 0.0
        self._cost_unknown = False

    def next(self, worker: str, group: Group | None) -> Order:
        """Work for a worker whose process can run tasks of `group` (None = it has no process). A worker that asks again
        has not got the last answer: it gets the same task."""
        with self._lock:
            if worker in self._running:
                task, _ = self._running[worker]
                return Order(task, tries=self._tries[task.id])
            self._check_limits()
            if self._stopped or (not self._waiting and not self._running):
                return Order()
            chosen, shortest = self._choose(group)
            if chosen is None:
                return Order(wait_s=min(shortest, POLL))
            task = self._waiting[chosen].popleft()
            if not self._waiting[chosen]:
                del self._waiting[chosen]
            name = self._lane_name(task)
            self._lane(name).start()
            self._running[worker] = (task, name)
            self._tries[task.id] = self._tries.get(task.id, 0) + 1
            return Order(task, tries=self._tries[task.id])

    def provider(self, group: Group, name: str) -> None:
        """A process of the group has said which provider it asks."""
        with self._lock:
            self._lane_of[group] = self._lane_of_model[_model_of(group)] = name

    def permit(self, worker: str, ticket: str, provider: str, tokens: int, cost_usd: float = 0.0) -> float:
        """Seconds until a request of the worker's task may be sent; 0 = now, NEVER = the budget is used up. `tokens`
        and `cost_usd`: what the task has needed so far. A worker asks again, with the same ticket, when the time has
        come."""
        with self._lock:
            if worker not in self._running:
                return 0.0
            task, _ = self._running[worker]
            waits = self._waits.setdefault(worker, _Waits())
            waits.settle(worker, self._lane(waits.lane), tokens)
            waits.lane = provider
            waits.tickets.add(ticket)
            waits.cost = max(waits.cost, cost_usd)
            if self._limits.budget_usd and self._spent() >= self._limits.budget_usd:
                return NEVER
            return self._lane(provider).permit(worker, ticket, task.size)

    def refused(self, worker: str, seconds: float) -> None:
        """The provider refused a request of the worker's task for its rate; the process itself waits and repeats it."""
        with self._lock:
            if worker in self._waits:
                self._lane(self._waits[worker].lane).refused(seconds)

    def done(self, worker: str, row: Json, tokens: int) -> None:
        """The worker's task has ended. Written to OUT, unless it is to be tried again. Raises OSError."""
        with self._lock:
            if worker not in self._running or self._running[worker][0].id != row["id"]:
                self._count_late(worker, row, tokens)
                return
            task, lane = self._running.pop(worker)
            kind = (row.get("error") or {}).get("kind", "")
            self._lane(lane).end(succeeded=not kind)
            waits = self._waits.pop(worker, None)
            if waits is not None:
                waits.settle(worker, self._lane(waits.lane), tokens, ended=True)
                self._lane(waits.lane).forget(waits.tickets)
            self._tokens += tokens
            self._count_cost(row)
            row = self._with_earlier_tries({**row, "attempts": 1})
            again = kind == "worker" or kind in RATE_ERRORS
            if kind == "interrupted" or (again and self._stopped):
                self._put_back(task)  # not finished: a later run asks it again
                return
            if again and self._tries[task.id] < self._limits.tries:
                self._before[task.id] = used_by(row)
                self._waiting.setdefault(task.group, deque()).append(task)
                return
            try:
                self._out.append(row)
            except OSError:
                self._put_back(task)
                self._stopped = "out"
                raise
            self._done += 1
            self._before.pop(task.id, None)
            if kind:
                self._failed[kind] = self._failed.get(kind, 0) + 1
            for problem in row.get("problems", ()):
                self._problems[problem] = self._problems.get(problem, 0) + 1

    def lost(self, worker: str) -> None:
        """The worker is gone. Its task goes to another one, unless it was lost too often."""
        with self._lock:
            if worker not in self._running:
                return
            task, _ = self._running[worker]
            index = {"id": task.id, "index": task.index}
            self._lost[worker] = task.id
        error = {"kind": "worker", "message": "the worker was lost"}
        self.done(worker, {**index, "result": "", "is_error": True, "error": error}, 0)

    def stop(self, reason: Stop) -> None:
        """Hand out nothing more. Workers that run a task are asked to interrupt it by `stopped`."""
        with self._lock:
            self._stopped = self._stopped or reason

    def stopped(self) -> Stop:
        """Why the run stops early; "" if it does not."""
        with self._lock:
            self._check_limits()
            return self._stopped

    def counts(self) -> Counts:
        """The progress of the run."""
        with self._lock:
            return Counts(
                self._total,
                self._done,
                dict(self._failed),
                len(self._running),
                self._tokens,
                self._cost_here,
                self._cost_unknown,
                self._clock() - self._started,
                self._resumed,
                self._stopped,
                dict(self._problems),
                tuple((name, left) for name, lane in self._lanes.items() if (left := lane.pause()) > 0),
            )

    def finish(self, places: dict[str, int] | None) -> None:
        """The run is over: bring OUT into the order of IN (`places`: id -> place), and close it. Raises OSError."""
        with self._lock:
            if places is not None:
                self._out.sort(places)
            self._out.close()

    def _choose(self, group: Group | None) -> tuple[Group | None, float]:
        """(the group whose next task may start now, or None; seconds until one may). The worker's own group first: it
        needs no new process; then the first in IN."""
        found, shortest = None, POLL
        first, waits = self._total, dict[str, float]()
        own = (group,) if group is not None and group in self._waiting else ()
        for candidate in (*own, *islice(self._waiting, LOOK_AHEAD)):
            task = self._waiting[candidate][0]
            name = self._lane_name(task)
            wait = waits.get(name)
            if wait is None:
                wait = waits[name] = self._lane(name).wait(task.size)
            if wait > 0:
                shortest = min(shortest, wait)
            elif candidate == group:
                return candidate, 0.0
            elif task.index < first:
                found, first = candidate, task.index
        return found, shortest

    def _put_back(self, task: Task) -> None:
        self._waiting.setdefault(task.group, deque()).appendleft(task)

    def _with_earlier_tries(self, row: Json) -> Json:
        """The row with what earlier tries of its task have used."""
        before = self._before.get(row["id"])
        if before is None:
            return row
        now = used_by(row)
        usage = {
            name: now["usage"].get(name, 0) + before["usage"].get(name, 0) for name in now["usage"] | before["usage"]
        }
        cost = round(now["cost_usd"] + before["cost_usd"], COST_DECIMALS)
        return {**row, "usage": usage, "cost_usd": cost, "attempts": now["attempts"] + before["attempts"]}

    def _lane_name(self, task: Task) -> str:
        return self._lane_of.get(task.group) or self._lane_of_model.get(_model_of(task.group), "")

    def _lane(self, name: str) -> Lane:
        if name not in self._lanes:
            self._lanes[name] = Lane(self._limits.workers, self._limits.rps, self._limits.tpm, self._clock)
        return self._lanes[name]

    def _check_limits(self) -> None:
        if self._stopped:
            return
        limits = self._limits
        if limits.deadline_s and self._clock() - self._started >= limits.deadline_s:
            self._stopped = "deadline"
        elif limits.budget_usd and self._waiting and not self._affordable():
            self._stopped = "budget"

    def _affordable(self) -> bool:
        """Will the budget probably last for one task more than those that run?"""
        finished = self._resumed + self._done
        mean = self._cost / finished if finished else 0.0
        running = sum(max(mean, self._waits[worker].cost if worker in self._waits else 0.0) for worker in self._running)
        budget = self._limits.budget_usd
        return self._spent() < budget and self._cost + running + mean <= budget

    def _spent(self) -> float:
        """With what is known of the tasks that run."""
        return self._cost + sum(waits.cost for waits in self._waits.values())

    def _count_late(self, worker: str, row: Json, tokens: int) -> None:
        """A worker that was given up has ended its task after all. Only what it spent counts, and only once; a report
        that was repeated because its answer got lost changes nothing."""
        if self._lost.pop(worker, None) == row["id"]:
            self._tokens += tokens
            self._count_cost(row)

    def _count_cost(self, row: Json) -> None:
        cost = float(row.get("cost_usd") or 0)
        self._cost += cost
        self._cost_here += cost
        self._cost_unknown = self._cost_unknown or bool(row.get("cost_unknown"))


def _model_of(group: Group) -> str:
    return next((flag for flag in group[1:] if flag.startswith("--model=")), "")
