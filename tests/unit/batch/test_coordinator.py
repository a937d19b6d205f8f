"""Who gets which task, what is written, and when a run stops."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.batch.test_lanes import Clock
from yume_shim.batch.coordinator import NEVER, Coordinator, Limits
from yume_shim.batch.out_file import OutFile
from yume_shim.batch.task_file import Task

if TYPE_CHECKING:
    from pathlib import Path


class Run:
    def __init__(self, path: Path, count: int = 3, groups: int = 1, **limits: Any) -> None:
        self.path = path / "out"
        self.clock = Clock()
        tasks = [Task(f"t{n}", n, ({},), flags=(f"--model=m{n % groups}",)) for n in range(count)]
        out = OutFile(str(self.path), resume=True, keep=lambda _: True)
        self.it = Coordinator(tasks, out, Limits(**{"workers": 4, **limits}), self.clock)

    def done(self, worker: str, name: str, kind: str = "", cost: float = 0.0, **more: Any) -> None:
        row = {"id": name, "result": "", "cost_usd": cost, **more}
        self.it.done(worker, row | ({"error": {"kind": kind}} if kind else {}), 10)

    def rows(self) -> list[tuple[str, str, int]]:
        lines = [json.loads(line) for line in self.path.read_bytes().splitlines()]
        return [(row["id"], row.get("error", {}).get("kind", ""), row["attempts"]) for row in lines]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def test_each_task_is_handed_out_once(run: Run) -> None:
    names = []
    while (order := run.it.next("w", None)).task is not None:
        names.append(order.task.id)
        run.done("w", order.task.id)
    assert (names, order.wait_s) == (["t0", "t1", "t2"], 0)
    assert run.rows() == [("t0", "", 1), ("t1", "", 1), ("t2", "", 1)]


def test_a_worker_waits_while_others_may_give_tasks_back(run: Run) -> None:
    for worker in "abc":
        run.it.next(worker, None)
    waiting = run.it.next("d", None)
    assert (waiting.task, waiting.wait_s > 0) == (None, True)
    run.it.lost("a")
    again = run.it.next("d", None)
    assert again.task is not None
    assert (again.task.id, again.tries) == ("t0", 2)


def test_a_worker_keeps_its_group(tmp_path: Path) -> None:
    run = Run(tmp_path, 6, groups=2)
    first = run.it.next("a", None).task
    other = run.it.next("b", None).task
    assert first is not None
    assert other is not None
    run.done("a", "t0")
    second = run.it.next("a", first.group).task
    assert second is not None
    assert (second.id, second.group) == ("t2", first.group)


def test_a_task_is_given_up_after_so_many_tries(run: Run) -> None:
    tries = []
    while (order := run.it.next("w", None)).task is not None:
        tries.append((order.task.id, order.tries))
        run.done("w", order.task.id, "worker" if order.task.id == "t0" else "")
    assert tries == [("t0", 1), ("t1", 1), ("t2", 1), ("t0", 2), ("t0", 3)]
    assert run.rows() == [("t1", "", 1), ("t2", "", 1), ("t0", "worker", 3)]


def test_refusals_for_the_rate_are_tried_again_and_others_are_not(run: Run) -> None:
    for kind in ("rate_limit", "auth"):
        task = run.it.next("w", None).task
        assert task is not None
        run.done("w", task.id, kind)
    assert run.rows() == [("t1", "auth", 1)]
    assert run.it.counts().failed == {"auth": 1}


def test_a_refusal_makes_the_whole_lane_wait(tmp_path: Path) -> None:
    run = Run(tmp_path, 6, groups=2)
    first, second = run.it.next("a", None).task, run.it.next("b", None).task
    assert first is not None
    assert second is not None
    run.it.provider(first.group, "anthropic")
    run.it.provider(second.group, "openai")
    assert run.it.permit("a", "request", "anthropic", 0) == 0
    run.it.refused("a", 30)
    assert run.it.counts().pauses == (("anthropic", 30.0),)
    run.done("a", first.id)
    free = run.it.next("a", first.group).task
    assert free is not None
    assert free.group == second.group  # the other provider goes on
    run.clock.now += 31
    again = run.it.next("c", first.group).task
    assert again is not None
    assert again.group == first.group


def test_an_interrupted_task_is_not_written(run: Run) -> None:
    run.it.next("a", None)
    run.it.next("b", None)
    run.it.stop("interrupted")
    run.done("a", "t0", "interrupted")
    run.done("b", "t1")
    assert run.rows() == [("t1", "", 1)]
    assert run.it.next("a", None).task is None
    assert run.it.counts().stopped == "interrupted"


def test_the_budget_counts_what_runs_and_what_earlier_runs_spent(tmp_path: Path) -> None:
    run = Run(tmp_path, 5, budget_usd=1.0)
    for name in ("t0", "t1"):
        assert run.it.next("a", None).task is not None
        run.done("a", name, cost=0.3)
    assert run.it.next("a", None).task is not None  # 0.6 spent, 0.3 expected
    assert run.it.next("b", None).task is None  # 0.6 spent, 0.6 expected
    assert run.it.stopped() == "budget"
    run.done("a", "t2", cost=0.3)
    run.it.finish(None)
    later = Run(tmp_path, 5, budget_usd=1.0)
    assert later.it.next("a", None).task is None  # 0.9 spent, 0.3 expected by the rows of before
    assert later.it.counts().resumed == 3


def test_a_running_task_gets_no_request_beyond_the_budget(tmp_path: Path) -> None:
    run = Run(tmp_path, 3, budget_usd=1.0)
    assert run.it.next("a", None).task is not None
    assert run.it.next("b", None).task is not None
    assert run.it.permit("a", "1", "anthropic", 0, 0.0) == 0
    assert run.it.permit("b", "2", "anthropic", 0, 0.4) == 0
    assert run.it.permit("a", "3", "anthropic", 0, 0.6) == NEVER
    run.done("a", "t0", "budget", cost=0.6)
    assert run.it.permit("b", "4", "anthropic", 0, 0.4) == NEVER
    run.done("b", "t1", "interrupted", cost=0.4)
    assert run.it.next("a", None).task is None
    assert (run.it.stopped(), run.rows()) == ("budget", [("t0", "budget", 1)])


def test_a_row_has_what_all_tries_of_its_task_have_used(tmp_path: Path) -> None:
    for tries in (
        ((0.5, "rate_limit"), (0.25, "rate_limit")),
        ((0.25, ""),),
    ):  # an earlier run, and one with --retry-errors
        out = OutFile(str(tmp_path / "out"), resume=True, keep=lambda row: not row.get("error"))
        it = Coordinator([Task("t", 0, ({},))], out, Limits(tries=2, budget_usd=9.0), Clock())
        for cost, kind in tries:
            assert it.next("a", None).task is not None
            row = {"id": "t", "result": "", "usage": {"input_tokens": 4}, "cost_usd": cost}
            it.done("a", row | ({"error": {"kind": kind}} if kind else {}), 4)
        it.finish(None)
    (row,) = [json.loads(line) for line in (tmp_path / "out").read_bytes().splitlines()]
    assert (row["cost_usd"], row["usage"], row["attempts"]) == (1.0, {"input_tokens": 12}, 3)


def test_a_provider_that_must_wait_holds_up_no_other(tmp_path: Path) -> None:
    out = OutFile(str(tmp_path / "out"), resume=True, keep=lambda _: True)
    slow = [Task(f"s{n}", n, ({},), flags=("--model=slow",)) for n in range(300)]
    it = Coordinator([*slow, Task("q", 300, ({},), flags=("--model=quick",))], out, Limits(workers=2), Clock())
    task = it.next("a", None).task
    assert task is not None
    it.provider(task.group, "slow")
    it.permit("a", "1", "slow", 0)
    it.refused("a", 600)
    assert it.next("b", None).task == Task("q", 300, ({},), flags=("--model=quick",))


def test_tokens_are_debited_while_a_task_goes_on(tmp_path: Path) -> None:
    run = Run(tmp_path, 2, tpm=600.0)
    for worker in ("a", "b"):
        run.it.next(worker, None)
    assert run.it.permit("a", "1", "anthropic", 0) == 0
    assert run.it.permit("b", "2", "anthropic", 0) > 0  # 500 are expected of the first
    assert run.it.permit("a", "3", "anthropic", 100) == 0  # its first request needed 100
    run.clock.now += 1
    assert run.it.permit("b", "2", "anthropic", 0) == 0
    assert run.it.permit("nobody", "4", "anthropic", 0) == 0


def test_the_deadline(tmp_path: Path) -> None:
    run = Run(tmp_path, 5, deadline_s=60)
    assert run.it.next("a", None).task is not None
    run.clock.now += 60
    assert (run.it.next("b", None).task, run.it.stopped()) == (None, "deadline")


def test_a_full_disk_stops_the_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run.it.next("a", None)

    def full(_: Any) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(OutFile, "append", lambda _self, row: full(row))
    with pytest.raises(OSError, match="No space"):
        run.done("a", "t0")
    assert run.it.stopped() == "out"
    assert run.it.counts().done == 0


def test_problems_of_successes_are_counted(run: Run) -> None:
    run.it.next("a", None)
    run.done("a", "t0", problems=["denied", "truncated"])
    assert run.it.counts().problems == {"denied": 1, "truncated": 1}
