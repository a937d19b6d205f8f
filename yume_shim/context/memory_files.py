"""Reads files of standing instructions with the files that they import by `@path`, each once and within limits.

A project's file may import only from the project: the author of a repository must not be able to send other files (such
as keys) to a model. The user's file may import anything. Files that the user's rules hide from reading are left out,
whoever imports them. Nothing here raises: a file that cannot be read is ignored, with a warning.
"""

from __future__ import annotations

import os

from yume_shim.disk.bounded import is_absent, open_regular, read_handle
from yume_shim.disk.resolve import resolve
from yume_shim.text.late_pattern import late_pattern
from yume_shim.types.memory import MemoryFile
from yume_shim.types.token_estimate import by_characters
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_FILE_BYTES = 100_000
"""Bytes read from one file."""
MAX_TOTAL_BYTES = 400_000
"""Bytes read from all files together."""
MAX_FILES = 50
MAX_IMPORT_DEPTH = 4
"""How far imports are followed: the Claude CLI stops there, too."""

_FENCE = late_pattern(r"(?ms)^[ \t]{0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^[ \t]{0,3}\1[`~]*[ \t]*$|\Z)")
_SPAN = late_pattern(r"(?s)(?<!`)(`+)(?!`)(?:.+?)(?<!`)\1(?!`)")
_IMPORT = late_pattern(r"(?:^|(?<=\s))@((?:\\ |[^\s])+)")
_TRAILING = ".,;:!?)]}'\"*_"
"""Punctuation that may follow a path in a sentence."""
_COMMENT, _COMMENT_END = "<!--", "-->"


