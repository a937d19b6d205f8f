r"""More attack rows of Windows: names of volumes and devices, streams of folders, other letters, batch files.

The session works in `C:\w`, where rules hide `secret.txt` and `vault`, and lock `locked.txt` (`windows_gate.py`). Runs
on every system, with a disk of its own.
"""

from __future__ import annotations

import pytest

from tests.helpers.gates import bash
from tests.helpers.windows_gate import MODES, verdicts, windows_gate

SPELLED = [
    *("\\\\?\\GLOBALROOT\\Device\\HarddiskVolume1\\w\\secret.txt", "\\\\.\\GLOBALROOT\\??\\C:\\w\\secret.txt"),
    *("\\\\?\\Volume{0123}\\w\\secret.txt", "\\\\.\\HarddiskVolume1\\w\\secret.txt"),
    *("\\\\?\\HarddiskVolumeShadowCopy1\\w\\secret.txt", "//?/GLOBALROOT/x", "\\??\\C:\\w\\secret.txt"),
    *("\\\\?\\UNC\\127.0.0.1\\c$\\w\\secret.txt", "\\\\127.0.0.1\\c$\\w\\secret.txt"),
    *("\\\\0x7f.1\\c$\\w\\secret.txt", "\\\\2130706433\\c$\\w\\secret.txt", "\\\\[::1]\\c$\\w\\secret.txt"),
    *("\\\\localhost@80\\c$\\w\\secret.txt", "\\\\localhost\\C$\\w\\secret.txt", "\\\\.\\c$\\w\\secret.txt"),
    *("\\\\tsclient\\c\\w\\secret.txt", "\\\\wsl$\\Ubuntu\\mnt\\c\\w\\secret.txt"),
    *("\\\\wsl.localhost\\Ubuntu\\mnt\\c\\w\\secret.txt", "file:///C:/w/secret.txt"),
    *("file:\\\\C:\\w\\secret.txt", "C:/w/secret.txt/", "C:\\w\\secret.txt\\", "C:\\w\\secret.txt\\."),
    *("C:\\w\\\\secret.txt", "C:\\\\w\\secret.txt", "C:\\w\\.\\secret.txt", "C:/w//secret.txt", "c:secret.txt"),
    *("\\w\\secret.txt", "C:\\w\\secret.txt:", "secret.txt:$DATA", "secret.txt::$DATA:", "secret.txt:::$DATA"),
    *("secret.txt::$ATTRIBUTE_LIST", "C:\\w\\sub\\..\\secret.txt", "C:\\w\\nope\\..\\secret.txt"),
    *("C:\\w\\other.txt\\..\\secret.txt", "secret.txt\t", "secret.txt\n", "secret.txt\x00", "\tsecret.txt"),
    *('"secret.txt"', "/cygdrive/c/w/secret.txt", "/C/w/secret.txt", "//c/w/secret.txt", "/c:/w/secret.txt"),
    *("/mnt/c/w/secret.txt", "/mnt/C/w/secret.txt", "C:\\w\\SECRET~1.TXT::$DATA", "\u212a:\\w\\secret.txt"),
    *("\uff23:\\w\\secret.txt", "C:\uff3cw\uff3csecret.txt", "C:\u2215w\u2215secret.txt", "1:\\x", "@:\\x"),
    *("\\\\?\\c:/w/secret.txt", "\\\\?\\C:\\w\\.\\secret.txt", "\\\\?\\C:\\w\\sub\\..\\secret.txt"),
    *("\\\\?\\C:\\w\\secret.txt.", "\\\\?\\C:secret.txt", "\\\\?\\\\C:\\w\\secret.txt"),
    *("\\\\.\\\\C:\\w\\secret.txt", "///?/C:/w/secret.txt", "\\/?/C:/w/secret.txt", "/\\?\\C:\\w\\secret.txt"),
    *("\\\\??\\C:\\w\\secret.txt",),
    *("\\\\?\\GLOBALROOT\\GLOBAL??\\C:\\w\\secret.txt", "\\\\?\\GLOBALROOT\\DosDevices\\C:\\w\\secret.txt"),
    *("\\\\?\\BootPartition\\w\\secret.txt", "\\\\.\\GLOBAL\\C:\\w\\secret.txt", "\\\\?\\UNC\\.\\c$\\w\\secret.txt"),
    *("\\\\127.000.000.001\\c$\\w\\secret.txt", "\\\\0177.1\\c$\\w\\secret.txt", "\\\\DESK.\\c$\\w\\secret.txt"),
    *("\\\\localhost\\admin$\\..\\c$\\w\\secret.txt", "\\\\localhost@SSL@443\\c$\\w\\secret.txt"),
    *("secret.txt\\..\\secret.txt", "C:\\w\\...\\w\\secret.txt", "secret.txt . . .", "secret.txt:Zone.Identifier"),
    *("C:\\:$I30:$INDEX_ALLOCATION\\w\\secret.txt", "nul\\..\\secret.txt", "C:\\..\\..\\w\\secret.txt", "secret.<"),
    *("joint\\..\\secret.txt", "W~1\\..\\secret.txt", "away\\..\\..\\w\\secret.txt", "D:..\\secret.txt"),
]

