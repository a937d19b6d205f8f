"""A real MCP server made with the official package, for tests: `python mcp_server.py stdio | http PORT | sse PORT`."""

from __future__ import annotations

import sys

from mcp.server.mcpserver import Image, MCPServer

PNG = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"
    b"\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x56\xc7\x2f\x0d\x00\x00\x00\x00IEND\xaeB`\x82"
)
server = MCPServer("reference")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def fail() -> str:
    """Always fails."""
    raise ValueError("it broke")


@server.tool()
def picture() -> Image:
    """Returns a picture."""
    return Image(data=PNG, format="png")


@server.tool(structured_output=False)
def long(size: int) -> str:
    """Returns a long text."""
    return "x" * size


@server.resource("note://hello")
def hello() -> str:
    """A short note."""
    return "Hello from a resource."


@server.prompt()
def greet(name: str) -> str:
    """Greets somebody."""
    return f"Say hello to {name}."


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["http", port]:
            server.run("streamable-http", port=int(port))
        case ["sse", port]:
            server.run("sse", port=int(port))
        case _:
            server.run("stdio")
