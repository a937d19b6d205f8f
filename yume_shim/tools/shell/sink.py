"""Takes the output of a command: its beginning and its end in memory, all of it in a file, if that can be written."""

from __future__ import annotations

import os
import threading

from yume_shim.text.clean import clean_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

IN_MEMORY = 128 * 1024
"""Bytes of output kept in memory; from there on everything goes to a file as well."""
TAIL = 64 * 1024
"""Bytes of the end of longer output that are kept in memory, for the case that it cannot be saved."""
MAX_SAVED = 64 << 20
"""Bytes of output saved to a file; the rest is counted and dropped."""
MAX_HELD_LINE = 64 * 1024
PIPE_READ = 64 * 1024
MAX_KEY_LINE = 80
"""Bytes of the line that begins a private key."""
_KEY_BYTES = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.~+/=:")


class Sink:
    """Takes output of any length: the first `keep` bytes and the newest in memory, all of it (up to a limit) in a file
    once there are more than `keep` (with -1: from the start). The thread that reads the pipe feeds it, the caller's
    finishes it.

    `path` names a file that has all of the output, or all but what is over MAX_SAVED. If the file cannot be written (a
    read-only folder, a full disk), `path` is "" and `lost` says why: the command continues, and beginning and end of
    its output are in memory. `redact` removes keys from what is saved."""

    def __init__(
        self,
        open_file: Callable[[], tuple[int, str]],
        keep: int = IN_MEMORY,
        redact: Callable[[str], str] | None = None,
    ) -> None:
        self._open_file = open_file
        self._redact = redact
        self._keep = keep
        self._lock = threading.Lock()
        self._head = bytearray()
        self._tail = bytearray()
        self._held = b""
        self._handle = -1
        self._closed = False
        self.path = ""
        self.lost = ""
        self.total = 0
        self.saved = 0

    def feed(self, data: bytes) -> None:
        """Take more output; after `finish` it is dropped."""
        with self._lock:
            if self._closed:
                return
            self.total += len(data)
            self._tail += data
            if len(self._tail) > 2 * TAIL:
                del self._tail[:-TAIL]
            if self._handle < 0 and not self.lost:
                self._head += data
                if len(self._head) <= self._keep:
                    return
                data = bytes(self._head)
                del self._head[max(0, self._keep) :]
                try:
                    self._handle, self.path = self._open_file()
                except OSError as error:
                    self.lost = error.strerror or str(error)
            if self._handle >= 0:
                self._save(data)

    def save_from_start(self) -> bytes:
        """Write everything to a file from now on, also what is only in memory. Returns the first part."""
        with self._lock:
            head = bytes(self._head)
            if self._handle < 0 and not self.lost and not self._closed:
                try:
                    self._handle, self.path = self._open_file()
                except OSError as error:
                    self.lost = error.strerror or str(error)
                else:
                    self._save(head)
            return head

    def finish(self) -> bytes:
        """Ignore further output. Returns the first part; `path` names the file if there is one."""
        with self._lock:
            self._closed = True
            if self._handle >= 0:
                self._save(b"", last=True)
            if self._handle >= 0:
                os.close(self._handle)
                self._handle = -1
            return bytes(self._head)

    @property
    def capped(self) -> bool:
        """The file has only the beginning of the output, up to the limit."""
        return self.saved >= MAX_SAVED

    def newest(self, since: int = 0) -> tuple[bytes, int]:
        """The output after the first `since` bytes, as far as it is in memory, and how many bytes before it are not."""
        with self._lock:
            start = max(since, self.total - len(self._tail), self.total - TAIL)
            return bytes(self._tail[len(self._tail) - (self.total - start) :]), start - since

    def _save(self, data: bytes, last: bool = False) -> None:
        """Write whole lines, cleaned: an escape sequence cut in two would not be recognised."""
        data = self._held + data
        cut = len(data) if last else cut_at(data, self._redact is not None)
        data, self._held = data[:cut], data[cut:]
        if not data or self.saved >= MAX_SAVED:
            return
        text = clean_output(data)
        if self._redact is not None:
            text = self._redact(text)
        clean = memoryview(text.encode("utf-8"))[: MAX_SAVED - self.saved]
        try:
            while clean:
                count = os.write(self._handle, clean)
                self.saved += count
                clean = clean[count:]
        except OSError as error:
            self._give_up(error.strerror or str(error))

    def _give_up(self, why: str) -> None:
        """The disk is full: a file with a part of the output would only mislead, and take the last room."""
        os.close(self._handle)
        self._handle, path, self.path = -1, self.path, ""
        self._held, self.lost = b"", why
        try:
            os.unlink(path)
        except OSError:
            pass  # its folder has become read-only


def cut_at(data: bytes, whole_keys: bool) -> int:
    """Where to cut what was read so far: after a line, and before a private key whose end has not come yet. What has no
    line ends for too long is cut as well, with `whole_keys` between words, so that no key is cut in two."""
    full = len(data) > MAX_HELD_LINE + PIPE_READ
    cut = data.rfind(b"\n") + 1
    if whole_keys and not full:
        begun = data.rfind(b"-----BEGIN ", 0, cut)
        is_key = begun >= 0 and b"PRIVATE KEY-----" in data[begun : begun + MAX_KEY_LINE]
        if is_key and b"-----END " not in data[begun:cut]:
            return begun
    if cut or not full:
        return cut
    if whole_keys:
        for place in range(len(data) - 1, len(data) - MAX_HELD_LINE, -1):
            if data[place] not in _KEY_BYTES:
                return place + 1
    return len(data)