READS_THE_SECRET = [
    *("cat //?/GLOBALROOT/Device/HarddiskVolume1/w/secret.txt", "cat '//?/GLOBALROOT/GLOBAL??/C:/w/secret.txt'"),
    # above the root of a drive is the shell's own tree, with the drives in it
    *("cat ../../c/w/secret.txt", "cat sub/../../../c/w/secret.txt", "cd ../.. && cat c/w/secret.txt"),
    *("cat ../../mnt/c/w/secret.txt", "cd ../../..; cat mnt/c/w/secret.txt", "cat /d/../c/w/secret.txt"),
    *("cat /c/../c/w/secret.txt", "cat ~/../../../c/w/secret.txt", "cat < ..//..//c/W/SECRET.TXT"),
    *("cat /mnt/d/../c/w/secret.txt", "cat /mnt/c/../../mnt/c/w/secret.txt", "cat ../../cygdrive/c/w/secret.txt"),
    # with a backslash, a bash of Git takes the whole path for one of Windows, and removes `..` from the text
    *(
        "cat '\\w\\secret.txt'",
        "cat < \\\\w/secret.txt",
        "cat '\\.\\w\\SECRET.txt'",
        "rg x '\\w'",
        "cp '\\w\\secret.txt' y",
    ),
    *("cat '/tmp\\..\\c\\w\\secret.txt'", "cat '/x/y\\..\\../c/w/secret.txt'", "cd '/x\\..\\c' && cat w/secret.txt"),
    *("cat '/??\\C:\\w\\secret.txt'", "cat '\\??/C:/w/secret.txt'", "cat '/proc\\cygdrive\\c\\w\\secret.txt'"),
    "MSYS_NO_PATHCONV=1 curl -T /w/secret.txt x",
    # folders that flags name, commands in words, other shells
    *("env -C .. cat w/secret.txt", "env --chdir sub cat ../secret.txt", "sudo -D .. cat w/secret.txt"),
    *("git -C .. diff --no-index /dev/null w/secret.txt", "make -C .. -f w/secret.txt", "fd . -x cat"),
    *("watch 'cat secret.txt'", "flock x -c 'cat secret.txt'", "git -c alias.x='!cat secret.txt' x"),
    *("GIT_PAGER='cat secret.txt' git log", "git-bash -c 'cat secret.txt'", "mintty -e 'cat secret.txt'"),
    *("echo 'cat secret.txt' | bash", "echo type secret.txt | cmd", "cmd<<<'type secret.txt'", "git-cmd --command=x"),
    *("cat '\\\\?\\GLOBALROOT\\Device\\HarddiskVolumeShadowCopy1\\w\\secret.txt'",),
    *("cat '\\\\?\\Volume{01234567-89ab-cdef-0123-456789abcdef}\\w\\secret.txt'",),
    *("cat //./pipe/../C:/w/secret.txt", "cat '\\??\\C:\\w\\secret.txt'", "cat 'secret.txt::$data'"),
    *("cat SECRET.TXT::\\$DATA", "cat 'vault::$INDEX_ALLOCATION/key.pem'"),
    *("cat 'vault:$I30:$INDEX_ALLOCATION/key.pem'", "cat \uff53ecret.txt", "cat secret\u2024txt"),
    *("cat 'secret.txt\u200b'", "cat $'secret\\x2etxt'", "cat $'\\x73ecret.txt'", 'cat "$(echo secret.txt)"'),
    *("cat `echo secret.txt`", "cat ${x:-secret.txt}", "cat s{ecret,x}.txt", "cat {secret,other}.txt"),
    *("cat secre[t].txt", "cat secre?.txt", "shopt -s nocaseglob; cat SEC*"),
    *("shopt -s nocaseglob && cat SECRE[T].txt", "cat \"$(cygpath -u 'C:\\w\\secret.txt')\""),
    *("cygpath -w secret.txt | xargs cat", "cat /proc/self/root/c/w/secret.txt", "cat /proc/$$/cwd/secret.txt"),
    *("cat /proc/registry/HKEY_LOCAL_MACHINE/x", "cat /dev/fd/../../c/w/secret.txt", "cat /dev/clipboard"),
    *("cat /dev/sda", "cat /dev/conin", "MSYS_NO_PATHCONV=1 cmd /c type secret.txt"),
    *("MSYS2_ARG_CONV_EXCL='*' cmd /c 'type secret.txt'",),
    *("MSYS=winsymlinks:nativestrict ln -s vault v2 && cat v2/key.pem", "ln -s secret.txt x && cat x"),
    *("cmd //c mklink x secret.txt", "mklink x secret.txt", "start '' secret.txt", "explorer secret.txt"),
    *("explorer.exe .", "rundll32 shell32.dll,ShellExec_RunDLL secret.txt", "wslpath -w secret.txt"),
    *("wsl -e cat secret.txt", "wsl.exe --exec cat /mnt/c/w/secret.txt", "bash.exe -c 'cat secret.txt'"),
    *("sh.EXE -c 'cat secret.txt'", "/usr/bin/cat secret.txt", "/bin/CAT secret.txt", "cscript //nologo x.js"),
    *("wscript x.vbs", "mshta x", "msiexec //i x", "bitsadmin x", "hh x", "installutil x", "cmdkey //list"),
    *("forfiles //c 'cmd /c type @file'", "for f in *; do cat $f; done"),
    *("while read l; do echo $l; done < secret.txt", "read x < secret.txt; echo $x", "mapfile < secret.txt"),
    *("printf '%s' \"$(<secret.txt)\"", "echo $(<secret.txt)", "source secret.txt", ". ./secret.txt"),
    *("head -c5 secret.txt.", "tail secret.txt...", "cat 'secret.txt . .'", "od -c SECRET~1.txt"),
    *("less LONG-S~1.TXT; cat SECRET~1.TXT", "diff other.txt secret.txt", "comm other.txt secret.txt"),
    *("wc -l < SECRET.txt", "git diff --no-index other.txt secret.txt", "git hash-object -w secret.txt"),
    *("git grep --no-index x", "git -C /c/w grep x", "rg --hidden x", "rg.exe x", "where secret.txt"),
    *("icacls secret.txt", "attrib secret.txt", "compact secret.txt", "cipher //c secret.txt"),
    *("makecab secret.txt x", "tar.exe cf - secret.txt", "curl.exe file://localhost/c:/w/secret.txt"),
    *("TYPE secret.txt", "more secret.txt", "sort < secret.txt", "fc other.txt secret.txt"),
    *("comp a secret.txt", "print secret.txt", "write secret.txt", "./run.bat secret.txt"),
    *("run.cmd '&type sec*'", "git -C . grep x", "git --no-pager grep x", "git -C /c/w grep x"),
    *("git --git-dir=.git grep x", "git -p grep x sub", "git --work-tree=/c/w --git-dir=/c/w/.git grep x sub"),
]

