"""Two hundred tools work over every API: what an endpoint or the context has no room for is found with ToolSearch."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.scripted_model import ModelServer, Refuse, api_of, call, say, wire_of
from tests.helpers.vendor_place import FLAT, MODELS, NESTED, SESSION, VendorPlace

if TYPE_CHECKING:
    from tests.helpers.fake_server import Exchange

COUNT = 200
SERVER = Path(__file__).parent / "helpers" / "many_tools_server.py"
LIMITS = {"openai-chat": 128, "openai-responses": 128, "google-genai": 512}
WORDS = {"anthropic-messages": 150, "ollama-chat": 150}
"""Endpoints without a limit: descriptions that take more than a tenth of the window."""
LAST = "mcp__many__tool_199"


def offered(body: dict[str, Any]) -> list[str]:
    """The names of the tools of a request, over any API."""
    tools = body.get("tools", [])
    if tools and "functionDeclarations" in tools[0]:
        tools = tools[0]["functionDeclarations"]
    return [tool.get("function", tool)["name"] for tool in tools]


class LimitedModel(ModelServer):
    """Refuses a request with more tools than its API's vendor takes."""

    limits = LIMITS

    def _play(self, exchange: Exchange) -> bool:
        if exchange.request.method == "POST" and "/show" not in exchange.request.path:
            api = api_of(exchange.request.path)
            most = self.limits.get(api, 0)
            if most and len(offered(exchange.request.json())) > most:
                refusal = Refuse(400, message=f"Invalid 'tools': array too long. Expected an array of at most {most}")
                return self.play(exchange, api, wire_of(api, [refusal]))
        return super()._play(exchange)


def argv(api: str) -> list[str]:
    config = {"command": sys.executable, "args": [str(SERVER), str(COUNT), str(WORDS.get(api, 3))]}
    given = json.dumps({"mcpServers": {"many": config}})
    return ["--model", MODELS[api], "--mcp-config", given, "--allowedTools", "mcp__many"]


def bodies(server: ModelServer) -> list[dict[str, Any]]:
    return [each.json() for each in server.requests if each.method == "POST" and "/show" not in each.path]


def notices(lines: list[dict[str, Any]]) -> list[str]:
    return [line["message"] for line in lines if line.get("code") == "tools_deferred"]


@pytest.mark.parametrize("api", MODELS)
def test_a_tool_out_of_two_hundred_is_found_and_called(tmp_path: Path, api: str) -> None:
    deferred = api != "google-genai"  # 200 are below its limit, and a small part of its window
    found = [[call("ToolSearch", query="weather model 199", max_results=1)]] if deferred else []
    with LimitedModel(*found, [call(LAST, city="Kyoto")], [say("Sunny.")], [say("Bye.")]) as server:
        place = VendorPlace(tmp_path, server)
        prompts = [{"type": "user", "content": text} for text in ("Weather?", "Thanks")]
        lines = place.run("--session-id", SESSION, *argv(api), lines=prompts, form=FLAT)
        assert server.left == 0
        asked = [offered(body) for body in bodies(server)]
    results = [line["content"] for line in lines if line["type"] == "tool_result"]
    assert "tool_199: sunny in Kyoto" in str(results[-1])
    if not deferred:
        assert all(LAST in names and "ToolSearch" not in names for names in asked)
        assert notices(lines) == []
        return
    assert "mcp__many__tool_199: Weather model 199." in str(results[0])
    assert [LAST in names for names in asked] == [False, True, True, True]
    assert all("ToolSearch" in names and "mcp__many__tool_000" in names for names in asked)
    assert asked[1] == [*asked[0], LAST] == asked[2] == asked[3]
    [notice] = notices(lines)
    assert "tools are deferred" in notice
    assert "ToolSearch" in notice


@pytest.mark.parametrize("api", ["ollama-chat", "anthropic-messages"])
def test_a_limit_that_only_the_refusal_names_is_kept(tmp_path: Path, api: str) -> None:
    """The request is repeated with fewer tools, and the next process knows the limit."""
    find = [call("ToolSearch", query="select:mcp__many__tool_199")]
    with LimitedModel(find, [call(LAST, city="Kyoto")], [say("Sunny.")], [say("Again.")]) as server:
        server.limits = {api: 60}
        place = VendorPlace(tmp_path, server)
        flags = argv(api)
        flags[3] = flags[3].replace('"150"', '"3"')  # short descriptions: the context has room for all
        lines = place.run(*flags, lines=[{"type": "user", "content": "Weather?"}], form=FLAT)
        place.run(*flags, lines=[{"type": "user", "content": "And now?"}], form=FLAT)
        assert server.left == 0
        counts = [len(offered(body)) for body in bodies(server)]
    assert "tool_199: sunny in Kyoto" in str([line for line in lines if line["type"] == "tool_result"][-1])
    assert counts[0] > 60
    assert counts[1:] == [45, 46, 46, 45]
    assert len(notices(lines)) == 1


def test_a_deferred_tool_that_is_called_directly_runs_and_a_resumed_session_offers_it(tmp_path: Path) -> None:
    with LimitedModel([call(LAST, city="Oslo")], [say("Done.")], [say("Again.")]) as server:
        place = VendorPlace(tmp_path, server)
        for flag in ("--session-id", "--resume"):
            lines = place.run(
                flag, SESSION, *argv("openai-chat"), lines=[{"type": "user", "content": "Go"}], form=NESTED
            )
            if flag == "--session-id":
                assert "tool_199: sunny in Oslo" in json.dumps(lines)
        asked = [offered(body) for body in bodies(server)]
    assert [LAST in names for names in asked] == [False, True, True]


def test_found_tools_never_pass_the_limit(tmp_path: Path) -> None:
    """More are found than there is room for: the ones found last are offered."""
    queries = [[call("ToolSearch", query="select:" + ",".join(batch))] for batch in batches()]
    with LimitedModel(*queries, [say("Done.")]) as server:
        place = VendorPlace(tmp_path, server)
        place.run(*argv("openai-responses"), lines=[{"type": "user", "content": "Go"}], form=FLAT)
        asked = [offered(body) for body in bodies(server)]
        assert server.left == 0
    assert max(map(len, asked)) == LIMITS["openai-responses"]
    assert set(batches()[-1]) <= set(asked[-1])


def batches() -> list[list[str]]:
    return [[f"mcp__many__tool_{number:03d}" for number in range(start, start + 20)] for start in (140, 160, 180)]


@pytest.mark.parametrize(("value", "searched"), [("false", False), ("true", True), ("auto:100", False)])
def test_the_share_of_the_context_is_set_as_in_the_claude_cli(tmp_path: Path, value: str, *, searched: bool) -> None:
    with LimitedModel([say("Hi.")]) as server:
        place = VendorPlace(tmp_path, server)
        place.env["ENABLE_TOOL_SEARCH"] = value
        place.run(*argv("anthropic-messages"), lines=[{"type": "user", "content": "Go"}], form=FLAT)
        [names] = [offered(body) for body in bodies(server)]
    assert ("ToolSearch" in names, LAST in names) == (searched, not searched)
