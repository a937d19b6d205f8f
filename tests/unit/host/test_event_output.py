"""Every event is tagged, passed to listeners and stores, and printed, in this order."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

from tests.helpers.fakes import FakeClock, FakeIds
from yume_shim.host.event_output import EventOutput
from yume_shim.host.writer import LineWriter
from yume_shim.text import codec
from yume_shim.types.blocks import Message, Text
from yume_shim.types.child import Child
from yume_shim.types.events import BlockDelta, Notice, Pong, PromptTaken, Tagged

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from yume_shim.types.blocks import Json
    from yume_shim.types.events import Event

FIRST_ID = "00000000-0000-4000-8000-000000000001"
SECOND_ID = "00000000-0000-4000-8000-000000000002"
NOW = FakeClock().now()
DELTA = BlockDelta(0, "text", "a")


class Recorder:
    """A store, a listener and a dialect in one: records what it receives, under its name, in a shared list."""

    def __init__(self, name: str, seen: list[tuple[str, Tagged]]) -> None:
        self.name, self.seen = name, seen

    def feed(self, tagged: Tagged) -> None:
        self.seen.append((self.name, tagged))

    def close(self) -> None:
        pass


class Dialect(Recorder):
    """One line for every event: its type's name; text for pongs."""

    def feed(self, tagged: Tagged) -> list[Json]:  # type: ignore[override]  # a dialect returns lines, a store nothing
        super().feed(tagged)
        if isinstance(tagged.event, Pong):
            return [{"!text": "pong "}, {"!text": "pong\n"}]
        return [{"type": type(tagged.event).__name__, "parent": tagged.parent_call_id}]

    def delta_lines(self, event: BlockDelta, uuids: Sequence[str]) -> None:
        """Deltas go through `feed`."""


class Stage:
    """The real output and writer, on a pipe."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Tagged]] = []
        self._out, self._in = os.pipe()
        dialect = Dialect("dialect", self.seen)
        listener = Recorder("listener", self.seen).feed
        writer = LineWriter(self._in, 10_000, wide_escapes=False)
        self.output = EventOutput(FakeClock(), FakeIds(), dialect, writer, [listener])
        self.output.store_in(self.recorder("store"))
        self._printed: list[bytes] = []
        self._reader = threading.Thread(target=self._read, daemon=True)  # a pipe of Windows holds little
        self._reader.start()

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.printed()
        os.close(self._out)

    def recorder(self, name: str) -> Recorder:
        return Recorder(name, self.seen)

    def printed(self) -> bytes:
        """Everything printed; nothing can be printed afterwards."""
        if self._in >= 0:
            os.close(self._in)
            self._in = -1
        self._reader.join()
        return b"".join(self._printed)

    def _read(self) -> None:
        while chunk := os.read(self._out, 65_536):
            self._printed.append(chunk)


def test_an_event_is_passed_on_stored_and_printed_in_this_order() -> None:
    with Stage() as stage:
        event = Notice("store", "full")
        assert stage.output.emit(event) == FIRST_ID
        tagged = Tagged(event, FIRST_ID, NOW, None)
        assert stage.seen == [("listener", tagged), ("store", tagged), ("dialect", tagged)]
        assert codec.loads(stage.printed()) == {"type": "Notice", "parent": None}


def test_a_prompt_keeps_the_uuid_that_the_host_gave() -> None:
    with Stage() as stage:
        assert stage.output.emit(prompt("given")) == "given"
        assert stage.output.emit(prompt("")) == FIRST_ID
        stage.printed()


def test_deltas_are_not_stored() -> None:
    with Stage() as stage:
        stage.output.emit(DELTA)
        assert [name for name, _ in stage.seen] == ["listener", "dialect"]
        stage.printed()


def test_text_is_printed_as_it_is() -> None:
    with Stage() as stage:
        stage.output.emit(Pong())
        assert stage.printed() == b"pong pong\n"


def test_a_muted_output_stores_but_prints_nothing() -> None:
    with Stage() as stage:
        stage.output.mute()
        stage.output.emit(Notice("store", "full"))
        assert [name for name, _ in stage.seen] == ["listener", "store"]
        assert stage.printed() == b""


def test_a_childs_events_carry_its_parent_and_go_to_its_own_store() -> None:
    with Stage() as stage:
        emit = stage.output.child(Child("agent", "call_1"), stage.recorder("child store"))
        event = Notice("store", "full")
        assert emit(event) == FIRST_ID
        assert emit(DELTA) == SECOND_ID
        first = Tagged(event, FIRST_ID, NOW, "call_1", Child("agent", "call_1"))
        second = Tagged(DELTA, SECOND_ID, NOW, "call_1", Child("agent", "call_1"))
        assert stage.seen == [
            ("listener", first),
            ("child store", first),
            ("dialect", first),
            ("listener", second),
            ("dialect", second),
        ]
        lines = [codec.loads(line) for line in stage.printed().splitlines()]
        assert [line["parent"] for line in lines] == ["call_1", "call_1"]


def test_a_child_without_a_store_is_not_stored() -> None:
    with Stage() as stage:
        stage.output.child(Child("agent", "call_1"))(Notice("store", "full"))
        assert [name for name, _ in stage.seen] == ["listener", "dialect"]
        stage.printed()


def test_two_children_and_the_session_at_the_same_time_have_one_order() -> None:
    with Stage() as stage:
        emitters = {
            None: stage.output.emit,
            "a": stage.output.child(Child("agent", "a")),
            "b": stage.output.child(Child("agent", "b")),
        }
        threads = [threading.Thread(target=lambda e=emit: [e(DELTA) for _ in range(50)]) for emit in emitters.values()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(5)
        received = [tagged for name, tagged in stage.seen if name == "listener"]
        shown = [tagged for name, tagged in stage.seen if name == "dialect"]
        assert received == shown
        printed: list[Any] = [codec.loads(line)["parent"] for line in stage.printed().splitlines()]
        assert printed == [tagged.parent_call_id for tagged in shown]
        assert {parent: printed.count(parent) for parent in emitters} == {None: 50, "a": 50, "b": 50}


def test_a_store_may_emit_while_it_stores() -> None:
    class Complaining(Recorder):
        def feed(self, tagged: Tagged) -> None:
            super().feed(tagged)
            if not isinstance(tagged.event, Notice):
                stage.output.emit(Notice("store", "full"))

    with Stage() as stage:
        stage.output.store_in(Complaining("complaining", stage.seen))
        stage.output.emit(prompt("p"))
        lines = [codec.loads(line)["type"] for line in stage.printed().splitlines()]
        assert lines == ["Notice", "PromptTaken"]


def prompt(uuid: str) -> Event:
    return PromptTaken(Message("user", (Text("Hi"),)), "Hi", uuid)
