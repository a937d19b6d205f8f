"""The configured chain of models, through the real program: who takes over, when, and when never."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.fake_server import FakeServer

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.types.blocks import Json

CHAIN = 'fallback = ["openrouter/spare-1", "google/gemini-3.5-flash"]\n'
BUSY: list[Json] = [
    {"!status": 529, "body": {"type": "error", "error": {"type": "overloaded_error", "message": "Busy."}}}
]
KEYS = {"ANTHROPIC_API_KEY": "key-a", "OPENROUTER_API_KEY": "key-o", "GEMINI_API_KEY": "key-g"}


def refusal(status: int, kind: str) -> list[Json]:
    return [{"!status": status, "body": {"type": "error", "error": {"type": kind, "message": "No."}}}]


CHAT: list[Json] = [
    {
        "id": "c1",
        "model": "spare-1",
        "choices": [{"index": 0, "delta": {"content": "Spare."}, "finish_reason": "stop"}],
    },
    {"!done": True},
]
CHAT_BUSY: list[Json] = [{"!status": 503, "body": {"error": {"message": "Busy too."}}}]
GEMINI: list[Json] = [
    {"candidates": [{"content": {"role": "model", "parts": [{"text": "Third."}]}, "finishReason": "STOP"}]},
]
CUT: list[Json] = [
    {
        "type": "message_start",
        "message": {"id": "m1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": {}},
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Half an"}},
    {"type": "error", "error": {"type": "invalid_request_error", "message": "No."}},
]


class World:
    """Three vendors on loopback, and a home whose config file names the chain."""

    def __init__(self, home: Path, first: list[Json], second: list[Json], third: list[Json]) -> None:
        self.home = home
        self.first = FakeServer("anthropic-messages", [first])
        self.second = FakeServer("openai-chat", [second])
        self.third = FakeServer("google-genai", [third])

    def run(self, *argv: str, config: str = CHAIN, **env: str) -> tuple[list[dict[str, Any]], str]:
        (self.home / ".yume").mkdir(exist_ok=True)
        (self.home / ".yume" / "config.toml").write_text(config, "utf-8")
        addresses = {
            "ANTHROPIC_BASE_URL": self.first.url,
            "OPENROUTER_BASE_URL": f"{self.second.url}/v1",
            "GOOGLE_GEMINI_BASE_URL": self.third.url,
        }
        known = child.clean_environment(self.home, **{**addresses, **KEYS, **env})
        flags = ("--output-format", "flat", "--max-retries", "0", "--model", "claude-sonnet-5-5")
        ended = child.run([*flags, *argv], [{"type": "user", "content": "Hi."}], cwd=self.home, env=known)
        return ended.lines, ended.stderr.decode()

    def asked(self) -> tuple[int, int, int]:
        return len(self.first.requests), len(self.second.requests), len(self.third.requests)

    def close(self) -> None:
        for server in (self.first, self.second, self.third):
            server.close()


def ending(lines: list[dict[str, Any]]) -> tuple[bool, str]:
    (result,) = [line for line in lines if line["type"] == "result"]
    return result["is_error"], result.get("result", "")


def test_the_second_takes_over(tmp_path: Path) -> None:
    world = World(tmp_path, BUSY, CHAT, GEMINI)
    lines, stderr = world.run()
    world.close()
    [told_on_stderr] = stderr.splitlines()
    assert told_on_stderr.endswith("openrouter/spare-1 takes over (overloaded)")
    assert ending(lines) == (False, "Spare.")
    assert world.asked() == (1, 1, 0)
    assert world.second.requests[0].headers["authorization"] == "Bearer key-o"
    told = [line for line in lines if "spare-1" in str(line) and line["type"] == "system"]
    assert told, lines


def test_the_third_when_the_second_is_busy_too(tmp_path: Path) -> None:
    world = World(tmp_path, BUSY, CHAT_BUSY, GEMINI)
    lines, _ = world.run()
    world.close()
    assert ending(lines) == (False, "Third.")
    assert world.asked() == (1, 1, 1)


@pytest.mark.parametrize(
    "first",
    [refusal(401, "authentication_error"), refusal(400, "invalid_request_error"), refusal(402, "billing_error"), CUT],
    ids=["auth", "bad request", "money", "after visible output"],
)
def test_never_where_another_model_would_not_help(first: list[Json], tmp_path: Path) -> None:
    world = World(tmp_path, first, CHAT, GEMINI)
    lines, _ = world.run()
    world.close()
    assert ending(lines)[0]
    assert world.asked() == (1, 0, 0)


def test_the_flag_goes_before_the_chain(tmp_path: Path) -> None:
    world = World(tmp_path, BUSY, CHAT, GEMINI)
    lines, _ = world.run("--fallback-model", "google/gemini-3.5-flash")
    world.close()
    assert ending(lines) == (False, "Third.")
    assert world.asked() == (1, 0, 1)


def test_one_without_a_key_is_passed_over(tmp_path: Path) -> None:
    world = World(tmp_path, BUSY, CHAT, GEMINI)
    lines, stderr = world.run(OPENROUTER_API_KEY="")
    world.close()
    assert ending(lines) == (False, "Third.")
    assert "fallback model openrouter/spare-1: no key for provider 'openrouter'" in stderr


def test_an_address_given_by_flag_is_not_for_the_fallback(tmp_path: Path) -> None:
    """Its key would go to somebody else's server."""
    world = World(tmp_path, BUSY, CHAT, GEMINI)
    flags = ("--provider", "anthropic", "--api-base", world.first.url)
    lines, _ = world.run(*flags, ANTHROPIC_BASE_URL="http://127.0.0.1:1")
    world.close()
    assert ending(lines) == (False, "Spare.")
    assert world.asked() == (1, 1, 0)
    assert "key-o" not in str(world.first.requests)


