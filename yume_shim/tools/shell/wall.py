"""Confines commands by means of the operating system, and knows what it can enforce here.

On Linux a judged command runs under Landlock and a seccomp filter, or in a mount namespace (bubblewrap) if names below
a writable folder must be kept as they are. On macOS sandbox-exec is used. The restrictions are put on a thread that
only starts the command: what it starts inherits them, all other threads stay free. Where the system offers nothing,
only the commands of a fixed list run unasked.
"""

from __future__ import annotations

import os
import sys
import threading

from yume_shim.tools.shell.file_grants import TooMany
from yume_shim.types.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from subprocess import Popen
    from typing import Literal

    from yume_shim.tools.dispatch.session_state import Log
    from yume_shim.tools.shell.launches import Launch
    from yume_shim.types.confinement import Confinement

    Means = Literal["landlock", "bubblewrap", "seatbelt", "nothing"]

MAX_FAILED = 256
"""Commands remembered because they failed confined."""
SYSTEM_PLACES = "/usr/bin:/bin:/usr/local/bin"
"""Where bubblewrap is looked for: not in PATH, which a project may have changed."""
SEATBELT = "/usr/bin/sandbox-exec"
_READS = (
    "cat head tail wc ls pwd echo printf true false test [ cd basename dirname stat realpath readlink sort uniq cut tr "
    "nl tac rev fold expand paste comm cmp diff od md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum "
    "seq sleep whoami id groups uname arch nproc date grep egrep fgrep find du df which type"
)
_EDITS = "mkdir touch rm rmdir mv cp"
SIMPLE = frozenset(_READS.split() + _EDITS.split())
"""Commands without network that start no other program and read no configuration: where the system cannot confine a
command, or cannot close its network, only these run unasked."""
FAILURES = (
    *("permission denied", "operation not permitted", "read-only file system", "device or resource busy"),
    *("network is unreachable", "could not resolve host", "temporary failure in name resolution"),
)
CONFINED_NOTE = (
    "(This command ran without asking, confined by the operating system: {what}. If it needs more, run the very same "
    "command again: it then needs approval, and runs unconfined.)"
)
SANDBOX_NOTE = "(This command ran in the sandbox of the settings: {what}.)"
LIMITS = {
    "read": "it can change no files, reach no network and read no files that rules deny",
    "edit": "it can change only the files that it names, cannot touch protected names and has no network",
    "sandbox": "it can change only the workspace, and reaches only the hosts that the settings allow",
}


class Abilities(Value):
    """What this system can enforce. `landlock` is its version (0 = none), `filters`: seccomp filters work and the
    machine's system calls are known, `bubblewrap` the path of a bwrap that works (None = not tried yet), `seatbelt`
    that of sandbox-exec."""

    landlock: int = 0
    filters: bool = False
    bubblewrap: str | None = ""
    seatbelt: str = ""


class Wall:
    """Implements `types.ports.Confiner`, and starts confined commands. One per session; safe from any thread."""

    def __init__(self, log: Log, keep_variables: tuple[str, ...] = (), abilities: Abilities | None = None) -> None:
        """`keep_variables`: secrets that commands that run unasked may see. `abilities` replaces the probe."""
        self._log = log
        self._keep_variables = keep_variables
        self._abilities = abilities
        self._lock = threading.Lock()
        self._failed: dict[str, None] = {}
        self._folder = ""

    @property
    def abilities(self) -> Abilities:
        """What the system can enforce; each means is tried once, when first needed."""
        with self._lock:
            if self._abilities is None:
                self._abilities = probe()
            return self._abilities

    def _bubblewrap(self) -> str:
        """The path of bubblewrap; "" if it does not work here, or if no filter can close its sockets."""
        able = self.abilities
        if not able.filters:
            return ""
        with self._lock:
            if able.bubblewrap is None:
                able = self._abilities = replace(able, bubblewrap=working_bubblewrap())
                self._log("debug", f"confinement of commands: {able}")
            return able.bubblewrap or ""

    # ------------------------------------------------ the gate's questions

    def problem(self, confinement: Confinement) -> str:
        why, means = self._means(confinement)
        if why or means == "nothing":
            return why
        from yume_shim.tools.shell.launches import plan

        try:
            plan(means, confinement)
        except (TooMany, OSError) as error:
            return f"it cannot be confined: {error}"
        return ""

    def failed(self, command: str) -> bool:
        return command.strip() in self._failed

    def _means(self, confinement: Confinement) -> tuple[str, Means]:
        """(why it cannot be confined, the means to use)."""
        able = self.abilities
        simple = set(confinement.programs) <= SIMPLE
        if confinement.kind != "read" and self._bubblewrap():
            return "", "bubblewrap"
        if able.landlock and confinement.kind != "sandbox":
            return ("" if able.filters or simple else "this system cannot close its network"), "landlock"
        if self._bubblewrap():
            return "", "bubblewrap"
        if able.seatbelt:
            return "", "seatbelt"
        return ("" if simple and confinement.kind != "sandbox" else "this system cannot confine it"), "nothing"

    # ------------------------------------------------ running

    def confines(self, confinement: Confinement) -> bool:
        """Whether the command is really confined, not only one of the simple ones."""
        return self._means(confinement)[1] != "nothing"

    def launch(self, confinement: Confinement, cwd_file: str, env: Mapping[str, str]) -> Launch:
        """How to start one command. Raises OSError if it cannot be confined: then nothing may run."""
        from yume_shim.tools.shell.launches import Launch, plan
        from yume_shim.tools.shell.unasked_environment import unasked_environment

        why, means = self._means(confinement)
        if why:
            raise OSError(0, why)
        if confinement.kind != "sandbox":
            env = unasked_environment(env, self.own_folder(), self._keep_variables)
        try:
            planned = plan(means, confinement)
        except TooMany as error:
            raise OSError(0, str(error)) from None
        return Launch(confinement, means, planned, self.abilities, env, self.own_folder(), cwd_file)

    def note_failure(self, command: str, confinement: Confinement, code: int, output: str) -> str:
        """The closing note for a command that seems to have failed because it was confined; it is remembered."""
        low = output.lower()
        if not code or not any(words in low for words in FAILURES):
            return ""
        if confinement.kind == "sandbox":
            return SANDBOX_NOTE.format(what=LIMITS["sandbox"])
        self.remember_failure(command)
        return CONFINED_NOTE.format(what=LIMITS[confinement.kind])

    def remember_failure(self, command: str) -> None:
        """From now on this very command is asked about."""
        with self._lock:
            self._failed[command.strip()] = None
            while len(self._failed) > MAX_FAILED:
                del self._failed[next(iter(self._failed))]

    def own_folder(self) -> str:
        """The temporary folder of confined commands: the only place that a reading command can write."""
        with self._lock:
            if not self._folder or not os.path.isdir(self._folder):
                given = os.environ.get("TEMP") or "C:\\" if os.name == "nt" else os.environ.get("TMPDIR") or "/tmp"
                base = os.path.realpath(given)
                folder = os.path.join(base, f"yume-confined-{os.urandom(8).hex()}")
                os.mkdir(folder, 0o700)
                self._folder = folder
            return self._folder

    def close(self) -> None:
        """Remove the temporary folder."""
        with self._lock:
            folder, self._folder = self._folder, ""
        if folder:
            import shutil

            shutil.rmtree(folder, ignore_errors=True)


