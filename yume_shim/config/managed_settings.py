"""Reads the managed settings: the administrator's files, and what the host passes by `--managed-settings`.

A policy that cannot be read must not be skipped: the program does not start. Loaded only if there are such settings.
"""

from __future__ import annotations

import os

from yume_shim.config.settings_check import line_of, wrong_types
from yume_shim.config.settings_files import HOST_MANAGED, MANAGED, MAX_SETTINGS_BYTES, Layer
from yume_shim.disk.bounded import is_absent, read_text
from yume_shim.text import codec
from yume_shim.types.errors import BadInvocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.config.file_report import FileReport

FILE = "managed-settings.json"
MORE_FILES = "managed-settings.d"
MAX_FILES = 100


def managed_layers(folder: str, given: str | None, report: FileReport) -> list[Layer]:
    """Weakest first: the host's, the administrator's file, then the files of the folder next to it by name. Raises
    BadInvocation."""
    files = managed_files(folder)
    layers = [Layer(MANAGED, data, True) for path in files if (data := _read(path, report)) is not None]
    if given is None:
        return layers
    if given.lstrip().startswith("{"):
        host = _parsed(HOST_MANAGED, given.encode("utf-8", "replace"), report)
    else:
        found = _read(given, report, pipes=True)
        if found is None:
            raise BadInvocation(f"Error: {HOST_MANAGED}: file not found: {given}")
        host = found
    return [Layer(HOST_MANAGED if layers else MANAGED, host, True), *layers]


def managed_files(folder: str) -> list[str]:
    """The administrator's files by strength; the first need not exist. Raises BadInvocation."""
    more = os.path.join(folder, MORE_FILES)
    try:
        names = sorted(name for name in os.listdir(more) if name.endswith(".json") and not name.startswith("."))
    except OSError as error:
        if not is_absent(error):
            raise BadInvocation(f"the managed settings in {more} cannot be read: {error.strerror}") from None
        names = []
    if len(names) > MAX_FILES:
        raise BadInvocation(f"{more} has more than {MAX_FILES} files of managed settings")
    return [os.path.join(folder, FILE), *(os.path.join(more, name) for name in names)]


def _read(path: str, report: FileReport, *, pipes: bool = False) -> dict[str, Any] | None:
    """The settings of a file; None if there is none."""
    try:
        raw = read_text(path, MAX_SETTINGS_BYTES, pipes=pipes)
    except OSError as error:
        if is_absent(error):
            return None
        raise BadInvocation(f"the managed settings {path} cannot be read: {error.strerror}") from None
    return _parsed(path, raw, report)


def _parsed(place: str, raw: bytes, report: FileReport) -> dict[str, Any]:
    try:
        data = codec.loads(raw)
    except ValueError as error:
        line = getattr(error, "lineno", 1)
        raise BadInvocation(f"the managed settings {place}, line {line}: not valid JSON") from None
    if not isinstance(data, dict):
        raise BadInvocation(f"the managed settings {place}, line 1: not a JSON object")
    for key, problem in wrong_types(data):
        raise BadInvocation(f"the managed settings {place}, line {line_of(raw, key)}: {problem}")
    report.check(place, raw, data)
    return data
