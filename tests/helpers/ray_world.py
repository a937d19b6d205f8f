"""A Ray cluster of two nodes with a model, in a network namespace that has loopback only.

`RayWorld` (in the test) starts this module as a program; the program owns the cluster and does what the test asks for,
one JSON line at a time. Batches run as their user starts them, as processes of their own.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.test_batch import Answers

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    from tests.helpers.fake_server import Exchange

CPUS = 4
MEMORY = 80 << 20
"""Bytes of a node's object store."""
ANSWER_S = 150.0
KEY = "sk-ant-" + "secret-of-the-user"
SHORT = "/tmp"
"""Ray's folder is made here, whatever TMPDIR says: the name of a socket has 107 characters at most, Ray adds 70."""
READY = b"ready\n"


class RayWorld:
    """The test's side."""

    def __init__(self, base: Path) -> None:
        home = base / "home"
        home.mkdir()
        (base / "bin").mkdir()
        program = base / "bin" / "yume-shim"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m yume_shim "$@"\n')
        program.chmod(0o755)
        self._of_ray = tempfile.mkdtemp(prefix="ray-", dir=SHORT)
        env = child.clean_environment(
            home, RAY_USAGE_STATS_ENABLED="0", RAY_DISABLE_IMPORT_WARNING="1", RAY_TMPDIR=self._of_ray
        )
        words = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"])]
        self._log = (base / "world.log").open("wb")
        self._process = subprocess.Popen(
            [*words, sys.executable, "-m", "tests.helpers.ray_world", str(base)],
            env={**env, "PYTHONPATH": str(Path(__file__).parents[2])},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )

    def do(self, name: str, **given: Any) -> Any:
        """The answer of the program's function `name`."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps([name, given]).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:  # it ended in an earlier test
            pytest.fail(self._last_words())
        return json.loads(self._line())

    def __enter__(self) -> Self:
        """Wait for the cluster: where there is none, each test fails for that reason."""
        try:
            assert self._line() == READY
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()
        self._log.close()
        shutil.rmtree(self._of_ray, ignore_errors=True)

    def _line(self) -> bytes:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            pytest.fail(self._last_words())
        return line

    def _last_words(self) -> str:
        return "The cluster's program ended:\n" + Path(self._log.name).read_text("utf-8", "replace")[-3_000:]


class Counting(Answers):
    """Knows how many requests are being answered."""

    in_flight = 0

    def _play(self, exchange: Exchange) -> bool:
        with self._turn:
            self.in_flight += 1
        try:
            return super()._play(exchange)
        finally:
            with self._turn:
                self.in_flight -= 1


class World:
    """The program's side."""

    def __init__(self, base: Path) -> None:
        from ray.cluster_utils import Cluster

        self.base = base
        self.model = Counting()
        os.environ["ANTHROPIC_BASE_URL"] = self.model.url  # the nodes have it; the key has to be sent
        self.cluster = Cluster()
        self.nodes = [self._node(include_dashboard=False), self._node()]
        self.env = {**os.environ, "RAY_ADDRESS": self.cluster.address}
        self.env |= {"ANTHROPIC_API_KEY": KEY, "PATH": f"{base / 'bin'}:{os.environ['PATH']}"}

    def batch(self, name: str, count: int, *argv: str, **env: str) -> subprocess.Popen[bytes]:
        """A run with its own IN and OUT."""
        source = self.base / f"{name}.in"
        if not source.exists():
            rows = [{"id": f"t{n}", "prompt": f"Say word{n}"} for n in range(count)]
            source.write_text("".join(json.dumps(row) + "\n" for row in rows))
        words = [sys.executable, "-m", "yume_shim", "batch", str(source), "-o", str(self.out(name)), "--engine", "ray"]
        words += ["--send-env", "ANTHROPIC_API_KEY", *argv]
        return subprocess.Popen(
            words, env=self.env | env, cwd=self.base, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def out(self, name: str) -> Path:
        return self.base / f"{name}.out"

    def wait_for_rows(self, name: str, count: int) -> None:
        end = time.monotonic() + ANSWER_S
        while not self.out(name).exists() or self.out(name).read_bytes().count(b"\n") < count:
            assert time.monotonic() < end, "no rows"
            time.sleep(0.02)

    def report(self, name: str, process: subprocess.Popen[bytes]) -> dict[str, Any]:
        """What a run that ended left behind."""
        stdout, stderr = process.communicate(timeout=ANSWER_S)
        lines = self.out(name).read_bytes().splitlines() if self.out(name).exists() else []
        rows = [json.loads(line) for line in lines]
        return {"code": process.returncode, "stdout": stdout.decode(), "stderr": stderr.decode(), "rows": rows}

    def ask(self) -> Callable[[], dict[str, Any]]:
        """Starts to count; the function says how often the model was asked since."""
        self.model.asked.clear()
        self.model.delay = 0.05
        return lambda: {"requests": sum(self.model.asked.values()), "words": len(self.model.asked)}

    def _node(self, **more: Any) -> Any:
        return self.cluster.add_node(node_ip_address="127.0.0.1", num_cpus=CPUS, object_store_memory=MEMORY, **more)

    # ---------------------------------------------------------------- what a test may ask for

    def lose_a_node(self, count: int, workers: int) -> dict[str, Any]:
        """A run in the middle of which the second node is killed, while every worker waits for an answer."""
        asked = self.ask()
        started = time.monotonic()
        process = self.batch("loss", count, "-j", str(workers))
        self.wait_for_rows("loss", count // 3)
        self.model.delay = 10.0
        end = time.monotonic() + ANSWER_S
        while self.model.in_flight < workers:
            assert time.monotonic() < end, "workers are missing"
            time.sleep(0.02)
        self.model.delay = 0.05
        self.cluster.remove_node(self.nodes.pop(), allow_graceful=False)
        at = self.out("loss").read_bytes().count(b"\n")
        report = self.report("loss", process)
        self.nodes.append(self._node())
        return report | asked() | {"seconds": round(time.monotonic() - started, 1), "rows_at_the_loss": at}

    def kill_and_resume(self, count: int) -> dict[str, Any]:
        """A run whose starting process is killed, and continued at once."""
        asked = self.ask()
        process = self.batch("kill", count, "-j", "4")
        self.wait_for_rows("kill", count // 4)
        process.kill()
        process.communicate()
        return self.report("kill", self.batch("kill", count, "-j", "4", "--resume")) | asked()

    def interrupt(self, count: int) -> dict[str, Any]:
        """A run that Ctrl-C ends."""
        self.ask()
        process = self.batch("interrupt", count, "-j", "4")
        self.wait_for_rows("interrupt", 3)
        process.send_signal(signal.SIGINT)
        return self.report("interrupt", process)

    def refuse(self) -> dict[str, Any]:
        """Runs that cannot work: no such folder, no room, a file in use, no such variable, no cluster."""
        self.out("used").write_text('{"id":"t0"}\n')
        runs = {
            "folder": self.batch("folder", 3, "-j", "2", "--cwd", "/no/such/folder"),
            "variable": self.batch("variable", 3, "--send-env", "NO_SUCH_VARIABLE"),
            "address": self.batch("address", 3, RAY_ADDRESS="127.0.0.1:1"),
            "client": self.batch("client", 3, RAY_ADDRESS="ray://127.0.0.1:10001"),
            "room": self.batch("room", 3, "--worker-resources", "slots=1", "--deadline", "18"),
            "used": self.batch("used", 3),
        }
        return {name: self.report(name, process) for name, process in runs.items()}

    def run_block(self, block: str) -> dict[str, Any]:
        """A shell block of a document; `pip` is not run."""
        rows = [{"id": f"t{n}", "prompt": f"Say word{n}"} for n in range(5)]
        (self.base / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        block = "pip() { :; }\n" + block.replace("127.0.0.1:6379", self.env["RAY_ADDRESS"])
        words = ["bash", "-e", "-c", block]
        process = subprocess.Popen(words, env=self.env, cwd=self.base, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        _, stderr = process.communicate(timeout=ANSWER_S)
        lines = (self.base / "out.jsonl").read_bytes().splitlines()
        return {"code": process.returncode, "stderr": stderr.decode(), "rows": [json.loads(line) for line in lines]}

    def keep_secrets(self) -> dict[str, Any]:
        """A run with few rights; then what Ray knows about its actors, and what its files say."""
        self.ask()
        report = self.report("few", self.batch("few", 3, "-j", "1", "--worker-resources", "CPU=0.5,memory=50M"))
        without = self.report(
            "none", subprocess.Popen(  # nothing is sent, so no worker has a key
                [sys.executable, "-m", "yume_shim", "batch", str(self.base / "few.in"), "-o", str(self.out("none")),
                 "--engine", "ray", "-j", "1"],
                env=self.env, cwd=self.base, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )
        )  # fmt: skip
        folder = Path(self.nodes[0].get_session_dir_path())
        leaks = [str(path) for path in folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
        return {"few": report, "none": without, "leaks": leaks}


def bring_loopback_up() -> None:
    """A new network namespace has a loopback interface that is down."""
    import fcntl

    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh", b"lo", 0x41))  # SIOCSIFFLAGS: IFF_UP | IFF_RUNNING


def main() -> None:
    """Serve the test until its input ends."""
    bring_loopback_up()
    answers = os.fdopen(os.dup(1), "wb", 0)
    os.dup2(2, 1)  # Ray prints
    world = World(Path(sys.argv[1]))
    try:
        answers.write(READY)
        for line in sys.stdin:
            name, given = json.loads(line)
            answers.write(json.dumps(getattr(world, name)(**given)).encode() + b"\n")
    finally:
        world.cluster.shutdown()  # type: ignore[no-untyped-call]
        world.model.close()


if __name__ == "__main__":
    main()
