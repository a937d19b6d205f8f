"""By hand: how long a resumed session takes from spawn to its first request, by the number of turns it holds.

    python scripts/bench_resume.py [--runs 7] [--turns 0 100 300 1000] [--tools]

Trust the ratio to a fresh session: milliseconds belong to the machine.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.helpers import child
from tests.helpers.fake_server import Exchange, LoopbackServer
from tests.helpers.scripted_model import say, wire_of
from yume_shim.store.entries import Entries
from yume_shim.store.jsonl import JsonlStore
from yume_shim.store.layout import session_path
from yume_shim.types.blocks import Message, Text, ToolCall, ToolResult
from yume_shim.types.events import (
    BlockEnded,
    PromptTaken,
    RequestStarted,
    ResponseEnded,
    ResponseStarted,
    SessionInfo,
    Tagged,
    ToolFinished,
    TurnEnded,
    TurnStarted,
)
from yume_shim.types.models import Usage

if TYPE_CHECKING:
    from yume_shim.types.events import Event

SESSION = "11111111-2222-4333-8444-555555555555"
API = "anthropic-messages"
MODEL = "claude-sonnet-5-5"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7, help="starts per figure (the smallest counts)")
    parser.add_argument("--turns", type=int, nargs="+", default=[0, 100, 300, 1000])
    parser.add_argument("--tools", action="store_true", help="every turn has a tool call: five lines instead of two")
    given = parser.parse_args()
    best: dict[int, tuple[float, float]] = dict.fromkeys(given.turns, (1e9, 1e9))
    sizes: dict[int, int] = {}
    for _ in range(given.runs):  # they take turns, so that a busy moment of the machine hits all of them
        for turns in given.turns:
            with tempfile.TemporaryDirectory(prefix="yume-bench-") as made:
                first, later, sizes[turns] = starts(Path(made), turns, tools=given.tools)
                best[turns] = min(best[turns][0], first), min(best[turns][1], later)
    for turns, (first, later) in best.items():
        fresh = best[given.turns[0]][0]
        ratios = f"first {first / fresh:5.2f}  later {later / fresh:5.2f}"
        print(f"{turns:>6} turns  {sizes[turns] / 1024:>8.0f} KiB  {later * 1000:>7.1f} ms  {ratios}")
    return 0


def starts(folder: Path, turns: int, *, tools: bool) -> tuple[float, float, int]:
    """(seconds from spawn to request at the first resume, at the next one, bytes of the transcript). The first one
    makes the checkpoint; without turns it is a fresh start, and the only one."""
    home, cwd = folder / "home", folder / "work"
    home.mkdir()
    cwd.mkdir()
    path = Path(session_path(str(home / ".claude" / "projects"), str(cwd), SESSION))
    if turns:
        write(path, str(cwd), turns, tools=tools)
    arrived: list[float] = []

    def answer(exchange: Exchange) -> bool:
        arrived.append(time.monotonic())
        frames = b"".join(_event(frame) for frame in wire_of(API, [say("ok")]))
        exchange.reply(200, {"Content-Type": "text/event-stream"}, frames)
        return False

    with LoopbackServer(answer) as server:
        env = child.clean_environment(home, ANTHROPIC_BASE_URL=server.url, ANTHROPIC_API_KEY="sk-bench")
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        names = ("--resume" if turns else "--session-id", SESSION)
        begun: list[float] = []
        for _ in range(2 if turns else 1):
            begun.append(time.monotonic())
            ended = child.run(["-p", "--model", MODEL, *names, "go on"], [], cwd=cwd, env=env)
            if ended.code:
                raise SystemExit(ended.stderr.decode())
    return arrived[0] - begun[0], arrived[-1] - begun[-1], path.stat().st_size


def write(path: Path, cwd: str, turns: int, *, tools: bool) -> None:
    """A session of so many turns, as the program stores it."""
    count = iter(range(10_000_000))
    entries = Entries("2.1.325", lambda _: ("", ""), lambda: f"fresh-{next(count)}")
    store = JsonlStore(str(path), lambda *_: None, entries)
    info = SessionInfo(SESSION, cwd, "anthropic", MODEL, "default", ())
    for number in range(turns):
        events: list[Event] = [
            TurnStarted(info),
            PromptTaken(Message("user", ()), f"Please look at file {number} and tell me what is wrong with it. " * 2),
            RequestStarted(MODEL, f"{API}/{MODEL}"),
        ]
        if tools:
            call = ToolCall(f"toolu_{number}", "Read", {"file_path": f"/src/file_{number}.py"})
            events += [
                ResponseStarted(f"msg_a{number}", MODEL),
                BlockEnded(0, Text("Let me look at the file first.")),
                BlockEnded(1, call),
                ResponseEnded("tool_calls", "tool_use", Usage(10, 10)),
                ToolFinished(call, ToolResult(call.id, "     1\tdef function(argument):\n" * 16)),
            ]
        events += [
            ResponseStarted(f"msg_b{number}", MODEL),
            BlockEnded(0, Text("The function never returns anything, which its callers do not expect. " * 4)),
            ResponseEnded("end", "end_turn", Usage(10, 10)),
            TurnEnded("success", "", 1, 1, 1, Usage(), 0.0),
        ]
        for event in events:
            store.feed(Tagged(event, f"uuid-{next(count)}", 1_700_000_000.0 + number))
    store.close()


def _event(frame: dict[str, object]) -> bytes:
    from yume_shim.text.codec import dumps

    return f"event: {frame['type']}\n".encode() + b"data: " + dumps(frame) + b"\n\n"


if __name__ == "__main__":
    sys.exit(main())
