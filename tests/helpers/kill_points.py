"""SIGKILL at any moment of a scripted session, then resume: what was lost, doubled or made invalid?

What a host has read on stdout is acknowledged: every block and every tool result of it must be in the request that the
resumed session sends, once and in order, and that request must be one that the API accepts.
"""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.helpers import child
from tests.helpers.scripted_model import call, pause, say, think
from tests.helpers.strict_model import StrictModel
from yume_shim.text import codec

if TYPE_CHECKING:
    from pathlib import Path

    from tests.helpers.scripted_model import Answer

SESSION = "11111111-2222-4333-8444-555555555555"
FORM = ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
MODEL = ("--model", "claude-sonnet-4-5", "--allowedTools", "Bash", "Read")
PROMPTS = ("one", "two", "three")
LONGEST_RUN = 1.1
"""Seconds that the session takes if it is not killed, roughly; kills fall into this span."""
UNKNOWN = "No conversation found with session ID"


class Verdict(NamedTuple):
    """What became of one kill."""

    after: float
    acknowledged: int
    problems: tuple[str, ...]


def answers() -> list[Answer]:
    """Three turns with tools, with pauses to die in."""
    made: list[Answer] = []
    for turn in PROMPTS:
        made += [
            [
                think(f"Thinking about {turn}."),
                pause(40),
                say(f"Let me see, {turn}."),
                call("Bash", command=f"echo {turn} >> log.txt; sleep 0.03"),
                pause(40),
                call("Read", file_path="a.txt"),
            ],
            [say(f"Part of {turn}."), pause(40), say(f"Done with {turn}.")],
        ]
    return made


def one_kill(folder: Path, seed: int) -> Verdict:
    """Play the session, kill it at a moment chosen by `seed`, resume it, judge."""
    moment = random.Random(seed).uniform(0.05, LONGEST_RUN)
    home, cwd = folder / "home", folder / "work"
    home.mkdir(parents=True)
    cwd.mkdir()
    (cwd / "a.txt").write_text("alpha\n", "utf-8")
    with StrictModel(*answers()) as server:
        env = child.clean_environment(home, ANTHROPIC_BASE_URL=server.url, ANTHROPIC_API_KEY="sk-kill")
        printed_lines = _killed([*FORM, *MODEL, "--session-id", SESSION], cwd, env, moment)
        issued = server.issued
        problems = [f"before the kill: {rule}" for rule in server.refused] + _unwritten(printed_lines, home)
    with StrictModel([say("Here again.")]) as server:
        server.issued.update(issued)
        env["ANTHROPIC_BASE_URL"] = server.url
        prompt = {"type": "user", "message": {"role": "user", "content": "go on"}}
        ended = child.run([*FORM, *MODEL, "--resume", SESSION], [prompt], cwd=cwd, env=env)
        problems += [f"invalid: {rule}" for rule in server.refused]
        acknowledged = _acknowledged(printed_lines)
        if UNKNOWN.encode() in ended.stdout:
            problems += ["lost: the whole session"] if acknowledged else []
        elif not server.requests:
            problems.append(f"no request was made: {ended.stderr!r}")
        else:
            problems += _missing(acknowledged, _sent(server.requests[0].json()))
    return Verdict(moment, len(acknowledged), tuple(problems))


def _killed(argv: list[str], cwd: Path, env: dict[str, str], moment: float) -> list[dict[str, Any]]:
    """The lines that the host has read when the program was killed."""
    program = child.start(argv, cwd=cwd, env=env)
    deadline = time.monotonic() + moment
    try:
        for text in PROMPTS:
            program.send({"type": "user", "message": {"role": "user", "content": text}})
            if not _result_came(program, deadline):
                break
    finally:
        time.sleep(max(0.0, deadline - time.monotonic()))
        program.kill()
    return [codec.loads(line) for line in program.out if line.endswith(b"\n")]


def _result_came(program: child.Child, deadline: float) -> bool:
    """Wait for the end of a turn; False if it is time to die."""
    with program.changed:
        while True:
            while program.cursor < len(program.out):
                line = program.out[program.cursor]
                program.cursor += 1
                if line.startswith(b'{"type":"result"'):
                    return True
            left = deadline - time.monotonic()
            if left <= 0 or program.finished:
                return False
            program.changed.wait(left)


def _acknowledged(printed_lines: list[dict[str, Any]]) -> list[str]:
    """Every block and result that was printed, in words that can be compared. Thinking is left out: an answer that ends
    on it cannot be sent back; that it is on disk is checked by its line."""
    messages = [line["message"] for line in printed_lines if line["type"] in ("assistant", "user")]
    return [_word(block) for message in messages for block in _blocks(message) if block["type"] != "thinking"]


def _unwritten(printed_lines: list[dict[str, Any]], home: Path) -> list[str]:
    """Printed messages that are not in the transcript."""
    kept = set()
    for path in home.rglob(f"{SESSION}.jsonl"):
        for line in path.read_bytes().splitlines():
            try:
                kept.add(codec.loads(line).get("uuid"))
            except ValueError:  # torn by the kill
                continue
    printed = [line["uuid"] for line in printed_lines if line["type"] in ("assistant", "user")]
    return [f"unwritten: {uuid}" for uuid in printed if uuid not in kept]


def _sent(body: dict[str, Any]) -> list[str]:
    return [_word(block) for message in body["messages"] for block in _blocks(message)]


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _word(block: dict[str, Any]) -> str:
    match block["type"]:
        case "text" | "thinking":
            return f"{block['type']} {block[block['type']]}"
        case "tool_use":
            return f"call {block['id']}"
        case _:
            return f"result {block.get('tool_use_id')} {block.get('content')}"


def _missing(acknowledged: list[str], sent: list[str]) -> list[str]:
    """What is not there in its order, and what is there twice."""
    problems, place = [], 0
    for word in acknowledged:
        try:
            place = sent.index(word, place) + 1
        except ValueError:
            problems.append(f"lost: {word}")
    doubled = {word for word in sent if word.startswith(("call ", "result ")) and sent.count(word) > 1}
    return problems + [f"doubled: {word}" for word in sorted(doubled)]
