r"""The attack table of WSL: this program runs in Linux there, and programs of Windows can be started from it.

The session works in `/mnt/c/w`, where rules hide `secret.txt` and `vault`, and lock `locked.txt`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.helpers.gates import bash, decide, gate
from tests.helpers.windows_gate import MODES
from yume_shim.gate.paths import WSL, Flavour

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.gate.permissions import Permissions

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="paths with / are resolved")
DENY = ("Read(./secret.txt)", "Edit(./locked.txt)", "Read(./vault/**)")


def wsl_gate(mode: str, deny: tuple[str, ...] = DENY, cwd: str = "/mnt/c/w") -> Permissions:
    return gate(cwd, mode, deny=deny, home="/home/u", flat=False, flavour=WSL)


COMMANDS = [
    *(
        "cat SECRET.TXT",
        "cat /mnt/c/W/Secret.txt",
        "cat /MNT/c/w/secret.txt",
        "cd /mnt/c/W && cat secret.txt",
        "cat VAULT/x",
    ),
    *(
        "notepad.exe secret.txt",
        "notepad.exe 'C:\\w\\SECRET.TXT'",
        "findstr.exe x 'secret.txt::$DATA'",
        "more.com 'secret.txt:s'",
    ),
    *(
        "findstr.exe x 'secret.txt.'",
        "more.com 'SECRET.TXT '",
        "findstr.exe x 'C:secret.txt'",
        "findstr.exe x c:/../w/secret.txt",
    ),
    *(
        "findstr.exe x '\\\\wsl.localhost\\Ubuntu\\mnt\\c\\w\\secret.txt'",
        "findstr.exe x '\\\\localhost\\c$\\w\\secret.txt'",
    ),
    *(
        "findstr.exe x '\\\\?\\C:\\w\\secret.txt'",
        "findstr.exe x //127.0.0.1/C\\$/w/secret.txt",
        "findstr.exe x \uff53ecret.txt",
    ),
    *("findstr.exe x '\\\\.\\GLOBALROOT\\Device\\HarddiskVolume3\\w\\secret.txt'", "curl.exe file:///C:/w/SECRET.TXT"),
    *(
        "/mnt/c/Windows/System32/cmd.exe /c 'type sec*'",
        "/mnt/c/windows/SYSTEM32/CMD.EXE /c 'type sec*'",
        "cmd.exe /c 'type sec*'",
    ),
    *(
        "powershell.exe gc secret.txt",
        "POWERSHELL.EXE gc 'sec*'",
        "wsl.exe cat sec*",
        "explorer.exe secret.txt",
        "wslview secret.txt",
    ),
    *(
        "clip.exe < secret.txt",
        "cat $(wslpath -u 'C:\\w\\secret.txt')",
        "robocopy.exe . 'D:\\o' /E",
        "xcopy.exe . 'D:\\o' /s",
    ),
    *(
        "subst.exe z: . && cat /mnt/z/secret.txt",
        "mount -t drvfs C: /mnt/x && cat /mnt/x/w/secret.txt",
        "findstr.exe /s x .",
    ),
    *(
        "echo x > LOCKED.TXT",
        "COPY.exe other.txt locked.txt",
        "attrib.exe +h locked.txt",
        "certutil.exe -decode x locked.txt",
    ),
]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_passes_a_deny_rule(command: str) -> None:
    assert [mode for mode in MODES if bash(wsl_gate(mode), command).verdict == "allow"] == []


@pytest.mark.parametrize(
    "command", ["/mnt/c/Windows/System32/CURL.EXE x", "cmd.exe /c curl x", "ENV curl x", "curl.exe. x", "Curl.cmd x"]
)
def test_no_spelling_passes_a_denied_command(command: str) -> None:
    assert bash(wsl_gate("bypassPermissions", ("Bash(curl:*)",)), command).verdict != "allow"


def test_rules_and_paths_in_the_spelling_of_windows() -> None:
    for rule in (
        "Read(C:\\w\\secret.txt)",
        "Read(c:/W/SECRET.txt)",
        "Read(//mnt/c/w/secret.txt)",
        "Read(./secret.txt)",
    ):
        for path in ("C:\\w\\secret.txt", "secret.txt", "/mnt/c/W/SECRET.TXT", "c:/w/../w/secret.txt"):
            for mode in MODES:
                assert decide(wsl_gate(mode, (rule,)), "Read", file_path=path).verdict == "deny", (rule, path)
    for path in ("\\\\server\\share\\x", "\\\\.\\C:\\w\\x"):
        assert decide(wsl_gate("bypassPermissions"), "Read", file_path=path).verdict == "deny", path


def test_folders_that_differ_in_letters_are_the_same_below_the_drives_only() -> None:
    for cwd, path, verdict in (
        ("/mnt/c/Job", "/mnt/c/job/x", "allow"),
        ("/mnt/c/strasse", "/mnt/c/stra\u00dfe/x", "ask"),
        ("/home/u/Job", "/home/u/job/x", "ask"),
    ):
        assert decide(wsl_gate("default", (), cwd), "Read", file_path=path).verdict == verdict, path


def test_names_that_a_folder_does_not_list_are_refused(tmp_path: Path) -> None:
    """Below the drives Windows opens a file by its short name, and without a dot or a blank at the end."""
    work = tmp_path.resolve() / "c" / "w"
    work.mkdir(parents=True)
    for name in ("odd.", "plain.txt", "SHORT~1.TXT"):
        (work / name).write_text("x")
    flavour = Flavour("wsl", fold=True, mounts=True, mount_root=str(work.parent.parent))
    guard = gate(work, "default", home="/home/u", flat=False, flavour=flavour)
    for name in ("odd.", "plain.txt", "SHORT~1.TXT", "new.txt"):  # these are listed, or do not exist
        assert decide(guard, "Read", file_path=name).verdict == "allow", name
