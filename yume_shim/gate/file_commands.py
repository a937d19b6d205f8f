"""Shell commands that do to files what the edit tools do: in acceptEdits they run unasked inside the workspace.

Only plain uses: listed flags, plain operands. Pure: whether the paths may be written is the caller's question.
"""

from __future__ import annotations

import re

from yume_shim.gate.names import names
from yume_shim.gate.read_only import Safe, sort_out
from yume_shim.types.value import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from yume_shim.gate.shell import Word


@value
class Writes:
    """The paths a command changes. `into`: the last path may be a folder that takes the others in. `whole`: it works
    on whole folders."""

    paths: tuple[Word, ...]
    into: bool = False
    whole: bool = False


COMMANDS: Mapping[str, Safe] = {
    "mkdir": Safe("pv", "m", "--parents --verbose"),
    "touch": Safe("acm", "", "--no-create"),
    "rm": Safe("rRfvdI", "", "--recursive --force --verbose --dir"),
    "rmdir": Safe("pv", "", "--parents --verbose"),
    "mv": Safe("fnvT", "", "--force --no-clobber --verbose"),
    "cp": Safe("rRafnvpPT", "", "--recursive --archive --force --no-clobber --verbose"),
}
WRITERS = frozenset(COMMANDS) | names("ln tee dd truncate install chmod chown sed gsed rsync patch unlink shred")
"""Commands whose arguments are files they change: edit denies bind them."""
PLANTERS = names("touch mv cp ln tee dd truncate install sed gsed rsync")
"""Commands that can put content into a file: they never reach a sensitive one unasked."""

_SED_SCRIPT = re.compile(
    r"s([/|#,@])(?:(?!\1)[^\\\n]|\\[^\n])*\1(?:(?!\1)[^\\\n]|\\[^\n])*\1[gIi\d]*\Z|\d+(?:,\d+)?d\Z"
)


def writes(words: tuple[Word, ...]) -> Writes | None:
    """What the command changes, if it is one of these in a plain use."""
    if not words or any(word.kind != "plain" for word in words):
        return None
    name = words[0].text
    if name == "sed":
        return _sed(words[1:])
    safe = COMMANDS.get(name)
    sorted_out = sort_out(safe, words[1:]) if safe is not None else None
    if sorted_out is None or not sorted_out[1]:
        return None
    flags, operands = sorted_out
    whole = bool(flags & {"-r", "-R", "-a", "--recursive", "--archive"})
    return Writes(operands, name in ("mv", "cp"), whole)


def _sed(rest: tuple[Word, ...]) -> Writes | None:
    """`sed -i SCRIPT FILE…` with a substitution that neither runs (`e`) nor writes elsewhere (`w`)."""
    texts = [word.text for word in rest]
    if "-i" not in texts:
        return None
    operands = [word for word in rest if word.text not in ("-i", "-E", "-r")]
    if len(operands) < 2 or any(word.text.startswith("-") for word in operands):
        return None
    return Writes(tuple(operands[1:])) if _SED_SCRIPT.match(operands[0].text) else None
