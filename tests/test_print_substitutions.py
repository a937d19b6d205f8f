"""What was substituted is on stderr in `-p`, once, while stdout holds the answer alone: with real processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.helpers import child
from tests.helpers.fake_server import FakeServer

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.types.blocks import Json

BIG = "".join(f"line {number} with a few words in it\n" for number in range(400))
FORMS = ("text", "json", "stream-json")


def claude(*blocks: Json, stop: str = "end_turn", counted: int) -> list[Json]:
    usage = {"input_tokens": counted}
    frames: list[Json] = [{"type": "message_start", "message": {"id": "msg_1", "model": "m", "usage": usage}}]
    for index, block in enumerate(blocks):
        frames += [
            {"type": "content_block_start", "index": index, "content_block": block},
            {"type": "content_block_stop", "index": index},
        ]
    end = {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 2}}
    return [*frames, end, {"type": "message_stop"}]


def thinking(text: str) -> Json:
    return {"type": "thinking", "thinking": text, "signature": "c2ln"}


def reads(number: int) -> list[Json]:
    given = {"file_path": "big.txt", "offset": number}
    call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Read", "input": given}
    return claude(thinking(f"Round {number}."), call, stop="tool_use", counted=4_000 * number)


DONE = claude({"type": "text", "text": "Done."}, counted=30_000)


def refusal(message: str) -> list[Json]:
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    return [{"!status": 400, "body": body}]


def ask(home: Path, api: str, wires: list[list[Json]], *argv: str, config: str = "") -> tuple[child.Ended, list[Json]]:
    (home / "big.txt").write_text(BIG)
    (home / ".yume").mkdir(exist_ok=True)
    with FakeServer(api, wires) as server:
        endpoint = f'[endpoints.there]\napi = "{api}"\nbase_url = "{server.url}"\nkey_optional = true\n'
        (home / ".yume" / "config.toml").write_text(config + endpoint)
        ended = child.run(["-p", "hi", *argv], [], cwd=home, env=child.clean_environment(home))
        return ended, [received.json() for received in server.requests]


def flags(form: str) -> tuple[str, ...]:
    verbose = ("--verbose",) if form == "stream-json" else ()
    return ("--model", "there/claude-sonnet-5-5", "--output-format", form, *verbose)


def told(ended: child.Ended, words: str) -> list[str]:
    return [line for line in ended.stderr.decode().splitlines() if words in line]


@pytest.mark.parametrize("form", FORMS)
def test_trimmed_history_and_stale_reasoning_are_reported_once(tmp_path: Path, form: str) -> None:
    """The second prompt continues a session whose tool results are too large for the size that was set."""
    wires = [*(reads(number) for number in range(1, 5)), DONE]
    first, _ = ask(tmp_path, "anthropic-messages", wires, *flags(form))
    assert (first.code, first.stderr) == (0, b"")
    again = [*(reads(number) for number in range(5, 8)), DONE]
    config = "max_history_tokens = 9000\n"
    ended, bodies = ask(tmp_path, "anthropic-messages", again, "--continue", *flags(form), config=config)
    assert ended.code == 0, ended.stderr
    assert ["Round 1." in str(body) for body in bodies] == [False] * 4
    assert len(told(ended, "old tool results trimmed")) == 1, ended.stderr
    assert len(told(ended, "reasoning from before a change of the conversation left out")) == 1, ended.stderr
    assert ended.stdout == b"Done.\n" or form != "text"


SIGNATURE = "messages.1.content.0: Invalid `signature` in `thinking` block"


@pytest.mark.parametrize("form", FORMS)
def test_reasoning_that_was_refused_is_reported(tmp_path: Path, form: str) -> None:
    ended, bodies = ask(tmp_path, "anthropic-messages", [reads(1), refusal(SIGNATURE), DONE], *flags(form))
    assert ended.code == 0, ended.stderr
    assert ["Round 1." in str(body) for body in bodies] == [False, True, False]
    assert len(told(ended, "sent again: without")) == 1, ended.stderr


def test_a_parameter_that_was_refused_is_reported(tmp_path: Path) -> None:
    refused = [{"!status": 400, "body": {"error": {"message": "Unsupported parameter: 'top_p'", "param": "top_p"}}}]
    choice = {"index": 0, "delta": {"content": "Done."}, "finish_reason": "stop"}
    good: list[Json] = [{"id": "c", "model": "m", "choices": [choice]}, {"!done": True}]
    config = "top_p = 0.5\n"
    ended, bodies = ask(tmp_path, "openai-chat", [refused, good], "--model", "there/m", config=config)
    assert (ended.code, ended.stdout) == (0, b"Done.\n"), ended.stderr
    assert ["top_p" in body for body in bodies] == [True, False]
    [line] = told(ended, "sent again: without")
    assert "top_p" in line
