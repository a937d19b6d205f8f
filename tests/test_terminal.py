"""The program at a terminal, with a person: what it says, what it shows while it comes, and how it is stopped."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.helpers import listening_shim
from tests.helpers.child import DEADLINE, PROGRAM, clean_environment
from tests.helpers.scripted_model import ModelServer, call, cut, hold, say
from tests.helpers.timing import wait_until

if sys.platform == "win32":
    pytest.skip("POSIX terminals", allow_module_level=True)

from tests.helpers.terminals import CTRL_C, CTRL_D, Terminal

if TYPE_CHECKING:
    from pathlib import Path

QUICK = ("--retry-initial", "0.01")
SHIM = " ".join(PROGRAM)


MODELS = {
    "anthropic": (),
    "openai-responses": ("--model", "openai/gpt-5.4"),
    "openai-chat": ("--model", "openai/gpt-5.4", "--api", "openai-chat"),
    "google": ("--model", "google/gemini-3.5-flash"),
    "ollama": ("--model", "ollama/llama3.2"),
}


def environment(home: Path, server: ModelServer) -> dict[str, str]:
    keys = dict.fromkeys(("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"), "not-a-key")
    urls = {
        "ANTHROPIC_BASE_URL": server.url,
        "OPENAI_BASE_URL": f"{server.url}/v1",
        "GOOGLE_GEMINI_BASE_URL": server.url,
        "OLLAMA_HOST": server.url,
    }
    return clean_environment(home, **keys, **urls)


def test_started_by_hand_it_says_what_to_type(tmp_path: Path) -> None:
    with (
        ModelServer([say("Hello.")]) as server,
        Terminal([], cwd=tmp_path, env=environment(tmp_path, server), on=(0, 2)) as terminal,
    ):
        terminal.wait_for("--help")
        assert [len(line) < 80 for line in terminal.seen.splitlines()] == [True] * 3
        terminal.type("what's up?\n")
        terminal.wait_for("yume-shim -p 'what'\\''s up?'")
        assert '{"type":"user","content":"what\'s up?"}' in terminal.seen
        terminal.type("exit\n")
        terminal.wait_for("To end: Ctrl-D.")
        terminal.type('{"type":"user"\n')  # JSON is the protocol's business
        terminal.type('{"type":"user","content":"hi"}\n')
        terminal.type(CTRL_D)
        assert terminal.end() == 0
    lines = [json.loads(line) for line in terminal.piped.splitlines()]
    assert lines[0]["type"] == "system"
    assert [line["code"] for line in lines if line["type"] == "error"] == ["bad_input"]
    assert "".join(line["content"] for line in lines if line["type"] == "text") == "Hello."


def test_without_a_key_it_says_how_to_get_on(tmp_path: Path) -> None:
    """In words, not in JSON."""
    with Terminal([], cwd=tmp_path, env=clean_environment(tmp_path)) as terminal:
        assert terminal.end() == 2
    assert "yume-shim init" in terminal.seen.splitlines()[-1]
    assert "{" not in terminal.seen.splitlines()[-1]


@pytest.mark.parametrize(
    ("argv", "said"), [(["--resume"], "--resume needs a session ID"), (["--modle"], "did you mean --model?")]
)
def test_a_wrong_command_line_is_answered_in_words(argv: list[str], said: str, tmp_path: Path) -> None:
    with Terminal(argv, cwd=tmp_path, env=clean_environment(tmp_path)) as terminal:
        assert terminal.end() == 2
    assert (said in terminal.seen, terminal.seen.count("\n"), "{" in terminal.seen) == (True, 1, False)


@pytest.mark.parametrize("provider", MODELS)
def test_text_is_shown_while_it_comes_and_once(provider: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello")
    answers = (
        [say("Let me look."), call("Read", file_path=str(tmp_path / "a.txt"))],
        [say("\nIt says \x1b[2J hel", 1), cut()],
        [say("lo, 世界.", 1)],
    )
    env = environment(tmp_path, server := ModelServer(*answers))
    with server, Terminal(["-p", "look", *QUICK, *MODELS[provider]], cwd=tmp_path, env=env, on=(1,)) as terminal:
        assert terminal.end() == 0
    assert terminal.seen == "Let me look.\n\nIt says [2J hello, 世界.\n"


@pytest.mark.parametrize(("provider", "redirected"), [*((each, False) for each in MODELS), ("anthropic", True)])
def test_an_interrupt_leaves_what_came_and_stops_a_loop(provider: str, redirected: bool, tmp_path: Path) -> None:
    """A shell goes on with its loop after a program that exits with 130: only the signal itself stops it."""
    report = tmp_path / "modules"
    shim, target = " ".join(listening_shim.modules_reported(report)), "> out.txt" if redirected else ""
    loop = f'for i in 1 2 3; do {shim} -p hi {" ".join(MODELS[provider])} {target}; echo "code $?"; done; echo after'
    env = environment(tmp_path, server := ModelServer([say("Half an", 1), hold()], [say("again")]))
    program = ("bash", "-c", loop)
    with server, Terminal([], cwd=tmp_path, env=env, on=(0, 1, 2), program=program) as terminal:
        if redirected:
            wait_until(lambda: report.exists() and "\ndelta" in report.read_text())
        else:
            terminal.wait_for("Half an")
        terminal.type(CTRL_C)
        assert terminal.end() == -signal.SIGINT
    assert terminal.seen == ("^C" if redirected else "Half an^C\n")
    if redirected:
        assert (tmp_path / "out.txt").read_text() == "Half an\n"
    assert server.left == 1


def test_an_interrupted_batch_stops_a_loop(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"id": "a", "prompt": "hi"}\n')
    loop = f'for i in 1 2; do {SHIM} batch in.jsonl -o out$i.jsonl; echo "code $?"; done; echo after'
    env = environment(tmp_path, server := ModelServer([say("Half an", 1), hold()]))
    with server, Terminal([], cwd=tmp_path, env=env, program=("bash", "-c", loop)) as terminal:
        wait_until(lambda: server.left == 0, "the request")
        terminal.type(CTRL_C)
        assert terminal.end() == -signal.SIGINT
    assert ("--resume continues" in terminal.seen, "code" in terminal.seen) == (True, False)
    assert not (tmp_path / "out2.jsonl").exists()


def test_an_interrupt_of_watch_stops_a_loop(tmp_path: Path) -> None:
    loop = f'for i in 1 2; do {SHIM} watch --no-open; echo "code $?"; done; echo after'
    with Terminal([], cwd=tmp_path, env=clean_environment(tmp_path), program=("bash", "-c", loop)) as terminal:
        terminal.wait_for("Ctrl-C ends it")
        terminal.type(CTRL_C)
        assert terminal.end() == -signal.SIGINT
    assert terminal.seen.count("http://") == 1


def test_an_interrupted_program_ends_by_the_signal_at_any_time(tmp_path: Path) -> None:
    """Also before its own handlers are there, and by a second interrupt while it is stuck."""
    env = environment(tmp_path, server := ModelServer([say("x", 1), hold()]))
    code = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"
    early = "import sys; sys.argv = ['yume-shim', '-p', 'x']; from yume_shim.cli import main; "
    early += f"main._end_quietly_on_interrupt(); {code}"
    with server, Terminal(["-c", early], cwd=tmp_path, env=env, program=(sys.executable,)) as terminal:
        assert terminal.end() == -signal.SIGINT
    stuck = "import os, signal, time; from yume_shim.host.signals import Signals; "
    stuck += (
        "Signals(lambda _: time.sleep(60), 60, as_signal=True).install(); print('ready', flush=True); time.sleep(60)"
    )
    with Terminal(["-c", stuck], cwd=tmp_path, env=env, program=(sys.executable,)) as terminal:
        terminal.wait_for("ready")
        terminal.type(CTRL_C)
        terminal.wait_for("^C")
        signal.sigtimedwait([], 0.15)  # two within a tenth of a second count as one
        terminal.type(CTRL_C)
        assert terminal.end() == -signal.SIGINT


@pytest.mark.parametrize("module", ["yume_shim.cli", "yume_shim.cli.main"])
def test_an_interrupt_while_the_first_modules_are_loaded_prints_nothing(module: str) -> None:
    """Before the program has a handler, so it is an exception in whatever is imported."""
    code = f"""
