"""Is this Linux a WSL distribution, and where are the drives of Windows mounted? A pure function of facts, and its
facts."""

from __future__ import annotations

import os
import sys

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

CONFIG = "/etc/wsl.conf"
MAX_CONFIG = 16_384
INTEROP = "/proc/sys/fs/binfmt_misc/WSLInterop"
MOUNT_ROOT = "/mnt"


class WslFacts(Value):
    """`release` is the kernel's (`uname -r`); `interop`: programs of Windows can be started; `config`: the text of
    `/etc/wsl.conf`."""

    distro: str = ""
    release: str = ""
    interop: bool = False
    config: str = ""


class Wsl(Value):
    """A WSL distribution: its name ("" = not known) and the folder of the drives."""

    distro: str
    mount_root: str = MOUNT_ROOT


def detect(facts: WslFacts) -> Wsl | None:
    """None: this is no WSL. A container on WSL has Microsoft's kernel too, but neither a name nor interop."""
    if not facts.distro and not ("microsoft" in facts.release.lower() and facts.interop):
        return None
    return Wsl(facts.distro, mount_root(facts.config))


def mount_root(config: str) -> str:
    """The folder of the drives according to `/etc/wsl.conf`, without a slash at its end: `root` in `[automount]`."""
    section, root = "", MOUNT_ROOT
    for line in config.splitlines():
        line = line.partition("#")[0].strip()
        if line.startswith("["):
            section = line.strip("[] \t").lower()
            continue
        name, found, text = line.partition("=")
        if found and section == "automount" and name.strip().lower() == "root":
            text = text.strip().strip("\"'")
            root = "/" + text.strip("/") if text.startswith("/") else root
    return root.rstrip("/")


def this_wsl(env: Mapping[str, str], release: str) -> Wsl | None:
    """The distribution that this process runs in; `release` names the kernel. On other systems nothing is read."""
    if sys.platform != "linux":
        return None
    distro = env.get("WSL_DISTRO_NAME", "")
    if not distro and "microsoft" not in release.lower():
        return None
    config = ""
    try:
        with open(CONFIG, encoding="utf-8", errors="replace") as file:
            config = file.read(MAX_CONFIG)
    except OSError:
        pass  # it is optional
    return detect(WslFacts(distro, release, os.path.exists(INTEROP), config))
