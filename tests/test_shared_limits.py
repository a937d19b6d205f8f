"""Real processes and one limit: when the first is refused with 429, the others send nothing until the limit ends."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.scripted_model import ModelServer, refuse, say

if TYPE_CHECKING:
    from pathlib import Path

    from tests.helpers.fake_server import Exchange

WAIT_S = 2.0


class Timed(ModelServer):
    """Keeps when each request came, and its key."""

    def __init__(self, *answers: list[Any]) -> None:
        self.came: list[tuple[float, str]] = []
        super().__init__(*answers)

    def _play(self, exchange: Exchange) -> bool:
        self.came.append((time.monotonic(), exchange.request.headers.get("x-api-key", "")))
        return super()._play(exchange)


def start(base: Path, server: ModelServer, *argv: str, **more: str) -> child.Child:
    env = child.clean_environment(base, ANTHROPIC_BASE_URL=server.url, **{"ANTHROPIC_API_KEY": "key-one-1111", **more})
    return child.start(("--output-format", "flat", "--model", "sonnet", *argv), cwd=base, env=env)


def ask(program: child.Child) -> None:
    program.send({"type": "user", "content": "Hello"})


@pytest.mark.parametrize("transport", ["direct", "sdk"])
def test_the_second_process_waits_with_the_first(transport: str, tmp_path: Path) -> None:
    refused = [refuse(429, WAIT_S)]
    with Timed([say("Warm.")], [say("Warm.")], refused, [say("One.")], [say("Two.")]) as server:
        first, second = (start(tmp_path, server, "--transport", transport) for _ in range(2))
        for program in (first, second):  # the SDK is loaded before times count
            ask(program)
            program.wait_for("result")
        ask(first)
        first.wait_for("retry")
        told = time.monotonic()
        ask(second)
        retry = second.wait_for("retry")
        for program in (first, second):
            assert program.wait_for("result")["is_error"] is False
            assert program.end().code == 0
    assert "another process found the key (ANTHROPIC_API_KEY) at its limit" in str(retry)
    assert len(server.came) == 5, "one refusal for both"
    assert min(at for at, _ in server.came[3:]) >= told + WAIT_S - 1.0
    assert all(at - server.came[2][0] >= WAIT_S - 0.1 for at, _ in server.came[3:])


def test_another_key_is_used_at_once_and_a_wait_can_be_stopped(tmp_path: Path) -> None:
    (tmp_path / ".yume").mkdir()
    (tmp_path / ".yume" / "config.toml").write_text('[keys]\nanthropic = ["key-one-1111", "key-two-2222"]\n')
    bare = tmp_path / "bare.toml"
    bare.write_text("")
    off = tmp_path / "off.toml"
    off.write_text("share_limits = false\n")
    with Timed([refuse(429, 40)], [say("Two keys.")], [say("Alone.")]) as server:
        first = start(tmp_path, server, YUME_CONFIG=str(bare))
        ask(first)
        first.wait_for("retry")
        several = start(tmp_path, server, ANTHROPIC_API_KEY="")
        ask(several)
        assert "key 1 of 2" in str(several.wait_for("warning"))
        assert several.wait_for("result")["is_error"] is False
        waiting = start(tmp_path, server, YUME_CONFIG=str(bare))
        ask(waiting)
        waiting.wait_for("retry")
        waiting.send({"type": "interrupt"})
        waiting.wait_for("result")
        alone = start(tmp_path, server, YUME_CONFIG=str(off))
        ask(alone)
        assert alone.wait_for("result")["is_error"] is False
        for program in (several, waiting, alone):
            program.end()
        first.kill()
    assert [key for _, key in server.came] == ["key-one-1111", "key-two-2222", "key-one-1111"]
