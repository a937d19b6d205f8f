"""An MCP server over stdio that misbehaves in the way its first argument names; standard library only."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

BEHAVIOUR = sys.argv[1]
TOOLS: list[dict[str, Any]] = [
    {
        "name": "echo",
        "description": "Echoes.",
        "inputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
    },
    {"name": "hang", "inputSchema": {"type": "object"}},
    {"name": "crash", "inputSchema": {"type": "object"}},
    {"name": "progress", "inputSchema": {"type": "object"}},
    {"name": "grow", "inputSchema": {"type": "object"}},
    {"name": "ask", "inputSchema": {"type": "object"}},
    {"name": "broken", "inputSchema": {"type": "object"}},
    {"name": "twice", "inputSchema": {"type": "object"}},
    {"name": "noisy", "inputSchema": {"type": "object"}},
    {"name": "null", "inputSchema": {"type": "object"}},
]


def say(message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def reply(number: Any, result: Any) -> None:
    say({"jsonrpc": "2.0", "id": number, "result": result})


def text(words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}]}


def call(number: Any, name: str, params: dict[str, Any]) -> None:
    match name:
        case "hang":
            return
        case "crash":
            os._exit(3)
        case "progress":
            for step in range(5):
                token = params["_meta"]["progressToken"]
                say(
                    {
                        "jsonrpc": "2.0",
                        "method": "notifications/progress",
                        "params": {"progressToken": token, "progress": step, "total": 5, "message": f"step {step}"},
                    }
                )
                time.sleep(0.2)
        case "grow":
            TOOLS.append({"name": "new", "inputSchema": {"type": "object"}})
            say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        case "broken":
            sys.stdout.write(f'{{"jsonrpc": "2.0", "id": {number}, "result": {{"content": [\n')
            sys.stdout.flush()
            return
        case "twice":  # answers to requests that nobody made, and its own answer three times
            for other in (number + 1, number - 1, str(number), None, True, 1.5, number, number):
                say({"jsonrpc": "2.0", "id": other, "result": text(f"for {other!r}")})
        case "noisy":  # thousands of messages, none of which is the answer
            for method in ("message", "tools/list_changed", "progress", "no/such"):
                noise = {"level": "info", "data": "x" * 5_000, "progressToken": number, "progress": 1}
                for _ in range(500):
                    say({"jsonrpc": "2.0", "method": f"notifications/{method}", "params": noise})
            sys.stdout.write("words, not JSON\n" * 5_000)
        case "null":
            say({"jsonrpc": "2.0", "id": number, "result": None})
            return
        case "ask":
            say({"jsonrpc": "2.0", "id": "q1", "method": sys.argv[2], "params": {"message": "Which one?"}})
            answer = json.loads(sys.stdin.readline())
            reply(number, text(json.dumps(answer.get("result", answer.get("error")))))
            return
    reply(number, text(f"{name}: {json.dumps(params.get('arguments'))}"))


def start() -> None:
    match BEHAVIOUR:
        case "silent":
            time.sleep(600)
        case "deaf":  # never reads its stdin, ignores SIGTERM
            import signal

            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(600)
        case "garbage":
            sys.stdout.write("starting up…\n\x00\xff not json\n[1, 2\n")
            sys.stdout.flush()
        case "flood":
            sys.stderr.write("noise\n" * 200_000)
        case "huge":
            while True:
                sys.stdout.write("x" * (1 << 20))
        case "words":
            sys.stderr.write("the database is locked\n")
            sys.exit(1)
        case "parent":
            child = subprocess.Popen(["sleep", "600"])
            with open(sys.argv[2], "w", encoding="ascii") as file:
                file.write(str(child.pid))


def main() -> None:
    start()
    for line in sys.stdin:
        message = json.loads(line)
        number, method, params = message.get("id"), message.get("method"), message.get("params", {})
        if number is None:
            continue
        match method:
            case "initialize":
                version = "1999-01-01" if BEHAVIOUR == "ancient" else params["protocolVersion"]
                info = {"name": "odd", "version": "1"}
                reply(number, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
            case "tools/list":
                if BEHAVIOUR == "endless":
                    reply(number, {"tools": [{"name": f"t{number}"}], "nextCursor": "again"})
                elif BEHAVIOUR == "pages":
                    place = int(params.get("cursor", 0))
                    more = {"nextCursor": str(place + 2)} if place + 2 < len(TOOLS) else {}
                    reply(number, {"tools": TOOLS[place : place + 2], **more})
                else:
                    reply(number, {"tools": TOOLS})
            case "tools/call":
                call(number, params["name"], params)
            case _:
                say({"jsonrpc": "2.0", "id": number, "error": {"code": -32601, "message": f"no {method}"}})


main()
