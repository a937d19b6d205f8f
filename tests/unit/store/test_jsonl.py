"""The transcript file, on a real disk."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from claude_agent_sdk import get_session_messages, list_sessions

from tests.helpers.event_stories import AT, INFO, SESSION, USAGE, ended, prompt, streamed, tag_events
from yume_shim.store.entries import Entries
from yume_shim.store.jsonl import JsonlStore
from yume_shim.store.layout import projects_dir, session_path
from yume_shim.store.load import load
from yume_shim.text.codec import loads
from yume_shim.types.blocks import Text
from yume_shim.types.events import (
    BlockDelta,
    BlockEnded,
    BlockStarted,
    Interrupted,
    PartialKept,
    ResponseDropped,
    ResponseEnded,
    ResponseStarted,
    SessionChanged,
    SessionReady,
    TurnStarted,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from yume_shim.types.blocks import Json
    from yume_shim.types.events import Event

TURN: list[Event] = [
    SessionReady(INFO),
    TurnStarted(INFO),
    prompt("hi"),
    ResponseStarted("msg_1", "m"),
    *streamed(0, Text("Ho"), ["Ho"]),
    ResponseEnded("end", "end_turn", USAGE),
    ended("Ho"),
]


class Stored:
    """A store with its log."""

    def __init__(self, path: Path, first: Callable[[], Iterator[Json]] | None = None, **more: Any) -> None:
        self.logged: list[tuple[str, str]] = []
        self.warned: list[str] = []
        self.mirrored: list[tuple[str, Json]] = []
        fresh = (f"fresh-{number}" for number in range(100))
        entries = Entries("2.1.325", lambda failure: ("unknown", failure.message), lambda: next(fresh), **more)
        self.store = JsonlStore(
            str(path),
            lambda level, message: self.logged.append((level, message)),
            entries,
            warn_host=self.warned.append,
            mirror=lambda where, lines: self.mirrored.extend((where, line) for line in lines),
            first=first,
        )

    def feed(self, events: list[Event]) -> None:
        for tagged in tag_events(events):
            self.store.feed(tagged)


def read(path: Path) -> list[str]:
    return [loads(line)["type"] for line in path.read_bytes().splitlines()]


def test_private_file_and_folders(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / f"{SESSION}.jsonl"
    stored = Stored(path)
    before = os.umask(0)
    try:
        stored.feed(TURN)
    finally:
        os.umask(before)
    stored.store.close()
    assert os.name == "nt" or [
        stat.S_IMODE(each.stat().st_mode) for each in (path, path.parent, path.parent.parent)
    ] == [
        0o600,
        0o700,
        0o700,
    ]
    assert read(path) == ["user", "assistant", "last-prompt"]
    assert stored.logged == []


def test_the_file_is_created_when_the_first_turn_starts(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    stored = Stored(path)
    stored.feed(TURN[:1])
    assert not path.exists()
    stored.feed(TURN[1:2])
    assert path.read_bytes() == b""
    stored.store.close()


def test_the_agent_sdk_reads_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    cwd = tmp_path / "work.space"
    cwd.mkdir()
    stored = Stored(Path(session_path(projects_dir(os.environ), str(cwd), SESSION)))
    stored.feed(TURN)
    stored.store.close()
    [listed] = list_sessions(directory=str(cwd))
    assert (listed.session_id, listed.first_prompt) == (SESSION, "hi")
    messages = get_session_messages(SESSION, directory=str(cwd))
    assert [(each.type, each.message["content"]) for each in messages] == [
        ("user", "hi"),
        ("assistant", [{"type": "text", "text": "Ho"}]),
    ]


def test_clear_continues_in_a_new_file(tmp_path: Path) -> None:
    stored = Stored(tmp_path / "old.jsonl")
    stored.feed([*TURN, SessionChanged("new", SESSION), TurnStarted(INFO), prompt("again")])
    stored.store.close()
    assert read(tmp_path / "old.jsonl") == ["user", "assistant", "last-prompt"]
    assert read(tmp_path / "new.jsonl") == ["user"]


def test_half_a_line_of_an_earlier_process_is_ended(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"type":"us')
    stored = Stored(path)
    stored.feed(TURN)
    stored.store.close()
    first, *rest = path.read_bytes().splitlines()
    assert first == b'{"type":"us'
    assert [loads(line)["type"] for line in rest] == ["user", "assistant", "last-prompt"]


def test_an_unwritable_path_is_reported_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    stored = Stored(tmp_path / "file" / "s.jsonl")
    stored.feed(TURN)
    stored.store.close()
    [(level, message)] = stored.logged
    assert level == "warning"
    assert message.startswith(f"the session is not being saved to {tmp_path / 'file' / 's.jsonl'}: ")
    assert stored.warned == [message]


def test_a_line_that_cannot_be_encoded_does_not_end_the_turn(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    stored = Stored(path)
    odd = Text("x", opaque={"api": {"oops": object()}})
    stored.feed([*TURN[:4], BlockEnded(0, odd), ResponseEnded("end", "end_turn", USAGE), prompt("on")])
    stored.store.close()
    assert read(path) == ["user", "user"]
    assert [level for level, _ in stored.logged] == ["warning"]


@pytest.fixture
def small_files() -> Iterator[int]:
    """No file of this process may grow over a limit, as on a full disk."""
    import resource

    limit = 1_000
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    yield limit
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    signal.signal(signal.SIGXFSZ, before)


@pytest.mark.skipif(sys.platform == "win32", reason="file size limits are a POSIX thing")
def test_a_full_disk_tears_one_line_only(tmp_path: Path, small_files: int) -> None:
    import resource

    path = tmp_path / "s.jsonl"
    stored = Stored(path)
    stored.feed([TurnStarted(INFO), prompt("a" * 300), prompt("b" * 600)])
    torn = path.read_bytes()
    assert len(torn) == small_files
    assert not torn.endswith(b"\n")
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    stored.feed([prompt("c")])
    stored.store.close()
    first, _, last = path.read_bytes().splitlines()
    assert [loads(line)["message"]["content"] for line in (first, last)] == ["a" * 300, "c"]
    assert len(stored.logged) == 1


# ---------------------------------------------------------------- figures that come later


def test_a_block_is_on_disk_before_its_answer_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    stored = Stored(path)
    stored.feed(TURN[:7])
    [_, early] = [loads(line) for line in path.read_bytes().splitlines()]
    assert early["message"]["content"] == [{"type": "text", "text": "Ho"}]
    size = path.stat().st_size
    stored.feed(TURN[7:8])
    [_, late] = [loads(line) for line in path.read_bytes().splitlines()]
    assert path.stat().st_size == size
    assert late == early | {
        "message": early["message"] | {"stop_reason": "end_turn", "usage": late["message"]["usage"]}
    }
    assert late["message"]["usage"]["output_tokens"] == USAGE.output
    stored.store.close()


def test_lines_that_others_append_meanwhile_stay(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    stored = Stored(path)
    stored.feed(TURN[:7])
    with path.open("ab") as file:
        file.write(b'{"type":"custom-title","customTitle":"T"}\n')
    stored.feed([*TURN[7:], TurnStarted(INFO), prompt("on")])
    stored.store.close()
    assert read(path) == ["user", "assistant", "custom-title", "last-prompt", "user"]
    assert loads(path.read_bytes().splitlines()[1])["message"]["stop_reason"] == "end_turn"


def test_a_file_that_another_program_rewrote_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    stored = Stored(path)
    stored.feed(TURN[:7])
    other = path.read_bytes().replace(b'"stop_reason":null', b'"stop_reason":NULL')
    path.write_bytes(other)
    stored.feed(TURN[7:8])
    stored.store.close()
    assert path.read_bytes() == other
    assert stored.logged == []


def test_figures_that_are_too_long_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    stored = Stored(path)
    stored.feed([*TURN[:7], ResponseEnded("end", "x" * 500, USAGE), prompt("on")])
    stored.store.close()
    assert read(path) == ["user", "assistant", "user"]


# ---------------------------------------------------------------- the mirror


def test_the_mirror_gets_every_entry_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    stored = Stored(path)
    interrupted: list[Event] = [
        TurnStarted(INFO),
        prompt("again"),
        ResponseStarted("msg_2", "m"),
        BlockStarted(0, Text("")),
        PartialKept(Text("So"), 0, interrupted=True),
        Interrupted("user", "streaming"),
        ResponseDropped(1, 0, interrupted=True, usage=USAGE),
        ended("", outcome="cancelled"),
    ]
    stored.feed(TURN)
    for tagged in tag_events(interrupted, first=50):
        stored.store.feed(tagged)
    stored.store.close()
    assert stored.mirrored == [(str(path), loads(line)) for line in path.read_bytes().splitlines()]


def test_a_fork_starts_with_all_of_its_history_or_none(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    tries = iter((OSError(28, "no space"), None))

    def first() -> Iterator[Json]:
        yield {"type": "user", "uuid": "a"}
        failure = next(tries)
        if failure is not None:
            raise failure
        yield {"type": "user", "uuid": "b"}

    stored = Stored(path, first, leaf="b")
    stored.feed(TURN[:2])
    assert path.read_bytes() == b""
    stored.feed(TURN[2:3])
    stored.store.close()
    kept = [loads(line) for line in path.read_bytes().splitlines()]
    assert [(line["uuid"], line.get("parentUuid")) for line in kept[:2]] == [("a", None), ("b", None)]
    assert kept[2]["parentUuid"] == "b"


def test_a_read_only_folder_gives_one_warning(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    path = folder / "s.jsonl"
    path.write_bytes(b'{"type":"user"}\n')
    with read_only(folder):
        stored = Stored(path)
        stored.feed(TURN)
        stored.store.close()
    assert path.read_bytes() == b'{"type":"user"}\n'
    assert len(stored.logged) == len(stored.warned) == 1


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Nothing in the folder can be written. Root ignores modes: for root the folder is mounted read-only."""
    if sys.platform == "win32":
        pytest.skip("folders cannot be made read-only there")
    if os.geteuid() != 0:
        for path in (*folder.iterdir(), folder):
            path.chmod(path.stat().st_mode & ~0o222)
        yield
        for path in (folder, *folder.iterdir()):
            path.chmod(path.stat().st_mode | 0o200)
        return
    mount = ["mount", "--bind", str(folder), str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("root may write everywhere, and mounts are not allowed here")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", str(folder)], check=True, capture_output=True)
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True, capture_output=True)


