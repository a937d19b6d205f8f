r"""The content of a path rule in Windows spelling, in the form that rules have: `C:\x\*.txt` is `//c/x/*.txt`. Pure.

On Windows `\` in a rule separates names; it escapes nothing. Under WSL only a rule with a drive is translated.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.gate.paths import Flavour

_DRIVE = re.compile(r"([A-Za-z]):(?=[\\/]|\Z)")
_MOUNTED = re.compile(r"//(?:mnt|cygdrive)/([A-Za-z])(?=/|\Z)")
"""A drive as WSL and Cygwin name it, which paths of tools may do, too."""
_PREFIX = re.compile(r"[\\/]{2}[?.][\\/]|\\\?\?\\")
_VARIABLE = re.compile(r"%\w+%|\$(?:env:|\{)?\w+", re.I)


def rule_content(content: str, flavour: Flavour) -> tuple[str, str]:
    """(the content in the form of rules, why it may not mean what it seems to or "")."""
    if flavour.mounts:
        found = _DRIVE.match(content)
        if found is None:
            return content, ""
        return f"/{flavour.mount_root}/{found.group(1).lower()}" + content[2:].replace("\\", "/"), ""
    return _without_detours(_plain(content)), _problem(content)


def _without_detours(content: str) -> str:
    """`a/b` of `a/x/.././/b`."""
    head = re.match("/*", content)
    start = head.end() if head is not None else 0
    kept: list[str] = []
    for name in content[start:].split("/"):
        if kept and name in ("", "."):
            continue
        if name == ".." and kept and kept[-1] not in ("", ".", "..", "~", "**"):
            kept.pop()
        else:
            kept.append(name)
    folder = "/" if kept and content.endswith("/") else ""
    return content[:start] + "/".join(kept) + folder


def _plain(content: str) -> str:
    plain = _PREFIX.sub("", content, count=1)
    if plain != content and plain[:4].upper() in ("UNC\\", "UNC/"):
        plain = "\\\\" + plain[4:]
    network = plain.startswith("\\\\")
    plain = plain.replace("\\", "/")
    drive = _DRIVE.match(plain.lstrip("/"))
    if drive is not None and not network:
        return f"//{drive.group(1).lower()}{plain.lstrip('/')[2:]}"
    if network:
        from yume_shim.text.windows_paths import spelled

        wild = re.search(r"[*?\[]", plain)
        end = wild.start() if wild is not None else len(plain)
        local = spelled(plain[:end])[0] if ":" not in plain else plain
        return _plain(local + plain[end:]) if local[1:2] == ":" else "/" + plain
    mounted = _MOUNTED.match(plain)
    if mounted is not None:
        return f"//{mounted.group(1).lower()}{plain[mounted.end() :]}"
    if plain.startswith("//") and not re.match(r"//[A-Za-z](?:/|\Z)", plain) and re.match(r"//[^/*?\[]+/", plain):
        return "/" + plain
    return plain


def _problem(content: str) -> str:
    if _VARIABLE.search(content):
        return "it contains a variable, which is not replaced"
    below = _PREFIX.sub("", content, count=1).lstrip("\\/")
    below = below[2:] if _DRIVE.match(below) else below
    if ":" in below:
        return "it names a stream, or a path relative to a drive: write the file's path"
    if any(name != name.rstrip(". ") for name in re.split(r"[\\/]", below) if name not in (".", "..")):
        return "a name in it ends with a dot or a blank, which no file of Windows has"
    begins = re.match(r"/([A-Za-z])/|[\\/](?:mnt|cygdrive)[\\/]([A-Za-z])(?:[\\/]|\Z)", content)
    if begins is not None:
        drive = (begins.group(1) or begins.group(2)).lower()
        return f"it starts in the working folder: a path from the root of a drive begins with //{drive}/"
    if re.match(r"\\[^\\/]+[\\/]", content):
        return "it starts in the working folder: name the drive for a path from its root"
    return ""
