r"""How Windows reads a path: the plain spelling of a path, or why it cannot be judged. Pure; runs on every system.

Windows opens one file under many spellings: `\\?\C:\x`, `\\localhost\c$\x`, `x::$DATA`, `x. `, `X`. A rule compares
text. So a spelling is either translated into the plain one (`C:\x`), or refused with the reason. Short (8.3) names and
links are known to the disk only: `system/windows/paths.py` replaces them by the real names.
"""

from __future__ import annotations

import re

_SUPERSCRIPTS = str.maketrans("\u00b9\u00b2\u00b3", "123")
_DEVICES = frozenset(
    ["con", "prn", "aux", "nul", "conin$", "conout$", "clock$"]
    + [f"{port}{number}" for port in ("com", "lpt") for number in range(10)]
)
_FORBIDDEN = re.compile(r'[\x00-\x1f<>"|*?]')
_NAMESPACE = re.compile(r"\\(?:\\[?.]|\?\?)\\")
_DRIVE = re.compile(r"[A-Za-z]:")
_ADMIN_SHARE = re.compile(r"([A-Za-z])\$\Z")
_LOCAL_HOSTS = re.compile(r"(?:localhost|127(?:\.\d{1,3}){0,3}|0--1\.ipv6-literal\.net)\.?\Z", re.I)

CHARACTER = "it contains a character that Windows does not allow in names"
DEVICE_PATH = "it is a device path"
NETWORK = "it is a network path"
DRIVE_RELATIVE = "it is relative to the current folder of a drive"
STREAM = "it names a stream of a file"
DEVICE = "it names a device"
ENDING = "a name in it ends with a dot or a blank, which Windows removes"
SHORT = "it is a short (8.3) name"
ABOVE = "it goes above the root of a drive, where a shell has its own tree of folders"
VERBATIM = "it has the prefix \\\\?\\, and `.`, `..` or `/` after it are names there"


def spelled(path: str, shares: tuple[str, ...] | None = (), computer: str = "") -> tuple[str, str]:
    """(the path in the plain spelling, with `\\`; why it cannot be judged or ""). Only network paths on one of `shares`
    (`\\\\server\\share`) are accepted: opening another sends the user's name and a hash of the password to its
    server. None: all are. `computer`: the name of this computer."""
    plain = path.replace("/", "\\")
    found = _NAMESPACE.match(plain)
    if _FORBIDDEN.search(plain[found.end() :] if found is not None else plain):
        if "\0" in path:
            return path, "it contains a NUL byte"
        return path, CHARACTER if found is None else DEVICE_PATH
    if found is not None:
        plain = plain[found.end() :]
        if plain[:4].lower() == "unc\\":
            plain = "\\\\" + plain[4:]
        elif not re.match(r"[A-Za-z]:\\", plain):
            return path, DEVICE_PATH
        if path[:4] == "\\\\?\\" and ("/" in path or _has_dots(plain)):
            return path, VERBATIM
    if plain.startswith("\\\\"):
        plain = _local_share(plain, computer)
    if plain.startswith("\\\\") and not _is_on(plain, shares):
        return path, NETWORK
    drive = _DRIVE.match(plain)
    rest = plain[2:] if drive is not None else plain
    if drive is not None and not rest.startswith("\\"):
        return path, DRIVE_RELATIVE
    wrong = STREAM if ":" in rest else next((flaw for flaw in map(_flaw_of_name, rest.split("\\")) if flaw), "")
    return (path, wrong) if wrong else (plain, "")


def _is_on(path: str, shares: tuple[str, ...] | None) -> bool:
    return shares is None or share_of(path).casefold() in [share.casefold() for share in shares]


def _has_dots(path: str) -> bool:
    return any(name in (".", "..") for name in path.split("\\"))


def _flaw_of_name(name: str) -> str:
    if name in ("", ".", ".."):
        return ""
    if name.partition(".")[0].rstrip(" ").translate(_SUPERSCRIPTS).casefold() in _DEVICES:
        return DEVICE
    return ENDING if name[-1] in ". " else ""


