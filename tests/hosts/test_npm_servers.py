"""MCP servers from npm, as users run them: every kind of content, prompts, resources, progress, roots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.helpers.client_packages import from_npm, node
from tests.helpers.mcp_desk import Desk, call, only_text, status
from yume_shim.engine.cancel import CancelSignal
from yume_shim.extensions.mcp.prompts import prompt_text
from yume_shim.types.blocks import Image, Text
from yume_shim.types.settings import McpServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from yume_shim.extensions.mcp.servers import McpServers
    from yume_shim.types.events import ProgressReport

EVERYTHING = "@modelcontextprotocol/server-everything@2026.8.31"
FILES = "@modelcontextprotocol/server-filesystem@2026.8.31"
pytestmark = [pytest.mark.node, pytest.mark.timeout(300)]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.close()


def opened(desk: Desk, package: str, *args: str) -> McpServers:
    name = package.rpartition("@")[0]
    script = from_npm(package) / "node_modules" / name / "dist" / "index.js"
    return desk.open(McpServer(name="npm", command=node(), args=(str(script), *args), waited_for=True))


def test_everything(desk: Desk, tmp_path: Path) -> None:
    servers = opened(desk, EVERYTHING)
    assert status(servers) == [("connected", "")]
    assert only_text(call(servers, "mcp__npm__echo", message="hi")) == "Echo: hi"
    assert "5" in only_text(call(servers, "mcp__npm__get-sum", a=2, b=3))
    picture = call(servers, "mcp__npm__get-tiny-image").content
    assert [type(block) for block in picture] == [Text, Image, Text, Text]
    assert desk.saved["c1.png"].startswith(b"\x89PNG")
    links = call(servers, "mcp__npm__get-resource-links", count=2)
    assert [link["uri"].startswith("demo://resource/") for link in links.structured["resourceLinks"]] == [True, True]
    blob = call(servers, "mcp__npm__get-resource-reference", resourceType="Blob", resourceId=1).content
    assert any("it was saved to saved/c1." in block.text for block in blob if isinstance(block, Text))
    weather = call(servers, "mcp__npm__get-structured-content", location="Chicago")
    assert "temperature" in weather.structured["structuredContent"]
    reports: list[ProgressReport] = []
    call(servers, "mcp__npm__trigger-long-running-operation", reports=reports, duration=0.2, steps=2)
    assert [(report.progress, report.total) for report in reports] == [(1, 2), (2, 2)]
    assert tmp_path.as_uri() in str(call(servers, "mcp__npm__get-roots-list").content)
    assert "accept" in str(call(servers, "mcp__npm__trigger-elicitation-request").content).lower()
    listed = str(call(servers, "ListMcpResourcesTool").content)
    assert "demo://resource/static/document/features.md" in listed
    read = call(servers, "ReadMcpResourceTool", server="npm", uri="demo://resource/static/document/features.md")
    assert len(str(read.content)) > 500
    asked = prompt_text(servers.all(), "mcp__npm__args-prompt", "Kyoto Japan", CancelSignal())
    assert asked is not None
    assert "Kyoto" in asked
    failed = call(servers, "mcp__npm__get-sum", a="two")
    assert failed.is_error


def test_the_file_system(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("hello")
    servers = opened(desk, FILES, str(tmp_path))
    assert status(servers) == [("connected", "")]
    assert "hello" in str(call(servers, "mcp__npm__read_text_file", path=str(tmp_path / "note.txt")).content)
    call(servers, "mcp__npm__write_file", path=str(tmp_path / "made.txt"), content="made")
    assert (tmp_path / "made.txt").read_text() == "made"
    assert call(servers, "mcp__npm__read_text_file", path="/etc/hostname").is_error
    hints = {spec.name: spec.parallel for spec in servers.specs()}
    assert (hints["mcp__npm__read_text_file"], hints["mcp__npm__write_file"]) == (True, False)
