"""What hangs around a turn (instruction files, mentioned files, token counts, summaries, agents) does not hold it: an
interrupt ends the turn, files that take too long are left out, and the session goes on."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.engine_fakes import SPEC, Bench, FunctionTools, ScriptedProvider, answer, calls, info, says
from tests.helpers.timing import wait_until
from yume_shim.app.acp.client import Client
from yume_shim.app.acp.turns import Turns
from yume_shim.engine import cancel, turn_preparation
from yume_shim.engine.session import Session
from yume_shim.types.blocks import Text
from yume_shim.types.children import ChildRequest
from yume_shim.types.commands import EndOfInput, UserInput
from yume_shim.types.events import Notice, TurnEnded
from yume_shim.types.models import Usage
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.host.json_rpc import RpcId
    from yume_shim.types.blocks import Json
    from yume_shim.types.events import Event

MOMENT = 0.05


class Stuck:
    """Work that does not heed its signal until the test lets it go; only its first call hangs."""

    def __init__(self) -> None:
        self.begun, self.go = threading.Event(), threading.Event()

    def hang(self, *_: Any) -> str:
        if not self.begun.is_set():
            self.begun.set()
            assert self.go.wait(20)
        return ""

    def not_counted(self, *_: Any) -> None:
        self.hang()


def spawn(given: Any, context: Any) -> str:
    return str(context.spawn(ChildRequest("look", system_prompt="You look."), context.call_id, context.cancel).text)


def benches(stuck: Stuck) -> dict[str, Callable[[], Bench]]:
    """Where it hangs → the engine around it. The last answer is that to the second prompt."""
    fine = answer(says("Fine."))

    def instructions() -> Bench:
        bench = Bench(ScriptedProvider(fine), FunctionTools(Skill=stuck.hang))
        bench.services = replace(bench.services, skill_list=stuck.hang)
        return bench

    def counted() -> Bench:
        bench = Bench(ScriptedProvider(fine, fine), autocompact_tokens=1_000)  # the first one is a summary
        bench.services = replace(bench.services, count=stuck.not_counted)
        return bench

    def summary() -> Bench:
        used = answer(says("One."), usage=Usage(2_000, 5))
        return Bench(ScriptedProvider(used, [stuck.hang], fine))

    return {
        "Reading the instruction files": instructions,
        "Reading the files that the prompt mentions": lambda: Bench(
            ScriptedProvider(fine), FunctionTools(Read=stuck.hang)
        ),
        "Counting tokens": counted,
        "The request to test/test-model": summary,
        "The call of Agent": lambda: Bench(
            ScriptedProvider(answer(calls("p1", "Agent"), stop="tool_calls"), [stuck.hang], fine),
            FunctionTools(Agent=spawn),
        ),
        "The call of mcp__s__wait": lambda: Bench(
            ScriptedProvider(answer(calls("c1", "mcp__s__wait"), stop="tool_calls"), fine),
            FunctionTools(mcp__s__wait=stuck.hang),
        ),
    }


PROMPTS = {
    "Reading the files that the prompt mentions": ["look at @a.txt"],
    "Counting tokens": ["word " * 1_000],
    "The request to test/test-model": ["first", "/compact"],
}


def prompt(text: str) -> UserInput:
    return UserInput((Text(text),), text)


@pytest.mark.parametrize("where", list(benches(Stuck())))
def test_an_interrupt_ends_the_turn(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cancel, "HURRIED_S", MOMENT)
    stuck = Stuck()
    bench = benches(stuck)[where]()
    session = Session(bench.services, SPEC, "s-1", lambda _: SPEC, info)

    def stop() -> None:
        stuck.begun.wait(20)
        session.interrupt("user")
        session.interrupt("user")  # the second one ends the patience

    threading.Thread(target=stop, daemon=True).start()
    prompts = PROMPTS.get(where, ["go"])
    for text in prompts:
        session.submit(prompt(text))
    running = threading.Thread(target=session.run)
    running.start()
    stuck.begun.wait(20)
    wait_until(lambda: bench.of(Notice), "the notice")
    stuck.go.set()  # the late end changes nothing
    session.submit(prompt("next"))
    session.submit(EndOfInput())
    running.join(20)
    ends = [end.outcome for end in bench.of(TurnEnded)]
    assert ends == ["success"] * (len(prompts) - 1) + ["cancelled", "success"]
    assert {"The call of Agent": "The request to test/test-model"}.get(where, where) in [
        event.text.partition(" did not stop")[0] for event in bench.of(Notice)
    ]


@pytest.mark.parametrize("where", ["Reading the instruction files", "Reading the files that the prompt mentions"])
def test_a_turn_goes_on_without_files_that_take_too_long(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn_preparation, "READ_LIMIT_S", MOMENT)
    stuck = Stuck()
    bench = benches(stuck)[where]()
    session = Session(bench.services, SPEC, "s-1", lambda _: SPEC, info)
    session.submit(prompt(PROMPTS.get(where, ["go"])[0]))
    session.submit(EndOfInput())
    session.run()
    stuck.go.set()
    assert [end.outcome for end in bench.of(TurnEnded)] == ["success"]
    [notice] = [each for each in bench.of(Notice) if where in each.text]  # files may be slow besides
    assert (notice.code, notice.text) == ("abandoned", turn_preparation.LEFT_OUT.format(what=where, limit=MOMENT))
    assert "be brief" in bench.provider.requests[0].system


def test_an_acp_prompt_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cancel, "HURRIED_S", MOMENT)
    stuck, answers = Stuck(), []

    class Recorded(Client):
        def __init__(self) -> None:
            """Nothing is written."""

        def answer(self, id: RpcId, result: Json | None) -> None:
            answers.append((id, (result or {}).get("stopReason")))

    bench = Bench(ScriptedProvider(answer(calls("c1", "Slow"), stop="tool_calls")), FunctionTools(Slow=stuck.hang))
    emit = bench.services.emit

    def pass_on(event: Event) -> str:
        uuid = emit(event)
        turns.after(event)
        return uuid

    bench.services = replace(bench.services, emit=pass_on)
    session = Session(bench.services, SPEC, "s-1", lambda _: SPEC, info)
    turns = Turns(Recorded(), session)
    turns.submit(7, UserInput((Text("go"),), "go", uuid="u-7"))
    running = threading.Thread(target=session.run)
    running.start()
    stuck.begun.wait(20)
    for _ in range(2):
        turns.cancel()
    session.submit(EndOfInput())
    running.join(20)
    stuck.go.set()
    assert answers == [(7, "cancelled")]