UNASKED = [
    *("cmd //c dir", "CMD /C dir", "MSYS_NO_PATHCONV=1 cmd /c dir", "powershell -c ls", "pwsh -c ls"),
    *("start calc", "wsl.exe -e ls", "./x.bat", "./x.cmd a&b", "x.lnk", "'./other.txt.lnk'", "rundll32 a"),
    *("cat //./pipe/x", "cat //?/GLOBALROOT/Device/x", "ls //?/Volume{x}/", "ls //server", "ls //server/"),
    *("ls \\\\\\\\server\\\\share", "cat nul.txt", "cat COM\xb9", "cat LPT\xb2.txt", "cat 'con .txt'"),
    *("cat aux.tar.gz", "cat sub/nul", "ls sub/con/x", "cat 'nul:'", "cat NUL::$DATA", "cat 'other.txt:s'"),
    *("cat 'other.txt::$DATA'", "cat other.txt.", "cat 'other.txt '", "ls 'C:'", "ls C:", "ls C:sub"),
    *("cat c:sub/note.txt", "git --version.exe", "git.exe status", "GIT status", "RG x", "rg.cmd x"),
    *("grep.bat x other.txt", "ls.exe", "LS", "./git status", "../git status", "PATH=. ls"),
    *("PATH=/c/w:$PATH ls", "export PATH=.; ls", "alias ls=calc; ls", "ls() { calc; }; ls"),
    *("hash -p ./calc ls; ls", "command -p ls", "enable -f ./x ls", "BASH_ENV=./x bash -c ls", "IFS=x ls"),
    *("LS_COLORS=x ls", "GIT_DIR=x git status", "GIT_PAGER=calc git log", "git -c core.pager=calc log"),
    *("git -c core.fsmonitor=calc status", "git --exec-path=. status", "git log --output=x"),
    *("PAGER=calc git log", "find . -exec calc {} +", "find . -delete"),
    *("sort --compress-program=calc other.txt", "tail --pid=1 other.txt", "rg --pre calc x"),
    *("rg --hostname-bin calc x", "grep -f /c/Users/u/private.txt other.txt", "ls `calc`", "echo $(calc)"),
    *("echo <(calc)", "echo ${x@P}", "printf -v x y", "cat ~u/private.txt", "cat ~root/x"),
    *("cat ~+/../Users/u/private.txt", "cat ~-/x", "cd ~ && cat private.txt"),
    *('cd "$USERPROFILE" && cat private.txt', 'cat "$HOME/private.txt"'),
    *("cat $HOMEDRIVE$HOMEPATH/private.txt", "cat $APPDATA/x", "cd /tmp && ls", "ls /", "ls /mingw64"),
    *("cat /etc/hosts", "cat /c/Windows/win.ini", "cat C:/Windows/win.ini", "cat c:\\\\Windows\\\\win.ini"),
    *("cat '/cygdrive/c/Users/u/private.txt'", "cat /proc/cygdrive/c/Users/u/private.txt"),
    *("cat //c/Users/u/private.txt", "cat /mnt/c/Users/u/private.txt", "ls -R away", "cat away/private.txt"),
    *("cd .. ; cat Users/u/private.txt", "echo x | clip", "winpty ls", "date 01-01-2027", "time calc"),
    *("hostname x", "whoami.cmd", "tree //f", "ver", "vol", "assoc", "set", "path", "net user", "ipconfig"),
    *("tasklist", "where ls", "systeminfo", "cat '\\Users\\u\\private.txt'", "ls '/x\\..\\c\\Users'", "ls '\\'"),
]


