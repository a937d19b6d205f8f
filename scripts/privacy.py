"""What must not be in any file of the project: keys, folders of one machine, addresses of package registries.

No folder of a particular machine is named here. Home folders and temporary folders are known by their shape; any other
absolute path is private if it exists on the machine that runs the check, outside the folders every system has.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Iterator

KEY_SHAPES = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"sk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{24,}"  # Anthropic, OpenAI, OpenRouter, DeepSeek, Moonshot
    r"|AIza[0-9A-Za-z_-]{35}"  # Google
    r"|(?:xai|gsk|nvapi|pplx|fw|csk)[-_][A-Za-z0-9_-]{32,}"  # xAI, Groq, NVIDIA, Perplexity, Fireworks, Cerebras
    r"|hf_[A-Za-z0-9]{30,}|npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{40,}"
    r"|gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{60,}|glpat-[A-Za-z0-9_-]{20}"
    r"|(?:AKIA|ASIA)[0-9A-Z]{16}|xox[abpr]-[0-9A-Za-z-]{20,}"
    r")|-----BEGIN [A-Z ]*PRIVATE KEY-----\s+[A-Za-z0-9+/]{40}"
)
MADE_UP_KEY = re.compile(r"example|fake|test|secret|dummy|not-a|0123|1234|abcd|xxxx|aaaa", re.IGNORECASE)
"""A key in a test says that it is none."""
HOME = re.compile(
    r"(?:/home/|/Users/|[A-Za-z]:(?:\\\\|\\|/)Users(?:\\\\|\\|/))(?P<user>[A-Za-z0-9][A-Za-z0-9._-]*)|(?<!\w)/root/\.?\w"
)
MADE_UP_USERS = {"ada", "alice", "bob", "me", "name", "nobody-here", "someone", "user", "username", "you"}
"""Besides single letters."""
TEMPORARY = re.compile(
    r"/tmp/(?:tmp[a-z0-9_]{8}\b|pytest-of-\w+|\w*_?jobs?\b[./]|[\w.-]+/[\w.-]+)|/var/folders/\w\w/|\\AppData\\Local\\Temp\\"
)
"""A folder below the temporary one that something made: a test's, a job's."""
REGISTRY = re.compile(
    r"https?://[^/\s\"'`<>]*(?:pypi|pythonhosted|npmjs|registry|artifactory|jfrog|nexus|devpi|verdaccio)[^\s\"'`<>]*"
    r"|[a-z0-9-]+\.pythonhosted\.[a-z]+|\bpypi\.[a-z]+/simple\b|\bregistry\.npmjs\.[a-z]+",
    re.IGNORECASE,
)
ABSOLUTE = re.compile(r"(?<![\w.:/~}\\*)-])/(?:[A-Za-z0-9_.+-]+/)+[A-Za-z0-9_.+-]+")
SYSTEM = ("bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "proc", "run", "sbin", "sys", "tmp", "usr", "var")
"""Top folders that every system has: what lies there is not private."""


def private_parts(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """(line number, what) for each line that must not be there."""
    for number, line in enumerate(lines, 1):
        what = _private(line)
        if what:
            yield number, what


def _private(line: str) -> str:
    if any(_is_real_home(found) for found in HOME.finditer(line)):
        return "a home folder"
    if TEMPORARY.search(line):
        return "a temporary folder"
    if REGISTRY.search(line):
        return "the address of a package registry"
    if any(_exists(path) for path in ABSOLUTE.findall(line)):
        return "a folder of this machine"
    key = KEY_SHAPES.search(line)
    return "looks like a key" if key and not MADE_UP_KEY.search(key.group()) else ""


def _is_real_home(found: re.Match[str]) -> bool:
    user = found.group("user")
    return user is None or (len(user) > 1 and user.lower() not in MADE_UP_USERS)


def _exists(path: str) -> bool:
    top = posixpath.normpath(path).split("/")[1]  # "" for `/../..`, which is the root of every machine
    return top not in ("", *SYSTEM) and os.path.lexists(path)
