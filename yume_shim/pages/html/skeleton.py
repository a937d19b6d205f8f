"""The frame of every page: head, styles, script, and a policy that forbids everything else.

The escaping keeps scripts out. The policy is a second wall: only the one script and the one style sheet of this program,
known by their hashes, run; nothing is fetched.
"""

from __future__ import annotations

import base64
import hashlib
import os

from yume_shim import __version__
from yume_shim.pages.html.escaping import attribute

_FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "assets")
_ICON = "data:image/svg+xml;base64," + base64.b64encode(
    b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#7b4b94"/>'
    b'<path d="M4 5h8M4 8h6M4 11h8" stroke="#fff" stroke-width="1.4" stroke-linecap="round"/></svg>'
).decode("ascii")
_assets: dict[str, str] = {}


def asset(name: str) -> str:
    """A file of `assets/`."""
    if name not in _assets:
        with open(os.path.join(_FOLDER, name), encoding="utf-8") as file:
            _assets[name] = file.read().replace("\r\n", "\n")
    return _assets[name]


def policy(scripts: tuple[str, ...], *, live: bool = False) -> str:
    """The content security policy of a page with these scripts. `live`: it may listen to the server it came from."""
    hashes = " ".join(_hash(asset(name)) for name in scripts)
    parts = [
        "default-src 'none'",
        f"style-src {_hash(asset('page.css'))}",
        f"script-src {hashes}",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return "; ".join([*parts, "connect-src 'self'"] if live else parts)


def generator() -> str:
    """What made a page; with the policy it says whether a page is like those that are made now."""
    return f"yume-shim {__version__}"


def frame(title: str, body: str, scripts: tuple[str, ...] = ("page.js",), *, live: bool = False) -> str:
    """A whole HTML file."""
    codes = "".join(f"<script>{asset(name)}</script>" for name in scripts)
    return (
        '<!doctype html>\n<html lang="en" dir="ltr">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy(scripts, live=live)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="referrer" content="no-referrer">\n'
        f'<meta name="generator" content="{generator()}">\n'
        '<meta name="color-scheme" content="light dark">\n<meta http-equiv="x-dns-prefetch-control" content="off">\n'
        f'<title>{attribute(title)}</title>\n<link rel="icon" href="{_ICON}">\n<style>{asset("page.css")}</style>\n</head>\n'
        f"<body>\n{body}\n{codes}\n</body>\n</html>\n"
    )


def _hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii") + "'"
