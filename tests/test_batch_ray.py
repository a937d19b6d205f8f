"""`yume-shim batch --engine ray` on a real cluster of two nodes, one of which is killed in the middle of a run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.document_world import ROOT, needs_cluster, shell_blocks
from tests.helpers.ray_world import KEY, RayWorld
from yume_shim.batch.coordinator import Coordinator, Limits
from yume_shim.batch.out_file import OutFile
from yume_shim.batch.ray_engine import connect
from yume_shim.batch.task_file import Task
from yume_shim.cli.batch_command import read_resources
from yume_shim.types.errors import BadInvocation

if TYPE_CHECKING:
    from pathlib import Path

WORKERS = 6


def ids(report: Any) -> list[str]:
    return [row["id"] for row in report["rows"]]


def prompts_survive_the_loss_of_a_node(world: RayWorld) -> None:
    report = world.do("lose_a_node", count=500, workers=WORKERS)
    assert (report["code"], report["stdout"]) == (0, ""), report["stderr"]
    assert ids(report) == [f"t{n}" for n in range(500)]  # each once, in the order of IN
    assert [row["result"] for row in report["rows"]] == [f"WORD{n}" for n in range(500)]
    assert report["words"] == 500
    lost = report["stderr"].count(" is lost: ")
    assert 1 <= lost <= WORKERS
    assert 500 <= report["requests"] <= 500 + lost  # twice at most what was in flight on the lost node
    attempts = Counter(row["attempts"] for row in report["rows"])
    assert set(attempts) <= {1, 2}
    assert attempts[2] <= lost


def a_killed_run_goes_on(world: RayWorld) -> None:
    report = world.do("kill_and_resume", count=60)
    assert (report["code"], ids(report)) == (0, [f"t{n}" for n in range(60)]), report["stderr"]
    assert 60 <= report["requests"] <= 60 + 4
    assert "finished earlier  " in report["stderr"]


def ctrl_c_stops_cleanly(world: RayWorld) -> None:
    report = world.do("interrupt", count=200)
    assert (report["code"], 3 <= len(report["rows"]) < 200) == (130, True)
    assert "stopped by a signal; --resume continues" in report["stderr"]
    assert not any(row["is_error"] for row in report["rows"])


def only_what_was_named_leaves_the_machine(world: RayWorld) -> None:
    report = world.do("keep_secrets")
    assert report["few"]["code"] == 0
    assert report["few"]["stderr"].startswith("Workers get ANTHROPIC_API_KEY of this machine's")
    assert KEY not in report["few"]["stderr"]
    without = report["none"]
    assert without["stderr"].startswith("Workers get no variables of this machine's")
    assert {row["error"]["kind"] for row in without["rows"]} == {"start"}
    assert "API_KEY" in without["rows"][0]["error"]["message"]
    assert report["leaks"] == []  # nor does Ray write a key into its files


def the_commands_of_the_document_run(world: RayWorld) -> None:
    (block,) = filter(needs_cluster, shell_blocks(ROOT / "docs" / "fleet.md"))
    report = world.do("run_block", block=block)
    assert (report["code"], [row["is_error"] for row in report["rows"]]) == (0, [False] * 5), report["stderr"]


def what_cannot_work_is_said(world: RayWorld) -> None:
    found = world.do("refuse")
    for name, code, words in (
        ("folder", 1, "has no folder /no/such/folder (--cwd names another one)"),
        ("variable", 2, "--send-env NO_SUCH_VARIABLE: there is no such variable"),
        ("address", 2, "no Ray cluster at 127.0.0.1:1: [Errno 111] Connection refused"),
        ("client", 2, "a batch runs on a machine of the cluster"),
        ("room", 1, "4 of 4 workers have no place in the cluster yet (each reserves CPU 1, slots 1)"),
        ("used", 2, "has rows already: continue with --resume"),
    ):
        assert (found[name]["code"], words in found[name]["stderr"]) == (code, True), found[name]["stderr"]
        assert "Traceback" not in found[name]["stderr"]
    assert "the deadline has passed" in found["room"]["stderr"]
    assert found["folder"]["rows"] == []  # a node that does not fit uses up no task


@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_batch_on_a_cluster(tmp_path: Path) -> None:
    """One test: several would start a cluster in each process of the test run, and a machine has room for one."""
    with RayWorld(tmp_path) as world:
        prompts_survive_the_loss_of_a_node(world)
        a_killed_run_goes_on(world)
        ctrl_c_stops_cleanly(world)
        only_what_was_named_leaves_the_machine(world)
        the_commands_of_the_document_run(world)
        what_cannot_work_is_said(world)


@pytest.mark.parametrize(
    ("text", "amounts"),
    [
        ("", {"CPU": 1}),
        ("CPU=0.5,memory=2G", {"CPU": 0.5, "memory": 2 << 30}),
        ("slots=2, GPU=1", {"CPU": 1, "slots": 2, "GPU": 1}),
    ],
)
def test_resources(text: str, amounts: dict[str, float]) -> None:
    assert read_resources(text) == amounts


@pytest.mark.parametrize("text", ["CPU", "CPU=", "CPU=x", "=1", "CPU=-1", "memory=2T", "CPU=nan", "CPU=inf", "a=1M2"])
def test_wrong_resources(text: str) -> None:
    with pytest.raises(BadInvocation, match="--worker-resources takes NAME=AMOUNT"):
        read_resources(text)


def test_a_batch_does_not_go_through_the_client_of_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "ray://127.0.0.1:10001")
    with pytest.raises(BadInvocation, match=r"RAY_ADDRESS=ray://.*: a batch runs on a machine of the cluster"):
        connect()


def test_repeated_calls_change_nothing(tmp_path: Path) -> None:
    """The network may lose an answer: the worker then asks again."""
    tasks = [Task(f"t{n}", n, ({},)) for n in range(2)]
    out = tmp_path / "out"
    it = Coordinator(tasks, OutFile(str(out), resume=False, keep=lambda _: True), Limits())
    first, again = it.next("w", None).task, it.next("w", None).task
    assert first is not None
    assert first == again
    row = {"id": "t0", "result": "A", "cost_usd": 1.0}
    it.done("w", row, 10)
    it.done("w", row, 10)
    counts = it.counts()
    assert (counts.done, counts.tokens, counts.cost_usd, out.read_bytes().count(b"\n")) == (1, 10, 1.0, 1)


def test_a_worker_that_was_given_up_is_paid_but_not_heard(tmp_path: Path) -> None:
    out = tmp_path / "out"
    it = Coordinator([Task("t0", 0, ({},))], OutFile(str(out), resume=False, keep=lambda _: True), Limits())
    it.next("a", None)
    it.lost("a")
    it.next("b", None)
    late = {"id": "t0", "result": "late", "cost_usd": 1.0}
    it.done("a", late, 10)
    it.done("a", late, 10)
    it.done("b", {"id": "t0", "result": "good", "cost_usd": 2.0}, 10)
    assert (it.counts().cost_usd, it.counts().tokens) == (3.0, 20)
    assert b'"good"' in out.read_bytes()
    assert out.read_bytes().count(b"\n") == 1