import runpy, sys

class Interrupted:
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupted())
sys.argv = ["yume-shim", "--version"]
runpy.run_module("yume_shim", run_name="__main__")
"""
    words = [sys.executable, "-c", code]
    ended = subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL, timeout=DEADLINE, check=False)
    assert (ended.returncode in (130, -signal.SIGINT), ended.stdout, ended.stderr) == (True, b"", b"")


def test_no_stdin_leaves_the_lines_of_a_loop_alone(tmp_path: Path) -> None:
    (tmp_path / "names").write_text("Ada\nGrace\nBarbara\n")
    loop = f'while read -r name; do {SHIM} --no-stdin -p "Who is $name?"; done < names'
    server = ModelServer(*([say(f"Answer {number}.")] for number in (1, 2, 3)))
    with server:
        env = environment(tmp_path, server)
        program = ["bash", "-c", loop]
        ended = subprocess.run(program, cwd=tmp_path, env=env, capture_output=True, timeout=DEADLINE, check=False)
    assert (ended.stdout, ended.stderr) == (b"Answer 1.\nAnswer 2.\nAnswer 3.\n", b"")
    asked = [json.dumps(request.json()["messages"]) for request in server.requests]
    assert ["Ada" in asked[0], "Grace" in asked[1], "Barbara" in asked[2]] == [True, True, True]
    assert "Grace" not in asked[0]
