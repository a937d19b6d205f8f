"""The MCP client: connects to servers over stdio, HTTP, SSE or the host, and offers their tools and resources."""
