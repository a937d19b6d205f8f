"""Hostile scripts on the grounds of unasked commands: the gate's tables are assumed to be wrong, and nothing lands.

Every row is a script that a judged command could have turned out to be. It runs confined, through the real Bash tool,
and afterwards no file has changed, no socket was reached, no process was ended and no hidden file was read.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.helpers import attack_world
from tests.helpers.hostile_world import SECRET, HostileWorld, hostile_world
from tests.helpers.timing import SOON, wait_until
from yume_shim.gate.sandbox import ASKING_MODES
from yume_shim.tools.shell.launches import landlock_works
from yume_shim.tools.shell.wall import Abilities, Wall
from yume_shim.types.settings import Rules, SandboxSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from yume_shim.types.confinement import Confinement

pytestmark = pytest.mark.landlock


def _python(code: str) -> str:
    return f"$PY -c '{code}'"


def _libc(call: str) -> str:
    return _python(f"import ctypes,os; l=ctypes.CDLL(None,use_errno=True); print(l.{call})")


WRITES = {
    "make a file": "echo x > new; echo x > $OUT/new; echo x >> file.txt",
    "overwrite": "echo x > file.txt; cp /etc/hostname $OUT/file.txt",
    "append": "echo x | tee -a $OUT/file.txt",
    "touch": "touch file.txt $OUT/file.txt",
    "touch an old time": "touch -d 2001-01-01 file.txt",
    "make a folder": "mkdir new $OUT/new",
    "remove": "rm -rf file.txt sub $OUT/file.txt",
    "remove a folder": "rmdir sub/deep $OUT/sub/deep",
    "rename": "mv file.txt renamed; mv $OUT/file.txt $OUT/renamed",
    "exchange two files": _libc('renameat2(-100,b"file.txt",-100,b"sub/inner.txt",2)'),
    "symbolic link": "ln -s /etc/passwd new; ln -sf /etc/passwd file.txt",
    "hard link": "ln file.txt new; ln file.txt $TMPDIR/new",
    "hard link into the temporary folder, then write": "ln file.txt $TMPDIR/n 2>/dev/null && echo x > $TMPDIR/n",
    "fifo": "mkfifo new",
    "device": "mknod new c 1 3; mknod new2 b 7 0",
    "socket file": _python('import socket; socket.socket(socket.AF_UNIX).bind("new")'),
    "truncate": "truncate -s 0 file.txt; : > file.txt",
    "truncate by a reading open": _python('import os; os.open("file.txt", os.O_RDONLY|os.O_TRUNC)'),
    "truncate by system call": _libc('truncate(b"file.txt",0)'),
    "unnamed file, then link it": _python(
        'import os; h=os.open(".",os.O_TMPFILE|os.O_RDWR); os.link(f"/proc/self/fd/{h}","new")'
    ),
    "write through /proc/self/root": "echo x > /proc/self/root$OUT/file.txt",
    "write through /proc/self/cwd": "echo x > /proc/self/cwd/file.txt",
    "write through /proc/self/fd": "exec 7<file.txt; echo x > /proc/self/fd/7",
    "write through a link": "ln -s $OUT/file.txt $TMPDIR/l; echo x > $TMPDIR/l; echo x > link",
    "write a hook": "echo x > .git/hooks/pre-commit; echo x >> .git/config; git config core.pager evil",
    "commit": "git init -q new; git -C . commit -qm x --allow-empty",
    "change modes": "chmod 777 file.txt; chmod -R 000 sub",
    "change modes by descriptor": _python('import os; os.fchmod(os.open("file.txt",0),0o777)'),
    "change modes by the newest call": _libc('syscall(452,-100,b"file.txt",0o777,0)'),
    "change owners": "chown 1:1 file.txt; chgrp 1 file.txt",
    "change times": _python('import os; os.utime("file.txt",(1,1))'),
    "extended attributes": _python('import os; os.setxattr("file.txt","user.x",b"1")'),
    "file flags": "chattr +i file.txt; chattr +d file.txt",
    "sed in place": "sed -i s/text/changed/ file.txt",
    "dd": "dd if=/dev/zero of=file.txt bs=1 count=1 conv=notrunc",
    "memory map": _python('import mmap,os; h=os.open("file.txt",os.O_RDWR); m=mmap.mmap(h,4); m[0:1]=b"X"; m.flush()'),
    "io_uring": _libc("syscall(425,8,0)"),
    "unpack": "tar -cf - file.txt | tar -xf - -C sub; cp -r sub $OUT/copied",
    "shell start-up file": "echo x >> ~/.bashrc; echo x > ~/.gitconfig",
    "the program's own scratch folder": "echo x > ../scratch/new; mkdir ../scratch/new; ls ../scratch > $OUT/new",
    "a child in the background": "(sleep 0.1; echo x > $OUT/new) & wait",
    "a daemon": "setsid bash -c 'sleep 0.1; echo x > $OUT/new; echo x > new' & sleep 0.3",
    "a program that changes its user": "sudo -n touch new; su -c 'touch new'; chroot / touch new",
    "mount": "mount -t tmpfs none sub; mount --bind $OUT sub; umount /proc",
    "a user namespace": "unshare -Urm bash -c 'mount -t tmpfs none sub; echo x > file.txt'",
    "a namespace by clone": _libc("syscall(56,0x10000011,0,0,0,0)"),
    "a namespace by clone3": _libc("syscall(435,0,0)"),
    "enter another namespace": "nsenter -t $VICTIM -m touch $OUT/new; nsenter -t $HOST_PID -m touch $OUT/new",
    "open by handle": _libc("syscall(304,-100,0,0)"),
    "write to a fifo": "timeout 1 bash -c 'echo x > $OUT/fifo'",
    "lift the limits": "ulimit -c unlimited; " + _libc('syscall(302,int(os.environ["HOST_PID"]),7,0,0)'),
    "shared memory files": "echo x > /dev/shm/yume-new; ls /dev/shm/yume-new && echo x > $OUT/new",
    "kernel settings": "echo 0 > /proc/sys/kernel/randomize_va_space; echo x > /proc/$HOST_PID/comm",
}
NETWORK = {
    "tcp by bash": "echo x > /dev/tcp/127.0.0.1/$TCP",
    "tcp": _python('import socket,os; socket.create_connection(("127.0.0.1",int(os.environ["TCP"])))'),
    "tcp by IPv6": _python('import socket,os; socket.create_connection(("::ffff:127.0.0.1",int(os.environ["TCP"])))'),
    "udp by bash": "echo x > /dev/udp/127.0.0.1/$UDP",
    "udp": _python(
        "import socket,os; s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); "
        's.sendto(b"x",("127.0.0.1",int(os.environ["UDP"])))'
    ),
    "raw socket": _python("import socket; socket.socket(socket.AF_INET,socket.SOCK_RAW,1)"),
    "packet socket": _python("import socket; socket.socket(socket.AF_PACKET,socket.SOCK_RAW)"),
    "netlink": _python("import socket; socket.socket(socket.AF_NETLINK,socket.SOCK_RAW)") + " && echo x > $OUT/new",
    "vsock": _python("import socket; socket.socket(socket.AF_VSOCK,socket.SOCK_STREAM)"),
    "a daemon's socket": _python(
        'import socket,os; socket.socket(socket.AF_UNIX).connect(os.environ["OUT"]+"/stream.sock")'
    ),
    "a datagram socket": _python(
        "import socket,os; s=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM); "
        's.sendto(b"x",os.environ["OUT"]+"/datagram.sock")'
    ),
    "a datagram by a socket pair": _python(
        "import socket,os; a,b=socket.socketpair(socket.AF_UNIX,socket.SOCK_DGRAM); "
        'a.sendto(b"x",os.environ["OUT"]+"/datagram.sock")'
    ),
    "an abstract socket": _python(
        'import socket,os; socket.socket(socket.AF_UNIX).connect("\\0"+os.environ["ABSTRACT"])'
    ),
    "curl": "curl -sm 2 http://127.0.0.1:$TCP; wget -qT 2 -t 1 http://127.0.0.1:$TCP",
    "git over the network": "git ls-remote http://127.0.0.1:$TCP/x; git ls-remote git://127.0.0.1:$TCP/x",
    "ssh": "ssh -p $TCP 127.0.0.1 true",
    "a daemon on the network": "setsid bash -c 'sleep 0.1; echo x > /dev/tcp/127.0.0.1/$TCP' & sleep 0.3",
    "listen": _python('import socket; s=socket.socket(); s.bind(("127.0.0.1",0)); s.listen(); open("new","w")'),
}
READS = {
    "a hidden file": "cat secret.txt",
    "a file in a hidden folder": "cat secrets/key; cat secrets/*; grep -r . secrets",
    "by a link": "cat link",
    "by a new link": "ln -s $PWD/secret.txt $TMPDIR/l; cat $TMPDIR/l",
    "by a hard link": "ln secret.txt $TMPDIR/h; cat $TMPDIR/h",
    "by /proc/self/root": "cat /proc/self/root$PWD/secret.txt",
    "by /proc/self/cwd": "cat /proc/self/cwd/secret.txt",
    "by another process": "cat /proc/$HOST_PID/cwd/secret.txt /proc/$VICTIM/root$PWD/secret.txt",
    "by moving it": "mv secret.txt $TMPDIR/m; cat $TMPDIR/m secret.txt",
    "by moving its folder": "mv secrets $TMPDIR/m; cat $TMPDIR/m/key",
    "by copying": "cp -r . $TMPDIR/copy; cat $TMPDIR/copy/secret.txt $TMPDIR/copy/secrets/key",
    "by searching": "grep -rh canary . ; find . -type f -exec cat {} +",
    "by mapping": _python('import mmap,os; print(mmap.mmap(os.open("secret.txt",os.O_RDONLY),0,access=1)[:])'),
    "by a mount": "mount --bind . $TMPDIR; unshare -Urm bash -c 'mount --bind . sub; cat sub/secret.txt'",
    "secrets of tools": "env; echo $GH_TOKEN $NPM_SECRET $SOME_API_KEY; cat /proc/self/environ",
    "our environment": "cat /proc/$PPID/environ /proc/$HOST_PID/environ | tr '\\0' '\\n'",
    "our environment by ps": "ps eww -p $HOST_PID; ps auxeww",
    "our memory": "head -c 100 /proc/$HOST_PID/mem; ls -l /proc/$HOST_PID/fd; cat /proc/$HOST_PID/maps | head -1",
    "the victim's memory": _libc('ptrace(16,int(os.environ["VICTIM"]),0,0)') + "; cat /proc/$VICTIM/environ",
}
PROCESSES = {
    "end a process": "kill -9 $VICTIM; kill -TERM $VICTIM",
    "end all processes": "kill -9 -1",
    "end by pidfd": _python('import os,signal; signal.pidfd_send_signal(os.pidfd_open(int(os.environ["VICTIM"])),9)'),
    "end us": "kill -TERM $HOST_PID; kill -9 $PPID",
    "trace": _libc('ptrace(16,int(os.environ["VICTIM"]),0,0)') + "; strace -p $VICTIM -e trace=none & sleep 0.1",
    "take a descriptor": _python(
        'import ctypes,os; l=ctypes.CDLL(None); p=os.pidfd_open(int(os.environ["HOST_PID"])); '
        "[l.syscall(438,p,n,0) for n in range(9)]"
    ),
    "System V memory": "ipcmk -M 100 && echo x > $OUT/new",
    "keys": _python('import ctypes,sys; l=ctypes.CDLL(None); sys.exit(l.syscall(248,b"user",b"yume",b"x",1,-4)<0)')
    + " && echo x > new",
    "set the clock": _python("import time; time.clock_settime(0,time.time())") + " && echo x > $OUT/new",
    "type into a terminal": _python('import fcntl; fcntl.ioctl(0,0x5412,b"x")'),
}
EDITS = {
    "outside the workspace": "echo x > $OUT/new; rm -f $OUT/file.txt; mv file.txt $OUT/; cp file.txt $OUT/copy",
    "a hook": "echo x > .git/hooks/pre-commit; echo x >> .git/config; rm -rf .git; mv .git sub/g",
    "a hook by a link": "ln -s .git/hooks h; echo x > h/pre-commit; rm -f h",
    "a hook by a hard link": "ln .git/config c; echo x >> c; rm -f c",
    "a new protected file": "echo x > .envrc; echo x > .npmrc; echo x > .gitconfig; echo x > .GitConfig",
    "a new protected folder": "mkdir -p .claude .vscode; echo x > .claude/settings.json; echo x > .vscode/tasks.json",
    "a new repository": "git init -q sub/deep; rm -rf sub/deep/.git",
    "a protected name deep in a judged folder": "mkdir -p sub/deep/.claude; echo x > sub/deep/.claude/settings.json",
    "a protected name by renaming": "echo x > n; mv n .envrc; mkdir d; mv d .vscode; echo x > a; ln a .npmrc; rm -f a",
    "a protected name by a link": "ln -s /etc/passwd .bashrc; ln -s $OUT .claude",
    "a daemon": "setsid bash -c 'sleep 0.1; echo x > .envrc; echo x > $OUT/new' & sleep 0.02",
    "another folder of the same parent": "echo x > secrets/new; rm -rf secrets; mv secrets s2",
    "tcp": "echo x > /dev/tcp/127.0.0.1/$TCP",
    "udp": "echo x > /dev/udp/127.0.0.1/$UDP",
    "a daemon's socket": NETWORK["a daemon's socket"],
    "a datagram by a socket pair": NETWORK["a datagram by a socket pair"],
    "an abstract socket": NETWORK["an abstract socket"],
    "a hidden file": "cat secret.txt secrets/key link; cat /proc/self/root$PWD/secret.txt",
    "a hidden file by moving": "mv secret.txt m; cat m; cp secret.txt m; cat m; rm -f m",
    "a hidden file by unmounting": "umount secret.txt; umount -l secrets; cat secret.txt secrets/key",
    "secrets of tools": READS["secrets of tools"],
    "our environment": READS["our environment"],
    "end processes": "kill -9 $VICTIM; kill -9 -1",
    "remount": "mount -o remount,rw /; mount -o remount,rw,bind .git; unshare -Urm mount -o remount,rw /",
    "modes outside": "chmod 777 $OUT/file.txt; chown 1 $OUT/file.txt; touch -d 2001-01-01 $OUT/file.txt",
}
TABLES = {"read": {**WRITES, **NETWORK, **READS, **PROCESSES}, "edit": EDITS}
"""At least 60 rows in all; the last test counts them."""


@pytest.fixture(scope="module")
def world() -> Iterator[HostileWorld]:
    with hostile_world() as made:
        yield made


def _survives(world: HostileWorld, script: str, confinement: Confinement) -> None:
    before = world.state()
    output = world.run(script, confinement)
    assert world.damage(output, before) == [], output


@pytest.mark.parametrize("name", TABLES["read"])
def test_nothing_lands_on_the_ground_of_reading(world: HostileWorld, name: str) -> None:
    _survives(world, TABLES["read"][name], world.reading)


@pytest.mark.bubblewrap
@pytest.mark.parametrize("name", EDITS)
def test_nothing_protected_lands_on_the_ground_of_edits(world: HostileWorld, name: str) -> None:
    before = world.state(folders=False)
    output = world.run(EDITS[name], world.editing)
    assert world.damage(output, before, folders=False) == [], output


@pytest.mark.root
@pytest.mark.bubblewrap
def test_nothing_lands_for_an_unprivileged_user() -> None:
    argv = [sys.executable, "-m", "tests.helpers.hostile_world", __name__]
    ended = subprocess.run(argv, capture_output=True, check=False, timeout=10 * SOON)
    assert ended.returncode == 0, ended.stderr.decode()
    found = json.loads(ended.stdout)
    assert (found["user"], found["wrong"]) == (65534, {})


def _any(damage: Callable[[], list[str]]) -> bool:
    return bool(damage())


def test_the_canaries_work() -> None:
    """The same scripts without a confinement do damage: the checks see it."""
    rows = ["make a file", "change modes", "tcp by bash", "a daemon's socket", "a hidden file", "end a process"]
    for name in rows:
        with hostile_world() as world:
            before = world.state()
            damage = partial(world.damage, world.run(TABLES["read"][name], None), before)
            wait_until(partial(_any, damage), f"damage by {name}", SOON)


def test_a_background_command_is_confined_too(world: HostileWorld) -> None:
    before = world.state()
    world.run("echo x > new; echo x > /dev/tcp/127.0.0.1/$TCP", world.reading, run_in_background=True)
    background = world.tools._state.shells.background
    wait_until(lambda: all(one.running.ended.is_set() for one in background.values()), "its end", SOON)
    assert world.damage("", before) == []
    world.run("touch in-the-background", world.reading, run_in_background=True)
    wait_until(lambda: world.tools.confiner.failed("touch in-the-background"), "that its failure is remembered", SOON)


def test_the_other_threads_stay_free(world: HostileWorld) -> None:
    world.run("true", world.reading)
    path = world.base / "free"
    path.write_text("x")
    path.chmod(0o600)
    assert world.run("echo $(cat secret.txt)", None) == SECRET


def test_its_own_temporary_folder_is_writable(world: HostileWorld) -> None:
    assert world.run('f=$(mktemp) && echo x > "$f" && cat "$f" && rm "$f"', world.reading) == "x"
    assert world.run("echo x > /dev/null 2>&1; echo y > /dev/stdout; cat <<< z", world.reading) == "y\nz"


def test_a_failed_command_says_that_it_was_confined_and_is_remembered(world: HostileWorld) -> None:
    output = world.run("touch new-name", world.reading)
    assert (
        "Permission denied\n(This command ran without asking, confined by the operating system: it can change" in output
    )
    assert world.tools.confiner.failed(" touch new-name ")
    assert not world.tools.confiner.failed("touch another")
    assert "confined" not in world.run("ls missing", world.reading)
    assert not world.tools.confiner.failed("ls missing")


def test_a_confinement_that_cannot_start_runs_nothing() -> None:
    with hostile_world() as world:
        state = world.tools._state
        state._wall = Wall(lambda *_: None, abilities=Abilities(landlock=7, filters=True))
        world.tools._state.shells.wall._abilities = Abilities()
        before = world.state()
        output = world.run("echo x > new", world.reading)
        assert output.startswith("Nothing was run: the command could not be confined (this system cannot confine it)")
        assert world.damage(output, before) == []
        assert world.tools.confiner.failed("echo x > new")


LANDLOCK_EDITS = (
    *("outside the workspace", "a protected name by renaming", "a protected name by a link", "tcp", "udp"),
    *("a new protected file", "a new protected folder", "a daemon's socket"),
)


@pytest.mark.parametrize("name", LANDLOCK_EDITS)
def test_edits_without_a_mount_namespace(name: str) -> None:
    """Where bubblewrap is missing, an edit in a folder without protected names is confined by Landlock."""
    with hostile_world() as world:
        world.tools._state._wall = Wall(lambda *_: None, abilities=Abilities(*landlock_works(), ""))
        shutil.rmtree(world.work / ".git")
        assert world.tools.confiner.problem(world.editing) == ""
        before = world.state(folders=False)
        output = world.run(EDITS[name], world.editing)
        assert world.damage(output, before, folders=False) == [], output
        (world.work / ".git").mkdir()
        assert "only a mount namespace" in world.tools.confiner.problem(world.editing)


@pytest.mark.parametrize("mode", attack_world.EVERY)
def test_a_judged_command_is_confined_all_the_way(tmp_path: Path, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`ls` and `touch` of PATH are hostile programs: the gate judges them by their names, the system stops them."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("ls", "touch"):
        (folder / name).write_text('#!/bin/bash\necho x > ../outside/planted; echo x > .envrc; echo "$GH_TOKEN"\n')
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    place = attack_world.World(tmp_path)
    try:
        runner = place.runner(mode, Rules())
        before = place.snapshot()
        for number, command in enumerate(("ls", "touch sub/new", "ls | cat")):
            attack_world.call(runner, number, "Bash", command=command)
        assert (place.snapshot() == before) is (mode != "bypassPermissions")
    finally:
        place.close()


@pytest.mark.bubblewrap
@pytest.mark.parametrize("mode", attack_world.EVERY)
def test_the_sandbox_of_the_settings_all_the_way(mode: str) -> None:
    base = tempfile.mkdtemp(prefix="yume-way-", dir="/var/tmp")
    place = attack_world.World(Path(base))
    try:
        sandbox = SandboxSettings(enabled=True)
        runner = place.runner(mode, Rules(), claude_sandbox=sandbox)
        (place.space / "evil.sh").write_text("echo x > made; echo x > ../outside/planted; echo x > .git/config\n")
        finished = attack_world.call(runner, 0, "Bash", command="bash evil.sh")
        ran = mode not in ASKING_MODES  # in plan mode the sandbox is no reason to run a command unasked
        assert (place.space / "made").exists() is ran, finished.result.content
        assert os.listdir(place.outside) == ["o.txt"]
        assert "x" not in (place.space / ".git" / "config").read_text().split()
        denying = place.runner(mode, Rules(deny=("Bash(curl:*)",)), claude_sandbox=sandbox)
        assert attack_world.call(denying, 1, "Bash", command="curl x").denied
    finally:
        place.close()
        shutil.rmtree(base)


def test_there_are_enough_rows() -> None:
    assert sum(map(len, TABLES.values())) >= 100
