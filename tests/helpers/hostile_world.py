"""A place full of canaries for hostile scripts: files, sockets that listen, a process that can be killed.

Scripts run through the real Bash tool with a confinement, as if a table of the gate had taken them for harmless.
Run as a program it plays all rows of a table as an unprivileged user and prints the rows that did damage.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.helpers.fakes import cancel
from tests.helpers.tool_cases import toolbox
from yume_shim.engine.toolbox import Toolbox
from yume_shim.types.blocks import ToolCall
from yume_shim.types.confinement import Confinement
from yume_shim.types.errors import ToolFailed
from yume_shim.types.outputs import ToolContext
from yume_shim.types.protected_names import single_names

if TYPE_CHECKING:
    from collections.abc import Iterator

SECRET = "canary-that-must-stay-hidden"
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
UNPRIVILEGED = 65534


class HostileWorld:
    """`work` is the workspace, `out` a folder next to it. Both have a Git repository's shape and a secret file."""

    def __init__(self) -> None:
        self.base = Path(tempfile.mkdtemp(prefix="yume-hostile-", dir="/var/tmp"))
        self.work, self.out = self.base / "work", self.base / "out"
        for folder in (self.work, self.out):
            (folder / ".git" / "hooks").mkdir(parents=True)
            (folder / ".git" / "config").write_text("[core]\n")
            (folder / "sub" / "deep").mkdir(parents=True)
            (folder / "file.txt").write_text("text\n")
            (folder / "sub" / "inner.txt").write_text("inner\n")
            (folder / "secrets").mkdir()
            (folder / "secrets" / "key").write_text(SECRET)
            (folder / "secret.txt").write_text(SECRET)
            (folder / "link").symlink_to("secret.txt")
        os.mkfifo(self.out / "fifo")
        self.hits: list[str] = []
        self._open: list[socket.socket] = []
        env = self._listen()
        self.victim = subprocess.Popen(["sleep", "600"])
        env |= {"OUT": str(self.out), "PY": PYTHON, "VICTIM": str(self.victim.pid), "HOST_PID": str(os.getpid())}
        env |= {"GH_TOKEN": SECRET, "NPM_SECRET": SECRET, "SOME_API_KEY": SECRET, "HOME": str(self.out)}
        os.environ["HOST_KEY_CANARY"] = SECRET
        self.tools = toolbox(self.work, self.base / "scratch", env)

    def _listen(self) -> dict[str, str]:
        tcp = self._socket(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        udp = self._socket(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))
        self._socket(socket.AF_UNIX, socket.SOCK_STREAM, str(self.out / "stream.sock"))
        self._socket(socket.AF_UNIX, socket.SOCK_DGRAM, str(self.out / "datagram.sock"))
        abstract = f"yume-{os.getpid()}-{time.monotonic_ns()}"
        self._socket(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + abstract)
        return {"TCP": str(tcp.getsockname()[1]), "UDP": str(udp.getsockname()[1]), "ABSTRACT": abstract}

    def _socket(self, family: int, kind: int, address: Any) -> socket.socket:
        made = socket.socket(family, kind)
        made.bind(address)
        if kind == socket.SOCK_STREAM:
            made.listen()

        def watch() -> None:
            with contextlib.suppress(OSError):
                while True:
                    if kind == socket.SOCK_STREAM:
                        made.accept()[0].close()
                    else:
                        made.recv(100)
                    self.hits.append(f"{family!r} {kind!r}")

        threading.Thread(target=watch, daemon=True).start()
        self._open.append(made)
        return made

    # ------------------------------------------------ running

    @property
    def reading(self) -> Confinement:
        hidden = tuple(str(self.work / name) for name in ("secret.txt", "secrets"))
        return Confinement("read", hidden=hidden, programs=("git",))

    @property
    def editing(self) -> Confinement:
        hidden = tuple(str(self.work / name) for name in ("secret.txt", "secrets"))
        return Confinement("edit", (str(self.work),), (str(self.work / "sub"),), single_names(), hidden, ("git",))

    def run(self, script: str, confinement: Confinement | None, **more: Any) -> str:
        """Everything that the model would read."""
        box = Toolbox((self.tools,))
        given = {"command": script, "timeout": 20_000, **more}
        prepared = box.prepare(box.complete_for_host(ToolCall("c", "Bash", given)))
        try:
            return str(box.run(prepared, ToolContext("c", cancel(), confinement=confinement)).content)
        except ToolFailed as failed:
            return failed.message

    def state(self, folders: bool = True) -> dict[str, object]:
        """Names, kinds, modes, owners, times and contents of everything outside the scratch folder. Without `folders`
        only files: an edit changes the times of the folders that it may write."""
        found: dict[str, object] = {}
        for top in (self.work, self.out):
            for folder, inner, files in os.walk(top):
                for name in (*inner, *files) if folders else files:
                    path = os.path.join(folder, name)
                    info = os.lstat(path)
                    content = Path(path).read_bytes() if os.path.isfile(path) and not os.path.islink(path) else b""
                    found[path] = (info.st_mode, info.st_uid, info.st_nlink, info.st_mtime_ns, content)
        return found

    def damage(self, output: str, before: dict[str, object], folders: bool = True) -> list[str]:
        """What a script did that it must not be able to do."""
        after = self.state(folders)
        wrong = [f"changed: {path}" for path in before.keys() | after.keys() if before.get(path) != after.get(path)]
        wrong += [f"reached: {hit}" for hit in self.hits]
        wrong += ["the secret was read"] if SECRET in output else []
        wrong += ["the victim was ended"] if self.victim.poll() is not None else []
        return wrong

    def close(self) -> None:
        self.tools.close()
        self.victim.kill()
        self.victim.wait()
        for made in self._open:
            with contextlib.suppress(OSError):
                made.shutdown(socket.SHUT_RDWR)
            made.close()
        os.environ.pop("HOST_KEY_CANARY", None)
        shutil.rmtree(self.base, ignore_errors=True)


@contextlib.contextmanager
def hostile_world() -> Iterator[HostileWorld]:
    world = HostileWorld()
    try:
        yield world
    finally:
        world.close()


def play(rows: dict[str, str], kind: str) -> dict[str, list[str]]:
    """Play every row in one world; the rows that did damage."""
    wrong: dict[str, list[str]] = {}
    with hostile_world() as world:
        confinement, folders = (world.reading, True) if kind == "read" else (world.editing, False)
        before = world.state(folders)
        for name, script in rows.items():
            found = world.damage(world.run(script, confinement), before, folders)
            if found:
                wrong[name] = found
                return wrong  # the world is no longer as it was
    return wrong


def main(module: str) -> None:
    """Play the tables of a test module as an unprivileged user."""
    rows: dict[str, dict[str, str]] = importlib.import_module(module).TABLES
    with hostile_world() as world:  # loads every module while they can be read
        world.run("true", world.reading)
        world.run("true", world.editing)
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(UNPRIVILEGED)
        os.setuid(UNPRIVILEGED)
    wrong = {
        **play(rows["read"], "read"),
        **play(rows["edit"], "edit"),
    }
    found = {"user": os.geteuid(), "rows": sum(map(len, rows.values())), "wrong": wrong}
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
