"""How one confined command is started, and what is checked when it has ended."""

from __future__ import annotations

import os
import threading
import time

from yume_shim.tools.shell.file_grants import TooMany, kept_below, opened_apart, protected_below, readable_around
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from subprocess import Popen

    from yume_shim.tools.shell.wall import Abilities, Means
    from yume_shim.types.confinement import Confinement

DEVICES = ("/dev/null", "/dev/zero", "/dev/full")
"""Devices that swallow what is written to them."""
NAMESPACE_END_S = 2.0
NAMESPACE_POLL_S = 0.001
"""How long the end of a namespace's processes is awaited before its folders are checked."""
MAX_INFO = 4_096
PLANTED_NOTE = "(Removed because it may not be made without approval, and kept in {place}: {names})"
UNCHECKED_NOTE = "(This command made so many files that they were not all checked for protected names.)"


class Plan(Value):
    """What was found on the disk for a confinement."""

    readable: tuple[str, ...] = ()
    """Landlock with hidden files: what may be read."""
    kept: tuple[str, ...] = ()
    """Below writable folders, yet read-only."""
    before: frozenset[str] = frozenset()
    """What was in the writable folders before the start."""


def plan(means: Means, confinement: Confinement) -> Plan:
    """Look at the disk. Raises TooMany or OSError if the command cannot be confined by these means."""
    protected = frozenset(confinement.protected)
    readable = tuple(readable_around(confinement.hidden)) if means == "landlock" and confinement.hidden else ()
    if confinement.kind != "edit":
        return Plan(readable)
    before = frozenset(os.path.join(folder, name) for folder in confinement.folders for name in os.listdir(folder))
    if means == "bubblewrap":
        kept = kept_below(confinement.folders, confinement.trees, protected)
        return Plan(kept=tuple(kept), before=before.union(kept))
    for folder in confinement.folders:
        found = protected_below(folder, protected)
        if found:
            raise TooMany(f"only a mount namespace could keep {found[0]} unchanged, and this system has none")
    return Plan(readable, before=before)


class NamespaceEnd:
    """Waits until no process of a namespace runs any more. bubblewrap itself may end a moment earlier; it writes the id
    of the namespace's first process, with whose end all others end, to `writer`."""

    def __init__(self) -> None:
        self._reader, self.writer = os.pipe()

    def wait(self) -> None:
        """After the end of bubblewrap. At most once."""
        from yume_shim.system.linux.marked_processes import is_running
        from yume_shim.text import codec

        with open(self._reader, "rb") as file:
            found = codec.loads_object(file.read(MAX_INFO))
        first = found.get("child-pid") if found is not None else None
        deadline = time.monotonic() + NAMESPACE_END_S
        while isinstance(first, int) and is_running(first) and time.monotonic() < deadline:
            time.sleep(NAMESPACE_POLL_S)

    def close(self) -> None:
        os.close(self._reader)


