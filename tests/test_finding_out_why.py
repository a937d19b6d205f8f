"""What a user finds when a request fails: debug log, request ids, records of failures. Never contents, never keys."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.helpers import child
from tests.helpers.fake_server import FakeServer
from tests.helpers.scripted_model import call, say, wire_of
from tests.helpers.vendor_place import FLAT, MODELS, NESTED, VendorPlace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.helpers.child import Ended
    from yume_shim.types.blocks import Json

KEY = "canary-key-5d1f0c"
HEADER = "canary-header-77aa"
PROMPT = "canary-prompt-91be"
INPUT = "canary-input-30cd"
OUTPUT = "canary-output-c4f2"
ANSWER = "canary-answer-e8a1"
CANARIES = (KEY, HEADER, PROMPT, INPUT, OUTPUT, ANSWER)
REQUEST_ID = "req_0123456789"


def refusal(status: int, message: str) -> list[Json]:
    body = {"error": {"type": "odd_error", "message": message, "code": "odd_error"}}
    return [{"!status": status, "headers": {"x-request-id": REQUEST_ID}, "body": body}]


class Place(VendorPlace):
    """A home with canaries in key, header and files, and a server that speaks one API."""

    def __init__(self, folder: Path, api: str, *wires: list[Json]) -> None:
        self.api = api
        self.server = FakeServer(api, list(wires))
        super().__init__(folder, self.server)  # type: ignore[arg-type]  # only its address is used
        (self.cwd / "notes.txt").write_text(OUTPUT)
        for name in self.env:
            if name.endswith("_API_KEY"):
                self.env[name] = KEY
        self.env["ANTHROPIC_CUSTOM_HEADERS"] = f"X-Team: {HEADER}"
        (self.home / ".yume").mkdir()
        limits = f'[models."{MODELS[api].partition("/")[2]}"]\nwindow = 100000\nmax_output = 4000\n'
        (self.home / ".yume" / "config.toml").write_text(limits)

    def go(self, *argv: str, form: tuple[str, ...] = FLAT, **env: str) -> Ended:
        prompt = {"type": "user", "content": PROMPT}
        if form == NESTED:
            prompt = {"type": "user", "message": {"role": "user", "content": PROMPT}}  # type: ignore[dict-item]
        words = [*form, "--model", MODELS[self.api], "--max-retries", "1", "--retry-initial", "0.01", *argv]
        with self.server:
            return child.run(words, [prompt, {"!after": "result"}], cwd=self.cwd, env=self.env | env)

    def doctor(self, *argv: str) -> str:
        ended = child.run(["doctor", "--last-errors", *argv], [], cwd=self.cwd, env=self.env)
        assert (ended.code, ended.stderr) == (0, b"")
        return ended.stdout.decode()


def wires(api: str, *last: list[Json]) -> tuple[list[Json], ...]:
    """A conversation with a call that reads a file and one that is denied, and then these answers."""
    first = [say(ANSWER), call("Read", file_path="notes.txt"), call("Write", file_path="new.txt", content=INPUT)]
    return (wire_of(api, first), *last)


@pytest.mark.parametrize("api", sorted(MODELS))
def test_a_refused_request_is_explained_without_its_contents(tmp_path: Path, api: str) -> None:
    place = Place(tmp_path, api, *wires(api, refusal(400, f"odd: {PROMPT} and {KEY}")))
    ended = place.go(
        "--log-format", "json", "--debug-file", str(tmp_path / "debug.jsonl"), "--permission-mode", "dontAsk"
    )
    logged = [json.loads(line) for line in (tmp_path / "debug.jsonl").read_text().splitlines()]
    requests = [line for line in logged if line["message"] == "request"]
    model = MODELS[api].partition("/")[2]
    assert [(line["status"], line["attempt"], line["model"]) for line in requests] == [(200, 1, model), (400, 1, model)]
    assert all(line["address"].startswith(place.server.url) and line["duration_ms"] >= 0 for line in requests)
    failed = requests[1]
    assert (failed["request_id"], failed["code"], failed["retryable"]) == (REQUEST_ID, "odd_error", False)
    shape = failed["shape"]
    assert {"Read", "Write"} <= set(shape["tools"])
    assert len(shape["sequence"]) == shape["messages"] >= 3
    assert shape["bytes"] > sum(shape["parts"].values()) > 1_000
    assert "enum" in shape["schema"]
    assert shape["ids"]
    [decision] = [line for line in logged if line["message"] == "retry"]
    assert decision["decision"] == "give up: sending it again cannot help"
    decided = {line["tool"]: line["decision"] for line in logged if line["message"] == "tool_decision"}
    assert decided == {"Read": "allow", "Write": "deny"}
    done = {line["tool"]: line["is_error"] for line in logged if line["message"] == "tool_result"}
    assert done == {"Read": False, "Write": True}
    everything = (tmp_path / "debug.jsonl").read_text() + (place.home / ".yume" / "errors.jsonl").read_text()
    assert not [canary for canary in CANARIES if canary in everything]
    [error] = [line for line in ended.lines if line["type"] == "error"]
    [result] = [line for line in ended.lines if line["type"] == "result"]
    assert (error["request_id"], result["request_id"]) == (REQUEST_ID, REQUEST_ID)
    assert KEY.encode() not in ended.stdout + ended.stderr


def test_request_ids_in_the_claude_form_and_of_failures_inside_a_stream(tmp_path: Path) -> None:
    error = {"type": "error", "error": {"type": "api_error", "message": "broke"}}
    stream: list[Json] = [{"!headers": {"request-id": "req_stream"}}, error]
    place = Place(tmp_path, "anthropic-messages", stream)
    ended = place.go(form=NESTED)
    [line] = [line for line in ended.lines if line["type"] == "assistant"]
    [result] = [line for line in ended.lines if line["type"] == "result"]
    assert (line["request_id"], result["request_id"]) == ("req_stream", "req_stream")


def test_attempts_and_decisions_are_counted_and_text_lines_are_readable(tmp_path: Path) -> None:
    place = Place(tmp_path, "openai-chat", refusal(500, "later"))
    ended = place.go(YUME_LOG="debug")
    log = [line for line in ended.stderr.decode().splitlines() if " debug request " in line or " debug retry " in line]
    words = [[word for word in line.split() if word.startswith(("attempt=", "decision=", "status="))] for line in log]
    assert [sorted(each) for each in words] == [
        ["attempt=1", "status=500"],
        ['decision="send', "status=500"],
        ["attempt=2", "status=500"],
        ['decision="give', "status=500"],
    ]
    assert f"request_id={REQUEST_ID}" in log[0]


def test_records_are_bounded_private_and_can_be_switched_off(tmp_path: Path) -> None:
    place = Place(tmp_path, "openai-chat", refusal(401, "no"))
    assert place.doctor() == "No failed requests are recorded.\n"
    place.go(YUME_KEEP_ERRORS="0")
    assert not (place.home / ".yume" / "errors.jsonl").exists()
    place.server = FakeServer("openai-chat", [refusal(401, "no")])
    place.env["OPENROUTER_BASE_URL"] = place.server.url + "/v1"
    place.go()
    kept = place.home / ".yume" / "errors.jsonl"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert place.doctor("--json").count("\n") == 1
    text = place.doctor()
    assert "openrouter  some/model  401  auth\n" in text
    assert REQUEST_ID in text


def test_nothing_is_noted_without_debug_and_without_failures(tmp_path: Path) -> None:
    place = Place(tmp_path, "openai-chat", wire_of("openai-chat", [say("Hi.")]))
    ended = place.go()
    assert (ended.stderr, (place.home / ".yume" / "errors.jsonl").exists()) == (b"", False)