@pytest.mark.parametrize("path", SPELLED)
def test_no_spelling_is_read_or_changed_against_a_rule(path: str) -> None:
    for mode in MODES:
        assert verdicts("Read", "file_path", path, mode) == {"deny"}, mode
        locked = path.replace("secret", "locked").replace("SECRET", "LOCKED")
        assert verdicts("Edit", "file_path", locked, mode, old_string="a", new_string="b") == {"deny"}, mode


ABOVE_THE_DRIVE = [
    *(
        "touch ../../w/x",
        "echo x > ../../w/new.txt",
        "mkdir ../../w/d",
        "cp other.txt ../../w/y",
        "rm /c/../w/other.txt",
    ),
    *("cat ../../w/other.txt", "ls ../../w", "cat /c/../w/other.txt", "cat /mnt/c/../w/other.txt"),
    *("cd ../.. && cat w/other.txt", "cd ../../w && touch z", "touch ~/../../../w/x", "cat < ../../w/other.txt"),
]
"""To Windows the root of the drive is its own parent, to a bash it is not: another file for each of them."""


@pytest.mark.parametrize("command", ABOVE_THE_DRIVE)
@pytest.mark.parametrize("shell", ["git-bash", "wsl"])
def test_nothing_above_a_drive_counts_as_the_drive(command: str, shell: str) -> None:
    for mode in ("default", "acceptEdits", "plan"):
        assert bash(windows_gate(mode, deny=(), shell=shell), command).verdict == "ask", mode