def test_an_address_given_by_the_environment_is_not_for_the_model_of_a_resumed_session(tmp_path: Path) -> None:
    world = World(tmp_path, BUSY, CHAT, GEMINI)
    flags = ("--model", "openrouter/spare-1")
    lines, _ = world.run(*flags)
    resume = ("--output-format", "flat", "--resume", lines[0]["session_id"])
    addresses = {"OPENROUTER_BASE_URL": f"{world.second.url}/v1", "YUME_API_BASE": world.first.url}
    env = child.clean_environment(tmp_path, **KEYS, **addresses)
    ended = child.run(resume, [{"type": "user", "content": "And?"}], cwd=tmp_path, env=env)
    world.close()
    assert ending(ended.lines) == (False, "Spare.")
    assert world.asked() == (0, 2, 0)


@pytest.mark.parametrize("said", [{}, {"YUME_PROVIDER": "compatible"}, {"YUME_MODEL": "compatible/m"}])
def test_a_resumed_session_of_a_provider_without_an_address_takes_the_one_that_is_given(
    said: dict[str, str], tmp_path: Path
) -> None:
    world = World(tmp_path, BUSY, CHAT, GEMINI)
    lines, _ = world.run("--provider", "compatible", "--api-base", f"{world.second.url}/v1", "--model", "spare-1")
    resume = ("--output-format", "flat", "--resume", lines[0]["session_id"], "--api-base", f"{world.second.url}/v1")
    env = child.clean_environment(tmp_path, **KEYS, **said)
    ended = child.run(resume, [{"type": "user", "content": "And?"}], cwd=tmp_path, env=env)
    world.close()
    assert ending(ended.lines) == (False, "Spare.")
    assert world.second.requests[1].json()["model"] == "spare-1"


def test_the_same_model_at_another_vendor_is_another_one(tmp_path: Path) -> None:
    world = World(tmp_path, CHAT, CHAT_BUSY, GEMINI)
    config = f"""
fallback = ["acme/spare-1"]
[endpoints.acme]
api = "openai-chat"
base_url = "{world.first.url}/v1"
key_optional = true
"""
    lines, _ = world.run("--model", "openrouter/spare-1", config=config)
    world.close()
    assert ending(lines) == (False, "Spare.")
    assert world.asked() == (1, 1, 0)


@pytest.mark.parametrize("config", ["fallback = 3", "fallback = [1]", 'fallback = [""]'])
def test_a_chain_that_makes_no_sense(config: str, tmp_path: Path) -> None:
    world = World(tmp_path, BUSY, CHAT, GEMINI)
    (tmp_path / ".yume").mkdir()
    (tmp_path / ".yume" / "config.toml").write_text(config, "utf-8")
    ended = child.run(["--output-format", "flat"], [], cwd=tmp_path, env=child.clean_environment(tmp_path, **KEYS))
    world.close()
    assert ended.code == 2
    assert "`fallback` must be a list of texts" in (ended.stdout + ended.stderr).decode()
