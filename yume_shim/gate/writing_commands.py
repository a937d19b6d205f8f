"""Shell commands that change files as the edit tools do: in mode acceptEdits they run without asking inside the
workspace.

Only plain uses count: listed flags, plain operands. Pure: the caller decides whether the paths may be written.
"""

from __future__ import annotations

import re

from yume_shim.gate.flags import SafeUse, split_flags
from yume_shim.gate.word_set import word_set
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from yume_shim.gate.shell import Word


class Writes(Value):
    """The paths that a command changes. `into`: the last path may be the folder that receives the others. `whole`: it
    works on whole folders. `exact`: the last path itself is written, even if it is a folder (`-T`)."""

    paths: tuple[Word, ...]
    into: bool = False
    whole: bool = False
    exact: bool = False


COMMANDS: Mapping[str, SafeUse] = {
    "mkdir": SafeUse("pv", "m", "--parents --verbose", groups=True),
    "touch": SafeUse("acm", "", "--no-create", groups=True),
    "rm": SafeUse("rRfvdI", "", "--recursive --force --verbose --dir", groups=True),
    "rmdir": SafeUse("pv", "", "--parents --verbose", groups=True),
    "mv": SafeUse("fnvT", "", "--force --no-clobber --verbose --no-target-directory", groups=True),
    "cp": SafeUse(
        "rRafnvpPT",
        "",
        "--recursive --archive --force --no-clobber --verbose --no-target-directory",
        groups=True,
    ),
}
WRITERS = frozenset(COMMANDS) | word_set("ln tee dd truncate install chmod chown sed gsed rsync patch unlink shred")
"""Commands that change the files they are given: `Edit` deny rules cover them."""
MAY_WRITE = word_set(
    "copy xcopy robocopy move ren rename del erase attrib icacls cacls takeown compact cipher certutil esentutl "
    "fsutil extrac32 makecab dos2unix unix2dos mac2unix ex ed vim vi nvim view nano emacs sponge split csplit curl "
    "wget sort uniq xxd unzip 7z gzip gunzip bzip2 bunzip2 xz unxz zstd ditto chflags xattr setfile textutil plutil "
    "defaults sips prename mmv base64 iconv column perl ruby awk gawk openssl gpg jar ar find gfind"
)
"""Commands that can change a file that they are given, and often only read it: with `Edit` deny rules they are asked
about, unless it is certain that they only read."""
GIT_WRITES = word_set(
    "apply am checkout clean merge mv pull rebase reset restore revert rm stash switch checkout-index"
)
"""Commands of git that change files of the working folder."""
CONTENT_WRITERS = word_set("touch mv cp ln tee dd truncate install sed gsed rsync")
"""Commands that can put content into a file: never into a sensitive one without asking."""

_SED_SCRIPT = re.compile(
    r"s([/|#,@])(?:(?!\1)[^\\\n]|\\[^\n])*\1(?:(?!\1)[^\\\n]|\\[^\n])*\1[gIi0-9]*\Z|[0-9]+(?:,[0-9]+)?d\Z"
)


def writes(words: tuple[Word, ...]) -> Writes | None:
    """What the command changes, if it is a plain use of one of these commands."""
    if not words or any(word.kind != "plain" for word in words):
        return None
    name = words[0].text
    if name == "sed":
        return _sed(words[1:])
    safe = COMMANDS.get(name)
    split = split_flags(safe, words[1:]) if safe is not None else None
    if split is None or not split[1]:
        return None
    flags, operands = split
    exact = bool(flags & {"-T", "--no-target-directory"})
    whole = bool(flags & {"-r", "-R", "-a", "--recursive", "--archive"})
    return Writes(operands, name in ("mv", "cp") and not exact, whole, exact)


def _sed(rest: tuple[Word, ...]) -> Writes | None:
    """`sed -i SCRIPT FILE…` with a script that neither runs commands (`e`) nor writes other files (`w`)."""
    texts = [word.text for word in rest]
    if "-i" not in texts:
        return None
    operands = [word for word in rest if word.text not in ("-i", "-E", "-r")]
    if len(operands) < 2 or any(word.text.startswith("-") for word in operands):
        return None
    return Writes(tuple(operands[1:])) if _SED_SCRIPT.match(operands[0].text) else None
