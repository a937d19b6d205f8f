"""The argv of bubblewrap: a command's view of the disk, in a mount namespace. Pure."""

from __future__ import annotations

from yume_shim.types.value import Value

FILE_CAPABILITIES = ("CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "CAP_FOWNER")
"""What root keeps inside: without them root could read less than an ordinary user."""
EMPTY_FILE = "/dev/null"
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


class View(Value):
    """What a command sees: the whole disk can be read, but not changed, except as these fields say."""

    writable: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    """Below writable folders, yet read-only."""
    hidden_folders: tuple[str, ...] = ()
    hidden_files: tuple[str, ...] = ()
    note: str = ""
    """A file outside that stays writable: the shell writes its working directory to it."""
    network: bool = False
    light: bool = False
    """The seccomp filter closes sockets and System V memory: namespaces for them, which take milliseconds, and a new
    /dev are left out."""
    filter_handle: int = -1
    """A descriptor from which the seccomp filter is read."""
    info_handle: int = -1
    """A descriptor to which bubblewrap writes the id of the namespace's first process."""
    root: bool = False


def bwrap_argv(program: str, argv: list[str], cwd: str, view: View) -> list[str]:
    """The command gets its own process ids too: it cannot see or signal ours, and what it leaves running ends with it.
    It stays in its process group, so that it is ended like any other command."""
    made = [program, "--ro-bind", "/", "/"]
    if view.light:
        made += [word for device in DEVICES for word in ("--dev-bind-try", device, device)]
    else:
        made += ["--dev", "/dev", "--unshare-ipc"]
    made += ["--proc", "/proc", "--unshare-pid"]
    if not view.network and not view.light:
        made.append("--unshare-net")
    if view.root:
        made += ["--cap-drop", "ALL", *(word for name in FILE_CAPABILITIES for word in ("--cap-add", name))]
    binds = [*((path, "--bind-try") for path in view.writable), *((path, "--ro-bind-try") for path in view.kept)]
    for path, option in sorted(binds, key=lambda bind: bind[0].count("/")):  # what is deeper covers what is above
        made += [option, path, path]
    for path in view.hidden_folders:
        made += ["--perms", "0000", "--tmpfs", path]
    for path in view.hidden_files:
        made += ["--ro-bind", EMPTY_FILE, path]
    if view.note and not view.note.startswith("/dev/"):
        made += ["--bind", view.note, view.note]
    if view.filter_handle >= 0:
        made += ["--seccomp", str(view.filter_handle)]
    if view.info_handle >= 0:
        made += ["--info-fd", str(view.info_handle)]
    return [*made, "--chdir", cwd, "--", *argv]
