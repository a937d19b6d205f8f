r"""The attack table of Windows: spellings, streams, devices, rules. Runs on every system, with a disk of its own.

The session works in `C:\w`, where rules hide `secret.txt` and lock `locked.txt`. No spelling may pass a deny rule, in
any mode, and nothing runs unasked that was not judged as what Windows would do.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.gates import SPECS, decide
from tests.helpers.settings import settings_with
from tests.helpers.windows_gate import MODES, SHORT, SPELLINGS, verdicts, windows_gate
from yume_shim.gate.paths import WINDOWS
from yume_shim.gate.permissions import Permissions
from yume_shim.gate.workspace import resolved_by_text as by_text
from yume_shim.types.blocks import ToolCall

# ---------------------------------------------------------------- file tools: one file, many spellings


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_spelling_passes_a_deny_rule(spelling: str, mode: str) -> None:
    rows: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("secret.txt", "Read", {}),
        ("secret.txt", "Grep", {"pattern": "x"}),
        ("locked.txt", "Edit", {"old_string": "a", "new_string": "b"}),
        ("locked.txt", "Write", {"content": "x"}),
    )
    for name, tool, more in rows:
        field = {"Grep": "path"}.get(tool, "file_path")
        for each in (name, SHORT[name]):
            path = spelling.replace("{{0}}", "{0}").replace("{}", each).replace("^", each.upper())
            assert verdicts(tool, field, path, mode, **more) == {"deny"}, (tool, path)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "path", ["vault\\key.pem", "VAULT~1\\key.pem", "joint\\key.pem", "\\\\?\\C:\\w\\VAULT\\KEY.PEM", "vault.\\key.pem"]
)
def test_no_spelling_passes_a_denied_folder(path: str, mode: str) -> None:
    assert verdicts("Read", "file_path", path, mode) == {"deny"}
    assert verdicts("Grep", "path", path.rpartition("\\")[0], mode, pattern="x") == {"deny"}


DEVICE_CALLS: tuple[tuple[str, dict[str, Any]], ...] = (("Read", {}), ("Write", {"content": "x"}))
DEVICES = [
    *("nul", "NUL.txt", "con", "sub\\aux", "prn.log", "COM1", "com\u00b9", "COM\u00b2.txt", "LPT\u00b3", "lpt9.x"),
    *("conin$", "CONOUT$", "clock$", "nul .txt", "\\\\.\\PhysicalDrive0", "\\\\.\\pipe\\x", "\\\\.\\C:", "a<b", "a|b"),
    *("a\x01b", "x?", 'x"y', "\\\\server\\share\\x", "//server/share/x", "\\\\?\\pipe\\x", "C:", "C:nul", "x:"),
]


@pytest.mark.parametrize("path", DEVICES)
def test_devices_pipes_and_servers_are_never_opened(path: str) -> None:
    for mode in MODES:
        for tool, more in DEVICE_CALLS:
            assert verdicts(tool, "file_path", path, mode, **more) == {"deny"}


def test_ordinary_paths_are_read_and_written() -> None:
    for path in (
        "other.txt",
        "OTHER.TXT",
        "C:\\w\\sub\\note.txt",
        "C:/w/new file.txt",
        "\\\\?\\C:\\w\\other.txt",
        "~$x",
    ):
        assert verdicts("Read", "file_path", path, "default") == {"allow"}, path
        assert verdicts("Write", "file_path", path, "acceptEdits", content="x") == {"allow"}, path
    assert verdicts("Read", "file_path", "/c/w/other.txt", "default") == {"allow"}
    for path in ("C:\\Users\\u\\private.txt", "away\\private.txt", "..\\Windows\\win.ini", "D:\\x", "C:\\w2\\x"):
        assert verdicts("Read", "file_path", path, "default") == {"ask"}, path
        assert verdicts("Write", "file_path", path, "acceptEdits", content="x") == {"ask"}, path
    for path in (".git\\config", "GIT~1\\config", ".GIT\\hooks\\x", ".claude\\settings.json", ".CLAUDE/settings.json"):
        assert verdicts("Write", "file_path", path, "acceptEdits", content="x") == {"ask"}, path


def test_letters_that_windows_takes_for_the_same() -> None:
    for name, other in (("\u1f80", "\u1f88"), ("\u1ff3", "\u1ffc"), ("\u0436", "\u0416"), ("\u00ff", "\u0178")):
        for mode in MODES:
            guard = windows_gate(mode, deny=(f"Edit(./{name}.txt)",))
            assert decide(guard, "Write", file_path=f"{other}.TXT", content="x").verdict == "deny"


@pytest.mark.parametrize("other", ["C:\\stra\u00dfe\\x", "C:\\wor\u212a\\x", "C:\\\u0131n\\x", "C:\\\u017fub\\x"])
def test_letters_that_only_unicode_takes_for_the_same(other: str) -> None:
    for folder in ("C:\\strasse", "C:\\work", "C:\\in", "C:\\sub"):
        guard = Permissions(settings_with(), folder, "", False, lambda *_: None, flavour=WINDOWS, resolver=by_text)
        assert decide(guard, "Read", file_path=other).verdict == "ask"


def test_a_session_on_a_share() -> None:
    guard = Permissions(
        settings_with(), "\\\\srv\\share\\w", "", False, lambda *_: None, flavour=WINDOWS, resolver=by_text
    )
    assert decide(guard, "Read", file_path="a.txt").verdict == "allow"
    assert decide(guard, "Read", file_path="\\\\SRV\\Share\\w\\a.txt").verdict == "allow"
    assert decide(guard, "Read", file_path="\\\\srv\\share\\w2\\a.txt").verdict == "ask"
    assert decide(guard, "Read", file_path="\\\\srv\\other\\w\\a.txt").verdict == "deny"
    assert decide(guard, "Read", file_path="\\\\evil\\share\\w\\a.txt").verdict == "deny"


# ---------------------------------------------------------------- rules in Windows spelling


@pytest.mark.parametrize(
    "rule",
    [
        *("C:\\w\\secret.txt", "c:\\W\\SECRET.TXT", "C:/w/secret.txt", ".\\secret.txt", "secret.txt", "./secret.txt"),
        *(
            "//c/w/secret.txt",
            "//C/w/**",
            "//C:/w/secret.txt",
            "/secret.txt",
            "\\secret.txt",
            "\\\\?\\C:\\w\\secret.txt",
        ),
        *("//?/C:/w/secret.txt", "\\\\localhost\\c$\\w\\secret.txt", "C:\\w\\*.txt", "C:\\w\\**", "C:\\w", "sec*"),
        *(
            "C:\\\\w\\\\secret.txt",
            "C:\\w\\.\\\\secret.txt",
            "C:\\w\\.",
            "\\\\localhost\\c$\\w\\*",
            "\\\\127.0.0.1\\c$\\**",
        ),
        *("//mnt/c/w/secret.txt", "//cygdrive/C/w/*", "/mnt/c/w/secret.txt", "/cygdrive/c/w/*", "\\w\\secret.txt"),
        *("sub\\..\\secret.txt", "C:\\W~1\\secret.txt", "C:\\w\\SECRET~1.TXT", "C:\\w\\sub\\..\\secret.txt", "C:\\"),
    ],
)
def test_rules_in_the_spelling_of_windows_match_or_warn(rule: str) -> None:
    logged: list[str] = []
    guard = windows_gate("bypassPermissions", deny=(f"Read({rule})",), logged=logged)
    denied = decide(guard, "Read", file_path="C:\\w\\secret.txt").verdict == "deny"
    assert denied != bool(logged), (rule, logged)


@pytest.mark.parametrize(
    "rule", ["%USERPROFILE%\\x", "$env:X\\y", "secret.txt::$DATA", "C:secret.txt", "secret.txt.", "/c/w/x", "${HOME}/x"]
)
def test_rules_that_cannot_match_warn(rule: str) -> None:
    logged: list[str] = []
    guard = windows_gate("default", deny=(f"Read({rule})",), logged=logged)
    decide(guard, "Read", file_path="x")
    assert [rule in line for line in logged] == [True]


def test_a_remembered_path_matches_exactly_that_path() -> None:
    for path in ("C:\\Users\\u\\a[1].txt", "D:\\x\\b.txt"):
        guard = windows_gate("default")
        assert decide(guard, "Read", file_path=path).verdict == "ask"
        guard.apply((guard.exact_rule_for(ToolCall("c", "Read", {"file_path": path}), SPECS["Read"]),))
        assert decide(guard, "Read", file_path=path).verdict == "allow"
        assert decide(guard, "Read", file_path="C:\\Users\\u\\a1.txt").verdict == "ask"
