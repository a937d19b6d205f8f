r"""The attack table of Windows: commands of a shell. Runs on every system, with a disk of its own.

The session works in `C:\w`, where rules hide `secret.txt` and lock `locked.txt` (`windows_gate.py`). Nothing runs
unasked that may reach them, in any mode.
"""

from __future__ import annotations

import pytest

from tests.helpers.gates import bash
from tests.helpers.windows_gate import DENY, MODES, windows_gate

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
    # programs in other letters, with endings
    *("GREP -r x .", "grep.EXE -r x .", "RG x", "GIT grep x", "git.EXE grep x", "TAR cf - .", "CP -r . ../o"),
    *("XARGS cat < list", "FIND . -exec cat {} +", "find . -exec CAT {} +", "BASH -c 'cat sec*'", "ENV cat secre*"),
    *(
        "robocopy . 'D:\\o' //E",
        "xcopy . 'D:\\o' //s",
        "findstr //S x '*.*'",
        "Findstr.exe x secret.txt",
        "clip < secret.txt",
    ),
    # the shell's own tree, drives under another letter
    *("cat /usr/../c/w/secret.txt", "cat /mingw64/bin/../../c/w/secret.txt", "cat < /etc/../c/w/secret.txt"),
    *("subst z: . && cat z:/secret.txt", "net use z: x && cat z:/w/secret.txt", "cat c:/../w/secret.txt"),
    *(
        "cat ~/../../w/secret.txt",
        "cd .. && cat w/secret.txt",
        "pushd /c && cat w/secret.txt",
        "cat $OLDPWD/secret.txt",
    ),
    # addresses, programs that start others, code pages
    *("curl file:///C:/w/secret.txt", "curl file:///c:/w/s%65cret.txt", "curl 'FILE://localhost/C:/w/secret.txt'"),
    *(
        "ubuntu run 'cat secret.txt'",
        "ubuntu2204.exe -c 'cat /mnt/c/w/sec*'",
        "powershell_ise -c x",
        "runas //user:x cmd",
    ),
    *(
        "wt cmd",
        "regsvr32 //s x",
        "msbuild x.proj",
        "$COMSPEC //c 'type sec*'",
        "env -S 'cat secret.txt'",
        "pcalua -a cmd",
    ),
    *(
        "findstr x \uff53ecret.txt",
        "certutil -dump 'C:\u00a5w\u00a5secret.txt'",
        "more.com 'sub\u2215..\u2215secret.txt'",
    ),
]


@pytest.mark.parametrize("command", READS_THE_SECRET)
def test_no_command_reads_what_a_rule_hides(command: str) -> None:
    for shell in ("git-bash", "wsl"):
        if shell == "git-bash" or "/c/" not in command:  # in WSL the drives are below /mnt
            assert [mode for mode in MODES if bash(windows_gate(mode, shell=shell), command).verdict == "allow"] == []


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
    *(
        "echo x | TEE locked.txt",
        "Tee.EXE LOCKED.TXT",
        "CP other.txt locked.txt",
        "MV other.txt locked.txt",
        "RM locked.txt",
    ),
    *(
        "SED -i s/a/b/ locked.txt",
        "sed.EXE -i s/a/b/ locked.txt",
        "DD of=locked.txt",
        "LN -sf x locked.txt",
        "RM -rf /c/w",
    ),
    *(
        "copy other.txt locked.txt",
        "robocopy . . locked.txt",
        "del locked.txt",
        "move other.txt locked.txt",
        "ren x locked.txt",
    ),
    *(
        "attrib +h locked.txt",
        "fsutil file createnew locked.txt 1",
        "certutil -decode other.txt locked.txt",
        "ed locked.txt",
    ),
    *(
        "sort -o locked.txt x",
        "SORT.exe -o locked.txt x",
        "curl -o LOCKED.TXT x",
        "wget -O locked.txt x",
    ),
    *("tar xf a.tar", "git checkout -- locked.txt", "GIT restore LOCKED~1.TXT"),
    *("dos2unix locked.txt", "vim -c wq locked.txt", "perl -pi -e s/a/b/ locked.txt", "awk -i inplace 1 locked.txt"),
    *("echo x > '\\w\\locked.txt'", "echo x > '/x\\..\\c\\w\\locked.txt'", "rm -rf '\\w'"),
    *("echo x > /usr/../c/w/locked.txt", "esentutl //y other.txt //d locked.txt", "sponge locked.txt"),
]


@pytest.mark.parametrize("command", WRITES_THE_LOCKED)
def test_no_command_writes_what_a_rule_locks(command: str) -> None:
    assert [mode for mode in MODES if bash(windows_gate(mode), command).verdict == "allow"] == []


def test_reading_a_locked_file_is_no_write() -> None:
    for command in (
        "cat locked.txt",
        "sort locked.txt",
        "grep x locked.txt",
        "git diff locked.txt",
        "git add locked.txt",
    ):
        assert bash(windows_gate("bypassPermissions", deny=("Edit(./locked.txt)",)), command).verdict == "allow", (
            command
        )
    for command in ("curl -o x.txt y", "git pull", "git checkout main"):
        guard = windows_gate("bypassPermissions", deny=("Edit(//c/Users/u/private.txt)",))
        assert bash(guard, command).verdict == "allow", command


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
    *("ls /c/w/../Users", "ls C:/w/..", "cat other.txt > /c/x", "cat other.txt > x.txt", "expand other.txt x"),
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
    for command in (
        "cat '\\w\\other.txt'",
        "sed -n '/foo\\.bar/p' other.txt",
        "grep '\\d\\w' other.txt",
        "grep '/c\\.d' other.txt",
    ):
        for deny in ((), DENY):  # a backslash is no path in itself
            assert bash(windows_gate("default", deny=deny), command).verdict == "allow", command
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
        *("ENV curl x", "Env.exe CURL x", "NICE curl x", "TIMEOUT 5 curl x", "XARGS curl < x", "/usr/bin/NOHUP curl x"),
        *("FIND . -exec curl {} +", "find.EXE . -exec curl.exe {} +", "PARALLEL curl ::: x", "SH -c 'curl x'"),
        *("curl. x", "'curl ' x", "curl.exe. x", "C:curl x", "c\\url x", "curl.cmd x", "'\\\\?\\C:\\x\\curl.exe' x"),
        *(
            "env -S 'curl x'",
            "env --split-string='curl x'",
            "ubuntu run curl x",
            "wt curl x",
            "schtasks //create //tr curl",
        ),
        *(
            "py -c 'import os'",
            "pyw -3 -c x",
            "pythonw.exe -c x",
            "git-bash -c 'curl x'",
            "mintty -e curl x",
            "gsudo curl",
        ),
        *("watch 'ls; curl x'", "git -c alias.x='!ls; curl x' x", "PAGER='ls; curl x' git log", "su -c 'cd /; curl x'"),
        *("pcalua -a curl", "runas //user:x curl", "sc create x binpath= curl", "at 12:00 curl", "conhost curl x"),
    ],
)
def test_no_spelling_passes_a_denied_command(command: str) -> None:
    assert bash(windows_gate("bypassPermissions", deny=("Bash(curl:*)",)), command).verdict != "allow"
