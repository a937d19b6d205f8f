"""A team of agents on four APIs, behind one server: the main model starts all of them, and each works on its own."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

from tests.helpers.fake_server import FakeServer
from tests.helpers.scripted_model import api_of, call, hold, pause, say, wire_of

if TYPE_CHECKING:
    from pathlib import Path

    from tests.helpers.fake_server import Exchange
    from tests.helpers.scripted_model import Answer

APIS = ("anthropic-messages", "openai-chat", "openai-responses", "google-genai")
MARK = "60.25"
"""The seconds of a `sleep` by which a process is found that was left behind."""
MAIN = "You are the main model"

CONFIG = """
[endpoints.one]
api = "anthropic-messages"
base_url = "{url}"
key_vars = ["TEAM_KEY"]

[endpoints.two]
api = "openai-chat"
base_url = "{url}/v1"
key_vars = ["TEAM_KEY"]

[endpoints.three]
api = "openai-responses"
base_url = "{url}/v1"
key_vars = ["TEAM_KEY"]

[endpoints.four]
api = "google-genai"
base_url = "{url}/v1beta"
key_vars = ["TEAM_KEY"]
"""
PLACES = ("one", "two", "three", "four")


def definitions(count: int) -> dict[str, Any]:
    """The agents, spread over the APIs; all but the first have another model than the main one."""
    return {
        f"a{number}": {
            "description": f"Agent {number}",
            "prompt": f"You are agent {number} of the team.",
            "model": f"{PLACES[number % 4]}/model-{PLACES[number % 4]}",
        }
        for number in range(count)
    }


def config(folder: Path, url: str) -> dict[str, str]:
    """A config file for the server at `url`; returns the environment that uses it."""
    path = folder / "config.toml"
    path.write_text(CONFIG.format(url=url))
    return {"YUME_CONFIG": str(path), "TEAM_KEY": "key-of-the-team"}


class TeamServer(FakeServer):
    """Answers by what a request says. `stuck`: some agents never end by themselves. `background`: how agents are
    started; None = the dialect's default."""

    def __init__(self, count: int, *, stuck: bool, background: bool | None) -> None:
        self._count, self._stuck, self._background = count, stuck, background
        self._lock = threading.Lock()
        self._number = 0
        self.asked: dict[str, set[str]] = {}
        """Agent → the APIs over which it was asked for."""
        super().__init__("", [])

    def _play(self, exchange: Exchange) -> bool:
        api = api_of(exchange.request.path)
        if not api:
            exchange.reply(404, {"Content-Type": "application/json"}, b'{"error":{"message":"no such path"}}')
            return True
        text = exchange.request.body.decode()
        name = next((f"a{n}" for n in range(self._count) if f"You are agent {n} of the team." in text), "main")
        with self._lock:
            self._number += 1
            number = self._number
            self.asked.setdefault(name, set()).add(api)
        answer = self._main(text) if name == "main" else self._agent(int(name[1:]), text)
        return self.play(exchange, api, wire_of(api, answer, number))

    def _main(self, text: str) -> Answer:
        if "Never mind." in text:
            return [say("All right.")]
        if "agentId: a" in text or "doesn't want to proceed" in text:
            return [say("The agents are done or on their way.")]
        more = {} if self._background is None else {"run_in_background": self._background}
        calls = [
            call("Agent", description=f"task {n}", prompt=f"Do task {n}.", subagent_type=f"a{n}", **more)
            for n in range(self._count)
        ]
        return [say("I start a team."), *calls]

    def _agent(self, number: int, text: str) -> Answer:
        worked = "notes of the team" in text or "tool_result" in text or "functionResponse" in text
        worked = worked or '"role":"tool"' in text.replace(" ", "") or "function_call_output" in text
        if worked:
            if self._stuck and number % 4 == 2:
                return [say("I think about"), hold()]
            return [pause(20), say(f"Report of agent {number}.")]
        if self._stuck and number % 4 == 1:
            return [say("I wait."), call("Bash", command=f"sleep {MARK}")]
        return [say(f"Agent {number} looks."), pause(10), call("Read", file_path="notes.txt")]


def report_of(lines: list[dict[str, Any]]) -> str:
    """The lines, short, for failure messages."""
    return "\n".join(json.dumps(line)[:300] for line in lines)