def _local_share(path: str, computer: str) -> str:
    """`C:\\x` of `\\\\localhost\\C$\\x`; other network paths unchanged."""
    host, _, rest = path[2:].partition("\\")
    share, _, below = rest.partition("\\")
    found = _ADMIN_SHARE.match(share)
    if found is None or not (_LOCAL_HOSTS.match(host) or (computer and host.casefold() == computer.casefold())):
        return path
    return f"{found.group(1).upper()}:\\{below}"


def share_of(path: str) -> str:
    """`\\\\server\\share` of a network path; "" for any other path."""
    if not path.startswith("\\\\"):
        return ""
    server, _, rest = path[2:].partition("\\")
    share = rest.partition("\\")[0]
    return f"\\\\{server}\\{share}" if server and share else ""


def is_short_name(name: str) -> bool:
    """Whether a name has the form of a short (8.3) one: `PROGRA~1`, `SECRET~2.TXT`."""
    head, tilde, tail = name.partition("~")
    return bool(tilde) and 0 < len(head) <= 6 and tail.split(".")[0].isdigit()


def fold(name: str) -> str:
    """The name as NTFS compares it, letter by letter: `ß` is not `ss`, and only ASCII letters become ASCII letters."""
    return name.lower() if name.isascii() else "".join(map(_folded, name))


def _folded(char: str) -> str:
    if char.isascii():
        return char.lower()
    big = char.upper()
    if len(big) != 1:  # Greek letters with an iota below have one capital letter in titles only
        big = char.title()
    return big if len(big) == 1 and not big.isascii() else char


def shell_path(word: str, shell: str) -> tuple[str, str]:
    """(the Windows path that a word of a command means in this shell, why it is not known or "").

    `git-bash`: `/c/x` is `C:\\x`, every other path with a leading `/` is in the shell's own tree. With a `\\` anywhere
    a path is one of Windows: `\\x` starts at the root of the current drive, and `..` in it is removed from the text
    before `/c` is looked for. `wsl`: `/mnt/c/x` is `C:\\x`, and Windows spellings are names of ordinary files."""
    if shell == "wsl":
        if "\\" in word or re.match(r"[A-Za-z]:", word):
            return word, FOREIGN
        mounted = re.match(r"/+mnt/+([a-z])(?=/|\Z)", word)
    else:
        if re.match(r"[\\/]\?\?[\\/]", word) and "\\" in word:
            return "\\??\\" + word[4:], ""
        if "\\" in word and re.match(r"/[^\\/]", word):
            word = _without_dots(word)
        mounted = re.match(r"/([A-Za-z])(?=/|\Z)", word)
    if mounted is not None:
        return f"{mounted.group(1).upper()}:" + (word[mounted.end() :].replace("/", "\\") or "\\"), ""
    if word.startswith("/") and (shell == "wsl" or not re.match(r"/[\\/]", word)):
        return word, OWN_TREE
    return word, ""


def _without_dots(path: str) -> str:
    """`/c/x` of `/tmp\\..\\c\\x`."""
    kept: list[str] = []
    for name in re.split(r"[\\/]+", path):
        if name == "..":
            del kept[-1:]
        elif name not in ("", "."):
            kept.append(name)
    return "/" + "/".join(kept)


def climbs(path: str) -> bool:
    """Whether `..` in an absolute path goes above its drive or share: to Windows that is the root again, to a shell
    the folder of all drives, so that `../../c/x` in `C:\\w` is `C:\\x`."""
    top, depth = share_of(path) or path[:2], 0
    for name in re.split(r"[\\/]+", path[len(top) :]):
        if name == "..":
            depth -= 1
        elif name not in ("", "."):
            depth += 1
        if depth < 0:
            return True
    return False


OWN_TREE = "it is in the shell's own tree of folders"
FOREIGN = "a shell of Linux reads a Windows path as a name"
