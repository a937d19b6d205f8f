"""The sandbox-exec profile of a confined command (macOS), as text. Pure."""

from __future__ import annotations

import re

from yume_shim.types.value import Value

DEVICES = ("/dev/null", "/dev/zero", "/dev/dtracehelper", "/dev/tty")
SERVICES = ("com.apple.system.opendirectoryd.libinfo", "com.apple.system.notification_center")
"""Services that every program asks: the names of users, changes of settings."""


class Profile(Value):
    """`writable`: folders that may be changed as a whole, except names that are protected. `hidden`: not readable."""

    writable: tuple[str, ...] = ()
    note: str = ""
    protected: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    network: bool = False


def profile_text(profile: Profile) -> str:
    """The last rule that matches decides, so the exceptions come last."""
    lines = ["(version 1)", "(allow default)", "(deny file-write*)"]
    lines += [f"(allow file-write-data (literal {_quoted(device)}))" for device in DEVICES]
    lines += [f"(allow file-write* (subpath {_quoted(folder)}))" for folder in profile.writable]
    if profile.note and not profile.note.startswith("/dev/"):
        lines.append(f"(allow file-write* (literal {_quoted(profile.note)}))")
    if profile.protected:
        names = "|".join(_any_case(name) for name in profile.protected)
        lines.append(f'(deny file-write* (regex #"/({names})(/|$)"))')
    lines += [f'(deny file-read* (regex #"^{_any_case(path)}(/|$)"))' for path in profile.hidden]
    lines += ["(deny process-info* (target others))", "(deny signal (target others))", "(deny mach-lookup)"]
    lines += [f"(allow mach-lookup (global-name {_quoted(name)}))" for name in SERVICES]
    if not profile.network:
        lines.append("(deny network*)")
    return "\n".join(lines)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _any_case(name: str) -> str:
    """The name as a pattern that ignores case and the form of letters beyond ASCII: the kernel compares the name that
    the disk has. No backslash is in it: whether one must be doubled in `#"…"` is not documented."""
    from yume_shim.text.macos_paths import composed

    return "".join(map(_any_letter, re.findall(r"[^\x00-\x7f]+|[\x00-\x7f]", composed(name))))


def _any_letter(text: str) -> str:
    if text.isalpha() and text.isascii():
        return f"[{text.lower()}{text.upper()}]"
    if text.isdigit() or text in "/_ -" or not text.isascii():
        return text if text.isascii() else "[^/]+"
    return "." if text in '"\\^[]' else f"[{text}]"
