"""What users add: MCP servers. Each kind has a room of its own, loaded only when something of it is configured."""
