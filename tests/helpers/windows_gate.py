"""A gate for a session on Windows, for tests on any system: its folder, its rules, a disk of its own.

The session works in `C:\\w`, where rules hide `secret.txt` and lock `locked.txt`.
"""

from __future__ import annotations

from typing import Any

from tests.helpers.gates import decide
from tests.helpers.settings import settings_with
from tests.helpers.windows_disk import WindowsDisk
from yume_shim.disk.foreign_paths import ForeignPath, local_path
from yume_shim.gate.paths import WINDOWS
from yume_shim.gate.permissions import Permissions
from yume_shim.types.settings import Rules

MODES = ("default", "acceptEdits", "plan", "dontAsk", "bypassPermissions")
DENY = ("Read(./secret.txt)", "Edit(./locked.txt)", "Read(./vault/**)")
DISK = WindowsDisk(
    (
        "C:\\w\\secret.txt",
        "C:\\w\\locked.txt",
        "C:\\w\\other.txt",
        "C:\\w\\vault\\key.pem",
        "C:\\w\\sub\\note.txt",
        "C:\\w\\long-secret-name.txt",
        "C:\\w\\.git\\config",
        "C:\\Users\\u\\private.txt",
        "C:\\Windows\\win.ini",
    ),
    {
        "SECRET~1.TXT": "secret.txt",
        "LOCKED~1.TXT": "locked.txt",
        "VAULT~1": "vault",
        "LONG-S~1.TXT": "long-secret-name.txt",
        "GIT~1": ".git",
        "W~1": "w",
    },
    {"C:\\w\\joint": "C:\\w\\vault", "C:\\w\\away": "C:\\Users\\u"},
)


def windows_gate(mode: str, *, deny: tuple[str, ...] = DENY, allow: tuple[str, ...] = (), **more: Any) -> Permissions:
    logged: list[str] = more.pop("logged", [])
    settings = settings_with(permission_mode=mode, rules=Rules(allow, (), deny), add_dirs=more.pop("dirs", ()))
    return Permissions(
        settings,
        "C:\\w",
        "C:\\Users\\u",
        False,
        lambda level, text: logged.append(text),
        flavour=WINDOWS,
        shell=more.pop("shell", "git-bash"),
        resolver=DISK.resolve,
        **more,
    )


def verdicts(tool: str, field: str, path: str, mode: str, guard: Permissions | None = None, **more: Any) -> set[str]:
    """What the gate says on the path as given, and on the plain one that the tool is prepared with."""
    guard = guard or windows_gate(mode)
    found: set[str] = {decide(guard, tool, **{field: path}, **more).verdict}
    try:
        plain = local_path(path, "windows", computer="DESK", pattern=field == "pattern")
        found.add(decide(guard, tool, **{field: plain}, **more).verdict)
    except ForeignPath:
        found.add("deny")
    return found


SPELLINGS = [  # {} is the file's name, ^ its name in capitals
    "{}",
    "^",
    ".\\{}",
    "./{}",
    "C:\\w\\{}",
    "c:\\W\\^",
    "C:/w/{}",
    "\\w\\{}",
    "sub\\..\\{}",
    "sub/../{}",
    "C:\\w\\sub\\..\\.\\{}",
    "\\\\?\\C:\\w\\{}",
    "\\\\?\\c:\\w\\^",
    "\\\\?\\C:\\w\\sub\\..\\{}",
    "\\\\?\\C:\\w/{}",
    "\\\\?\\C:\\w\\{}. ",
    "\\\\.\\C:\\w\\{}",
    "//?/C:/w/{}",
    "//./C:/w/{}",
    "\\??\\C:\\w\\{}",
    "\\\\?\\GLOBALROOT\\Device\\HarddiskVolume1\\w\\{}",
    "\\\\?\\Volume{{0}}\\w\\{}",
    "\\\\.\\GLOBALROOT\\??\\C:\\w\\{}",
    "\\\\localhost\\c$\\w\\{}",
    "\\\\LOCALHOST\\C$\\w\\{}",
    "//localhost/c$/w/{}",
    "\\\\127.0.0.1\\c$\\w\\{}",
    "\\\\127.1\\c$\\w\\{}",
    "\\\\DESK\\c$\\w\\{}",
    "\\\\desk.local\\c$\\w\\{}",
    "\\\\::1\\c$\\w\\{}",
    "\\\\0--1.ipv6-literal.net\\c$\\w\\{}",
    "\\\\?\\UNC\\localhost\\c$\\w\\{}",
    "\\\\.\\UNC\\localhost\\c$\\w\\{}",
    "\\\\server@SSL\\DavWWWRoot\\{}",
    "C:{}",
    "c:sub\\..\\{}",
    "{}::$DATA",
    "{}::$data",
    "{}:stream",
    "{}:stream:$DATA",
    "C:\\w::$INDEX_ALLOCATION\\{}",
    "C:\\w:$I30:$INDEX_ALLOCATION\\{}",
    "{}.",
    "{}...",
    "{} ",
    "{}. .",
    "C:\\w.\\{}",
    "C:\\w \\{}",
    "sub.\\..\\{}",
    "/c/w/{}",
    "/C/W/^",
    "/mnt/c/w/{}",
    "/cygdrive/c/w/{}",
    "~\\..\\..\\w\\{}",
    "~/../../w/{}",
    "C:\\W~1\\{}",
]
SHORT = {"secret.txt": "SECRET~1.TXT", "locked.txt": "LOCKED~1.TXT"}
