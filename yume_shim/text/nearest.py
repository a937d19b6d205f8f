"""Suggests the name that somebody probably meant: a good suggestion or none."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

GOOD = 0.74
"""The least similarity (difflib's ratio): one wrong, missing or exchanged letter in a word of four."""


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that is most like this one, case aside; "" if none is like it."""
    import difflib

    by_lower = {each.lower(): each for each in known}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=GOOD)
    return by_lower[close[0]] if close else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """ " Did you mean 'x'?", with the blank before it; "" if there is no good suggestion."""
    near = nearest(name, known)
    return f" Did you mean '{near}'?" if near else ""
