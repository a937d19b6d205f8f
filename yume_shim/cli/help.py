"""`--help`, made from the flag table."""

from __future__ import annotations

from yume_shim.cli.flags import FLAGS

_HEAD = """\
Usage: yume-shim [options] [prompt]
       yume-shim acp | doctor | mcp | models | replay | sessions | watch

Implements the Claude CLI's interface for any model. Without options it reads JSON lines from stdin and writes the flat
dialect; with -p, a prompt or a Claude --output-format it behaves like the Claude CLI.

"""
_WIDTH = 44


def help_text() -> str:
    """The whole help."""
    lines = [_HEAD, "Options:\n"]
    for flag in FLAGS:
        if flag.status == "refused":
            continue
        text = flag.help if flag.status == "honoured" else f"{flag.help} (accepted, without effect)"
        if flag.choices:
            text += f" ({', '.join(flag.choices)})"
        lines.append(f"  {flag.usage:<{_WIDTH}} {text}\n")
    refused = ", ".join(flag.names[0] for flag in FLAGS if flag.status == "refused")
    lines.append(f"\nNot available in a headless program: {refused}\n")
    return "".join(lines)
