"""What is in a folder, as far as a judgement needs it. Every search has a limit."""

from __future__ import annotations

import os
import re

from yume_shim.gate.paths import MAX_ENTRIES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.gate.paths import Flavour

MAX_BELOW = 10_000
"""Entries of a folder that is copied or moved as a whole; a larger one is asked about."""


def base_name(path: str, flavour: Flavour) -> str:
    """The last name of a path as the shell of this system sees it: only Windows separates names by `\\`."""
    return re.split(r"[/\\]" if flavour.windows else "/", path.rstrip("/\\" if flavour.windows else "/"))[-1]


def has_flag_like_names(folder: str) -> bool:
    """Whether a pattern in this folder may expand to a word that begins with `-`."""
    try:
        with os.scandir(folder) as entries:
            return any(count >= MAX_ENTRIES or entry.name.startswith("-") for count, entry in enumerate(entries))
    except FileNotFoundError:
        return False
    except OSError:
        return True


def names_below(folder: str) -> list[str] | None:
    """Everything below a folder, relative to it; None if it is not all visible or too much. Links are not followed."""
    found: list[str] = []
    waiting = [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    found.append(os.path.relpath(entry.path, folder))
                    if len(found) > MAX_BELOW:
                        return None
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError:
            return None
    return found