# ---------------------------------------------------------------- text that is written while it streams


def texts_in(path: Path) -> list[str]:
    lines = [loads(line) for line in path.read_bytes().splitlines()]
    return [line["message"]["content"][0]["text"] for line in lines if line["type"] == "assistant"]


def streaming(path: Path) -> Stored:
    stored = Stored(path)
    stored.store.write_open_text()
    stored.feed([TurnStarted(INFO), prompt("hi"), ResponseStarted("msg_1", "m"), BlockStarted(0, Text(""))])
    for place, piece in enumerate(("a", "b", "c", "d", "e")):
        stored.store.feed_delta(BlockDelta(0, "text", piece), AT + 0.6 * place)
    return stored


def test_open_text_is_written_once_per_second(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    streaming(path)
    assert texts_in(path) == ["abcde"]
    assert read(path) == ["user", "assistant"]


def test_the_complete_block_takes_the_place_of_the_open_one(tmp_path: Path) -> None:
    path, plain = tmp_path / "s.jsonl", tmp_path / "plain.jsonl"
    ending: list[Event] = [BlockEnded(0, Text("abcdef")), ResponseEnded("end", "end_turn", USAGE), ended("abcdef")]
    stored = streaming(path)
    for tagged in tag_events(ending, first=90):
        stored.store.feed(tagged)
    other = Stored(plain)
    other.feed([TurnStarted(INFO), prompt("hi"), ResponseStarted("msg_1", "m"), BlockStarted(0, Text(""))])
    for tagged in tag_events(ending, first=90):
        other.store.feed(tagged)
    assert path.read_bytes() == plain.read_bytes()
    assert [line["uuid"] for _, line in stored.mirrored if "uuid" in line] == [
        line["uuid"] for _, line in other.mirrored if "uuid" in line
    ]


def test_open_text_that_becomes_void_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    stored = streaming(path)
    for tagged in tag_events([ResponseDropped(0, 0, interrupted=False)], first=90):
        stored.store.feed(tagged)
    assert read(path) == ["user"]
    for tagged in tag_events([ResponseStarted("msg_2", "m"), *streamed(0, Text("Ho"), ["Ho"])], first=95):
        stored.store.feed(tagged)
    assert texts_in(path) == ["Ho"]


def test_open_text_kept_after_an_interrupt_is_written_once(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    stored = streaming(path)
    stopped: list[Event] = [PartialKept(Text("abcdef"), 0, interrupted=True), ResponseDropped(1, 0, interrupted=True)]
    for tagged in tag_events(stopped, first=90):
        stored.store.feed(tagged)
    assert texts_in(path) == ["abcdef"]


def test_lines_of_others_after_open_text_are_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    stored = streaming(path)
    with path.open("ab") as file:
        file.write(b'{"type":"custom-title","customTitle":"mine"}\n')
    stored.store.feed_delta(BlockDelta(0, "text", "f"), AT + 9)
    for tagged in tag_events([BlockEnded(0, Text("abcdef"))], first=90):
        stored.store.feed(tagged)
    assert read(path) == ["user", "assistant", "custom-title", "assistant"]
    session = load(str(path))
    assert session is not None
    assert session.history[-1].blocks == (Text("abcdef"),)
