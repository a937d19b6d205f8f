"""argv: the Claude CLI's flags for hosts, sub-commands for people."""
