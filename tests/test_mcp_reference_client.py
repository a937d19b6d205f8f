"""The servers of the MCP goldens, driven by the official package's client and by ours: tools and results agree."""

from __future__ import annotations

import json
import sys
import traceback
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from mcp import ClientSession, MCPError, StdioServerParameters, stdio_client

from tests.helpers import session_cases
from tests.helpers.mcp_desk import Desk
from yume_shim.engine.cancel import CancelSignal
from yume_shim.types.blocks import Image, Text
from yume_shim.types.errors import ToolFailed
from yume_shim.types.outputs import ToolContext
from yume_shim.types.settings import McpServer

if TYPE_CHECKING:
    from pathlib import Path

    from mcp.types import CallToolResult

    from tests.helpers.session_cases import Case

API = "anthropic-messages-"
CASES = [
    case
    for case in session_cases.cases()
    if case.path.name.startswith(f"{API}mcp-") and any((case.path / "workspace").glob("*.py"))
]
CALL_S = 5.0
MALFORMED = {"lie": "the package refuses the whole list of tools, we leave out the tool whose schema is malformed"}
"""Cases in which the two differ on purpose."""


def server_of(case: Case) -> tuple[Path, list[str]]:
    [script] = (case.path / "workspace").glob("*.py")
    return script, ["0.1"] if case.path.name.endswith("slow") else []


def calls_of(case: Case) -> list[tuple[str, dict[str, Any]]]:
    """(full name, input) of each call that the model of the golden makes, except those that never end."""
    found = []
    for path in sorted((case.path / "wire").iterdir()):
        frames = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        names = [each["content_block"]["name"] for each in frames if "name" in each.get("content_block", {})]
        texts = [each["delta"]["partial_json"] for each in frames if "partial_json" in each.get("delta", {})]
        found += [(name, json.loads(text)) for name, text in zip(names, texts, strict=True)]
    return [(name, given) for name, given in found if name.startswith("mcp__") and not name.endswith("__hang")]


async def by_package(case: Case, folder: Path) -> tuple[list[dict[str, Any]], list[Any]]:
    script, more = server_of(case)
    params = StdioServerParameters(command=sys.executable, args=[str(script), *more], cwd=folder)
    async with stdio_client(params) as streams, ClientSession(*streams, read_timeout_seconds=CALL_S) as session:
        await session.initialize()
        listed = await session.list_tools()
        tools = [tool.model_dump(by_alias=True, exclude_none=True) for tool in listed.tools]
        results: list[Any] = []
        for name, given in calls_of(case):
            own = name.split("__")[2]
            known = next((tool["name"] for tool in tools if tool["name"].replace(".", "_") == own), own)
            try:
                results.append(reference_result(await session.call_tool(known, given)))
            except MCPError:
                results.append("failed")
                break  # the package does not start a server again
        return tools, results


def reference_result(result: CallToolResult) -> Any:
    if result.structured_content is not None and not result.is_error:
        return result.structured_content
    return [result.is_error is True, *(kind_of(block.model_dump(by_alias=True)) for block in result.content)]


def kind_of(block: dict[str, Any]) -> tuple[str, str]:
    return block["type"], block.get("text") or block.get("data") or block.get("uri") or ""


def by_us(case: Case, desk: Desk) -> tuple[list[dict[str, Any]], list[Any]]:
    script, more = server_of(case)
    config = McpServer(name="kit", command=sys.executable, args=(str(script), *more), waited_for=True)
    servers = desk.open(config, call_s=CALL_S)
    [server] = servers.all()
    tools = [
        {"name": own, "description": spec.description, "inputSchema": spec.schema}
        for own, spec in server.tools.values()
    ]
    results: list[Any] = []
    for name, given in calls_of(case):
        full = f"mcp__kit__{name.split('__')[2]}"
        try:
            output = servers.call_named(full, given, ToolContext("c1", CancelSignal()))
        except ToolFailed:
            results.append("failed")
            break
        assert output is not None, full
        content = (Text(output.content),) if isinstance(output.content, str) else output.content
        structured = isinstance(output.structured, dict) and output.structured.get("structuredContent")
        results.append(structured or [output.is_error is True, *content])
    return tools, results


def agrees(theirs: Any, ours: Any) -> None:
    if not isinstance(theirs, list):
        assert ours == theirs
        return
    assert ours[0] == theirs[0]
    said = " ".join(block.text for block in ours if isinstance(block, Text))
    pictures = [block.data for block in ours if isinstance(block, Image)]
    for kind, text in theirs[1:]:
        match kind:
            case "image":
                assert text in pictures
            case "audio":
                assert "Audio" in said
            case _:
                assert text in said


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.path.name.removeprefix(API))
def test_tools_and_results_agree(case: Case, tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    try:
        ours = by_us(case, desk)
    finally:
        desk.close()
    kind = case.path.name.removeprefix(f"{API}mcp-")
    if kind in MALFORMED:
        with pytest.raises(ExceptionGroup) as refused:
            anyio.run(by_package, case, tmp_path)
        assert "validation error" in "".join(traceback.format_exception(refused.value))
        return
    theirs = anyio.run(by_package, case, tmp_path)
    named = [{key: tool.get(key, "") for key in ("name", "description", "inputSchema")} for tool in theirs[0]]
    assert ours[0][: len(named)] == named
    assert len(ours[1]) == len(theirs[1])
    for one, other in zip(theirs[1], ours[1], strict=True):
        agrees(one, other)


def test_every_hazard_has_a_golden_and_the_servers_of_both_apis_are_the_same() -> None:
    hazards = {"slow", "crash", "hang", "flood", "lie", "list-changed", "huge", "image", "tools"}
    found = {case.path.name: case for case in session_cases.cases() if "-mcp-" in case.path.name}
    for hazard in hazards:
        first, second = found[f"{API}mcp-{hazard}"], found[f"openai-chat-mcp-{hazard}"]
        assert server_of(first)[0].read_bytes() == server_of(second)[0].read_bytes()
