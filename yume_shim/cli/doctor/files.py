"""Lines of `doctor` about files: each config and settings file with its state, and the folder of the sessions."""

from __future__ import annotations

import os
import stat
from itertools import islice

from yume_shim.cli.doctor.contents import line_of, of_saved_rules, of_servers, of_settings, of_trust
from yume_shim.cli.doctor.line import Line
from yume_shim.config.file_report import MAX_SHOWN, FileReport
from yume_shim.config.managed_settings import managed_files
from yume_shim.config.mcp_settings import project_folder
from yume_shim.config.settings_files import MAX_SETTINGS_BYTES, managed_folder, read_config, settings_file
from yume_shim.disk.bounded import is_absent, read_text
from yume_shim.text import codec
from yume_shim.types.errors import BadInvocation
from yume_shim.types.folders import SAVED_RULES, claude_folder, claude_state_file, yume_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from yume_shim.cli.doctor.contents import Mistake

    Contents = Callable[[dict[str, Any]], Iterator[Mistake]]

FILES, SESSIONS = "Files", "Sessions"
_LOW_DISK = 100 << 20
_LOOKED_AT = 20
"""The newest sessions, which are opened."""


def file_lines(env: Mapping[str, str], cwd: str, managed: str = "") -> Iterator[Line]:
    """The state of every file that a start here reads."""
    yield from _config_lines(env)
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
    places: tuple[tuple[str, str, Contents], ...] = (
        ("state", claude_state_file(env), lambda data: of_servers(data, project_folder(cwd))),
        ("MCP servers", os.path.join(cwd, ".mcp.json"), of_servers),
        ("saved rules", os.path.join(yume_folder(env), SAVED_RULES), of_saved_rules),
        ("trust", os.path.join(yume_folder(env), "trust.json"), of_trust),
    )
    for name, path, contents in places:
        yield from _json_lines(name, path, contents)


def _config_lines(env: Mapping[str, str]) -> Iterator[Line]:
    from yume_shim.config.known_settings import config_mistakes, with_line

    named = env.get("YUME_CONFIG", "")
    path = named or os.path.join(yume_folder(env), "config.toml")
    unread: list[str] = []
    try:
        config = read_config(path, lambda level, text: unread.append(text), required=bool(named))
    except BadInvocation as error:
        todo = f"edit {path}" if os.path.lexists(path) else "correct YUME_CONFIG, or write the file: yume-shim init"
        yield Line(FILES, "config", "wrong", with_line(path, error.message), todo)
        return
    if unread:
        yield Line(FILES, "config", "wrong", unread[0], f"make {path} a file that you can read")
        return
    found = list(islice(config_mistakes(config, path), MAX_SHOWN))
    for text, wrong in found:
        yield Line(FILES, "config", "wrong" if wrong else "off", text, f"edit {path}")
    if _holds_keys(config) and _is_open_to_others(path):
        yield Line(FILES, "config", "off", f"{path}: others can read its keys", f"chmod 600 {path}")
    elif not found and not os.path.exists(path):
        yield Line(FILES, "config", "off", f"{path} (does not exist)", "yume-shim init writes one")
    elif not found:
        yield Line(FILES, "config", "ok", path)


def _holds_keys(config: Mapping[str, Any]) -> bool:
    profiles = config.get("profiles")
    tables = profiles.values() if isinstance(profiles, dict) else ()
    return bool(config.get("keys")) or any(isinstance(row, dict) and {"key", "keys"} & row.keys() for row in tables)


def _is_open_to_others(path: str) -> bool:
    return os.name == "posix" and bool(os.stat(path).st_mode & (stat.S_IRWXG | stat.S_IRWXO))


def _settings_lines(name: str, path: str) -> Iterator[Line]:
    report = _KeptReport(lambda level, text: None)
    data = settings_file(path, report)
    for text in report.damages:
        yield Line(FILES, name, "wrong", text, f"edit {path}")
    for text in report.warnings:
        yield Line(FILES, name, "off", text, f"edit {path}")
    found = [] if data is None else list(_mistakes(name, path, report.raw, of_settings(data)))
    yield from found
    if not report.damages and not report.warnings and not found:
        absent = data is None
        yield Line(FILES, name, "off" if absent else "ok", f"{path} (does not exist)" if absent else path)


def _json_lines(name: str, path: str, contents: Contents) -> Iterator[Line]:
    try:
        raw = read_text(path, MAX_SETTINGS_BYTES * 16)
        data = codec.loads(raw)
    except OSError as error:
        if is_absent(error):
            yield Line(FILES, name, "off", f"{path} (does not exist)")
        else:
            yield Line(FILES, name, "wrong", f"{path}: it cannot be read ({error.strerror})")
        return
    except ValueError as error:
        line = getattr(error, "lineno", 1)
        yield Line(FILES, name, "wrong", f"{path}, line {line}: it is not valid JSON", f"edit {path}")
        return
    if not isinstance(data, dict):
        yield Line(FILES, name, "wrong", f"{path}, line 1: it is not a JSON object", f"edit {path}")
        return
    found = list(_mistakes(name, path, raw, contents(data)))
    yield from found or [Line(FILES, name, "ok", path)]


def _mistakes(name: str, path: str, raw: bytes, found: Iterator[Mistake]) -> Iterator[Line]:
    for mistake in islice(found, MAX_SHOWN):
        text = f"{path}, line {line_of(raw, mistake.path)}: {mistake.problem}"
        yield Line(FILES, name, "off" if mistake.harmless else "wrong", text, f"edit {path}")


class _KeptReport(FileReport):
    """Keeps the text of the file that was looked at."""

    raw = b""

    def check(self, path: str, raw: bytes, data: dict[str, Any]) -> None:
        self.raw = raw
        super().check(path, raw, data)


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
        text = f"{projects}, {len(found):,} session{'' if len(found) == 1 else 's'}"
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
