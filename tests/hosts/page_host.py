"""A small host, written from docs/protocol/flat.md and the schemas alone: it imports nothing of the program.

`python page_host.py COMMAND` plays a user in the current folder: a prompt whose edit is approved while another prompt
joins the turn, an interrupt, a change of the model, a rename, the end; then the same session resumed and drawn again.
It prints what it has seen as one JSON object.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from typing import Any

LIMIT = 30.0
"""Seconds that the program may take for one step."""
Line = dict[str, Any]


class Host:
    """One process, and the screen that a user would look at."""

    def __init__(self, command: str, *flags: str) -> None:
        self.process = subprocess.Popen(
            [command, "--output-format", "flat", "--permission-prompt-tool", "stdio", *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.texts: dict[str, str] = {}
        self.cards: dict[str, Line] = {}
        self.notes: list[str] = []
        self.results: list[Line] = []
        self.answers: dict[str, Line] = {}
        self.init: Line = {}
        self.joined: list[str] = []
        self.title = ""
        self.stops = 0
        self.asking: set[str] = set()
        self._changed = threading.Condition()
        self._asked = 0
        self._ended = False
        threading.Thread(target=self._read, daemon=True).start()

    # ------------------------------------------------------------ stdin

    def write(self, line: Line) -> None:
        """One object, one line."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(line).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, subtype: str, **fields: Any) -> Line:
        """A control request and its answer: `response`, or an exception with the words of the refusal."""
        self._asked += 1
        name = f"r{self._asked}"
        self.write({"type": "control_request", "request_id": name, "request": {"subtype": subtype, **fields}})
        self.wait(lambda: name in self.answers, f"the answer to {subtype}")
        said = self.answers[name]
        if said["subtype"] == "error":
            raise RuntimeError(f"{said.get('error_code')}: {said['error']}")
        found: Line = said.get("response", {})
        return found

    def pages(self, subtype: str, field: str, **fields: Any) -> list[Any]:
        """A list that may come in pages."""
        found: list[Any] = []
        offset: int | None = 0
        while offset is not None:
            said = self.ask(subtype, offset=offset, **fields)
            found += said[field]
            offset = said.get("next_offset")
        return found

    def prompt(self, text: str) -> None:
        """Send a prompt; `finished` waits for its turn."""
        self.write({"type": "user", "content": text})

    def finished(self, turns: int) -> Line:
        """The result of that turn."""
        self.wait(lambda: self.stops >= turns, f"the end of turn {turns}")
        return self.results[turns - 1]

    def close(self) -> int:
        """End of input; the exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.wait(lambda: self._ended, "the end of stdout")
        return self.process.wait(LIMIT)

    # ------------------------------------------------------------ stdout

    def wait(self, true: Any, what: str) -> None:
        """Wait until something is on the screen."""
        with self._changed:
            if not self._changed.wait_for(lambda: true() or self._ended, LIMIT) or not true():
                raise RuntimeError(f"no {what}")

    def _read(self) -> None:
        assert self.process.stdout is not None
        for raw in self.process.stdout:
            with self._changed:
                self._take(json.loads(raw))
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _take(self, line: Line) -> None:
        """Draw a line; unknown ones are ignored, as the page demands."""
        match line["type"], line.get("subtype"):
            case "system", "init":
                self.init = line
            case "system", "error":
                self.notes.append(f"cannot start: {line['message']}")
            case "text", _:
                self.texts[line["id"]] = self.texts.get(line["id"], "") + line["content"]
            case "tool_use", _:
                self.cards[line["id"]] = {"name": line["name"], "input": line["input"], "state": "running"}
            case "system", "approval_needed":
                self.cards[line["tool_use_id"]]["state"] = "asking"
                self.asking.add(line["tool_use_id"])
            case "tool_result", _:
                failed = line["is_error"]
                self.cards[line["tool_use_id"]] |= {"state": "failed" if failed else "done", "text": line["content"]}
                self.asking.discard(line["tool_use_id"])
            case "system", "prompt_joined":
                self.joined.append(line["uuid"])
            case "system", "session_title":
                self.title = line["title"]
            case "result", _:
                self.results.append(line)
            case "message_stop", _:
                self.stops += 1
            case "error", _:
                self.notes.append(f"{line['code']}: {line['message']}")
            case "control_response", _:
                self.answers[line["response"].get("request_id", "")] = line["response"]
            case "control_request", _:  # a question: this host has nobody to ask
                refusal = {"subtype": "error", "request_id": line["request_id"], "error": "nobody is here"}
                self.write({"type": "control_response", "response": refusal})
            case _:
                pass


def first_visit(command: str) -> Line:
    """Everything in one process."""
    host = Host(command)
    host.wait(lambda: host.init, "init")
    models = host.pages("list_models", "models")
    tools = host.pages("list_tools", "tools")
    host.prompt("Change a.txt.")
    host.wait(lambda: host.asking, "question about a call")
    [call] = host.asking
    joined = host.ask("steer", content="Then say so in one word.")["uuid"]
    host.write({"type": "tool_approval", "id": call, "approved": True, "remember": "session"})
    written = host.finished(1)
    before = set(host.texts)
    host.prompt("Tell me a long story.")
    host.wait(lambda: set(host.texts) - before, "first words of the story")
    host.write({"type": "interrupt"})
    stopped = host.finished(2)
    other = next(model for model in models if "current" not in model and "/" in model["value"])
    host.ask("set_model", model=other["value"])
    host.prompt("And now?")
    last = host.finished(3)
    host.ask("rename_session", title="A visit")
    host.write({"type": "no such line"})
    host.wait(lambda: host.notes, "complaint about a line")
    try:
        host.ask("set_cwd", path="/")
    except RuntimeError as refused:
        host.notes.append(str(refused))
    sessions = host.pages("list_sessions", "sessions")
    code = host.close()
    return {
        "protocol": host.init["protocol"],
        "session": host.init["session_id"],
        "listed": any(model["value"].endswith(host.init["model"]) for model in models),
        "tools": {tool["name"] for tool in tools} == set(host.init["tools"]),
        "cards": list(host.cards.values()),
        "joined": host.joined == [joined],
        "results": [(each["subtype"], each["result"]) for each in (written, stopped, last)],
        "costs": [each["total_cost_usd"] for each in (written, stopped, last)],
        "title": host.title,
        "sessions": [(each["session_id"], each["title"], each.get("current", False)) for each in sessions],
        "notes": host.notes,
        "code": code,
        "other": other["resolvedModel"],
    }


def second_visit(command: str, session: str) -> Line:
    """The same session in another process: redraw it, go on, copy it, delete the copy."""
    host = Host(command, "--resume", session)
    host.wait(lambda: host.init, "init")
    messages = host.pages("get_session", "messages")
    blocks = [block for message in messages for block in message["content"]]
    host.prompt("Are you still there?")
    last = host.finished(1)
    copy = host.ask("fork_session")["session_id"]
    host.ask("delete_session", session_id=copy)
    return {
        "resumed": host.init["resumed"],
        "calls": [block["id"] for block in blocks if block["type"] == "tool_use"],
        "results": [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"],
        "patches": [message["patch"]["hunks"] for message in messages if "patch" in message],
        "prompts": [message["content"][0]["text"] for message in messages if _is_prompt(message)],
        "last": last["result"],
        "cost": last["total_cost_usd"],
        "left": [each["session_id"] for each in host.pages("list_sessions", "sessions")],
        "code": host.close(),
    }


def _is_prompt(message: Line) -> bool:
    return bool(message["role"] == "user" and message["content"][0]["type"] == "text")


if __name__ == "__main__":
    first = first_visit(sys.argv[1])
    sys.stdout.write(json.dumps({"first": first, "second": second_visit(sys.argv[1], first["session"])}) + "\n")
