"""Files as the tools see them: safe opening, encodings that survive an edit, atomic replacement."""

from __future__ import annotations

import errno
import os
import re
import stat

from yume_shim.types.errors import ToolFailed
from yume_shim.types.value import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.ports import Cancel

CHUNK = 1 << 20
MAX_TEXT_BYTES = 16 << 20
"""The largest file that is taken into memory to be read whole or edited."""
MAX_NEIGHBOURS = 2_000
"""How many names of a folder are looked at to guess what was meant."""
_BINARY_FLAG: int = getattr(os, "O_BINARY", 0)
_NO_FOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
_SURROGATE = re.compile("[\ud800-\udfff]")
_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))

# ---------------------------------------------------------------- failures in words


def os_failure(error: OSError, verb: str, shown: str) -> ToolFailed:
    """An operating-system error as the model reads it: `EACCES: permission denied, open 'x'`."""
    code = errno.errorcode.get(error.errno or 0, "EIO")
    if code == "EISDIR":
        return ToolFailed(f"EISDIR: illegal operation on a directory, {verb} '{shown}'")
    reason = (error.strerror or str(error)).lower()
    return ToolFailed(f"{code}: {reason}, {verb} '{shown}'")


def missing_file(path: str, cwd: str) -> ToolFailed:
    """The file is not there; perhaps a neighbour was meant."""
    text = f"File does not exist. Note: your current working directory is {cwd}."
    near = _neighbour(path)
    return ToolFailed(f"{text} Did you mean {near}?" if near else text)


def _neighbour(path: str) -> str:
    from difflib import get_close_matches
    from itertools import islice

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
    return next(iter(get_close_matches(name, names, 1, 0.7)), "")


# ---------------------------------------------------------------- reading


def open_file(path: str, shown: str, cwd: str) -> tuple[int, os.stat_result]:
    """Open a regular file for reading. A FIFO or device never blocks us: it is opened without waiting and refused."""
    try:
        handle = os.open(path, os.O_RDONLY | _BINARY_FLAG | getattr(os, "O_NONBLOCK", 0))
    except (FileNotFoundError, NotADirectoryError):
        raise missing_file(path, cwd) from None
    except OSError as error:
        if os.path.isdir(path):  # Windows opens no folders
            raise os_failure(IsADirectoryError(errno.EISDIR, ""), "read", shown) from None
        raise os_failure(error, "open", shown) from None
    facts = os.fstat(handle)
    if stat.S_ISREG(facts.st_mode):
        return handle, facts
    os.close(handle)
    if stat.S_ISDIR(facts.st_mode):
        raise os_failure(IsADirectoryError(errno.EISDIR, ""), "read", shown)
    raise ToolFailed(f"Not a regular file: {shown}")


def read_handle(handle: int, limit: int, cancel: Cancel) -> bytes:
    """Up to `limit` bytes from an open file; stops early when cancelled."""
    parts: list[bytes] = []
    left = limit
    while left > 0:
        cancel.check()
        part = os.read(handle, min(CHUNK, left))
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def read_whole(path: str, shown: str, cwd: str, cancel: Cancel) -> tuple[bytes, os.stat_result]:
    """A whole file for editing; refuses those too big to hold."""
    handle, facts = open_file(path, shown, cwd)
    try:
        data = read_handle(handle, MAX_TEXT_BYTES + 1, cancel)
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


@value
class Decoded:
    """The text of a file and what is needed to write it back the same way. In a UTF-8 file with a few bad bytes these
    stand as lone surrogates, so that an edit elsewhere leaves them as they are."""

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
    except UnicodeEncodeError:  # a surrogate that stands for no byte came in with the new text
        return like.bom + plain(text).encode(like.encoding)


def plain(text: str) -> str:
    """Lone surrogates become U+FFFD: for showing, and for writing what was never bytes."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


# ---------------------------------------------------------------- writing


@value
class Target:
    """Where a write goes: the real path and, if a file is there, its facts."""

    path: str
    facts: os.stat_result | None


def write_target(path: str, shown: str, may_enter: bool) -> Target:
    """Look before writing. A symlink is written through only if it leads to a file in the workspace (`may_enter`)."""
    try:
        facts = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return Target(path, None)
    except OSError as error:
        raise os_failure(error, "open", shown) from None
    if stat.S_ISLNK(facts.st_mode):
        real = os.path.realpath(path)
        if not os.path.exists(real):
            raise ToolFailed(f"Refusing to write through a symbolic link that leads nowhere: {shown}")
        if not may_enter:
            raise ToolFailed(f"Refusing to write through a symbolic link that leaves the workspace: {shown}")
        path, facts = real, os.lstat(real)
    if stat.S_ISDIR(facts.st_mode):
        raise os_failure(IsADirectoryError(errno.EISDIR, ""), "open", shown)
    if not stat.S_ISREG(facts.st_mode):
        raise ToolFailed(f"Not a regular file: {shown}")
    return Target(path, facts)


def write_file(target: Target, data: bytes, shown: str) -> None:
    """Replace the file in one step: readers see the old content or the new one, never half of it."""
    folder = os.path.dirname(target.path)
    try:
        os.makedirs(folder, exist_ok=True)
        if target.facts is not None and target.facts.st_nlink > 1:
            _write_in_place(target.path, data)  # a replaced hard link would part from its other names
            return
        try:
            _replace(target, folder, data)
        except PermissionError:
            if target.facts is None:
                raise
            _write_in_place(target.path, data)  # the folder is read-only, the file perhaps not
    except OSError as error:
        raise os_failure(error, "open", shown) from None


def _replace(target: Target, folder: str, data: bytes) -> None:
    beside = os.path.join(folder, f".yume-{os.getpid()}-{os.urandom(6).hex()}.tmp")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_FOLLOW | _BINARY_FLAG, 0o666)
    try:
        try:
            _write_all(handle, data)
            if target.facts is not None:
                _keep_owner_and_mode(handle, target.facts)
        finally:
            os.close(handle)
        os.replace(beside, target.path)
    except BaseException:
        os.unlink(beside)
        raise


def _keep_owner_and_mode(handle: int, facts: os.stat_result) -> None:
    if not hasattr(os, "fchmod"):  # Windows keeps neither
        return
    now = os.fstat(handle)
    if (now.st_uid, now.st_gid) != (facts.st_uid, facts.st_gid):
        try:
            os.fchown(handle, facts.st_uid, facts.st_gid)
        except PermissionError:
            pass  # only root may give files away; the content matters more
    os.fchmod(handle, stat.S_IMODE(facts.st_mode))


def _write_in_place(path: str, data: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_TRUNC | _NO_FOLLOW | _BINARY_FLAG)
    try:
        _write_all(handle, data)
    finally:
        os.close(handle)


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
