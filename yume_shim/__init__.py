"""yume_shim: any model behind the Claude CLI's interface. Imports nothing, so that start-up stays cheap."""

__version__ = "0.1.0"

CLAUDE_VERSION = "2.1.325"
"""The Claude CLI release whose interface is spoken; hosts read it from `--version` and from `system/init`."""
