"""For a person at the terminal who has started the program without a prompt: what it is, and what to type."""

from __future__ import annotations

import os

from yume_shim import __version__

STDERR = 2
GREETING = """\
yume-shim {version} speaks JSON lines with programs, and waits for them here.
To ask one question: yume-shim -p "your question"   First time: yume-shim init
Or type {{"type":"user","content":"Hello"}}  Ctrl-D ends. More: yume-shim --help
"""
GOODBYES = ("exit", "quit", "q", "bye", ":q", ":wq")
LONGEST_QUOTE = 200
"""Characters of what was typed that are shown again."""


def greet() -> None:
    """Say it in three lines on stderr: stdout belongs to the protocol."""
    _say(GREETING.format(version=__version__))


def say_how(line: bytes) -> bool:
    """If a person typed plain words, say how they become a prompt; False for what looks like JSON."""
    words = " ".join(line.decode("utf-8", "replace").split())
    if words[:1] in ("", "{", "["):
        return False
    from yume_shim.text.codec import dumps

    if words.lower() in GOODBYES:
        _say("To end: Ctrl-D.\n")
        return True
    if words.lower() in ("help", "?"):
        greet()
        return True
    shown = "".join(char if char.isprintable() else " " for char in words[:LONGEST_QUOTE])
    if len(words) > LONGEST_QUOTE:
        shown = "your question"
    _say(
        "Nothing was sent: a prompt is a line of JSON here. Type this instead:\n"
        f"  {dumps({'type': 'user', 'content': shown}).decode()}\n"
        "or press Ctrl-D and ask in the shell:\n"
        f"  yume-shim -p {_quoted(shown)}\n"
    )
    return True


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _say(text: str) -> None:
    try:
        os.write(STDERR, text.encode("utf-8", "replace"))
    except OSError:
        pass  # stderr is closed: there is nobody to tell