class MemoryReader:
    """Reads files one after another and remembers which. `left_tokens` is what all of them may still take."""

    def __init__(
        self,
        hidden: Callable[[str], bool],
        warn: Callable[[str], None],
        excluded: Callable[[str], bool],
        max_tokens: int | None,
    ) -> None:
        """`hidden`: does a rule deny reading this path? `excluded`: do the settings leave it out? `max_tokens`: of all
        files together, None = no limit."""
        self._hidden, self._warn, self._excluded = hidden, warn, excluded
        self._seen: dict[str, None] = {}
        self._left = MAX_TOTAL_BYTES
        self._left_tokens = max_tokens
        self._full = False

    def skip(self, path: str) -> None:
        """Do not read this file."""
        self._seen[resolve(path).real] = None

    def seen(self) -> tuple[str, ...]:
        """The real paths of the files that are not read again."""
        return tuple(self._seen)

    def forget_after(self, seen: tuple[str, ...]) -> None:
        """Only these files count as read."""
        self._seen = dict.fromkeys(seen)

    def peek(self, path: str, inside: str | None) -> str:
        """The text of a file that may be read later; "" if it may not."""
        real = self._usable(path, inside)
        return self._start_of(path, real, MAX_FILE_BYTES) if real else ""

    def read(self, file: MemoryFile, inside: str | None, *, header: bool = False) -> Iterator[MemoryFile]:
        """The file with its text, and its imports. After resolving links, files must be in `inside`; None =
        anywhere. `header`: its frontmatter is not part of the text."""
        yield from self._read(file, inside, 0, header=header)

    def _read(self, file: MemoryFile, inside: str | None, depth: int, *, header: bool = False) -> Iterator[MemoryFile]:
        raw = self._whole(file.path, inside)
        if header:
            from yume_shim.text.frontmatter import split_frontmatter

            raw = split_frontmatter(raw)[1]
        text = self._fitted(file.path, without_comments(raw).strip()) if raw.strip() else ""
        if not text:
            return
        yield replace(file, text=text, tokens=by_characters(text))
        if depth == MAX_IMPORT_DEPTH:
            return
        for target in _imports(raw, os.path.dirname(file.path)):
            imported = replace(file, path=target, parent=file.path, reason="include", globs=())
            yield from self._read(imported, inside, depth + 1)

    # ------------------------------------------------------------ one file

    def _usable(self, path: str, inside: str | None) -> str:
        """The real path of a file that may be read and was not read yet; "" otherwise."""
        place = resolve(path)
        real = place.real
        if place.flaw or not place.exists or not is_in(real, inside) or real in self._seen:
            return ""
        if self._excluded(path):
            self._seen[real] = None
            return ""
        if len(self._seen) >= MAX_FILES or self._left <= 0:
            self._warn_full()
            return ""
        if self._hidden(path) or self._hidden(real):
            self._seen[real] = None
            self._warn(f"{path} is left out of the instructions: a permission rule denies reading it")
            return ""
        return real

    def _whole(self, path: str, inside: str | None) -> str:
        """The text of a file, which counts as read from now on."""
        real = self._usable(path, inside)
        text = self._start_of(path, real, min(MAX_FILE_BYTES, self._left)) if real else ""
        if text.strip():
            self._seen[real] = None
            self._left -= len(text.encode("utf-8", "surrogatepass"))
        return text

    def _start_of(self, path: str, real: str, limit: int) -> str:
        """The start of a text file; "" for anything else (a device or a pipe could block for ever)."""
        try:
            data = _start_of(real, limit + 1)
        except (OSError, ValueError) as error:
            if not isinstance(error, OSError) or not is_absent(error):
                why = getattr(error, "strerror", None) or "not a path"
                self._seen[real] = None
                self._warn(f"{path} is left out of the instructions: it cannot be read ({why})")
            return ""
        if b"\0" in data:
            return ""
        text = data[:limit].decode("utf-8-sig", "replace").replace("\r\n", "\n")
        return text if len(data) <= limit else f"{text}\n[cut: the file is longer than {limit} bytes]"

    def _fitted(self, path: str, text: str) -> str:
        """The text, cut to the tokens that are left for instructions."""
        if self._left_tokens is None:
            return text
        tokens = by_characters(text)
        if tokens > self._left_tokens:
            if self._left_tokens <= 0:
                self._warn_full()
                return ""
            self._warn(f"{path} is cut: instructions may take a quarter of the model's context window")
            text = text[: len(text) * self._left_tokens // tokens] + "\n[cut: no room in the context window]"
            tokens = self._left_tokens
        self._left_tokens -= tokens
        return text

    def _warn_full(self) -> None:
        if not self._full:
            self._full = True
            self._warn("some instruction files are left out: there are too many of them, or they are too long")


def _start_of(real: str, limit: int) -> bytes:
    """Checked first, then opened without following a link: it is the file that was found to be in the project."""
    from yume_shim.disk.exact import NO_WAIT, open_exact

    os.close(open_regular(real))
    handle = open_exact(real, os.O_RDONLY | NO_WAIT)
    try:
        return read_handle(handle, limit)
    finally:
        os.close(handle)


def is_in(real: str, folder: str | None) -> bool:
    """Is this path in the folder, or the folder itself? None = every folder."""
    return folder is None or real == folder or real.startswith(folder.rstrip(os.sep) + os.sep)


def may_be_file(path: str) -> bool:
    """A file, or something that a hostile project put in the place of one."""
    if os.name == "nt" and resolve(path).flaw:  # a look at `\\\\server\\share` already sends the user's name there
        return False
    return os.path.exists(path) and not os.path.isdir(path)


def without_comments(text: str) -> str:
    """The text without HTML comments that stand on lines of their own: notes of people for people. Those in code
    stay."""
    if _COMMENT not in text:
        return text
    fences = [match.span() for match in _FENCE.finditer(text)]
    kept: list[str] = []
    done = place = 0
    while (start := text.find(_COMMENT, place)) >= 0 and (end := text.find(_COMMENT_END, start)) >= 0:
        line, after = text.rfind("\n", 0, start) + 1, text.find("\n", end)
        after = len(text) if after < 0 else after + 1
        alone = not text[max(line, done) : start].strip() and not text[end + len(_COMMENT_END) : after].strip()
        while fences and fences[0][1] <= start:
            fences.pop(0)
        if alone and not (fences and fences[0][0] <= start):
            kept.append(text[done:line])
            done = after
        place = max(after, end) if alone else end
    return "".join([*kept, text[done:]])


def imported_names(text: str) -> Iterator[tuple[str, ...]]:
    """What each `@path` outside of code may name, the likeliest first."""
    prose = _SPAN.sub(" ", _FENCE.sub("\n", text))
    for match in _IMPORT.finditer(prose):
        name = match[1].replace("\\ ", " ")
        bare = name.rstrip(_TRAILING)
        yield name, bare, bare.replace("\\", "/")  # written on Windows: `@sub\inc.md`


def _imports(text: str, folder: str) -> Iterator[str]:
    """The files that are imported. A word that names no file is ignored."""
    for candidates in imported_names(text):
        for candidate in candidates:
            path = os.path.join(folder, os.path.expanduser(candidate))
            if candidate and may_be_file(path):
                tidy = os.path.normpath(path)
                yield tidy if resolve(tidy).real == resolve(path).real else path
                break
