"""Real processes: children that outlive their shell, endless output, processes that ignore signals."""

from __future__ import annotations

import os
import re
import stat
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from tests.helpers.fakes import cancel
from tests.helpers.timing import SOON, set_when, soon, wait_until
from tests.helpers.tool_cases import call, toolbox
from yume_shim.system.orphan_watcher import REGISTER_GROUP, OrphanWatcher
from yume_shim.tools.shell import sink as sink_module
from yume_shim.tools.shell.processes import CANCEL_GRACE_S, DRAIN_S, ProcessGroup
from yume_shim.tools.shell.shell_session import shell_argv
from yume_shim.tools.shell.sink import Sink
from yume_shim.types.errors import Cancelled, ToolFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from yume_shim.tools.dispatch.builtin import BuiltinTools

resource = pytest.importorskip("resource", reason="these processes and signals are POSIX's own")


@pytest.fixture
def tools(tmp_path: Path) -> Iterator[BuiltinTools]:
    (tmp_path / "ws").mkdir()
    made = toolbox(tmp_path / "ws", tmp_path / "scratch")
    yield made
    made.close()


def is_alive(pid: int) -> bool:
    """Whether a process runs; an unreaped dead one does not count."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def peak_megabytes() -> float:
    peak: int = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def gone(pid: int) -> bool:
    wait_until(lambda: not is_alive(pid), f"the end of process {pid}")
    return True


def pid_in(path: Path) -> int:
    wait_until(lambda: path.exists() and path.read_text().endswith("\n"), "the start of the command")
    return int(path.read_text())


def timed_out(tools: BuiltinTools, command: str, started: Callable[[str], bool]) -> str:
    """The message of a command that ran into its time limit. On a busy machine half a second may not be enough for the
    command to get going: then it gets more."""
    for milliseconds in (500, 3_000, 15_000):
        with soon(milliseconds / 1000 + SOON), pytest.raises(ToolFailed) as failed:
            call(tools, "Bash", {"command": command, "timeout": milliseconds})
        if started(failed.value.message):
            return failed.value.message
    raise AssertionError("the command did not start")


def test_a_child_that_keeps_the_pipe_does_not_delay_the_call(tools: BuiltinTools, tmp_path: Path) -> None:
    with soon():
        output = call(tools, "Bash", {"command": "sleep 30 & echo $! > pid; echo hi"})
    assert output.content == "hi"
    child = pid_in(tmp_path / "ws" / "pid")
    assert is_alive(child)
    tools.close()
    assert gone(child)


def test_a_child_that_prints_later_is_not_stopped_by_a_closed_pipe(tools: BuiltinTools, tmp_path: Path) -> None:
    command = "(trap '' TERM; until [ -e go ]; do sleep 0.05; done; echo more; echo more; echo ok > done) & echo hi"
    assert call(tools, "Bash", {"command": command}).content == "hi"
    (tmp_path / "ws" / "go").touch()
    done = tmp_path / "ws" / "done"
    wait_until(lambda: done.exists() and done.read_text() == "ok\n", "the child to print to its end")


def test_fifty_megabytes(tools: BuiltinTools, tmp_path: Path) -> None:
    before = peak_megabytes()
    output = call(tools, "Bash", {"command": "yes 0123456789 | head -c 50000000"}, "big/../id")
    assert peak_megabytes() - before < 30
    saved = tmp_path / "scratch" / "big____id.txt"
    assert isinstance(output.content, str)
    assert output.content.startswith(
        f"<persisted-output>\nOutput too large (47.7MB). Full output saved to: {saved}\n\nPreview (first 2KB):\n01234"
    )
    assert len(output.content) < 3_000
    assert output.structured["persistedOutputSize"] == 50_000_000
    assert len(output.structured["stdout"]) == 30_000
    assert saved.stat().st_size == 50_000_000
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    assert stat.S_IMODE(saved.parent.stat().st_mode) == 0o700


def test_long_output_of_a_failing_command_shows_both_ends(tools: BuiltinTools) -> None:
    with pytest.raises(ToolFailed) as failed:
        call(tools, "Bash", {"command": "seq 1 100000; echo the reason; exit 7"})
    text = failed.value.message
    assert text.startswith("Exit code 7\n1\n2\n3\n")
    assert text.endswith("\n99999\n100000\nthe reason")
    assert "saved to: " in text
    assert len(text) < 31_000


def test_the_saved_output_is_clean(tools: BuiltinTools, tmp_path: Path) -> None:
    call(tools, "Bash", {"command": "for i in $(seq 20000); do printf '\\033[1mbold\\033[0m\\000\\n'; done"}, "c")
    assert (tmp_path / "scratch" / "c.txt").read_bytes() == b"bold\n" * 20_000


def test_binary_output(tools: BuiltinTools) -> None:
    output = call(tools, "Bash", {"command": "head -c 20000 /dev/urandom"})
    assert isinstance(output.content, str)
    output.content.encode("utf-8")
    assert "\0" not in output.content
    assert "\x1b" not in output.content


def test_a_line_without_end(tools: BuiltinTools, tmp_path: Path) -> None:
    call(tools, "Bash", {"command": "head -c 3000000 /dev/zero | tr '\\0' x"}, "c")
    assert (tmp_path / "scratch" / "c.txt").stat().st_size == 3_000_000


def test_output_that_cannot_be_saved(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    tools = toolbox(tmp_path, tmp_path / "file" / "scratch")
    output = call(tools, "Bash", {"command": "echo fine"})
    assert output.content == "fine"
    with pytest.raises(ToolFailed, match=r"^Exit code 1\n"):
        call(tools, "Bash", {"command": "yes | head -c 1000000; exit 1"})
    shown = call(tools, "Bash", {"command": "seq 20000"})
    assert isinstance(shown.content, str)
    assert (shown.content[:4], shown.content[-5:]) == ("1\n2\n", "20000")
    assert "the rest is lost: it could not be saved (" in shown.content
    assert "persistedOutputPath" not in (shown.structured or {})


def test_cancel_ends_a_stubborn_group(tools: BuiltinTools, tmp_path: Path) -> None:
    stop = cancel()
    child: list[int] = []
    set_at: list[float] = []

    def set_when_running() -> None:
        child.append(pid_in(tmp_path / "ws" / "pid"))
        set_at.append(time.monotonic())
        stop.set()

    threading.Thread(target=set_when_running).start()
    command = "trap '' TERM; sh -c 'trap \"\" TERM; echo $$ > pid; while :; do sleep 1; done'"
    with pytest.raises(Cancelled):
        call(tools, "Bash", {"command": command}, "1", stop=stop)
    assert time.monotonic() - set_at[0] < SOON
    assert gone(child[0])


def test_cancel_ends_a_command_that_stopped_itself(tools: BuiltinTools, tmp_path: Path) -> None:
    stop = cancel()
    set_when(stop, (tmp_path / "ws" / "begun").exists, after=0.1)
    with soon(), pytest.raises(Cancelled):
        call(tools, "Bash", {"command": "touch begun; kill -STOP $$"}, "1", stop=stop)


def test_the_time_limit_ends_grandchildren(tools: BuiltinTools, tmp_path: Path) -> None:
    command = "bash -c 'bash -c \"echo \\$\\$ > pid; sleep 60; true\"; true'; true"
    pid = tmp_path / "ws" / "pid"
    message = timed_out(tools, command, lambda _: pid.exists() and pid.read_text().endswith("\n"))
    assert re.fullmatch(r"Exit code 143\nCommand timed out after (0\.5|3|15)s", message)
    assert gone(int(pid.read_text()))


def test_endless_output_meets_the_time_limit(tools: BuiltinTools) -> None:
    message = timed_out(tools, "yes", lambda message: "\ny\n" in message)
    assert re.match(r"Exit code 143\nCommand timed out after (0\.5|3|15)s\ny\ny\n", message)


@pytest.mark.parametrize(
    ("asked", "env", "milliseconds"),
    [
        (None, {}, 120_000),
        (5_000.0, {}, 5_000),
        (9_999_999.0, {}, 600_000),
        (0.0, {}, 120_000),
        (-5.0, {}, 120_000),
        (None, {"BASH_DEFAULT_TIMEOUT_MS": "1500"}, 1_500),
        (None, {"BASH_DEFAULT_TIMEOUT_MS": "soon"}, 120_000),
        (900_000.0, {"BASH_MAX_TIMEOUT_MS": "700000"}, 700_000),
        (None, {"BASH_DEFAULT_TIMEOUT_MS": "800000"}, 800_000),
    ],
)
def test_time_limits(tmp_path: Path, asked: float | None, env: dict[str, str], milliseconds: int) -> None:
    from yume_shim.tools.bash import time_limit_ms
    from yume_shim.tools.dispatch.session_state import ToolState

    for session_env, shell_env in ((env, {}), ({}, env)):
        state = ToolState(str(tmp_path), (), str(tmp_path), shell_env, lambda *_: None, session_env)
        assert time_limit_ms(asked, state) == milliseconds


def test_background(tools: BuiltinTools, tmp_path: Path) -> None:
    with soon():
        output = call(
            tools, "Bash", {"command": "printf begun; echo $$ > pid; exec sleep 60", "run_in_background": True}
        )
    assert output.structured["backgroundTaskId"] == "bash_1"
    child = pid_in(tmp_path / "ws" / "pid")
    assert is_alive(child)
    tools.close()
    assert gone(child)
    assert (tmp_path / "scratch" / "bash_1.output").read_text() == "begun"


class SlowSink(Sink):
    """Its first piece takes longer than the pipe is waited for, as on a machine that is busy."""

    def __init__(self) -> None:
        super().__init__(lambda: (-1, ""))
        self.begun, self.go_on = threading.Event(), threading.Event()

    def feed(self, data: bytes) -> None:
        self.begun.set()
        self.go_on.wait(SOON)
        super().feed(data)


@pytest.mark.parametrize("held", [False, True])
def test_what_was_printed_is_not_lost_when_the_reading_thread_is_late(tmp_path: Path, held: bool) -> None:
    """Also if another process (`held`) keeps the pipe open, so that its end never comes."""
    sink, watcher = SlowSink(), OrphanWatcher(lambda *_: None)
    program = "printf one; until [ -e go ]; do sleep 0.01; done; printf two" + ("; sleep 60 &" if held else "")
    running = ProcessGroup(["/bin/sh", "-c", program], str(tmp_path), {"PATH": os.environ["PATH"]}, sink, watcher)
    assert sink.begun.wait(SOON)
    (tmp_path / "go").touch()
    assert running.ended.wait(SOON)
    late = threading.Timer(3 * DRAIN_S, sink.go_on.set)
    late.start()
    running.drain(DRAIN_S)
    assert sink.finish() == b"onetwo"
    late.join()
    running.stop(CANCEL_GRACE_S)
    watcher.close()


def test_background_output_is_complete_when_it_ends(tools: BuiltinTools, tmp_path: Path) -> None:
    call(tools, "Bash", {"command": "echo one; printf two", "run_in_background": True})
    path = tmp_path / "scratch" / "bash_1.output"
    wait_until(lambda: path.read_bytes() == b"one\ntwo", "all of the output")


def test_the_folder_persists_but_not_outside(tools: BuiltinTools, tmp_path: Path) -> None:
    ws = tmp_path / "ws"
    (ws / "sub").mkdir()
    (tmp_path / "ws-sibling").mkdir()
    (ws / "link").symlink_to("../ws-sibling")
    call(tools, "Bash", {"command": "cd sub"})
    assert call(tools, "Bash", {"command": "pwd"}).content == str(ws / "sub")
    for way_out in ("../../ws-sibling", "../link"):
        output = call(tools, "Bash", {"command": f"cd {way_out}"})
        assert output.content == f"Shell cwd was reset to {ws}"
        assert call(tools, "Bash", {"command": "cd sub; pwd"}).content == str(ws / "sub")


def test_a_failing_command_still_moves_the_shell(tools: BuiltinTools, tmp_path: Path) -> None:
    (tmp_path / "ws" / "it's").mkdir()
    with pytest.raises(ToolFailed, match=r"^Exit code 4$"):
        call(tools, "Bash", {"command": 'cd "it\'s"; exit 4'})
    assert call(tools, "Bash", {"command": "pwd"}).content == str(tmp_path / "ws" / "it's")


def test_a_deleted_folder(tools: BuiltinTools, tmp_path: Path) -> None:
    ws = tmp_path / "ws"
    call(tools, "Bash", {"command": "mkdir d; cd d"})
    (ws / "d").rmdir()
    assert call(tools, "Bash", {"command": "pwd"}).content == f"{ws}\nShell cwd was reset to {ws}"
    ws.rmdir()
    with pytest.raises(ToolFailed, match=r"^The working directory does not exist any more: "):
        call(tools, "Bash", {"command": "pwd"})


def test_messages_quote_the_command_and_not_our_wrapping(tools: BuiltinTools) -> None:
    with pytest.raises(ToolFailed) as failed:
        call(tools, "Bash", {"command": "echo one\nif then"})
    assert "line 2" in failed.value.message
    assert "trap" not in failed.value.message
    with pytest.raises(ToolFailed, match="line 1: nonesuch: command not found"):
        call(tools, "Bash", {"command": "nonesuch"})


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("# only a comment\necho ok", "ok"),
        ("cat <<'E'\n$HOME `x`\nE", "$HOME `x`"),
        ("echo 'a\nb' \"c\"", "a\nb c"),
        ("f() { return 3; }; f || echo $?", "3"),
        ("trap 'echo bye' EXIT; echo hi", "hi\nbye"),
        ("exec echo replaced", "replaced"),
        ("echo $GIT_EDITOR; tty || true", "true\nnot a tty"),
        ("sleep 0.2 & wait; echo waited", "waited"),
    ],
)
def test_commands_of_all_kinds(tools: BuiltinTools, command: str, shown: str) -> None:
    assert call(tools, "Bash", {"command": command}).content == shown


def test_a_command_longer_than_an_argument_may_be(tools: BuiltinTools, tmp_path: Path) -> None:
    text = "0123456789\n" * 40_000
    output = call(tools, "Bash", {"command": f"cat > big.txt <<'END'\n{text}END\nmkdir sub; cd sub; echo [$#]"})
    assert (output.content, (tmp_path / "ws" / "big.txt").read_text()) == ("[0]", text)
    assert call(tools, "Bash", {"command": "pwd"}).content == str(tmp_path / "ws" / "sub")


def test_commands_see_the_given_environment_only(tmp_path: Path) -> None:
    os.environ["YUME_UNIT_SECRET"] = "leak"
    try:
        tools = toolbox(tmp_path, tmp_path / "scratch", {"GIVEN": "yes"})
        assert call(tools, "Bash", {"command": "echo [$YUME_UNIT_SECRET] [$GIVEN]"}).content == "[] [yes]"
    finally:
        del os.environ["YUME_UNIT_SECRET"]


def test_a_search_path_for_cd_is_not_passed_on(tmp_path: Path) -> None:
    (tmp_path / "elsewhere" / "sub").mkdir(parents=True)
    (tmp_path / "sub").mkdir()
    tools = toolbox(tmp_path, tmp_path / "scratch", {"CDPATH": str(tmp_path / "elsewhere")})
    assert call(tools, "Bash", {"command": "cd sub && pwd"}).content == str(tmp_path / "sub")


def test_sink_counts_what_it_does_not_keep(tmp_path: Path) -> None:
    def opened() -> tuple[int, str]:
        return os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT), str(tmp_path / "out")

    sink = Sink(opened, keep=10)
    sink.feed(b"0123456789")
    assert sink.path == ""
    sink.feed(b"abc")
    assert (sink.finish(), sink.total, (tmp_path / "out").read_bytes()) == (b"0123456789", 13, b"0123456789abc")
    sink.feed(b"late")
    assert (sink.total, (tmp_path / "out").read_bytes()) == (13, b"0123456789abc")


def test_saving_ends_at_the_limit(tmp_path: Path) -> None:
    def opened() -> tuple[int, str]:
        return os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT), str(tmp_path / "out")

    sink = Sink(opened)
    line = b"x" * 65_535 + b"\n"
    for _ in range((sink_module.MAX_SAVED >> 16) + 5):
        sink.feed(line)
    sink.finish()
    assert ((tmp_path / "out").stat().st_size, sink.total) == (
        sink_module.MAX_SAVED,
        sink_module.MAX_SAVED + 5 * 65_536,
    )


def test_a_full_disk_ends_the_saving_and_keeps_both_ends(tmp_path: Path) -> None:
    path = tmp_path / "out"

    def opened() -> tuple[int, str]:
        path.touch()
        return os.open("/dev/full", os.O_WRONLY), str(path)

    sink = Sink(opened, keep=10)
    for number in range(50_000):
        sink.feed(b"%d\n" % number)
    assert (sink.finish(), sink.path, sink.lost) == (b"0\n1\n2\n3\n4\n", "", "No space left on device")
    tail, before = sink.newest()
    assert (tail.endswith(b"49998\n49999\n"), len(tail), before) == (True, sink_module.TAIL, sink.total - len(tail))
    assert sink.newest(sink.total - 6) == (b"49999\n", 0)
    assert not path.exists()


def test_shell_argv() -> None:
    bare = 'trap -- "$1" EXIT; eval "shift 2; $2"'
    program = REGISTER_GROUP + bare
    assert shell_argv("ls", "/c", "") == ["/bin/sh", "-c", program, "bash", "pwd 2>/dev/null >'/c'", "ls"]
    assert shell_argv("ls", "/c", "", registers=False)[2] == bare


def test_plain_sh_works_too(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "sub").mkdir()
    (tmp_path / "bin" / "sh").symlink_to("/bin/sh")
    tools = toolbox(tmp_path, tmp_path / "scratch", {"PATH": str(tmp_path / "bin")})
    assert call(tools, "Bash", {"command": "cd sub; echo [$#]"}).content == "[0]"
    assert call(tools, "Bash", {"command": "pwd"}).content == str(tmp_path / "sub")


def test_a_command_that_deletes_the_scratch_folder_keeps_its_output(tmp_path: Path) -> None:
    tools = toolbox(tmp_path, tmp_path / "scratch")
    assert call(tools, "Bash", {"command": f"rm -rf '{tmp_path / 'scratch'}'; echo done"}).content == "done"
    tools.close()
