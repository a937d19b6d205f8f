"""Commands that mean something else to the programs of macOS, which come from BSD: the tables of harmless commands
describe those of GNU. Pure; what differs is asked about."""

from __future__ import annotations

from yume_shim.gate.read_only_table import COMMANDS as READING
from yume_shim.gate.writing_commands import COMMANDS as WRITING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.gate.shell import Word

_PERMUTES = frozenset(("rg", "jq"))
"""Programs that are the same on every system, and take flags after operands."""
_LS_VALUES = frozenset("wTI")
"""Flags of `ls` that have a value with GNU, and none with BSD, where the next word is a path."""

_GREPS = frozenset(("grep", "egrep", "fgrep"))
"""The number of `-C` may have to be attached: else it is the pattern, and the pattern is a file."""


def differs(words: tuple[Word, ...]) -> bool:
    """Whether a program of BSD may take a word for something else. A flag after an operand is an operand: `uniq a -c`
    writes a file `-c`. `sed -i` takes the next word for the ending of a copy, so that a path becomes the script."""
    name, texts = words[0].text, [word.text for word in words[1:]]
    if name == "sed":
        return any(text.startswith(("-i", "-I", "--i")) for text in texts)
    if name == "ls" and any(text[:1] == "-" and text[:2] != "--" and _LS_VALUES & set(text) for text in texts):
        return True
    if name in _GREPS and any(text[:1] == "-" and text[:2] != "--" and text.endswith("C") for text in texts):
        return True
    safe = READING.get(name) or WRITING.get(name)
    if safe is None or name in _PERMUTES:
        return False
    ended = takes_value = False
    for text in texts:
        is_flag = text.startswith("-") and text != "-"
        if ended and is_flag:
            return True
        ended = ended or text == "--" or not (is_flag or takes_value)
        takes_value = is_flag and (text[-1] in safe.valued or f"{text}:" in safe.long.split())
    return False
