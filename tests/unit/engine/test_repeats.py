"""Which failing calls count as the same, and what starts the count anew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.engine_fakes import FunctionTools
from yume_shim.engine.repeats import MAX_COUNTED, MAX_CUTS, Repeats
from yume_shim.engine.toolbox import Toolbox
from yume_shim.types.blocks import Text, ToolCall, ToolResult
from yume_shim.types.events import ToolFinished
from yume_shim.types.models import ToolSpec
from yume_shim.types.settings import LimitSettings
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from yume_shim.types.models import Stop

SPECS = {
    "Read": ToolSpec("Read", "", {"required": ["file_path"]}, kind="read"),
    "Write": ToolSpec("Write", "", {"required": ["file_path"]}, kind="edit"),
    "Bash": ToolSpec("Bash", "", {"required": ["command"]}, kind="shell"),
    "Bare": ToolSpec("Bare", "", {}),
}


class Specs(FunctionTools):
    """A source that is only asked for its tools."""

    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(SPECS.values())


def repeats(**limits: int) -> Repeats:
    return Repeats(replace(LimitSettings(), **limits), Toolbox((Specs(),)))


def failed(name: str = "Read", text: Any = "No such file.", *, broken: str | None = None, **given: Any) -> ToolFinished:
    return ToolFinished(ToolCall("c", name, given, broken), ToolResult("c", text, is_error=True))


def succeeded(name: str) -> ToolFinished:
    return ToolFinished(ToolCall("c", name, {}), ToolResult("c", "ok", is_error=False))


def test_the_third_result_says_so_and_the_eighth_ends_the_loop() -> None:
    counted = repeats()
    results = [counted.judge(failed(file_path="x")).result.content for _ in range(7)]
    assert results[:2] == ["No such file."] * 2
    assert [str(text).startswith("No such file.\n\nNote: this call has now failed") for text in results[2:]] == [
        True
    ] * 5
    assert not counted.reason
    counted.judge(failed(file_path="x"))
    assert str(counted.reason) == 'Read {"file_path":"x"} failed 8 times with the same result: No such file.'


def test_a_result_of_blocks_gets_one_more() -> None:
    counted = repeats(repeat_warn=1)
    content = counted.judge(failed(text=(Text("No."),))).result.content
    assert isinstance(content, tuple)
    assert content[0] == Text("No.")
    assert len(content) == 2


def test_calls_that_alternate_are_counted_on_their_own() -> None:
    counted = repeats()
    for _ in range(7):
        counted.judge(failed(file_path="a"))
        counted.judge(failed(file_path="b"))
    assert not counted.reason
    counted.judge(failed(file_path="b"))
    assert '"b"' in counted.reason


@pytest.mark.parametrize(
    "other", [failed(file_path="y"), failed("Bash", file_path="x"), failed(text="Denied.", file_path="x")]
)
def test_another_input_tool_or_result_is_another_failure(other: ToolFinished) -> None:
    counted = repeats(repeat_warn=0)
    for _ in range(7):
        counted.judge(failed(file_path="x"))
        counted.judge(other)
    assert not counted.reason


def test_unreadable_arguments_are_the_same_failure_whatever_they_are() -> None:
    counted = repeats()
    for number in range(8):
        counted.judge(failed("Write", "Not JSON.", broken=f'{{"file_path": "{number}'))
    assert counted.reason == "Write unreadable arguments failed 8 times with the same result: Not JSON."


@pytest.mark.parametrize(
    ("good", "failing", "ends"),
    [
        ("Write", "Read", False),
        ("Write", "Bash", False),
        ("Bash", "Bash", False),
        ("Bash", "Read", True),
        ("Read", "Read", True),
        ("Read", "Bash", True),
        ("Bare", "Read", True),
    ],
)
def test_only_a_change_gives_a_new_chance(good: str, failing: str, ends: bool) -> None:
    counted = repeats()
    for _ in range(8):
        counted.judge(failed(failing, command="make"))
        counted.judge(succeeded(good))
    assert bool(counted.reason) is ends


def test_a_word_of_the_user_starts_over() -> None:
    counted = repeats()
    for _ in range(7):
        counted.judge(failed())
    counted.start_over()
    counted.judge(failed())
    assert not counted.reason


def test_the_count_is_bounded_and_zero_switches_it_off() -> None:
    counted = repeats(repeat_warn=0, repeat_stop=0)
    for number in range(MAX_COUNTED + 50):
        assert counted.judge(failed(file_path=str(number))) == failed(file_path=str(number))
        assert counted.judge(failed()) == failed()
    assert not counted.reason
    assert len(counted._failed) == MAX_COUNTED


def cut(counted: Repeats, call: ToolCall, stop: Stop = "length") -> bool:
    failed = counted.cut([call], stop)
    assert failed is None or failed.message.startswith(f"{call.name} was cut off by the output limit")
    return failed is not None


WRITE = ToolCall("c", "Write", {}, '{"file_path": "a')


@pytest.mark.parametrize(
    ("call", "stop", "is_cut"),
    [
        (WRITE, "length", True),
        (WRITE, "window", True),
        (WRITE, "tool_calls", False),
        (ToolCall("c", "Write", {}), "length", True),
        (ToolCall("c", "Bare", {}), "length", False),
        (ToolCall("c", "Unknown", {}), "length", True),
        (ToolCall("c", "Write", {"file_path": "a"}), "length", False),
    ],
)
def test_which_call_is_cut(call: ToolCall, stop: Stop, is_cut: bool) -> None:
    assert cut(repeats(), call, stop) is is_cut


def test_cuts_are_counted_by_tool_until_it_arrives_whole() -> None:
    counted = repeats()
    for _ in range(MAX_CUTS):
        assert cut(counted, WRITE)
        assert not cut(counted, ToolCall("c", "Read", {"file_path": "a"}), "tool_calls")
    assert not counted.reason
    assert not cut(counted, ToolCall("c", "Write", {"file_path": "a"}), "tool_calls")
    for _ in range(MAX_CUTS):
        assert cut(counted, WRITE)
    assert cut(counted, WRITE)
    assert str(counted.reason) == "the output limit cut the call of Write 4 times: its arguments never arrived complete"