class Launch:
    """One command's start: `argv` and `env` to use, `spawn` to start it with, `finish` when it has ended."""

    def __init__(
        self,
        confinement: Confinement,
        means: Means,
        planned: Plan,
        able: Abilities,
        env: Mapping[str, str],
        folder: str,
        cwd_file: str,
    ) -> None:
        self.env = env
        self.handles: tuple[int, ...] = ()
        """Descriptors that the command's launcher inherits."""
        self._confinement, self._means, self._plan, self._able = confinement, means, planned, able
        self._folder, self._cwd_file = folder, cwd_file
        self._end: NamespaceEnd | None = None

    # ------------------------------------------------ start

    def wrapped(self, argv: list[str], cwd: str) -> list[str] | None:
        """The argv of the program that confines the command; None if the starting thread does."""
        if self._means == "bubblewrap":
            from yume_shim.system import is_root
            from yume_shim.system.linux.bubblewrap import View, bwrap_argv

            view = self._confinement
            self._end = NamespaceEnd()
            self.handles = (_pipe_with(_filter(metadata=False, truncation=False)), self._end.writer)
            seen = View(
                (self._folder, *opened_apart(view.folders, view.trees)),
                self._plan.kept,
                tuple(path for path in view.hidden if os.path.isdir(path)),
                tuple(path for path in view.hidden if not os.path.isdir(path)),
                self._cwd_file,
                light=True,
                filter_handle=self.handles[0],
                info_handle=self.handles[1],
                root=is_root(),
            )
            return bwrap_argv(self._able.bubblewrap or "", argv, cwd, seen)
        if self._means == "seatbelt":
            from yume_shim.system.macos.seatbelt import Profile, profile_text

            changes = (*self._confinement.folders, *self._confinement.trees)
            profile = Profile(
                (self._folder, *changes), self._cwd_file, self._confinement.protected, self._confinement.hidden
            )
            return [self._able.seatbelt, "-p", profile_text(profile), *argv]
        return None

    def spawn(self, start: Callable[[], Popen[bytes]]) -> Popen[bytes]:
        """Start the command. Raises OSError if it cannot be confined."""
        try:
            if self._means != "landlock":
                return start()
            from yume_shim.tools.shell.wall import on_own_thread

            return on_own_thread(self._restrict, start)
        except BaseException:
            if self._end is not None:
                self._end.close()
            raise
        finally:
            for handle in self.handles:
                os.close(handle)

    def _restrict(self) -> None:
        from yume_shim.system.linux import kernel

        abi = self._able.landlock
        changes = kernel.change_rights(abi)
        rules = kernel.Ruleset(abi, changes | (kernel.READ_FILE if self._confinement.hidden else 0))
        try:
            for device in DEVICES:
                rules.grant(device, kernel.FILE_RIGHTS)
            if not self._cwd_file.startswith("/dev/"):
                rules.grant(self._cwd_file, kernel.WRITE_FILE | kernel.TRUNCATE)
            devices = kernel.MAKE_CHAR | kernel.MAKE_BLOCK
            rules.grant(self._folder, (changes & ~devices) | kernel.READ_FILE)
            for path in (*self._confinement.folders, *self._confinement.trees):
                rules.grant(path, changes & ~devices)
            for path in self._plan.readable:
                rules.grant(path, kernel.READ_FILE)
            kernel.drop_capabilities()
            rules.restrict_thread()
        finally:
            rules.close()
        if self._able.filters:
            metadata = self._confinement.kind == "read"
            kernel.filter_thread(_filter(metadata=metadata, truncation=metadata and not kernel.sees_truncation(abi)))

    # ------------------------------------------------ end

    def finish(self) -> str:
        """The command has ended: move away what it planted. Returns a note about it."""
        if self._end is not None:
            self._end.wait()
        if self._confinement.kind != "edit":
            return ""
        try:
            planted = self._planted()
        except TooMany:
            return UNCHECKED_NOTE
        if not planted:
            return ""
        return PLANTED_NOTE.format(place=move_away(planted, self._folder), names=", ".join(planted))

    def _planted(self) -> list[str]:
        """Protected names that were not there before."""
        protected = frozenset(self._confinement.protected)
        found: list[str] = []
        for folder in self._confinement.folders:
            try:
                names = os.listdir(folder)
            except OSError:
                continue
            for name in names:
                path = os.path.join(folder, name)
                if path in self._plan.before:
                    continue
                if name.casefold() in protected:
                    found.append(path)
                elif os.path.isdir(path) and not os.path.islink(path):
                    found += protected_below(path, protected)
        for tree in self._confinement.trees:
            found += [path for path in protected_below(tree, protected) if path not in self._plan.before]
        return list(dict.fromkeys(found))


def move_away(planted: list[str], folder: str) -> str:
    """Move files and folders into a new folder below `folder`; returns it."""
    import shutil

    place = os.path.join(folder, f"planted-{os.urandom(4).hex()}")
    os.mkdir(place, 0o700)
    for count, path in enumerate(planted):
        shutil.move(path, os.path.join(place, f"{count}-{os.path.basename(path)}"))
    return place


def _pipe_with(data: bytes) -> int:
    """The read end of a pipe that holds `data` (less than a pipe takes)."""
    reader, writer = os.pipe()
    with open(writer, "wb") as file:
        file.write(data)
    return reader


def sandbox_filter(*, unix: bool) -> int:
    """A pipe that holds the filter of a sandbox with a network of its own: `unix` allows sockets of daemons."""
    from yume_shim.system.linux.kernel import machine
    from yume_shim.system.linux.seccomp_filter import AF_INET, AF_INET6, AF_NETLINK, AF_UNIX, Closed, build

    known = machine()
    if known is None:
        raise OSError(0, "the system calls of this machine are not known")
    families = (AF_INET, AF_INET6, AF_NETLINK, *((AF_UNIX,) if unix else ()))
    return _pipe_with(build(known, Closed(families, metadata=False)))


def _filter(*, metadata: bool, truncation: bool) -> bytes:
    """The seccomp filter for this machine; every build of the same one is kept."""
    from yume_shim.system.linux.kernel import machine
    from yume_shim.system.linux.seccomp_filter import Closed, build

    known = machine()
    if known is None:
        raise OSError(0, "the system calls of this machine are not known")
    wanted = (metadata, truncation)
    if wanted not in _built:
        _built[wanted] = build(known, Closed((), metadata, truncation))
    return _built[wanted]


_built: dict[tuple[bool, bool], bytes] = {}


def landlock_works() -> tuple[int, bool]:
    """(the version of Landlock that works here or 0, whether seccomp filters work): tried on a thread of its own."""
    found: list[int] = []
    filters: list[bool] = []

    def trial() -> None:
        from yume_shim.system.linux import kernel

        try:
            abi = kernel.landlock_abi()
            if abi:
                rules = kernel.Ruleset(abi, kernel.change_rights(abi))
                rules.restrict_thread()
                rules.close()
                found.append(abi)
        except OSError:
            pass
        try:
            kernel.filter_thread(_filter(metadata=True, truncation=False))
            filters.append(True)
        except OSError:
            pass

    thread = threading.Thread(target=trial, daemon=True)
    thread.start()
    thread.join()
    return (found[0] if found else 0), bool(filters)
