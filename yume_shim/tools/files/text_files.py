"""Opens, reads and decodes files for the tools: error messages, safe opening, encodings that survive an edit.

Writing is in `atomic_write.py`.
"""

from __future__ import annotations

import errno
import os
import re
import stat

from yume_shim.disk.bounded import read_handle
from yume_shim.disk.exact import NO_WAIT, open_exact
from yume_shim.disk.resolve import resolve
from yume_shim.types.errors import ToolFailed
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.disk.resolve import Resolved
    from yume_shim.types.ports import Cancel

MAX_TEXT_BYTES = 16 << 20
"""The largest file that is taken into memory to be read whole or edited."""
MAX_NEIGHBOURS = 2_000
"""Names of a folder that are compared to suggest another file."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))

# ---------------------------------------------------------------- error messages


def os_failure(error: OSError, verb: str, shown: str) -> ToolFailed:
    """An operating-system error as the model reads it: `EACCES: permission denied, open 'x'`."""
    code = errno.errorcode.get(error.errno or 0, "EIO")
    if code == "EISDIR":
        return ToolFailed(f"EISDIR: illegal operation on a directory, {verb} '{shown}'")
    reason = (error.strerror or str(error)).lower()
    return ToolFailed(f"{code}: {reason}, {verb} '{shown}'")


def missing_file(path: str, cwd: str) -> ToolFailed:
    """The error for a missing file; suggests a similar name."""
    text = f"File does not exist. Note: your current working directory is {cwd}."
    near = _neighbour(path)
    return ToolFailed(f"{text} Did you mean {near}?" if near else text)


def _neighbour(path: str) -> str:
    from itertools import islice

    from yume_shim.text.nearest import nearest

    folder, name = os.path.split(path)
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in islice(entries, MAX_NEIGHBOURS))
    except OSError:
        return ""
    stem = os.path.splitext(name)[0]
    for other in names:
        if other.lower() == name.lower() or os.path.splitext(other)[0] == stem:
            return other
    return nearest(name, names)


# ---------------------------------------------------------------- reading


def real_path(path: str, shown: str, judged: str = "") -> Resolved:
    """Where a path leads. Raises if that is not where it led when the gate judged it, or if it cannot be resolved."""
    found = resolve(path)
    if found.flaw:
        raise ToolFailed(f"Refused: {shown}: {found.flaw}")
    if judged and found.real != judged:
        raise moved(shown)
    return found


def moved(shown: str) -> ToolFailed:
    """A file or a folder was replaced between the permission and the access."""
    return ToolFailed(f"Refused: {shown} led somewhere else when permission for it was given.")


def open_file(path: str, shown: str, cwd: str, judged: str = "") -> tuple[int, os.stat_result]:
    """Open a regular file for reading: the one that was judged, and no link put in its place meanwhile. A FIFO or
    device never blocks us: it is opened without waiting and refused."""
    found = real_path(path, shown, judged)
    if found.is_folder:
        raise os_failure(IsADirectoryError(errno.EISDIR, ""), "read", shown)
    if found.facts is not None and not stat.S_ISREG(found.facts.st_mode):
        raise ToolFailed(f"Not a regular file: {shown}")
    try:
        handle = open_exact(found.real, os.O_RDONLY | NO_WAIT)
    except OSError as error:
        if resolve(found.real).real != found.real:
            raise moved(shown) from None
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            raise missing_file(found.real, cwd) from None
        raise os_failure(error, "open", shown) from None
    facts = os.fstat(handle)
    if stat.S_ISREG(facts.st_mode):
        return handle, facts
    os.close(handle)
    raise ToolFailed(f"Not a regular file: {shown}")


def read_whole(path: str, shown: str, cwd: str, cancel: Cancel, judged: str = "") -> tuple[bytes, os.stat_result]:
    """A whole file for editing; refuses those too big to hold."""
    handle, facts = open_file(path, shown, cwd, judged)
    try:
        data = read_handle(handle, MAX_TEXT_BYTES + 1, cancel.check)
    except OSError as error:
        raise os_failure(error, "read", shown) from None
    finally:
        os.close(handle)
    if len(data) > MAX_TEXT_BYTES:
        sizes = f"{size_text(facts.st_size)}, at most {size_text(MAX_TEXT_BYTES)}"
        raise ToolFailed(f"File is too large to edit ({sizes}).")
    return data, facts


def size_text(size: int) -> str:
    """`566.4KB`, `256KB`, `12 bytes`."""
    if size < 1024:
        return f"{size} bytes"
    number, unit = (size / 1024, "KB") if size < 1024 * 1024 else (size / (1024 * 1024), "MB")
    return f"{number:.1f}".removesuffix(".0") + unit


# ---------------------------------------------------------------- text and back


class Decoded(Value):
    """The text of a file and what is needed to write it back the same way. The bad bytes of a UTF-8 file are lone
    surrogates in the text, so that an edit elsewhere leaves them as they are."""

    text: str
    encoding: str = "utf-8"
    bom: bytes = b""


def decode(data: bytes) -> Decoded:
    """By BOM; else UTF-8; else UTF-8 with flaws if most of it is that; else Latin-1, which takes any byte."""
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            errors = "surrogateescape" if encoding == "utf-8" else "replace"
            return Decoded(data[len(bom) :].decode(encoding, errors), encoding, bom)
    try:
        return Decoded(data.decode("utf-8"))
    except UnicodeDecodeError:
        text = data.decode("utf-8", "surrogateescape")
    bad = len(_SURROGATE.findall(text))
    good = sum(1 for char in text if char > "\x7f") - bad
    return Decoded(text) if good > bad else Decoded(data.decode("latin-1"), "latin-1")


def encode(text: str, like: Decoded) -> bytes:
    """Text in the encoding of `like`. What Latin-1 cannot hold turns the file into UTF-8."""
    if like.encoding == "latin-1":
        try:
            return text.encode("latin-1")
        except UnicodeEncodeError:
            return plain(text).encode("utf-8")
    errors = "surrogateescape" if like.encoding == "utf-8" else "replace"
    try:
        return like.bom + text.encode(like.encoding, errors)
    except UnicodeEncodeError:  # the new text has a surrogate that encodes no byte
        return like.bom + plain(text).encode(like.encoding)


def plain(text: str) -> str:
    """Lone surrogates become U+FFFD: for showing, and for writing what was never bytes."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)
