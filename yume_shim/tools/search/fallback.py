"""Search without ripgrep: a small program that runs as a separate process and writes a subset of ripgrep's output.

Python's regular expressions can take exponential time, and nothing in the same process can stop them; a process can be
ended. The parent (`search_process.py`) starts it with `argv_for`, reads its output, and ends it when its time is up.
"""

from __future__ import annotations

import os
import re
import stat
import sys

from yume_shim.disk.bounded import read_handle, read_start
from yume_shim.disk.exact import NO_WAIT, open_exact
from yume_shim.text.codec import dumps, loads
from yume_shim.text.foreign_patterns import compile_foreign
from yume_shim.text.path_patterns import anywhere
from yume_shim.tools.search.walk import FOLDS, VCS_FOLDERS, files_below

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from re import Pattern
    from typing import Any

    from yume_shim.types.blocks import Json

MAX_FILE = 32 << 20
MAX_IGNORE = 1 << 20
"""Bytes of a .gitignore file."""
SNIFF = 8_192
FLUSH_AT = 64 * 1024
TO_PARENT = 2
"""stderr, which the parent reads like stdout: even this process leaves stdout alone."""
_BOOT = (
    "import sys; sys.path[:] = sys.argv[2:]; "
    "from yume_shim.tools.search.fallback import main; sys.exit(main(sys.argv[1]))"
)

FILE_TYPES = {
    "c": "*.[ch]",
    "cpp": "*.{cpp,cc,cxx,hpp,hh,hxx,h,inl}",
    "cs": "*.cs",
    "css": "*.{css,scss}",
    "csv": "*.csv",
    "docker": "*Dockerfile*",
    "go": "*.go",
    "html": "*.{htm,html,ejs}",
    "java": "*.{java,jsp,properties}",
    "js": "*.{js,jsx,mjs,cjs,vue}",
    "json": "*.{json,sarif}",
    "jsonl": "*.jsonl",
    "kotlin": "*.{kt,kts}",
    "lua": "*.lua",
    "make": "{*.mk,*.mak,[Mm]akefile,GNUmakefile,Makefile.*}",
    "markdown": "*.{md,markdown,mdown,mdx}",
    "md": "*.{md,markdown,mdown,mdx}",
    "php": "*.{php,phtml}",
    "py": "*.{py,pyi}",
    "python": "*.{py,pyi}",
    "ruby": "{*.rb,Rakefile,Gemfile,*.gemspec}",
    "rust": "*.rs",
    "scala": "*.{scala,sbt}",
    "sh": "*.{sh,bash,zsh,ksh}",
    "sql": "*.{sql,psql}",
    "swift": "*.swift",
    "toml": "{*.toml,Cargo.lock}",
    "ts": "*.{ts,tsx,cts,mts}",
    "txt": "*.txt",
    "xml": "*.{xml,xsd,xsl,xslt,svg}",
    "yaml": "*.{yaml,yml}",
}
"""The common ones of ripgrep's `--type` names."""

_CLASSES = {
    "[:alpha:]": "a-zA-Z",
    "[:digit:]": "0-9",
    "[:alnum:]": "a-zA-Z0-9",
    "[:upper:]": "A-Z",
    "[:lower:]": "a-z",
    "[:space:]": r"\s",
    "[:word:]": r"\w",
    "[:xdigit:]": "0-9A-Fa-f",
    "[:punct:]": r"!-/:-@\[-`{-~",
    "[:blank:]": r" \t",
}


def argv_for(job: Json) -> list[str]:
    """The argv of the fallback: the same interpreter, isolated from the user's settings, with the same module path."""
    paths = [path for path in sys.path if path]
    return [sys.executable, "-I", "-W", "ignore", "-c", _BOOT, dumps(job).decode(), *paths]


def main(text: str) -> int:
    """Do one job; exit codes as ripgrep's: 0 found, 1 nothing, 2 error."""
    job = loads(text)
    try:
        regex = compile_pattern(job["pattern"], job["ignore_case"], job["multiline"])
        accepts = _filter(job["globs"], job["type"])
    except (ValueError, re.error, RecursionError) as error:
        os.write(TO_PARENT, str(error).encode("utf-8", "replace"))
        return 2
    out = _Out()
    show = {"content": _show_lines, "count": _show_count, "files_with_matches": _show_file}[job["mode"]]
    for path in _files(job["top"], accepts):
        lines = _text_of(path)
        if lines is not None:
            show(out, path, lines, regex, job)
    out.flush()
    return 0 if out.any else 1


def compile_pattern(pattern: str, ignore_case: bool, multiline: bool) -> Pattern[str]:
    """Compile ripgrep's syntax as far as Python's is close to it: POSIX classes and `\\z` are translated."""
    for name, inside in _CLASSES.items():
        pattern = pattern.replace(name, inside)
    pattern = pattern.replace(r"\z", r"\Z")
    flags = (re.IGNORECASE if ignore_case else 0) | (re.MULTILINE | re.DOTALL if multiline else 0)
    try:
        return compile_foreign(pattern, flags)
    except re.error as error:
        raise ValueError(f"regex parse error: {error}") from None


