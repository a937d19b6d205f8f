#!/usr/bin/env python3
"""A small host for yume-shim: a chat in the terminal, on the flat dialect. Standard library only.

    python3 host.py [program and flags, default: yume-shim]

Type a prompt. `/models` and `/model N`, `/sessions` and `/resume N`, `/cost`, `/quit`; Ctrl-C or `/stop` interrupts.
The protocol is in docs/protocol/flat.md.
"""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from typing import Any

FLAGS = ["--output-format", "flat", "--permission-prompt-tool", "stdio"]
WAIT = 30.0
"""Seconds for the answer to a control request."""


class Host:
    def __init__(self, command: list[str]) -> None:
        self.command = command
        self.approvals: list[dict[str, Any]] = []
        self.models: list[dict[str, Any]] = []
        self.sessions: list[dict[str, Any]] = []
        self.cost = 0.0
        self.start()

    def start(self, *flags: str) -> None:
        """Start the program; a session of its own keeps Ctrl-C away from it."""
        words = [*self.command, *FLAGS, *flags]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "start_new_session": True}
        self.process = subprocess.Popen(words, text=True, encoding="utf-8", bufsize=1, **pipes)  # type: ignore[call-overload]
        self.answers: queue.Queue[dict[str, Any]] = queue.Queue()
        self.reader = threading.Thread(target=self.read, args=(self.process.stdout,), daemon=True)
        self.reader.start()

    def stop(self) -> None:
        """The end of input ends the program; wait until all its lines are read."""
        self.process.stdin.close()
        self.process.wait()
        self.reader.join()

    def send(self, **line: Any) -> None:
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()

    def ask(self, subtype: str, **fields: Any) -> dict[str, Any]:
        """A control request and its answer. One is open at a time, so the ids need not be compared."""
        self.send(type="control_request", request_id=subtype, request={"subtype": subtype, **fields})
        response = self.answers.get(timeout=WAIT)
        if response["subtype"] == "error":
            print(f"! {response['error']}", flush=True)
        return response.get("response") or {}

    # ------------------------------------------------------------ lines of the program, on their own thread

    def read(self, lines: Any) -> None:
        for text in lines:
            self.show(json.loads(text))

    def show(self, line: dict[str, Any]) -> None:
        """Print a line. Unknown types and fields are ignored: later versions have more of them."""
        kind = line.get("subtype") if line["type"] == "system" else line["type"]
        if line.get("parent_tool_use_id") and kind == "text":
            return  # a subagent's text is for the main agent
        if kind == "init":
            print(f"[{line['provider']}/{line['model']} in {line['cwd']}]", flush=True)
        elif kind == "text":
            print(line["content"], end="", flush=True)
        elif kind == "tool_use":
            print(f"\n* {line['name']} {json.dumps(line['input'])[:200]}", flush=True)
        elif kind == "tool_result":
            print(f"  {'failed: ' if line['is_error'] else ''}{line['content'][:200]}", flush=True)
        elif kind == "approval_needed":
            self.approvals.append(line)
            for hunk in line.get("patch", {}).get("hunks", []):
                print("\n".join(f"  {each}" for each in hunk["lines"]))
            print(f"? {line['reason']} [y]es, [a]lways, [n]o:", flush=True)
        elif kind == "approval_withdrawn":
            self.approvals = [each for each in self.approvals if each["tool_use_id"] != line["tool_use_id"]]
        elif kind == "model":
            print(f"[{line['provider']}/{line['model']}]", flush=True)
        elif kind in ("error", "warning"):
            print(f"! {line['message']}", flush=True)
        elif kind == "result":
            self.approvals.clear()
            self.cost = line["total_cost_usd"]
            print(f"\n[{line['subtype']}, ${self.cost:.4f} so far]", flush=True)
        elif kind == "control_response":
            self.answers.put(line["response"])

    # ------------------------------------------------------------ lines of the user

    def take(self, text: str) -> bool:
        """Handle what the user typed; False to quit."""
        word, _, rest = text.partition(" ")
        if word == "/quit":
            return False
        if word == "/stop":
            self.send(type="interrupt")
        elif self.approvals:
            asked, answer = self.approvals.pop(0), text[:1].lower()
            always = {"remember": "session"} if answer == "a" else {}
            self.send(type="tool_approval", id=asked["tool_use_id"], approved=answer in ("y", "a"), **always)
        elif word == "/models":
            self.models = self.ask("list_models").get("models", [])
            for number, model in enumerate(self.models, 1):
                print(f"{number:3} {model['value']}", flush=True)
        elif word == "/model":
            chosen = rest if not rest.isdigit() else self.models[int(rest) - 1]["value"]
            self.send(type="set_model", model=chosen)
        elif word == "/sessions":
            self.sessions = self.ask("list_sessions").get("sessions", [])
            for number, session in enumerate(self.sessions, 1):
                print(f"{number:3} {session['title'][:70]}", flush=True)
        elif word == "/resume":
            session = self.sessions[int(rest) - 1]["session_id"] if rest.isdigit() else rest
            self.stop()
            self.start("--resume", session)
        elif word == "/cost":
            print(f"${self.cost:.4f}", flush=True)
        elif text.strip():
            self.send(type="user", content=text)
        return True


def main() -> None:
    host = Host(sys.argv[1:] or ["yume-shim"])
    while True:
        try:
            text = sys.stdin.readline()
            if not text or not host.take(text.rstrip("\n")):
                break
        except KeyboardInterrupt:
            host.send(type="interrupt")
        except (IndexError, queue.Empty) as error:
            print(f"! {error!r}", flush=True)
    host.stop()


if __name__ == "__main__":
    main()
