"""Lines of `doctor` about files: each config and settings file with its state, and the folder of the sessions."""

from __future__ import annotations

import os

from yume_shim.cli.doctor.line import Line
from yume_shim.config.file_report import FileReport
from yume_shim.config.managed_settings import managed_files
from yume_shim.config.settings_files import MAX_SETTINGS_BYTES, managed_folder, read_config, settings_file
from yume_shim.disk.bounded import is_absent, read_text
from yume_shim.text import codec
from yume_shim.types.errors import BadInvocation
from yume_shim.types.folders import SAVED_RULES, claude_folder, claude_state_file, yume_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FILES, SESSIONS = "Files", "Sessions"
_LOW_DISK = 100 << 20
_LOOKED_AT = 20
"""The newest sessions, which are opened."""


def file_lines(env: Mapping[str, str], cwd: str, managed: str = "") -> Iterator[Line]:
    """The state of every file that a start here reads."""
    yield _config_line(env)
    users, folder = os.path.join(claude_folder(env), "settings.json"), os.path.join(cwd, ".claude")
    yield from _settings_lines("user", users)
    for name, file in (("project", "settings.json"), ("local", "settings.local.json")):
        path = os.path.join(folder, file)
        if os.path.abspath(path) != os.path.abspath(users):
            yield from _settings_lines(name, path)
    try:
        for path in managed_files(managed or managed_folder()):
            yield from _settings_lines("managed", path)
    except BadInvocation as error:
        yield Line(FILES, "managed", "wrong", error.message)
    places = (
        ("state", claude_state_file(env)),
        ("MCP servers", os.path.join(cwd, ".mcp.json")),
        ("saved rules", os.path.join(yume_folder(env), SAVED_RULES)),
        ("trust", os.path.join(yume_folder(env), "trust.json")),
    )
    for name, path in places:
        yield _json_line(name, path)


def _config_line(env: Mapping[str, str]) -> Line:
    from yume_shim.config.known_settings import check_config, with_line

    named = env.get("YUME_CONFIG", "")
    path = named or os.path.join(yume_folder(env), "config.toml")
    noted: list[str] = []
    try:
        config = read_config(path, lambda level, text: noted.append(text), required=bool(named))
        noted += check_config(config, path)
    except BadInvocation as error:
        return Line(FILES, "config", "wrong", with_line(path, error.message), f"edit {path}")
    if noted:
        return Line(FILES, "config", "off", "; ".join(noted), f"edit {path}")
    if not os.path.exists(path):
        return Line(FILES, "config", "off", f"{path} (does not exist)", "yume-shim init writes one")
    return Line(FILES, "config", "ok", path)


def _settings_lines(name: str, path: str) -> Iterator[Line]:
    report = FileReport(lambda level, text: None)
    data = settings_file(path, report)
    for text in report.damages:
        yield Line(FILES, name, "wrong", text, f"edit {path}")
    for text in report.warnings:
        yield Line(FILES, name, "off", text, f"edit {path}")
    if not report.damages and not report.warnings:
        absent = data is None
        yield Line(FILES, name, "off" if absent else "ok", f"{path} (does not exist)" if absent else path)


def _json_line(name: str, path: str) -> Line:
    try:
        data = codec.loads(read_text(path, MAX_SETTINGS_BYTES * 16))
    except OSError as error:
        if is_absent(error):
            return Line(FILES, name, "off", f"{path} (does not exist)")
        return Line(FILES, name, "wrong", f"{path}: it cannot be read ({error.strerror})")
    except ValueError as error:
        line = getattr(error, "lineno", 1)
        return Line(FILES, name, "wrong", f"{path}, line {line}: it is not valid JSON", f"edit {path}")
    if not isinstance(data, dict):
        return Line(FILES, name, "wrong", f"{path}, line 1: it is not a JSON object", f"edit {path}")
    return Line(FILES, name, "ok", path)


def session_lines(projects: str) -> Iterator[Line]:
    """Can sessions be stored, and can the newest be read?"""
    from yume_shim.store.index import look, recent

    if not os.path.isdir(projects):
        if os.path.lexists(projects):
            yield Line(SESSIONS, "folder", "wrong", f"{projects} is not a folder", f"remove {projects}")
            return
        above = projects
        while not os.path.isdir(above) and os.path.dirname(above) != above:
            above = os.path.dirname(above)
        fine = os.access(above, os.W_OK)
        text = "is made with the first session" if fine else f"cannot be made: {above} cannot be written"
        todo = "" if fine else "choose a folder with --session-dir, or use --no-session-persistence"
        yield Line(SESSIONS, "folder", "off" if fine else "wrong", f"{projects} {text}", todo)
    elif not os.access(projects, os.W_OK | os.X_OK):
        todo = "choose a folder with --session-dir, or use --no-session-persistence"
        yield Line(SESSIONS, "folder", "wrong", f"{projects} cannot be written", todo)
    else:
        found = recent(projects, 100_000)
        damaged = [path for path, _, _ in found[:_LOOKED_AT] if look(path) is None]
        text = f"{projects}, {len(found):,} sessions"
        if damaged:
            text += f"; not a session: {', '.join(os.path.basename(path) for path in damaged)}"
        yield Line(SESSIONS, "folder", "off" if damaged else "ok", text)
        yield _room(projects)


def _room(folder: str) -> Line:
    from shutil import disk_usage

    free = disk_usage(folder).free
    low = free < _LOW_DISK
    text = f"{free >> 20:,} MB free"
    return Line(SESSIONS, "disk", "wrong" if low else "ok", text, "make room on the disk" if low else "")
