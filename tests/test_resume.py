"""Resuming a stored session: every rule of the flags, in both dialects, with the whole program."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.host_world import VENDORS, HostWorld
from tests.helpers.scripted_model import call, hold, say
from tests.helpers.seen_request import read_request
from tests.helpers.transcripts import answer, chain, question, save
from yume_shim.store.layout import session_path
from yume_shim.text import codec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.helpers.child import Ended

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the transcripts hold POSIX paths")

NESTED = ("-p", "--output-format", "stream-json", "--verbose")
FLAT = ("--output-format", "flat", "-p")
ONE = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
TWO = "bbbbbbbb-bbbb-4ccc-8ddd-eeeeeeeeeeee"
MISSING = "00000000-0000-4000-8000-000000000000"
SAID = [{"type": "text", "text": "handmade answer"}]


class Program:
    """A home with stored sessions, and a scripted model."""

    def __init__(self, folder: Path) -> None:
        self.world = HostWorld(folder, VENDORS[0])
        self.cwd = self.world.cwd
        self.world.serve([say("two")], [say("three")])

    def path(self, session: str, cwd: Path | None = None) -> Path:
        projects = self.world.home / ".claude" / "projects"
        return Path(session_path(str(projects), str(cwd or self.cwd), session))

    def store(self, session: str, *lines: dict[str, Any], cwd: Path | None = None, more: bytes = b"") -> Path:
        path = self.path(session, cwd)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(save(*lines) + more)
        return path

    def handmade(self, session: str = ONE, cwd: Path | None = None, words: str = "handmade question") -> Path:
        """A session of two lines."""
        here = str(cwd or self.cwd)
        return self.store(session, *chain(question("u1", words, cwd=here), answer("u2", SAID, cwd=here)), cwd=cwd)

    def run(self, *argv: str, cwd: Path | None = None) -> Ended:
        return child.run(argv, [], cwd=cwd or self.cwd, env=self.world.env)

    def asked(self) -> list[list[str]]:
        """The known user texts in each request."""
        known = ("handmade question", "first", "second", "older", "gone")
        return [[text for text in request.said if text in known] for request in self.world.requests()]


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    made = Program(tmp_path)
    yield made
    assert made.world.strays() == []
    made.world.close()


def lines_of(ended: Ended) -> list[dict[str, Any]]:
    return [codec.loads(line) for line in ended.stdout.splitlines()]


def session_of(ended: Ended) -> str:
    (found,) = {line["session_id"] for line in lines_of(ended) if line.get("session_id")}
    return str(found)


# ---------------------------------------------------------------- nothing to continue


@pytest.mark.parametrize("verbose", [(), ("--verbose",)])
def test_an_unknown_id_prints_nothing_in_json(program: Program, verbose: tuple[str, ...]) -> None:
    """Observed with the Claude CLI: only stream-json gets a `result` line."""
    ended = program.run("-p", "--output-format", "json", *verbose, "--resume", MISSING, "second")
    message = f"No conversation found with session ID: {MISSING}\n"
    assert (ended.code, ended.stdout, ended.stderr) == (1, b"", message.encode())


def test_an_unknown_id_ends_with_a_result(program: Program) -> None:
    ended = program.run("-p", "--output-format", "stream-json", "--verbose", "--resume", MISSING, "second")
    message = f"No conversation found with session ID: {MISSING}"
    assert (ended.code, ended.stderr) == (1, f"{message}\n".encode())
    result: dict[str, Any] = codec.loads(ended.stdout)
    del result["uuid"], result["usage"]
    assert result == {
        "type": "result",
        "subtype": "error_during_execution",
        "is_error": True,
        "duration_ms": 0,
        "duration_api_ms": 0,
        "num_turns": 0,
        "stop_reason": None,
        "session_id": MISSING,
        "total_cost_usd": 0,
        "modelUsage": {},
        "permission_denials": [],
        "errors": [message],
    }
    assert program.world.requests() == []


def test_an_unknown_id_in_text_and_flat(program: Program) -> None:
    message = f"No conversation found with session ID: {MISSING}"
    text = program.run("-p", "--resume", MISSING, "second")
    assert (text.code, text.stdout, text.stderr) == (1, b"", f"{message}\n".encode())
    flat = program.run(*FLAT, "--resume", MISSING, "second")
    assert (flat.code, flat.stderr) == (2, f"{message}\n".encode())
    assert lines_of(flat) == [{"type": "system", "subtype": "error", "message": message, "code": "not_found"}]


@pytest.mark.parametrize("data", [b"", b"\n", b"{broken\n"])
def test_an_emptied_file_is_not_a_conversation(program: Program, data: bytes) -> None:
    program.store(ONE, more=data)
    ended = program.run(*NESTED, "--resume", ONE, "second")
    assert ended.code == 1
    assert lines_of(ended)[0]["errors"] == [f"No conversation found with session ID: {ONE}"]


def test_continue_without_an_earlier_session_starts_fresh(program: Program) -> None:
    other = program.cwd.parent / "elsewhere"
    other.mkdir()
    program.handmade(cwd=other)
    ended = program.run(*NESTED, "--continue", "second")
    assert ended.code == 0
    assert ended.stderr.endswith(b"--continue: this folder has no session to continue, so a new one is started\n")
    assert session_of(ended) != ONE
    assert program.asked() == [["second"]]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("--session-id", ONE), f"Error: Session ID {ONE} is already in use."),
        (
            ("--session-id", TWO, "--resume", ONE),
            "Error: --session-id can only be used with --continue or --resume if --fork-session is also specified.",
        ),
        (("--resume-session-at", "u1"), "Error: --resume-session-at can only be used with --resume or --continue."),
        (("--resume", ONE, "--resume-session-at", "nobody"), "No message found with message.uuid of: nobody"),
        (("--resume",), "Error: --resume needs a session ID or a session title in a non-interactive session."),
    ],
)
def test_contradicting_flags_are_refused(program: Program, argv: tuple[str, ...], message: str) -> None:
    before = program.handmade().read_bytes()
    ended = program.run("-p", *argv, "--verbose", "--", "second")
    assert (ended.code, ended.stderr) == (1, f"{message}\n".encode())
    assert program.path(ONE).read_bytes() == before
    assert program.world.requests() == []


# ---------------------------------------------------------------- continuing


@pytest.mark.parametrize("form", [NESTED, FLAT], ids=["nested", "flat"])
def test_a_handmade_file_is_continued_in_place(program: Program, form: tuple[str, ...]) -> None:
    path = program.handmade()
    before = path.read_bytes()
    ended = program.run(*form, "--resume", ONE, "second")
    assert (ended.code, ended.stderr) == (0, b"")
    assert session_of(ended) == ONE
    assert program.asked() == [["handmade question", "second"]]
    assert path.read_bytes().startswith(before)
    added = [codec.loads(line) for line in path.read_bytes()[len(before) :].splitlines()]
    assert [line["type"] for line in added] == ["user", "assistant", "cost-state", "last-prompt"]
    assert added[0]["parentUuid"] == "u2"
    assert [line.get("resumed") for line in lines_of(ended)[:1]] == ([True] if form is FLAT else [None])


def test_a_session_is_found_from_another_folder(program: Program) -> None:
    other = program.cwd.parent / "elsewhere"
    other.mkdir()
    path = program.handmade(cwd=other)
    ended = program.run(*NESTED, "--resume", ONE, "second")
    assert session_of(ended) == ONE
    assert program.asked() == [["handmade question", "second"]]
    assert b"second" in path.read_bytes()
    assert not program.path(ONE).exists()


def test_a_session_is_found_by_its_title(program: Program) -> None:
    path = program.handmade()
    with path.open("ab") as file:
        file.write(save({"type": "custom-title", "customTitle": "The plan"}))
    assert session_of(program.run(*NESTED, "--resume", "the plan", "second")) == ONE
    assert program.run(*NESTED, "--resume", "another plan", "second").code == 1


def test_the_newest_session_of_the_folder_is_continued(program: Program) -> None:
    twin = program.cwd.parent / "wo.rk"
    same_key = program.cwd.parent / "wo-rk"
    twin.mkdir()
    same_key.mkdir()
    for place, (session, cwd) in enumerate(((ONE, twin), (TWO, same_key))):
        path = program.handmade(session, cwd)
        os.utime(path, (1_700_000_000 + place, 1_700_000_000 + place))
    assert session_of(program.run(*NESTED, "--continue", "second", cwd=twin)) == ONE


def test_a_fork_leaves_the_old_file_as_it_was(program: Program) -> None:
    path = program.store(
        ONE,
        *chain(question("u1", "handmade question", cwd=str(program.cwd)), answer("u2", SAID)),
        question("dead", "a branch", parent="u1"),
        question("u3", "older", parent="u2"),
        {"type": "unknown-thing"},
    )
    before = path.read_bytes()
    ended = program.run(*NESTED, "--resume", ONE, "--fork-session", "--session-id", TWO, "second")
    assert session_of(ended) == TWO
    assert path.read_bytes() == before
    assert program.asked() == [["handmade question", "older", "second"]]
    forked = [codec.loads(line) for line in program.path(TWO).read_bytes().splitlines()]
    assert [line["type"] for line in forked] == [
        "user",
        "assistant",
        "user",
        "user",
        "assistant",
        "cost-state",
        "last-prompt",
    ]
    uuids = [line["uuid"] for line in forked if "uuid" in line]
    assert [line["parentUuid"] for line in forked if "uuid" in line] == [None, *uuids[:-1]]
    assert not {"u1", "u2", "u3"} & set(uuids)
    assert {line["sessionId"] for line in forked} == {TWO}
    assert [line.get("forkedFrom") for line in forked[:4]] == [
        *({"sessionId": ONE, "messageUuid": uuid} for uuid in ("u1", "u2", "u3")),
        None,
    ]
    again = program.run(*NESTED, "--resume", TWO, "first")
    assert session_of(again) == TWO
    assert program.asked()[1] == ["handmade question", "older", "second", "first"]


def test_continuing_from_an_earlier_message(program: Program) -> None:
    path = program.store(
        ONE, *chain(question("u1", "first"), answer("u2", SAID), question("u3", "gone"), answer("u4", SAID))
    )
    program.run(*NESTED, "--resume", ONE, "--resume-session-at", "u2", "second")
    assert program.asked() == [["first", "second"]]
    assert b"gone" in path.read_bytes()
    program.run(*NESTED, "--resume", ONE, "handmade question")
    assert program.asked()[1] == ["first", "second", "handmade question"]


def test_damaged_lines_are_skipped_and_kept(program: Program) -> None:
    path = program.handmade()
    with path.open("ab") as file:
        file.write(b'not json\n{"type":"future-thing","x":1}\n{"type":"user","uuid":"torn","mess')
    before = path.read_bytes()
    ended = program.run(*NESTED, "--resume", ONE, "second")
    assert ended.code == 0
    assert ended.stderr.count(b"\n") == 1
    assert b"2 unreadable lines" in ended.stderr
    assert program.asked() == [["handmade question", "second"]]
    assert path.read_bytes().startswith(before + b"\n")


def test_without_persistence_nothing_is_written(program: Program) -> None:
    before = program.handmade().read_bytes()
    ended = program.run(*NESTED, "--resume", ONE, "--no-session-persistence", "second")
    assert (ended.code, program.asked()) == (0, [["handmade question", "second"]])
    assert program.path(ONE).read_bytes() == before
    assert [path.name for path in program.path(ONE).parent.iterdir()] == [f"{ONE}.jsonl"]


# ---------------------------------------------------------------- two processes, closed disks


def test_a_session_has_one_writer(program: Program) -> None:
    program.handmade()
    program.world.serve([say("slow"), hold()], [say("of the fork")])
    first = child.start(
        ("-p", "--input-format", "stream-json", *NESTED[1:], "--resume", ONE), cwd=program.cwd, env=program.world.env
    )
    try:
        first.send({"type": "user", "message": {"role": "user", "content": "first"}})
        first.wait_for("init")
        second = program.run(*NESTED, "--resume", ONE, "second")
        assert second.code == 1
        assert second.stdout == b""
        assert f"Session {ONE} is being written by process {first.process.pid}".encode() in second.stderr
        assert b"--fork-session" in second.stderr
        fork = program.run(*NESTED, "--resume", ONE, "--fork-session", "second")
        assert (fork.code, session_of(fork) != ONE) == (0, True)
        first.process.kill()
        first.process.wait()
        begun = time.monotonic()
        program.world.serve([say("taken over")])
        third = program.run(*NESTED, "--resume", ONE, "second")
        assert (third.code, session_of(third)) == (0, ONE)
        assert time.monotonic() - begun < 10
    finally:
        first.kill()


def fill(path: Path) -> None:
    """Fill the disk."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        while True:
            os.write(fd, b"x" * 512)
    except OSError:
        os.close(fd)


