"""Converts HTML to readable text: to Markdown in a separate process, or to bare text if that takes too long."""

from __future__ import annotations

import os
import re
import sys

from yume_shim.text.codec import loads
from yume_shim.tools.web.html_worker import DROPPED, MAX_TITLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from yume_shim.types.ports import Cancel

SECONDS = 10.0
"""Time for the conversion. CPU time: 0.15 s to start the process, 0.4 s for an article of 500 KB."""
MAX_TAGS = 100_000
"""A page with more `<` is not given to the library: this many take it 4 s of CPU time and 50 MB."""
_BOOT = "import sys; sys.path[:] = sys.argv[1:]; from yume_shim.tools.web.html_worker import main; sys.exit(main())"
_TAG = re.compile(r"<[a-zA-Z/!?][^<>]*+>")
_CELL = re.compile(r"<t[dh]\b[^<>]*+>", re.IGNORECASE)
_BREAK = re.compile(r"</?(?:br|dd|div|dt|h[1-6r]|li|[ou]l|p|pre|section|article|table|tr)\b[^<>]*+>", re.IGNORECASE)
_DROPPED = re.compile(rf"<(/?)({'|'.join(name for name in DROPPED if name != 'head')})\b[^<>]*+>", re.IGNORECASE)
_TITLE = re.compile(r"<title[^<>]*+>([^<]*+)", re.IGNORECASE)
_BLANK_LINES = re.compile(r"\n{3,}")
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}charset=[\"']?([A-Za-z0-9_-]{1,40})", re.IGNORECASE)


def html_to_text(markup: str, cancel: Cancel) -> tuple[str, str]:
    """(title, text). Never fails, and never takes much longer than SECONDS. Raises Cancelled."""
    markup = markup.replace("\0", "")
    made = _by_worker(markup, cancel) if markup.count("<") <= MAX_TAGS else None
    return bare_text(markup) if made is None else made


def charset_in(data: bytes) -> str:
    """The encoding that a page names for itself, "" if none."""
    found = _META_CHARSET.search(data[:2048])
    return found.group(1).decode("ascii") if found else ""


def bare_text(markup: str) -> tuple[str, str]:
    """(title, text) without any layout but line breaks, in linear time whatever the page holds."""
    from html import unescape

    title = _TITLE.search(markup)
    text = _CELL.sub(" ", _BREAK.sub("\n", "".join(_outside_dropped(markup))))
    lines = [" ".join(line.split()) for line in unescape(_TAG.sub("", text)).split("\n")]
    heading = " ".join(unescape(title[1]).split())[:MAX_TITLE] if title else ""
    return heading, _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip()


def _outside_dropped(markup: str) -> Iterator[str]:
    place, dropping = 0, ""
    for found in _DROPPED.finditer(markup):
        closing, name = found[1], found[2].lower()
        if not dropping and not closing:
            yield markup[place : found.start()]
            dropping = name
        elif closing and name == dropping:
            place, dropping = found.end(), ""
    if not dropping:
        yield markup[place:]


def _by_worker(markup: str, cancel: Cancel) -> tuple[str, str] | None:
    """What the process made of the page; None if it failed or its time was up."""
    import subprocess

    from yume_shim.system.processes import start

    argv = [sys.executable, "-I", "-S", "-W", "ignore", "-c", _BOOT, *(path for path in sys.path if path)]
    env = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}  # and no secrets
    try:
        process = start(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=env,
        )
    except OSError:
        return None
    with cancel.guard(process.kill):
        try:
            made, _ = process.communicate(markup.encode("utf-8", "replace"), SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            made = b""
    cancel.check()
    try:
        page = loads(made)
    except ValueError:
        return None
    return page["title"], page["text"].strip()
