"""Makes text safe inside HTML. Everything foreign goes through `prose`, `code` or `attribute`, and nothing else.

Besides the five characters of markup, characters that change how other text looks are made visible: controls, overrides of
the writing direction, invisible tags; in code also every other invisible character. Joiners stay, because emoji and Persian need them.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match

_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})
_ALWAYS = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202d\u202e\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f"
_IN_PROSE = re.compile(f"[{_ALWAYS}]")
_IN_CODE = re.compile(f"[{_ALWAYS}\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def prose(text: str) -> str:
    """Text inside an element with `dir=auto`."""
    return _IN_PROSE.sub(_shown, text.translate(_MARKUP))


def code(text: str) -> str:
    """Code, commands, names of files and tools: nothing in it may be invisible."""
    return _IN_CODE.sub(_shown, text.translate(_MARKUP))


def attribute(text: str) -> str:
    """The value of an attribute, for use between double quotes."""
    return _IN_CODE.sub(_named, text.translate(_MARKUP)).replace("\n", "&#10;")


def link_target(url: str) -> str:
    """An address that a link may have, ready for an attribute; "" for everything but the web and mail."""
    if not re.match(r"(?:https?://|mailto:)[^\s\x00-\x1f]", url, re.IGNORECASE) or len(url) > 4_000:
        return ""
    return attribute(url)


def _shown(found: Match[str]) -> str:
    return f'<span class="ctl">{_named(found)}</span>'


def _named(found: Match[str]) -> str:
    return f"⟨U+{ord(found[0]):04X}⟩"
