"""Reads keys from files: the key files of the vendors' own programs, and files that a profile names.

Only API keys are read. Sign-in tokens belong to the program that obtained them, under its vendor's terms.
"""

from __future__ import annotations

import os
import stat
import threading

from yume_shim.config.key_places import CheckedPlace, clean_key
from yume_shim.disk.bounded import open_regular, read_handle
from yume_shim.types.folders import home_folder
from yume_shim.types.models import Credential

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from yume_shim.config.key_places import Learn
    from yume_shim.types.models import Endpoint
    from yume_shim.types.ports import Cancel

TEXT_BYTES = 65_536
"""The largest file of plain text or variables."""
JSON_BYTES = 16_777_216
"""The largest JSON file: the Claude CLI stores its key in the same file as data of all projects."""


class _Unusable(Exception):
    """Why a file has no usable key. `expected`: this is normal and causes no warning."""

    def __init__(self, note: str, *, expected: bool = False) -> None:
        super().__init__(note)
        self.note, self.expected = note, expected


class FileKey:
    """A key in a file. After a refusal the file is read again, because it may have changed. Every thread that sends
    requests may use it: the session's and those of child loops."""

    fixed = False

    def __init__(self, path: str, shape: str, field: str, first: Credential, learn: Learn) -> None:
        self._path, self._shape, self._field, self._learn = path, shape, field, learn
        self._credential = first
        self._lock = threading.Lock()

    def known(self) -> Credential:
        return self._credential

    def get(self, cancel: Cancel) -> Credential:
        return self._credential

    def renew(self, refused: Credential, cancel: Cancel) -> bool:
        with self._lock:
            if self._credential.key == refused.key:
                try:
                    key, _ = _read_key(self._path, self._shape, self._field)
                except _Unusable:
                    return False
                self._learn(key)
                self._credential = Credential(key, refused.kind, refused.source)
            return self._credential.key != refused.key


def check_file(path: str, shape: str, field: str, place: str, kind: str, learn: Learn) -> CheckedPlace:
    """The key in a file. `shape`: "json" (`field` is its name there), "env" (a variable), "text" (all of it)."""
    try:
        key, readable_by_others = _read_key(path, shape, field)
    except _Unusable as unusable:
        warning = "" if unusable.expected else f"{place}: {unusable.note}"
        return CheckedPlace(place, note=unusable.note, warning=warning)
    learn(key)
    first = Credential(key, kind, place)  # type: ignore[arg-type]  # checked where the profile was read
    note = "can be read by others: chmod 600 it" if readable_by_others else ""
    return CheckedPlace(place, (FileKey(path, shape, field, first, learn),), note, f"{place} {note}" if note else "")


def check_vendor_files(endpoint: Endpoint, env: Mapping[str, str], learn: Learn) -> Iterator[CheckedPlace]:
    """The files in which the vendor's own programs store keys (`key_files` of the endpoint's row)."""
    for row in endpoint.key_files:
        root = env.get(row.get("root_var", ""), "")
        shown = os.path.join(root, row["file"]) if root else f"{row['root']}/{row['file']}"
        field = row.get("field", "")
        place = f"{shown} {field}".rstrip()
        yield check_file(expand_home(shown, env), row["format"], field, place, "key", learn)


def expand_home(path: str, env: Mapping[str, str]) -> str:
    """The path with a leading `~` replaced by the home folder that the environment names."""
    if path == "~" or path.startswith(("~/", f"~{os.sep}")):
        return home_folder(env) + path[1:]
    return path


def _read_key(path: str, shape: str, field: str) -> tuple[str, bool]:
    """(the key, whether other users can read the file)."""
    raw, readable_by_others = _read(path, JSON_BYTES if shape == "json" else TEXT_BYTES)
    try:
        text = raw.decode("utf-8-sig")
        match shape:
            case "json":
                found = _from_json(text, field)
            case "env":
                found = _from_variables(text, field)
            case _:
                found = text
        key = clean_key(found)
    except ValueError:  # decoders raise it too, and their messages quote the file
        raise _Unusable("the file is broken, or its content is not a key") from None
    if not key:
        raise _Unusable("no API key in it", expected=True)
    return key, readable_by_others


def _read(path: str, limit: int) -> tuple[bytes, bool]:
    try:
        handle = open_regular(path)
        try:
            about, raw = os.fstat(handle), read_handle(handle, limit + 1)
        finally:
            os.close(handle)
    except (FileNotFoundError, NotADirectoryError):
        raise _Unusable("not there", expected=True) from None
    except (OSError, ValueError) as error:
        raise _Unusable(f"cannot be read ({getattr(error, 'strerror', None) or 'not a path'})") from None
    if len(raw) > limit:
        raise _Unusable(f"longer than {limit:,} bytes")
    return raw, os.name == "posix" and bool(about.st_mode & (stat.S_IRWXG | stat.S_IRWXO))


def _from_json(text: str, field: str) -> str:
    from yume_shim.text import codec

    data = codec.loads(text)
    if not isinstance(data, dict):
        raise ValueError("not an object")
    found = data.get(field)
    return found if isinstance(found, str) else ""


def _from_variables(text: str, name: str) -> str:
    """The value of one variable in `NAME=value` lines; `export`, quotes and trailing comments are allowed."""
    for line in text.splitlines():
        left, equals, right = line.strip().removeprefix("export ").partition("=")
        if equals and left.strip() == name:
            right = right.strip()
            if right[:1] in ("'", '"'):
                return right[1:].partition(right[0])[0]
            return right.partition(" #")[0]
    return ""
