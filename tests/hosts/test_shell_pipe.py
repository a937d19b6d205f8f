"""The program as a shell uses it: pipes, prompts on the command line, several prompts on one stdin, redirections."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.host_world import program
from tests.helpers.scripted_model import call, hold, refuse, say
from yume_shim.text import codec

if TYPE_CHECKING:
    from tests.helpers.host_world import HostWorld

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="these are habits of POSIX shells")

STREAM = "--input-format stream-json --output-format stream-json --verbose"
HUGE = 5_000_000
DEADLINE = child.DEADLINE


def sh(world: HostWorld, script: str, stdin: bytes | None = b"") -> child.Ended:
    """Run a line of shell in which `yume-shim` is our program."""
    path = os.pathsep.join([str(Path(program()).parent), world.env["PATH"]])
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=world.cwd,
        env={**world.env, "PATH": path},
        input=stdin,
        capture_output=True,
        check=False,
        timeout=DEADLINE,
    )
    return child.Ended(done.stdout, done.stderr, done.returncode)


def types(lines: list[dict[str, Any]]) -> list[str]:
    return [line["type"] for line in lines]


# ---------------------------------------------------------------- prompts


@pytest.mark.parametrize(
    "script",
    [
        "yume-shim -p 'Greet me'",
        "printf 'Greet me' | yume-shim -p",
        "yume-shim 'Greet me'",
        "yume-shim -p -- 'Greet me'",
    ],
)
def test_a_prompt_prints_text(script: str, any_world: HostWorld) -> None:
    any_world.serve([say("Hello, こんにちは 🌸.")])
    done = sh(any_world, script)
    assert (done.stdout.decode(), done.stderr.decode(), done.code) == ("Hello, こんにちは 🌸.\n", "", 0)
    assert any_world.requests()[0].said[-1] == "Greet me"


def test_a_prompt_and_a_file_go_together(any_world: HostWorld) -> None:
    any_world.serve([say("A missing semicolon.")])
    done = sh(any_world, "printf 'line 7: syntax error' > build.log; yume-shim -p 'Explain this error' < build.log")
    assert (done.stdout, done.stderr, done.code) == (b"A missing semicolon.\n", b"", 0)
    said = "\n".join(any_world.requests()[0].said)
    assert "Explain this error" in said
    assert "line 7: syntax error" in said


def test_json_is_one_line_with_the_result(any_world: HostWorld) -> None:
    any_world.serve([say("Two.")])
    done = sh(any_world, "yume-shim -p 'List the risks' --output-format json")
    (line,) = done.lines
    seen = (line["type"], line["subtype"], line["is_error"], line["result"], line["num_turns"])
    assert seen == ("result", "success", False, "Two.", 1)
    assert (done.stderr, done.code) == (b"", 0)


def test_stream_json_prints_the_turn(any_world: HostWorld) -> None:
    any_world.serve([call("Glob", pattern="*.txt")], [say("None.")])
    done = sh(any_world, "yume-shim -p 'Any text files?' --output-format stream-json --verbose")
    assert types(done.lines) == ["system", "assistant", "user", "assistant", "result"]
    assert (done.stderr, done.code) == (b"", 0)


def test_flat_is_the_default(any_world: HostWorld) -> None:
    any_world.serve([say("Hello.", pieces=1)])
    done = sh(any_world, """printf '{"type":"user","content":"Hi"}\\n' | yume-shim""")
    assert types(done.lines) == ["system", "system", "text", "usage", "system", "result", "message_stop"]
    assert (done.stderr, done.code) == (b"", 0)


def test_several_prompts_in_flat_get_a_turn_each(any_world: HostWorld) -> None:
    any_world.serve([say("One.")], [say("Two.")], [say("Three.")])
    prompts = "".join(f'{{"type":"user","content":"{word}"}}\\n' for word in ("a", "b", "c"))
    done = sh(any_world, f"printf '{prompts}' | yume-shim")
    assert [line["result"] for line in done.lines if line["type"] == "result"] == ["One.", "Two.", "Three."]
    assert types(done.lines).count("message_stop") == 3
    assert (done.stderr, done.code) == (b"", 0)


def test_several_prompts_in_stream_json_all_reach_the_model(any_world: HostWorld) -> None:
    any_world.serve([say("One.")], [say("Two.")])
    prompts = "".join(
        f'{{"type":"user","message":{{"role":"user","content":"{word}"}}}}\\n' for word in ("alpha", "beta", "gamma")
    )
    done = sh(any_world, f"printf '{prompts}' | yume-shim -p {STREAM}")
    # what waited while the first turn ran is one turn
    assert [line["result"] for line in done.lines if line["type"] == "result"] == ["One.", "Two."]
    assert any_world.requests()[1].said[0] == "alpha"
    assert "beta\ngamma" in "\n".join(any_world.requests()[1].said)
    assert (done.stderr, done.code) == (b"", 0)


def test_garbage_lines_lose_nothing(any_world: HostWorld) -> None:
    any_world.serve([say("Still here.")])
    good = b'{"type":"user","content":"Hi"}\n'
    garbage = b'not json\n[1,2]\nnull\n{"type":"nonsense"}\n{"type":"user"\n\xff\xfe\n\n$\n' + b"x" * 300_000 + b"\n"
    done = sh(any_world, "yume-shim", garbage + good)
    errors = [line for line in done.lines if line["type"] == "error"]
    assert len(errors) == 7
    assert {line["code"] for line in errors} == {"bad_input"}
    assert [line["result"] for line in done.lines if line["type"] == "result"] == ["Still here."]
    assert max(len(line) for line in done.stdout.splitlines()) < 2000
    assert done.code == 0


def test_garbage_lines_in_stream_json_are_reported(any_world: HostWorld) -> None:
    any_world.serve([say("Still here.")])
    good = b'{"type":"user","message":{"role":"user","content":"Hi"}}\n'
    done = sh(any_world, f"yume-shim -p {STREAM}", b"not json\n" + good)
    warned = [line for line in done.lines if line.get("subtype") == "informational"]
    assert [line["level"] for line in warned] == ["warning"]
    assert (done.lines[-1]["type"], done.lines[-1]["result"], done.code) == ("result", "Still here.", 0)


def test_a_huge_prompt(any_world: HostWorld) -> None:
    any_world.serve([say("Long.")], [say("Long indeed.")])
    done = sh(any_world, "yume-shim -p", b"x" * HUGE)
    assert (done.stdout, done.stderr, done.code) == (b"Long.\n", b"", 0)
    line = codec.dumps({"type": "user", "content": "y" * HUGE}) + b"\n"
    done = sh(any_world, "yume-shim", line)
    assert [line["result"] for line in done.lines if line["type"] == "result"] == ["Long indeed."]
    assert [max(map(len, request.said)) for request in any_world.requests()] == [HUGE, HUGE]


def test_the_version(any_world: HostWorld) -> None:
    done = sh(any_world, "yume-shim --version")
    major, minor, patch = done.stdout.split()[0].split(b".")
    assert (int(major), int(minor), int(patch)) >= (2, 1, 248)
    assert (done.stderr, done.code) == (b"", 0)


# ---------------------------------------------------------------- closed pipes


@pytest.mark.parametrize("form", ["--output-format flat -p", "-p --output-format stream-json --verbose"])
def test_a_reader_that_closes_early_is_not_a_failure(form: str, any_world: HostWorld) -> None:
    any_world.serve(
        *[[say(f"{number} " * 2000, pieces=20), call("Glob", pattern="*")] for number in range(3)], [say("!")]
    )
    done = sh(any_world, f"yume-shim {form} 'Count' | head -n1; exit ${{PIPESTATUS[0]}}")
    assert len(done.lines) == 1
    assert (done.stderr, done.code) == (b"", 0)


@pytest.mark.parametrize("form", ["", "-p 'Hi' --output-format flat", "-p 'Hi'", f"-p {STREAM}"])
def test_stdout_that_is_closed_from_the_start(form: str, any_world: HostWorld) -> None:
    any_world.serve([say("Nobody hears this.")])
    done = sh(any_world, f"yume-shim {form} >&-")
    assert (done.stdout, done.stderr, done.code) == (b"", b"", 0)


def test_a_closed_stdin_adds_nothing_to_the_prompt(any_world: HostWorld) -> None:
    any_world.serve([say("Fine.")])
    done = sh(any_world, "yume-shim -p 'Hi' <&-")
    assert (done.stdout, done.stderr, done.code) == (b"Fine.\n", b"", 0)


def test_a_silent_stdin_does_not_block_a_prompt(any_world: HostWorld) -> None:
    any_world.serve([say("Fine.")])
    reader, writer = os.pipe()
    try:
        done = subprocess.run(
            [program(), "-p", "Hi"],
            cwd=any_world.cwd,
            env=any_world.env,
            stdin=reader,
            capture_output=True,
            check=False,
            timeout=DEADLINE,
        )
    finally:
        os.close(reader)
        os.close(writer)
    assert (done.stdout, done.returncode) == (b"Fine.\n", 0)
    assert b"no stdin data" in done.stderr


@pytest.mark.parametrize(("form", "lines"), [("", ["init"]), (f"-p {STREAM}", [])], ids=["flat", "claude"])
def test_a_closed_stdin_is_the_end_of_input(form: str, lines: list[str], any_world: HostWorld) -> None:
    any_world.serve()
    done = sh(any_world, f"yume-shim {form} <&-")
    assert ([line["subtype"] for line in done.lines], done.stderr, done.code) == (lines, b"", 0)


@pytest.mark.parametrize("form", ["-p 'Hi' --output-format stream-json --verbose", "-p 'Hi' --output-format flat"])
def test_a_terminal_gets_the_same_lines(form: str, any_world: HostWorld) -> None:
    any_world.serve([say("Hello.")])
    reader, writer = os.openpty()
    with subprocess.Popen(
        [program(), *form.replace("'", "").split()],
        cwd=any_world.cwd,
        env={**any_world.env, "TERM": "xterm-256color"},
        stdin=subprocess.DEVNULL,
        stdout=writer,
        stderr=subprocess.PIPE,
    ) as process:
        os.close(writer)
        shown = b""
        while True:
            try:
                piece = os.read(reader, 65536)
            except OSError:  # Linux: EIO when the last writer is gone
                break
            if not piece:
                break
            shown += piece
        assert process.wait(DEADLINE) == 0
        assert process.stderr is not None
        assert process.stderr.read() == b""
    os.close(reader)
    assert b"\x1b" not in shown
    seen = types([codec.loads(line) for line in shown.replace(b"\r\n", b"\n").splitlines()])
    assert seen[0] == "system"
    assert "result" in seen


# ---------------------------------------------------------------- exit codes


def test_no_prompt_is_not_a_failure(any_world: HostWorld) -> None:
    any_world.serve()
    done = sh(any_world, "yume-shim")
    assert ([line["subtype"] for line in done.lines], done.stderr, done.code) == (["init"], b"", 0)
    done = sh(any_world, f"yume-shim -p {STREAM}")
    assert (done.stdout, done.stderr, done.code) == (b"", b"", 0)


def test_print_without_a_prompt_is_refused(any_world: HostWorld) -> None:
    any_world.serve()
    done = sh(any_world, "yume-shim -p")
    assert (done.stdout, done.code) == (b"", 1)
    assert b"Input must be provided" in done.stderr


@pytest.mark.parametrize("form", ["-p 'Hi'", "-p 'Hi' --output-format json", "-p 'Hi' --output-format flat"])
def test_a_failed_turn_shows_on_stdout_and_in_the_exit_code(form: str, any_world: HostWorld) -> None:
    any_world.serve([refuse(401)])
    done = sh(any_world, f"yume-shim {form}")
    assert b"scripted refusal" in done.stdout
    assert (done.stderr, done.code) == (b"", 1)


def test_the_last_turn_decides_the_exit_code(any_world: HostWorld) -> None:
    any_world.serve([refuse(401)], [say("Fine now.")])
    prompts = """{"type":"user","content":"a"}\\n{"type":"user","content":"b"}\\n"""
    done = sh(any_world, f"printf '{prompts}' | yume-shim")
    assert [line["subtype"] for line in done.lines if line["type"] == "result"] == ["error_auth", "success"]
    assert done.code == 0


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        ("--no-such-flag", "--no-such-flag"),
        ("--permission-mode sometimes", "sometimes"),
        ("--max-turns many", "many"),
        ("--provider googel --model x", "google"),
        ("--model nowhere/model", "nowhere"),
        ("--system-prompt-file missing.md", "missing.md"),
        ("--settings missing.json", "missing.json"),
        ("--config missing.toml", "missing.toml"),
        ("--provider replay --cassette missing", "missing"),
        ("--provider replay", "--cassette"),
        ("--api-base ftp://nowhere --provider compatible --model x", "ftp://nowhere"),
        ("--session-id 12", "session ID"),
    ],
)
@pytest.mark.parametrize("flat", [True, False], ids=["flat", "claude"])
def test_a_refused_start(flat: bool, flags: str, named: str, any_world: HostWorld) -> None:
    any_world.serve()
    done = sh(any_world, f"yume-shim {flags}" if flat else f"yume-shim -p Hi {flags}")
    assert named in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()
    if flat:
        (line,) = done.lines
        assert (line["type"], line["subtype"], done.code) == ("system", "error", 2)
        assert named in line["message"]
    else:
        assert (done.stdout, done.code) == (b"", 1)


def test_a_configuration_file_that_is_broken(any_world: HostWorld) -> None:
    any_world.serve()
    any_world.configure("\nthis is not toml")
    for script, code in (("yume-shim", 2), ("yume-shim -p Hi", 1)):
        done = sh(any_world, script)
        assert b"config.toml" in done.stderr
        assert done.code == code


def test_a_cassette_that_cannot_be_read(any_world: HostWorld) -> None:
    any_world.serve()
    broken = any_world.cwd / "cassette"
    broken.mkdir()
    (broken / "case.toml").write_text("= nothing", "utf-8")
    for script, code in (("yume-shim", 2), ("yume-shim -p Hi", 1)):
        done = sh(any_world, f"{script} --provider replay --cassette cassette")
        assert b"cassette" in done.stderr
        assert done.code == code


def test_no_key(world: HostWorld) -> None:
    server = world.serve([say("Never asked.")])
    del world.env[world.vendor.key_var]
    done = sh(world, "yume-shim")
    (line,) = done.lines
    assert (line["type"], line["subtype"], line["code"], done.code) == ("system", "error", "auth", 2)
    assert world.vendor.key_var in line["message"]
    done = sh(world, "yume-shim -p Hi --output-format stream-json --verbose")
    assert types(done.lines) == ["system", "assistant", "result"]
    assert (done.lines[1]["error"], done.lines[2]["is_error"]) == ("authentication_failed", True)
    assert (done.stderr, done.code) == (b"", 1)
    assert server.requests == []


def test_a_session_that_is_not_there(any_world: HostWorld) -> None:
    any_world.serve()
    missing = "00000000-0000-4000-8000-000000000000"
    done = sh(any_world, f"yume-shim --resume {missing}")
    (line,) = done.lines
    assert (line["type"], line["subtype"], line["code"], done.code) == ("system", "error", "not_found", 2)
    done = sh(any_world, f"yume-shim -p Hi --resume {missing} --output-format stream-json --verbose")
    (line,) = done.lines
    assert (line["type"], line["subtype"], line["num_turns"]) == ("result", "error_during_execution", 0)
    assert f"No conversation found with session ID: {missing}".encode() in done.stderr
    assert done.code == 1


# ---------------------------------------------------------------- signals

FLAT_END = ["interrupt", "result", "message_stop"]


@pytest.mark.parametrize(("name", "code"), [("INT", 130), ("TERM", 143), ("HUP", 129)])
@pytest.mark.parametrize("where", ["text", "tool", "idle"])
def test_a_signal_in_flat(where: str, name: str, code: int, any_world: HostWorld) -> None:
    any_world.serve([say("It begins"), hold()] if where == "text" else [call("Bash", command="sleep 60")])
    running = child.start(["--allowedTools", "Bash"], cwd=any_world.cwd, env=any_world.env, program=[program()])
    try:
        running.wait_for("init")
        if where != "idle":
            running.send({"type": "user", "content": "Go"})
            running.wait_for({"text": "text", "tool": "tool_use"}[where])
        running.signal(name)
        running.process.wait(DEADLINE)
        done = running.end()
    finally:
        running.kill()
    expected = [] if where == "idle" else FLAT_END
    assert types(done.lines)[-3:] == (expected or ["system"])
    if expected:
        assert done.lines[-2]["subtype"] == "cancelled"
        assert done.lines[-3]["reason"] == "signal"
    assert (done.stderr, done.code) == (b"", code)


@pytest.mark.parametrize(("name", "code"), [("INT", 0), ("TERM", 143), ("HUP", 129)])
@pytest.mark.parametrize("where", ["text", "tool", "idle"])
def test_a_signal_in_a_claude_form(where: str, name: str, code: int, any_world: HostWorld) -> None:
    any_world.serve([say("It begins"), hold()] if where == "text" else [call("Bash", command="sleep 60")])
    flags = ["-p", *STREAM.split(), "--include-partial-messages", "--allowedTools", "Bash"]
    running = child.start(flags, cwd=any_world.cwd, env=any_world.env, program=[program()])
    try:
        running.send({"type": "control_request", "request_id": "r1", "request": {"subtype": "initialize"}})
        running.wait_for("control_response")
        if where != "idle":
            running.send({"type": "user", "message": {"role": "user", "content": "Go"}})
            running.wait_for({"text": "content_block_delta", "tool": "message_stop"}[where])
        running.signal(name)
        running.process.wait(DEADLINE)
        done = running.end()
    finally:
        running.kill()
    results = [line["subtype"] for line in done.lines if line["type"] == "result"]
    assert results == (["error_during_execution"] if name == "INT" and where != "idle" else [])
    assert (done.stderr, done.code) == (b"", code)