class _Out:
    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self.any = False

    def add(self, data: bytes) -> None:
        self.any = True
        self._parts.append(data)
        self._size += len(data)
        if self._size > FLUSH_AT:
            self.flush()

    def flush(self) -> None:
        data = memoryview(b"".join(self._parts))
        self._parts, self._size = [], 0
        while data:
            data = data[os.write(TO_PARENT, data) :]


# ---------------------------------------------------------------- which files


def _filter(globs: list[str], kind: str) -> Callable[[str], bool]:
    if kind and kind not in FILE_TYPES:
        raise ValueError(f"unrecognized file type: {kind}")
    typed = anywhere(FILE_TYPES[kind], fold=FOLDS) if kind else None
    want = [anywhere(rule, fold=FOLDS) for rule in globs if not rule.startswith("!")]
    drop = [anywhere(rule[1:], fold=FOLDS) for rule in globs if rule.startswith("!")]

    def accepts(path: str) -> bool:
        path = path.replace(os.sep, "/").lstrip("/")
        if typed is not None and not typed.matches(path):
            return False
        return (not want or any(rule.matches(path) for rule in want)) and not any(rule.matches(path) for rule in drop)

    return accepts


def _files(top: str, accepts: Callable[[str], bool]) -> Iterator[str]:
    if not os.path.isdir(top):
        yield top
        return
    ignored = Ignores(top)
    for path in files_below(top, ignored.skips):
        if accepts(path):
            yield path


class Ignores:
    """.gitignore files from the top of the repository down; the deepest that has a matching rule wins."""

    def __init__(self, top: str) -> None:
        self._specs: dict[str, Any] = {}
        self._base = top
        above = top
        while True:
            if any(os.path.exists(os.path.join(above, name)) for name in VCS_FOLDERS):
                self._base = above
                break
            if os.path.dirname(above) == above:
                break
            above = os.path.dirname(above)

    def skips(self, path: str, is_folder: bool) -> bool:
        """Whether this is ignored."""
        folder = os.path.dirname(path)
        while True:
            spec = self._spec(folder)
            if spec is not None:
                inside = os.path.relpath(path, folder).replace(os.sep, "/") + ("/" if is_folder else "")
                verdict = spec.check_file(inside).include
                if verdict is not None:
                    return bool(verdict)
            if folder == self._base or os.path.dirname(folder) == folder:
                return False
            folder = os.path.dirname(folder)

    def _spec(self, folder: str) -> Any:
        if folder not in self._specs:
            self._specs[folder] = None
            try:
                text = read_start(os.path.join(folder, ".gitignore"), MAX_IGNORE).decode("utf-8-sig", "replace")
                from pathspec import GitIgnoreSpec

                self._specs[folder] = GitIgnoreSpec.from_lines(text.splitlines())
            except (OSError, ImportError, ValueError):
                pass
        return self._specs[folder]


def _text_of(path: str) -> str | None:
    """The text of the file at a resolved path; None for what is binary, unreadable, or no regular file."""
    try:
        handle = open_exact(path, os.O_RDONLY | NO_WAIT)
    except OSError:  # also for a link
        return None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return None
        data = read_handle(handle, MAX_FILE)
    except OSError:
        return None
    finally:
        os.close(handle)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if b"\0" in data[:SNIFF]:
        return None
    return data.decode("utf-8-sig", "replace")


# ---------------------------------------------------------------- what is shown


def _matching(text: str, regex: Pattern[str], multiline: bool) -> dict[int, list[str]]:
    """Line index -> the parts that matched. A match over several lines counts for each of them."""
    found: dict[int, list[str]] = {}
    if not multiline:
        for index, line in enumerate(_lines(text)):
            if regex.search(line):
                found[index] = [match.group() for match in regex.finditer(line)]
        return found
    first, place = 0, 0
    for match in regex.finditer(text):
        first += text.count("\n", place, match.start())
        place = match.start()
        for index, part in enumerate(match.group().removesuffix("\n").split("\n"), first):
            found.setdefault(index, []).append(part)
    return found


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def _show_file(out: _Out, path: str, text: str, regex: Pattern[str], job: Json) -> None:
    hit = regex.search(text) if job["multiline"] else any(map(regex.search, _lines(text)))
    if hit:
        out.add(os.fsencode(path) + b"\0")


def _show_count(out: _Out, path: str, text: str, regex: Pattern[str], job: Json) -> None:
    count = len(_matching(text, regex, job["multiline"]))
    if count:
        out.add(os.fsencode(path) + b"\0%d\n" % count)


def _show_lines(out: _Out, path: str, text: str, regex: Pattern[str], job: Json) -> None:
    found = _matching(text, regex, job["multiline"])
    lines = _lines(text)
    shown: set[int] = set()
    for index in found:
        shown.update(range(max(0, index - job["before"]), min(len(lines), index + job["after"] + 1)))
    for index in sorted(shown):
        data = {
            "path": {"text": path},
            "lines": {"text": lines[index] + "\n"},
            "line_number": index + 1,
            "submatches": [{"match": {"text": part}} for part in found.get(index, ())],
        }
        out.add(dumps({"type": "match" if index in found else "context", "data": data}) + b"\n")
