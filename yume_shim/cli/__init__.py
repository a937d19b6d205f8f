"""The command line: the Claude CLI's flags for hosts, sub-commands for users."""