def test_a_full_disk_does_not_stop_the_turn(program: Program, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("only root may make a small disk")
    try:
        first = program.run(*NESTED, "--session-dir", str(small), "--session-id", ONE, "first")
        assert first.stderr == b""
        (kept,) = small.rglob("*.jsonl")
        before = kept.read_bytes()
        fill(small / "filler")
        long = "y" * 20_000
        program.world.serve([call("Glob", pattern="*")], [say("done")])
        ended = program.run(*NESTED, "--session-dir", str(small), "--resume", ONE, long)
        assert ended.code == 0
        notes = [line for line in lines_of(ended) if line.get("code") == "store" or "not being saved" in str(line)]
        assert len(notes) == 1
        assert ended.stderr.count(b"not being saved") == 1
        assert kept.read_bytes().startswith(before)
    finally:
        subprocess.run(["umount", str(small)], check=True, capture_output=True)


# ---------------------------------------------------------------- the mirror


def test_every_entry_of_a_turn_is_mirrored_before_its_result(program: Program) -> None:
    program.world.serve([say("Looking."), call("Glob", pattern="*")], [say("Empty.")])
    ended = program.run(*NESTED, "--session-mirror", "--session-id", ONE, "first")
    lines = lines_of(ended)
    mirrored = [entry for line in lines if line["type"] == "transcript_mirror" for entry in line["entries"]]
    assert {line["filePath"] for line in lines if line["type"] == "transcript_mirror"} == {str(program.path(ONE))}
    assert mirrored == [codec.loads(line) for line in program.path(ONE).read_bytes().splitlines()]
    places = [place for place, line in enumerate(lines) if line["type"] in ("transcript_mirror", "result")]
    assert lines[places[-1]]["type"] == "result"
    copy = program.path(TWO)
    copy.write_bytes(save(*mirrored))
    program.world.serve([say("again")])
    program.run(*NESTED, "--resume", TWO, "second")
    assert read_request(program.world._servers[-1].requests[0]).said[-1] == "second"


def test_continuing_with_another_model_is_announced(program: Program) -> None:
    began = program.run("-p", "first", "--output-format", "flat", "--session-id", ONE)
    assert began.code == 0
    continued = program.run("-p", "second", "--output-format", "flat", "--resume", ONE, "--model", "haiku")
    lines = [(line["type"], line.get("subtype"), line.get("model")) for line in lines_of(continued)[:2]]
    other = VENDORS[0].other_model
    assert lines == [("system", "init", other), ("system", "model", other)]
    assert program.asked() == [["first"], ["first", "second"]]
