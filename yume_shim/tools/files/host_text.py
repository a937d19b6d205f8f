"""Text files through the host: its unsaved text is read, and it writes what a tool made of it. Loaded only for a host
that offers both.

The gate has judged the resolved path, and that path is what the host gets. A file that is not plain UTF-8 is read and
written on disk: the host's text has no encoding. So is a file that the host cannot read or does not write.
"""

from __future__ import annotations

from yume_shim.disk.exact import stat_exact
from yume_shim.disk.resolve import resolve
from yume_shim.tools.files.text_files import moved, os_failure
from yume_shim.types.errors import ToolFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os

    from yume_shim.tools.files.atomic_write import Target
    from yume_shim.types.ports import Cancel, HostFiles

BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


def current_data(on_disk: bytes, path: str, host: HostFiles, cancel: Cancel) -> bytes:
    """The content of a text file as the host has it now; that of the disk if the host does not say."""
    if _utf8(on_disk) is None:
        return on_disk
    text = host.read(path, cancel)
    if text is None:
        return on_disk
    return text.encode("utf-8", "replace")


def write_through(target: Target, data: bytes, shown: str, host: HostFiles, cancel: Cancel) -> os.stat_result | None:
    """Have the host write the file; returns the facts of the new file, None if it has to be written to disk."""
    text = _utf8(data)
    if text is None:
        return None
    if resolve(target.path).real != target.path:
        raise moved(shown)
    if not host.write(target.path, text, cancel):
        return None
    try:
        facts = stat_exact(target.path)
    except OSError as error:
        raise os_failure(error, "open", shown) from None
    if facts is None:
        raise ToolFailed(f"The host reported that it wrote {shown}, but there is no such file.")
    return facts


def _utf8(data: bytes) -> str | None:
    """The text of plain UTF-8 without a byte order mark; None for anything else."""
    if data.startswith(BOMS):
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None
