r"""The attack table of Windows: spellings, streams, devices, shells. Runs on every system, with a disk of its own.

The session works in `C:\w`, where rules hide `secret.txt` and lock `locked.txt`. No spelling may pass a deny rule, in
any mode, and nothing runs unasked that was not judged as what Windows would do.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.helpers.gates import SPECS, bash, decide
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


# ---------------------------------------------------------------- commands

READS_THE_SECRET = [
    *("cat secret.txt", "cat SECRET.TXT", "cat ./Secret.txt", "cat sub/../secret.txt", "cat SECRET~1.TXT"),
    *("cat /c/w/secret.txt", "cat /C/W/secret.txt", "cat C:/w/secret.txt", "cat 'C:\\w\\secret.txt'"),
    *("cat C:\\\\w\\\\secret.txt", "cat 'secret.txt::$DATA'", "cat 'secret.txt.'", "cat 'secret.txt '"),
    *("cat secret.txt:x", "cat //?/C:/w/secret.txt", "cat //./C:/w/secret.txt", "cat '\\\\?\\C:\\w\\secret.txt'"),
    *(
        "cat //localhost/c$/w/secret.txt",
        "cat '\\\\localhost\\c$\\w\\secret.txt'",
        "cat C:secret.txt",
        "cat //w/secret.txt",
    ),
    *("cat < /c/w/secret.txt", "cat < secret.txt.", "cd /c/w && cat secret.txt", "cd /c && cat w/secret.txt"),
    *(
        "cd sub && cat ../secret.txt",
        "cd C:/w && cat SECRET.TXT",
        "cd C:\\\\w; cat secret.txt",
        "cd / && cat c/w/secret.txt",
    ),
    *("cat /proc/cygdrive/c/w/secret.txt", "cat /proc/self/cwd/secret.txt", "cat /cygdrive/c/w/secret.txt"),
    *("cat /var/../c/w/secret.txt", "cat /../c/w/secret.txt", "cat /./c/w/secret.txt", "cat //c/w/secret.txt"),
    *(
        "cmd /c type secret.txt",
        "cmd //c type secret.txt",
        "cmd.exe /c 'type C:\\w\\secret.txt'",
        "CMD.EXE //c 'ty^pe sec^ret.txt'",
    ),
    *("powershell -Command 'Get-Content secret.txt'", "pwsh -c 'gc sec*'", "PowerShell.exe -EncodedCommand eAB4AA=="),
    *(
        "more.com secret.txt",
        "findstr x secret.txt",
        "findstr /n x 'C:\\w\\secret.txt'",
        "certutil -encode secret.txt x",
    ),
    *("wsl cat secret.txt", "wsl.exe cat /mnt/c/w/secret.txt", "winpty cat secret.txt", "notepad 'C:\\w\\secret.txt'"),
    *(
        "grep -r x .",
        "cat *.txt",
        "cat sec*",
        "cat /c/w/*.txt",
        "cat /c/w/sec?et.txt",
        "tar cf - /c/w",
        "git show HEAD:secret.txt",
    ),
    *(
        "cat joint/key.pem",
        "cat VAULT~1/key.pem",
        "cat vault./key.pem",
        "type secret.txt; cat secret.txt",
        "start secret.txt",
    ),
]


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "bypassPermissions"])
@pytest.mark.parametrize("command", READS_THE_SECRET)
def test_no_command_reads_what_a_rule_hides(command: str, mode: str) -> None:
    assert bash(windows_gate(mode), command).verdict != "allow"


WRITES_THE_LOCKED = [
    *("echo x > locked.txt", "echo x > LOCKED.TXT", "echo x > /c/w/locked.txt", "echo x >> C:/w/locked.txt"),
    *("echo x > 'locked.txt.'", "echo x > 'locked.txt::$DATA'", "echo x > locked.txt:s", "echo x > LOCKED~1.TXT"),
    *(
        "echo x > C:locked.txt",
        "echo x > //?/C:/w/locked.txt",
        "cp other.txt 'C:\\w\\locked.txt'",
        "tee /c/w/Locked.txt",
    ),
    *("cd /c/w && rm locked.txt", "mv other.txt locked.txt", "sed -i s/a/b/ LOCKED.TXT", "cmd //c 'echo x>locked.txt'"),
    *("rm -rf /c/w", "rm *.txt", "truncate -s 0 'locked.txt '"),
]


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "bypassPermissions"])
@pytest.mark.parametrize("command", WRITES_THE_LOCKED)
def test_no_command_writes_what_a_rule_locks(command: str, mode: str) -> None:
    assert bash(windows_gate(mode), command).verdict != "allow"


UNASKED = [
    *(
        "cat /etc/passwd",
        "cat /tmp/x",
        "cat /proc/self/environ",
        "ls /",
        "ls /c",
        "ls /c/Users/u",
        "cat C:/Users/u/private.txt",
    ),
    *(
        "cat 'C:\\Users\\u\\private.txt'",
        "cat ~/private.txt",
        "cat away/private.txt",
        "ls //server/share",
        "cat '\\\\server\\share\\x'",
    ),
    *(
        "cat nul",
        "cat CON",
        "cat com1",
        "echo x > nul",
        "cat C:x",
        "cat /d/x",
        "cd /d && ls",
        "cd //server/share && ls",
    ),
    *(
        "cat a.txt:stream",
        "cat //./pipe/x",
        "ls 'C:x'",
        "cmd /c dir",
        "cmd //c dir",
        "powershell ls",
        "wsl ls",
        "start .",
    ),
    *("git.exe status", "CAT other.txt", "cat.exe other.txt", "./cat other.txt", "C:/w/ls", "'C:\\w\\ls.exe'"),
    *("ls /c/w/../Users", "ls C:/w/..", "cat other.txt > /c/x", "cat other.txt > x.txt"),
]


@pytest.mark.parametrize("command", UNASKED)
def test_nothing_outside_is_read_unasked(command: str) -> None:
    for shell in ("git-bash", "wsl"):
        for mode in ("default", "plan"):
            assert bash(windows_gate(mode, deny=(), shell=shell), command).verdict == "ask", shell
        assert bash(windows_gate("dontAsk", deny=(), shell=shell), command).verdict == "deny", shell


EDITS = [
    *(
        "echo x > nul",
        "echo x > 'a:b'",
        "echo x > C:x",
        "echo x > /c/x",
        "touch /tmp/x",
        "mkdir GIT~1/x",
        "touch .GIT/config",
    ),
    *(
        "touch .git./config",
        "echo x > '.git /config'",
        "touch .claude/settings.json",
        "cp other.txt LPT1",
        "mv other.txt x.",
    ),
    *(
        "cp other.txt '\\\\server\\share\\x'",
        "touch //server/share/x",
        "cp other.txt ../x",
        "rm -rf /c/w/../x",
        "touch away/x",
    ),
    *("echo x > GIT~1/config", "mkdir /c/x", "rm 'C:\\Users\\u\\private.txt'", "touch CON", "echo x > 'x::$DATA'"),
]


@pytest.mark.parametrize("command", EDITS)
def test_no_edit_leaves_the_folder_unasked(command: str) -> None:
    for shell in ("git-bash", "wsl"):
        assert bash(windows_gate("acceptEdits", deny=(), shell=shell), command).verdict == "ask", shell


def test_ordinary_commands_run_unasked() -> None:
    for command in (
        "ls",
        "cat other.txt",
        "cat /c/w/other.txt",
        "cat C:/w/other.txt",
        "cd /c/w/sub && cat note.txt",
        "ls sub",
    ):
        assert bash(windows_gate("default", deny=()), command).verdict == "allow", command
    for command in ("cat /mnt/c/w/other.txt", "cd /mnt/c/w/sub && cat note.txt", "cat other.txt"):
        assert bash(windows_gate("default", deny=(), shell="wsl"), command).verdict == "allow", command
    for command in ("echo x > new.txt", "mkdir /c/w/new", "touch C:/w/new.txt"):
        assert bash(windows_gate("acceptEdits", deny=()), command).verdict == "allow", command
    for command in ("cat other.txt", "git status", "sed -n '/foo/p' other.txt", "git commit -m 'Fix it.'", "ls"):
        assert bash(windows_gate("bypassPermissions"), command).verdict == "allow", command


@pytest.mark.parametrize(
    "command",
    [
        *(
            "curl x",
            "CURL x",
            "curl.exe x",
            "Curl.EXE x",
            "/c/Windows/System32/curl.exe x",
            "C:/Windows/System32/curl x",
        ),
        *("'C:\\Windows\\System32\\curl.exe' x", "cmd /c curl x", "cmd //c 'curl x'", "cmd.exe //C curl x"),
        *(
            "powershell -c 'curl x'",
            "powershell -enc AAAA",
            "start curl x",
            "wsl curl x",
            "winpty curl x",
            "env CURL.exe x",
        ),
        *("ls & curl x", "cd /c/w && curl.exe x", "forfiles /c 'curl x'", "rundll32 x", "bash -c curl.exe"),
    ],
)
def test_no_spelling_passes_a_denied_command(command: str) -> None:
    assert bash(windows_gate("bypassPermissions", deny=("Bash(curl:*)",)), command).verdict != "allow"
