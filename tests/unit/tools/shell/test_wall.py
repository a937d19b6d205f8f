"""What a confined command still does as before, what its environment keeps, and what happens where the system cannot
confine it."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.helpers.hostile_world import hostile_world
from tests.helpers.timing import SOON
from tests.helpers.tool_cases import toolbox
from yume_shim.system.linux.seccomp_filter import AF_INET, MACHINES, METADATA, NEVER, Closed, build
from yume_shim.system.macos.seatbelt import Profile, profile_text
from yume_shim.tools.shell.file_grants import MAX_GRANTS, TooMany, kept_below, opened_apart, readable_around
from yume_shim.tools.shell.unasked_environment import GIT_SETTINGS, is_secret, unasked_environment
from yume_shim.tools.shell.wall import Abilities, Wall, confinement_rows
from yume_shim.types.confinement import Confinement

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.helpers.hostile_world import HostileWorld

LINUX = sys.platform.startswith("linux")


# ---------------------------------------------------------------- the same output


@pytest.fixture(scope="module")
def world() -> Iterator[HostileWorld]:
    with hostile_world() as made:
        run = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
        shutil.rmtree(made.work / ".git")
        subprocess.run(["git", "init", "-q", "."], cwd=made.work, check=True)
        subprocess.run(["git", "add", "file.txt", "sub"], cwd=made.work, check=True)
        subprocess.run([*run, "commit", "-qm", "first"], cwd=made.work, check=True)
        (made.work / "file.txt").write_text("text\nmore\n")
        yield made


SAME = [
    *("git status", "git status --short", "git log --oneline", "git diff", "git diff --stat", "git show --stat"),
    *("git branch -a", "git ls-files", "git rev-parse HEAD", "git blame sub/inner.txt", "git log -1", "git grep text"),
    *("ls", "ls -la", "ls -R", "ls missing", "cat file.txt", "cat missing", "cat -n file.txt sub/inner.txt"),
    *("find . -name '*.txt'", "find . -type d", "find missing", "find . -newermt 2001-01-01 -name 'f*'"),
    *(
        "rg --sort path text",
        "rg -n inner sub",
        "rg nothing-like-it",
        "rg --sort path --files",
        "grep -rn inner sub",
        "grep nothing file.txt",
    ),
    *(
        "wc -l file.txt | sort",
        "head -1 file.txt; tail -1 file.txt",
        "stat -c %s file.txt",
        "du -s sub",
        "diff file.txt sub",
    ),
    *("pwd", "cd sub && pwd && ls", "echo $((1+2))", "printf '%s\\n' a b", "date +%Y", "id -u", "uname -s", "which ls"),
    *(
        "sort file.txt | uniq -c",
        "cat <<< text",
        "test -f file.txt && echo yes",
        "tree sub",
        "file file.txt",
        "jq . missing",
    ),
    *(
        "true 2>/dev/null",
        "ls missing 2>&1 >/dev/null",
        "sleep 0",
        "(exit 7)",
        "kill -9 $$",
        "cat /proc/self/status | grep -c Uid",
    ),
]


@pytest.mark.landlock
@pytest.mark.parametrize("command", SAME)
def test_ordinary_commands_behave_the_same(world: HostileWorld, command: str) -> None:
    reading = Confinement("read", programs=("git",))
    hiding = Confinement("read", hidden=(str(world.work / "secrets"),), programs=("git",))
    outputs = []
    for ground in (None, reading, hiding) if "file.txt" in command else (None, reading):
        world.tools._state.shells.cwd = str(world.work)
        outputs.append(world.run(command, ground))
    assert outputs == outputs[:1] * len(outputs)


@pytest.mark.landlock
@pytest.mark.bubblewrap
def test_ordinary_edits_work(world: HostileWorld) -> None:
    folder = world.work / "edits"
    (folder / "old").mkdir(parents=True)
    (folder / "a").write_text("one\n")
    ground = Confinement("edit", (str(folder),), (str(folder / "old"),), (".git", ".envrc"), (), ("git",))
    world.tools._state.shells.cwd = str(world.work)  # another test may have left it elsewhere
    script = (
        "cd edits; touch t; mkdir -p n/m; cp a b; mv b old/; mv old older; sed -i s/one/two/ a; echo x > r; rm r t; "
        "cp -r older copy; rmdir n/m; rm -r n; ls -R"
    )
    assert world.run(script, ground) == ".:\na\ncopy\nolder\n\n./copy:\nb\n\n./older:\nb"
    assert (folder / "a").read_text() == "two\n"


# ---------------------------------------------------------------- the environment


def test_secrets_of_tools_are_kept_from_unasked_commands() -> None:
    env = {
        "PATH": "/bin",
        "GH_TOKEN": "s",
        "npm_config_token": "s",
        "DB_PASSWORD": "s",
        "STRIPE_SECRET": "s",
        "MY_API_KEY": "s",
        "KEEP_TOKEN": "kept",
        "VITE_MAPS_API_KEY": "public",
        "MAX_TOKENS": "5",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "user.name",
        "GIT_CONFIG_VALUE_0": "me",
    }
    made = unasked_environment(env, "/own", ("KEEP_TOKEN",))
    assert {name for name in env if name not in made} == {
        *("GH_TOKEN", "npm_config_token", "DB_PASSWORD", "STRIPE_SECRET", "MY_API_KEY")
    }
    assert (made["KEEP_TOKEN"], made["TMPDIR"], made["GIT_OPTIONAL_LOCKS"]) == ("kept", "/own", "0")
    assert (made["GIT_CONFIG_KEY_0"], made["GIT_CONFIG_KEY_1"], made["GIT_CONFIG_COUNT"]) == (
        *("user.name", "core.fsmonitor", str(1 + len(GIT_SETTINGS))),
    )


@pytest.mark.parametrize("name", ["TOKEN", "PGPASSWORD", "SSH_AUTH_SOCK", "CI_JOB_TOKEN", "aws_secret_access_key"])
def test_secret_names(name: str) -> None:
    assert is_secret(name)
    assert not is_secret(name, (name,))


@pytest.mark.parametrize("name", ["PATH", "HOME", "LANG", "TOKENIZERS_PARALLELISM", "NEXT_PUBLIC_TOKEN", "MONKEY"])
def test_names_that_stay(name: str) -> None:
    assert not is_secret(name)


@pytest.mark.skipif(not LINUX, reason="Linux only")
def test_a_command_cannot_read_our_environment() -> None:
    """As an unprivileged user, without a confinement: the process itself is closed."""
    code = (
        "import os, subprocess, sys\n"
        "sys.path.insert(0, os.getcwd())\n"
        "from pathlib import Path\n"
        "from tests.helpers.hostile_world import hostile_world\n"
        "with hostile_world() as warm: warm.run('true', None)\n"
        "if os.geteuid() == 0: os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "with hostile_world() as world: print(world.run('cat /proc/$PPID/environ; echo end', None))\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=SOON)
    assert re.fullmatch(rb"cat: /proc/\d+/environ: Permission denied\nend\n", ended.stdout), ended


# ---------------------------------------------------------------- what the system can do


READ = Confinement("read", programs=("git",))
SIMPLE = Confinement("read", programs=("ls", "cat"))
EDIT = Confinement("edit", programs=("mkdir",))


def wall(**abilities: object) -> Wall:
    return Wall(lambda *_: None, abilities=Abilities(**abilities))  # type: ignore[arg-type]


def test_without_any_means_only_simple_commands_run_unasked() -> None:
    assert wall().problem(READ) == "this system cannot confine it"
    assert (wall().problem(SIMPLE), wall().problem(EDIT)) == ("", "")


def test_without_filters_the_network_stays_open() -> None:
    assert wall(landlock=7).problem(READ) == "this system cannot close its network"
    assert wall(landlock=7).problem(SIMPLE) == ""
    assert wall(landlock=1, filters=True).problem(READ) == ""


@pytest.mark.skipif(os.sep != "/", reason="POSIX paths")
def test_without_mount_namespaces_protected_names_ask(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "guarded" / "x" / ".git").mkdir(parents=True)
    made = wall(landlock=7, filters=True)
    assert made.problem(Confinement("edit", (str(tmp_path / "plain"),), (), (".git",))) == ""
    found = made.problem(Confinement("edit", (str(tmp_path / "guarded"),), (), (".git",)))
    assert found.startswith("it cannot be confined: only a mount namespace could keep")


@pytest.mark.skipif(os.sep != "/", reason="POSIX paths")
def test_too_many_neighbours_of_hidden_files_ask(tmp_path: Path) -> None:
    for number in range(MAX_GRANTS + 1):
        (tmp_path / str(number)).touch()
    with pytest.raises(TooMany, match="next to files that rules hide"):
        readable_around([str(tmp_path / "0")])
    hiding = Confinement("read", hidden=(str(tmp_path / "0"),), programs=("cat",))
    assert "cannot be confined" in wall(landlock=7, filters=True).problem(hiding)


@pytest.mark.skipif(os.sep != "/", reason="POSIX paths")
def test_what_is_kept_below_writable_folders(tmp_path: Path) -> None:
    for name in ("a/b/c", "other", ".git", "tree/x/.claude"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / ".Envrc").touch()
    top, deep, tree = str(tmp_path), str(tmp_path / "a" / "b"), str(tmp_path / "tree")
    kept = kept_below((top, deep), (tree,), frozenset((".git", ".envrc", ".claude")))
    assert {os.path.relpath(path, tmp_path) for path in kept} == {
        "a",
        "a/b/c",
        "other",
        ".git",
        ".Envrc",
        "tree/x/.claude",
    }
    assert opened_apart((top, deep), (tree,)) == [top, deep]


def test_the_temporary_folder_goes_with_the_session(tmp_path: Path) -> None:
    tools = toolbox(tmp_path, tmp_path / "scratch")
    folder = tools._state.wall.own_folder()
    assert os.path.isdir(folder)
    tools.close()
    assert not os.path.exists(folder)


@pytest.mark.parametrize(
    ("able", "rows"),
    [
        (
            Abilities(7, True, "/usr/bin/bwrap"),
            [("confinement", "Landlock 7, seccomp filters, bubblewrap (/usr/bin/bwrap)")],
        ),
        (
            Abilities(5, True, ""),
            [
                (
                    "confinement",
                    "Landlock 5, seccomp filters; no mount namespaces: edits next to protected names are asked about",
                ),
                ("sandbox", "the settings ask for one, and bubblewrap is not installed or not permitted"),
            ],
        ),
        (
            Abilities(),
            [
                ("confinement", "none: only simple commands run unasked (docs/security.md)"),
                ("sandbox", "the settings ask for one, and bubblewrap is not installed or not permitted"),
            ],
        ),
    ],
)
def test_what_doctor_says(able: Abilities, rows: list[tuple[str, str]]) -> None:
    assert confinement_rows(able, wants_sandbox=True) == rows


def test_failed_commands_are_forgotten_at_a_limit() -> None:
    made = wall()
    for number in range(300):
        made.remember_failure(f"touch {number}")
    assert (made.failed("touch 0"), made.failed("touch 299")) == (False, True)


# ---------------------------------------------------------------- the seccomp filter, without a kernel


def run_filter(program: bytes, arch: int, number: int, *arguments: int) -> int:
    """What the kernel would return: an interpreter for the instructions that the builder uses."""
    data = struct.pack("=iIQ6Q", number, arch, 0, *arguments, *[0] * (6 - len(arguments)))
    code = [struct.unpack_from("=HBBI", program, at) for at in range(0, len(program), 8)]
    at = accumulator = 0
    while True:
        operation, if_true, if_false, operand = code[at]
        at += 1
        if operation == 0x20:
            accumulator = struct.unpack_from("=I", data, operand)[0]
        elif operation == 0x54:
            accumulator &= operand
        elif operation == 0x06:
            return int(operand)
        else:
            test = {0x15: accumulator == operand, 0x25: accumulator > operand, 0x45: bool(accumulator & operand)}
            at += if_true if test[operation] else if_false


ALLOWED = 0x7FFF0000
DEFAULT = Closed()
SOCKET, SOCKETPAIR, CLONE, IOCTL = (41, 198), (53, 199), (56, 220), (16, 29)


@pytest.mark.parametrize("name", MACHINES)
def test_the_filter(name: str) -> None:
    machine = MACHINES[name]
    column = machine.column

    def result(number: int, *arguments: int, closed: Closed = DEFAULT, arch: int = machine.arch) -> int:
        found = run_filter(build(machine, closed), arch, number, *arguments)
        return 0 if found == ALLOWED else found & 0xFFFF

    for numbers in NEVER.values():
        assert numbers[column] < 0 or result(numbers[column]) == 1
    for numbers in METADATA.values():
        assert numbers[column] < 0 or result(numbers[column]) == 1
        assert numbers[column] < 0 or result(numbers[column], closed=Closed(metadata=False)) == 0
    assert result(SOCKET[column], AF_INET) == 13
    assert result(SOCKET[column], AF_INET, closed=Closed((AF_INET,))) == 0
    assert [result(SOCKETPAIR[column], 1, kind) for kind in (1, 2, 5, 0x80001, 0x80002)] == [0, 13, 0, 0, 13]
    assert (result(CLONE[column], 0x10000011), result(CLONE[column], 0x3D0F00)) == (1, 0)
    assert (result(IOCTL[column], 0, 0x40086602), result(IOCTL[column], 0, 0x5401)) == (1, 0)
    assert (result(435), result(425), result(500), result(0x40000000)) == (38, 38, 38, 38)
    assert (result(0), result(1), result(63)) == (0, 0, 0)
    assert result(0, arch=0x40000003) == 1


# ---------------------------------------------------------------- the macOS profile, as text


def test_the_profile_of_a_reading_command() -> None:
    assert profile_text(Profile(("/own",), "/s/cwd", hidden=('/w/a "b"',))).splitlines() == [
        "(version 1)",
        "(allow default)",
        "(deny file-write*)",
        '(allow file-write-data (literal "/dev/null"))',
        '(allow file-write-data (literal "/dev/zero"))',
        '(allow file-write-data (literal "/dev/dtracehelper"))',
        '(allow file-write-data (literal "/dev/tty"))',
        '(allow file-write* (subpath "/own"))',
        '(allow file-write* (literal "/s/cwd"))',
        '(deny file-read* (regex #"^/[wW]/[aA] .[bB].(/|$)"))',
        "(deny process-info* (target others))",
        "(deny signal (target others))",
        "(deny mach-lookup)",
        '(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))',
        '(allow mach-lookup (global-name "com.apple.system.notification_center"))',
        "(deny network*)",
    ]


def test_the_profile_of_an_edit_keeps_protected_names() -> None:
    text = profile_text(Profile(("/own", "/w"), "/dev/null", (".git", ".envrc"), network=True))
    assert '(deny file-write* (regex #"/([.][gG][iI][tT]|[.][eE][nN][vV][rR][cC])(/|$)"))' in text
    assert ("(deny network*)" in text, "/dev/null))" in text.replace('"', "")) == (False, True)


@pytest.mark.parametrize(
    ("hidden", "on_disk", "denied"),
    [
        ("/Users/u/w/.env", "/Users/u/W/.ENV", True),
        ("/Users/u/w/.env", "/Users/u/w/.env/below", True),
        ("/Users/u/w/.env", "/Users/u/w/xenv", False),
        ("/Users/u/w/.env", "/Users/u/w/.env2", False),
        ("/Users/u/caf\u00e9/k", "/Users/u/cafe\u0301/K", True),
        ("/Users/u/cafe\u0301/k", "/Users/u/caf\u00e9/k", True),
        ('/w/a"b[1]^(x).*', '/w/a"b[1]^(x).*', True),
        ("/w/a(1)", "/w/a1", False),
        ("/w/a+b", "/w/aab", False),
    ],
)
def test_the_profile_hides_a_file_by_the_name_that_the_disk_has(hidden: str, on_disk: str, denied: bool) -> None:
    text = profile_text(Profile(hidden=(hidden,)))
    found = re.search(r'\(deny file-read\* \(regex #"(.*)"\)\)', text)
    assert found is not None
    assert "\\" not in text
    assert (re.search(found.group(1), on_disk) is not None) is denied
