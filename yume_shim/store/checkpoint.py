"""The checkpoint of a session: how its history was sent, so that a resume neither reads nor encodes the transcript.

A file beside the transcript (`<session>/history.cache`, for its owner only) that is written when a resumed session
ends. It is believed only for the very bytes that it was made of, and only by the version that made it; whatever is
wrong with it, the transcript is read instead. Losing it costs time only.

The file is a check sum of the rest, a line of facts as JSON, and the history as JSON items in the form of one API.
"""

from __future__ import annotations

import os
from zlib import crc32

from yume_shim import __version__
from yume_shim.disk.bounded import read_whole
from yume_shim.store.cost_state import CostReader
from yume_shim.text import codec
from yume_shim.types.blocks import Message, Text
from yume_shim.types.errors import StoreFailed
from yume_shim.types.stored_history import StoredHistory
from yume_shim.types.stored_session import StoredSession, title_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json

FORMAT = f"1 {__version__}"
"""Of another one nothing is believed: encoders change."""
MIN_TRANSCRIPT, MAX_TRANSCRIPT = 100_000, 128 * 1024 * 1024
"""Bytes. Reading a shorter transcript costs about as much; for a longer one no checkpoint is kept."""
MAX_BYTES = 2 * MAX_TRANSCRIPT
OTHERS_MAY_WRITE = 0o022
HEAD = len("00000000\n")


def path_of(transcript: str) -> str:
    """The checkpoint of a transcript. It lies in the session's folder, which goes when the session is deleted."""
    return os.path.join(transcript.removesuffix(".jsonl"), "history.cache")


def identity(path: str) -> list[int]:
    """What changes with every change of a file. No program can set the last one. Raises OSError."""
    found = os.stat(path)
    return [found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def from_checkpoint(transcript: str) -> StoredSession | None:
    """The session, if it has a checkpoint that belongs to its transcript as it is now."""
    try:
        if os.stat(transcript).st_size < MIN_TRANSCRIPT or not _is_ours(path_of(transcript)):
            return None
        data = read_whole(path_of(transcript), MAX_BYTES)
        if int(data[:HEAD], 16) != crc32(memoryview(data)[HEAD:]):
            return None
        end = data.index(b"\n", HEAD)
        facts = codec.loads(data[HEAD:end])
        if facts["format"] != FORMAT or facts["file"] != identity(transcript):
            return None
        return _session(transcript, facts, data[end + 1 :])
    except (OSError, LookupError, TypeError, ValueError, AttributeError):  # missing, torn, of another make
        return None


def _is_ours(path: str) -> bool:
    """Only our user can have written it."""
    found = os.lstat(path)
    own = getattr(os, "geteuid", lambda: found.st_uid)()
    return found.st_uid == own and not (os.name == "posix" and found.st_mode & OTHERS_MAY_WRITE)


def _session(transcript: str, facts: Json, text: bytes) -> StoredSession:
    reader: Json = facts["reader"]
    costs = CostReader()
    costs.unpack(reader["costs"])
    calls = (tuple(facts["call_ids"]), tuple(facts["call_names"]))

    def read() -> tuple[Message, ...]:
        return _history(transcript, reader)

    stored = StoredHistory(facts["count"] - 1, facts["origin"], facts["tokens"], calls, facts["encoded"], text, read)
    tokens, covered, counted_by = facts["counted"]
    return StoredSession(
        session_id=os.path.basename(transcript).removesuffix(".jsonl"),
        history=(Message("user", tuple([Text(each) for each in facts["first"]])), *stored.messages),
        leaf=reader["leaf"],
        model=facts["model"],
        foreign_model=facts["foreign_model"],
        used=costs.by_model(),
        title=title_of(reader["facts"]),
        last_prompt=facts["last_prompt"],
        cwd=reader["facts"].get("cwd", ""),
        skipped=reader["skipped"],
        counted=(tokens, covered, counted_by),
        reader=reader,
    )


def _history(transcript: str, before: Json) -> tuple[Message, ...]:
    """The history from the bytes of the transcript that the checkpoint was made of."""
    from yume_shim.store.load import read_history

    try:
        return read_history(transcript, before["size"], before["check_sum"])
    except OSError as error:
        raise StoreFailed(f"{transcript} cannot be read: {error.strerror or error}") from None


def write_checkpoint(
    transcript: str, made_of: list[int], session: StoredSession, history: Json, encoded: tuple[Json, bytes]
) -> bool:
    """Keep the checkpoint of a transcript; `made_of` is its identity from before it was read. `history` has what is
    known of the messages after the first one: the `origin` for which they are legal, their estimated `tokens`, and
    `call_ids` and `call_names`. `encoded` is what `HistoryMemo.packed` returned. False if the transcript was changed
    meanwhile. Raises OSError."""
    path = path_of(transcript)
    tokens, covered, counted_by = session.counted
    facts = {
        "format": FORMAT,
        "file": made_of,
        "reader": session.reader,
        "count": len(session.history),
        "first": [block.text for block in session.history[0].blocks if isinstance(block, Text)],
        **history,
        "model": session.model,
        "foreign_model": session.foreign_model,
        "last_prompt": session.last_prompt,
        "counted": [tokens, covered, counted_by],
        "encoded": encoded[0],
    }
    body = b"%b\n%b" % (codec.dumps(facts), encoded[1])
    if identity(transcript) != made_of or len(body) > MAX_BYTES:
        return False
    _replace(path, b"%08x\n%b" % (crc32(body), body))
    return True


def _replace(path: str, data: bytes) -> None:
    from yume_shim.store.jsonl import make_folders
    from yume_shim.store.layout import FILE_MODE
    from yume_shim.system import move_over

    make_folders(os.path.dirname(path))
    part = f"{path}.part"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    fd = os.open(part, flags | getattr(os, "O_BINARY", 0), FILE_MODE)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(fd, rest) :]
    finally:
        os.close(fd)
    move_over(part, path)