OTHER_FILES = [
    "\uff53ecret.txt",
    "secret\uff0etxt",
    "secret.txt\u200b",
    "se\u00adcret.txt",
    "%CD%\\secret.txt",
    "'secret.txt'",
]
"""Names that only look the same. Windows opens another file for each of them."""


@pytest.mark.parametrize("path", OTHER_FILES)
def test_names_that_look_the_same_are_other_files(path: str) -> None:
    assert verdicts("Read", "file_path", path, "default") == {"allow"}
    assert verdicts("Write", "file_path", path, "default", content="x") == {"ask"}


@pytest.mark.parametrize("command", READS_THE_SECRET)
def test_no_command_reads_what_a_rule_hides(command: str) -> None:
    for shell in ("git-bash", "wsl"):
        if shell == "git-bash" or "/c/" not in command.replace("\\", "/"):  # in WSL the drives are below /mnt
            assert [mode for mode in MODES if bash(windows_gate(mode, shell=shell), command).verdict == "allow"] == []


@pytest.mark.parametrize("command", UNASKED)
def test_nothing_else_runs_unasked(command: str) -> None:
    for shell in ("git-bash", "wsl"):
        for mode in ("default", "plan"):
            assert bash(windows_gate(mode, deny=(), shell=shell), command).verdict == "ask", (shell, mode)
        assert bash(windows_gate("dontAsk", deny=(), shell=shell), command).verdict == "deny", shell


# ---------------------------------------------------------------- batch files: cmd.exe reads their arguments

BATCH_RULES = ("Bash(run.cmd:*)", "Bash(./run.bat:*)", "Bash(run.CMD:*)", "Bash(C:/x/run.cmd *)")
BATCH_CALLS = [
    *("run.cmd 'x&calc'", "run.cmd 'x\"&calc'", './run.bat "a|calc"', "run.CMD %PATH%", "run.cmd 'a^&calc'"),
    *(
        "run.cmd 'a>b'",
        "C:/x/run.cmd 'a&b'",
        "time run.cmd 'a&b'",
        "run.cmd $'a\\ncalc'",
        "run.cmd a '<b'",
        'run.cmd "$x"',
    ),
    *("nohup run.cmd 'a&b'", "run.cmd a\\&calc", "run.cmd 'a' 'b' '&&' calc", "./run.bat '!x!'", "run.cmd *"),
]


@pytest.mark.parametrize("command", BATCH_CALLS)
@pytest.mark.parametrize("shell", ["git-bash", "wsl"])
def test_a_rule_for_a_batch_file_allows_no_second_command(command: str, shell: str) -> None:
    for mode in ("default", "acceptEdits", "plan"):
        guard = windows_gate(mode, deny=(), allow=BATCH_RULES, shell=shell)
        assert bash(guard, "run.cmd build x").verdict == "allow"
        assert bash(guard, command).verdict == "ask", mode
    assert bash(windows_gate("dontAsk", deny=(), allow=BATCH_RULES, shell=shell), command).verdict == "deny"
    exact = windows_gate("default", deny=(), allow=(f"Bash({command})",), shell=shell)
    assert bash(exact, command).verdict == ("ask" if "*" in command else "allow")  # a person read this very text


@pytest.mark.parametrize("command", ["run.cmd 'x&curl y'", "./run.bat 'x|curl y'", "nice run.cmd '\"&curl y'"])
def test_no_argument_of_a_batch_file_passes_a_denied_command(command: str) -> None:
    for mode in MODES:
        assert bash(windows_gate(mode, deny=("Bash(curl:*)",)), command).verdict != "allow", mode