def on_own_thread(restrict: Callable[[], None], spawn: Callable[[], Popen[bytes]]) -> Popen[bytes]:
    """Restrict a new thread and start a process from it; the thread ends at once. Raises what either raises."""
    made: list[Popen[bytes]] = []
    failed: list[BaseException] = []

    def go() -> None:
        try:
            restrict()
            made.append(spawn())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=go, daemon=True)
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return made[0]


# ---------------------------------------------------------------- what the system can do


def probe() -> Abilities:
    """Try what works here: by doing it, because containers forbid some of it."""
    if sys.platform == "darwin":
        from yume_shim.system.macos.seatbelt import Profile, profile_text

        return Abilities(seatbelt=SEATBELT if _runs([SEATBELT, "-p", profile_text(Profile()), "/usr/bin/true"]) else "")
    if not sys.platform.startswith("linux"):
        return Abilities()
    from yume_shim.tools.shell.launches import landlock_works

    landlock, filters = landlock_works()
    return Abilities(landlock, filters, None)


def full_probe() -> Abilities:
    """Everything that this system can enforce."""
    return replace(probe(), bubblewrap=working_bubblewrap())


def is_complete(able: Abilities) -> bool:
    """May commands that the gate did not ask about run here?"""
    return bool(able.seatbelt or (able.filters and (able.landlock or able.bubblewrap)))


def confinement_rows(able: Abilities, wants_sandbox: bool) -> list[tuple[str, str]]:
    """What `doctor` says about the confinement of commands."""
    parts = [
        f"Landlock {able.landlock}" if able.landlock else "",
        "seccomp filters" if able.filters else "",
        f"bubblewrap ({able.bubblewrap})" if able.bubblewrap else "",
        "sandbox-exec" if able.seatbelt else "",
    ]
    text = ", ".join(part for part in parts if part)
    if not is_complete(able):
        text = f"{text or 'none'}: only simple commands run unasked (docs/security.md)"
    elif not able.seatbelt and not able.bubblewrap:
        text += "; no mount namespaces: edits next to protected names are asked about"
    rows = [("confinement", text)]
    if wants_sandbox and not (able.bubblewrap and able.filters):
        rows.append(("sandbox", "the settings ask for one, and bubblewrap is not installed or not permitted"))
    return rows


def working_bubblewrap() -> str:
    """The path of a bubblewrap that works here; "" if there is none (not on Linux either)."""
    if not sys.platform.startswith("linux"):
        return ""
    from yume_shim.system import is_root
    from yume_shim.system.linux.bubblewrap import View, bwrap_argv
    from yume_shim.tools.shell.processes import find_program

    program = find_program("bwrap", SYSTEM_PLACES)
    return program if program and _runs(bwrap_argv(program, ["/bin/true"], "/", View(root=is_root()))) else ""


PROBE_S = 5.0


def _runs(argv: list[str]) -> bool:
    import subprocess

    try:
        return subprocess.run(argv, stdin=-3, capture_output=True, timeout=PROBE_S, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
