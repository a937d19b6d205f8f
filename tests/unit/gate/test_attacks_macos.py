r"""The attack table of macOS: names in other letters, other names of one file, programs of BSD. Runs on every system.

The session works in `/Users/u/w`, where rules hide `secret.txt`, `café.txt`, `file1.txt` and `vault`, and lock
`locked.txt`. Nothing was run on macOS itself: what its file systems do is in `text/macos_paths.py`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.helpers.gates import bash, decide
from tests.helpers.settings import settings_with
from tests.helpers.windows_gate import MODES
from yume_shim.disk.resolve import on_macos, resolve
from yume_shim.gate.paths import MACOS, POSIX, WSL
from yume_shim.gate.permissions import Permissions
from yume_shim.types.settings import Rules

if TYPE_CHECKING:
    from yume_shim.disk.resolve import Resolved

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="paths with / are resolved")
DENY = ("Read(./secret.txt)", "Edit(./locked.txt)", "Read(./caf\u00e9.txt)", "Read(./file1.txt)", "Read(./vault/**)")


def as_on_macos(path: str) -> Resolved:
    found = resolve(path)
    return found if found.flaw else on_macos(found.real, found.is_link)


def mac_gate(
    mode: str, *, deny: tuple[str, ...] = DENY, allow: tuple[str, ...] = (), cwd: str = "/Users/u/w"
) -> Permissions:
    settings = settings_with(permission_mode=mode, rules=Rules(allow, (), deny))
    return Permissions(settings, cwd, "/Users/u", False, lambda *_: None, flavour=MACOS, resolver=as_on_macos)


HIDDEN = [
    *(
        "SECRET.txt",
        "\u017fecret.txt",
        "cafe\u0301.txt",
        "CAF\u00c9.TXT",
        "CAFE\u0301.txt",
        "\ufb01le1.txt",
        "se\u200ccret.txt",
    ),
    *("/System/Volumes/Data/Users/u/w/secret.txt", "/System/volumes/DATA/users/U/W/Secret.txt", "/USERS/u/w/vault/x"),
    *("/.nofollow/Users/u/w/secret.txt", "/.resolve/1/Users/u/w/secret.txt", "//.NoFollow//Users/u/w/vault/x"),
    *("/.vol/16777220/1234", "/.VOL/1/2/secret.txt", "/private/../Users/u/w/secret.txt", "secret.txt/..namedfork/rsrc"),
    *("secret\u200d.txt", "\ufeffsecret.txt", "./Vault/../SECRET.TXT", "VAULT\u200e/key", "~/w/Secret.txt"),
]


@pytest.mark.parametrize("path", HIDDEN)
def test_no_spelling_passes_a_deny_rule(path: str) -> None:
    for mode in MODES:
        assert decide(mac_gate(mode), "Read", file_path=path).verdict == "deny", mode
        assert decide(mac_gate(mode), "Grep", path=path, pattern="x").verdict == "deny", mode
        assert bash(mac_gate(mode), f"cat '{path}'" if path[0] != "~" else f"cat {path}").verdict != "allow", mode


READS = [
    *(
        "CAT SECRET.TXT",
        "cat cafe\u0301.txt",
        "Grep -r x .",
        "Rg x",
        "GIT grep x",
        "ZIP -r o .",
        "ditto . /tmp/o",
        "CP -R . /tmp/o",
    ),
    *(
        "arch -x86_64 cat secre*",
        "caffeinate -i cat sec*",
        "sandbox-exec -p x cat sec*",
        "xcrun cat sec*",
        "ZSH -c 'cat sec*'",
    ),
    *(
        "open secret.txt",
        "open -a Terminal x",
        "osascript -e 'do shell script \"x\"'",
        "osascript x.scpt",
        "launchctl submit -l x -- cat x",
    ),
    *("automator x", "env -S 'cat secret.txt'", "env -P /tmp cat sec*", "pbcopy < Secret.txt", "plutil -p SECRET.txt"),
    *("curl file:///Users/u/w/SECRET.TXT", "curl file://localhost/Users/u/w/s%65cret.txt", "git show :Secret.txt"),
    *(
        "cd /System/Volumes/Data/Users/u/w && cat secret.txt",
        "cd /.vol/1/2 && cat secret.txt",
        "cd /.nofollow/Users/u/w && cat secret.txt",
        "cd VAULT && cat x",
    ),
    *(
        "mount -t nullfs . /mnt/m && cat /mnt/m/x",
        "cat < /System/Volumes/Data/Users/u/w/secret.txt",
        "batch",
        "crontab x",
    ),
]
WRITES = [
    *(
        "echo x > LOCKED.TXT",
        "echo x > /System/Volumes/Data/Users/u/w/locked.txt",
        "TEE locked.txt",
        "CP other.txt Locked.txt",
    ),
    *(
        "sed -i s/a/b/ wlocked.txt",
        "SED -i '' s/a/b/ locked.txt",
        "ditto other.txt locked.txt",
        "plutil -convert xml1 locked.txt",
    ),
    *(
        "textutil -convert txt -output locked.txt x",
        "xattr -w a b locked.txt",
        "chflags hidden LOCKED.txt",
        "sips -o locked.txt x",
    ),
]


@pytest.mark.parametrize("command", READS + WRITES)
def test_no_command_passes_a_deny_rule(command: str) -> None:
    assert [mode for mode in MODES if bash(mac_gate(mode), command).verdict == "allow"] == []


@pytest.mark.parametrize(
    "command",
    [
        *(
            "ENV curl x",
            "arch -x86_64 curl x",
            "ARCH -arm64 CURL x",
            "xcrun curl x",
            "sandbox-exec -p x curl x",
            "GNICE curl x",
        ),
        *(
            "open -a curl x",
            "osascript -e x",
            "launchctl submit -l x -- curl",
            "env -S 'curl x'",
            "login -f u curl",
            "at now",
        ),
        *(
            "script -q /dev/null curl x",
            "caffeinate curl x",
            "find . -exec Curl {} +",
            "command Curl x",
            "/USR/BIN/CURL x",
        ),
    ],
)
def test_no_spelling_passes_a_denied_command(command: str) -> None:
    guard = mac_gate("bypassPermissions", deny=("Bash(curl:*)",))
    assert bash(guard, command).verdict != "allow"


@pytest.mark.parametrize(
    ("command", "mode"),
    [
        ("uniq other.txt -c", "default"),  # writes a file `-c`
        ("ls -w /etc", "default"),  # -w has no value there
        ("ls -T /etc", "plan"),
        ("cat other.txt -n", "default"),
        ("grep -C 5 /etc/passwd other.txt", "default"),
        ("sed -i s/a/b/ w.git/hooks/pre-commit other.txt", "acceptEdits"),  # the script is `w.git/hooks/pre-commit`
        ("sed -i.bak s/a/b/ other.txt", "acceptEdits"),
        ("cp other.txt x -R", "acceptEdits"),
        ("mkdir -p /System/Volumes/Data/Users/u/x", "acceptEdits"),
        ("cat /.vol/1/2", "default"),
        ("cat /.nofollow/etc/passwd", "default"),
        ("mkdir -p /.resolve/1/Users/u/x", "acceptEdits"),
        ("cat /System/Volumes/Data/etc/passwd", "default"),
    ],
)
def test_what_programs_of_bsd_read_otherwise_is_asked_about(command: str, mode: str) -> None:
    assert bash(mac_gate(mode, deny=()), command).verdict == "ask"


def test_ordinary_work_goes_on() -> None:
    for command in (
        "ls -la",
        "cat other.txt",
        "head -n 5 other.txt",
        "grep -rn x sub",
        "rg x sub -n",
        "uniq -c other.txt",
        "git status",
    ):
        assert bash(mac_gate("default", deny=()), command).verdict == "allow", command
    for command in ("cp -R sub new", "mkdir -p a/b", "touch x", "rm -f x", "mv x y"):
        assert bash(mac_gate("acceptEdits", deny=()), command).verdict == "allow", command
    for path in ("other.txt", "/USERS/u/W/other.txt", "/System/Volumes/Data/Users/u/w/other.txt"):
        verdict = decide(mac_gate("default", deny=()), "Read", file_path=path).verdict
        assert verdict == ("ask" if path.startswith("/System") else "allow"), path


def test_an_allow_rule_covers_the_same_name_only() -> None:
    for rule, path, verdict in (
        ("Read(//Users/u/caf\u00e9/**)", "/Users/u/cafe\u0301/x", "allow"),
        ("Read(//Users/u/cafe\u0301/**)", "/Users/u/CAF\u00c9/x", "allow"),
        ("Read(//Users/u/stra\u00dfe/**)", "/Users/u/strasse/x", "ask"),
        ("Read(//Users/u/file/**)", "/Users/u/\ufb01le/x", "ask"),
    ):
        assert decide(mac_gate("default", deny=(), allow=(rule,)), "Read", file_path=path).verdict == verdict, path
    for folder, path in (("/Users/u/strasse", "/Users/u/stra\u00dfe/x"), ("/Users/u/file", "/Users/u/\ufb01le/x")):
        assert decide(mac_gate("default", deny=(), cwd=folder), "Read", file_path=path).verdict == "ask"
    assert decide(mac_gate("default", cwd="/Users/u/\u00e9"), "Read", file_path="/Users/u/e\u0301/x").verdict == "allow"


@pytest.mark.parametrize(
    "path",
    [
        *(
            ".g\u200cit/config",
            ".g\u200dit/hooks/x",
            ".\u200egit/config",
            "\u202e.git/config",
            ".cl\ufeffaude/settings.json",
        ),
        *(".GIT/config", ".Claude/settings.json", ".vscode\u200d/tasks.json", ".bashrc\u200d", ".\u017f\u017fh/config"),
    ],
)
def test_characters_that_a_file_system_ignores_hide_no_protected_name(path: str) -> None:
    """HFS+ leaves them out (CVE-2014-9390); such a disk can be mounted on other systems, too."""
    for flavour in (MACOS, POSIX, WSL):
        settings = settings_with(permission_mode="acceptEdits", rules=Rules((), (), ()))
        guard = Permissions(settings, "/Users/u/w", "/Users/u", False, lambda *_: None, flavour=flavour)
        assert decide(guard, "Write", file_path=path, content="x").verdict == "ask", flavour.name
