"""Splits a Markdown file into its frontmatter and its body, and reads the frontmatter.

The frontmatter of skills, commands, agents, styles and rules is YAML that people write by hand and that is often not
valid (`description: Use when: asked`). This reads the part of YAML that such files use, in the spirit of it: nested
mappings and lists, flow lists and mappings, quoted texts, block texts, comments. There are no anchors, tags, documents
or dates. A line that means nothing is reported and left out; the others count. The work is linear and bounded, whatever
the file holds.
"""

from __future__ import annotations

from yume_shim.text.split_list import split_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeGuard

MAX_HEADER = 65_536
"""Characters of a frontmatter; a longer one is not read."""
MAX_DEPTH = 16
"""How deep mappings and lists may be nested; what is deeper is read as text."""
_NAMES = {"true": True, "True": True, "false": False, "False": False, "null": None, "Null": None, "~": None}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "e": "\x1b"}


def split_frontmatter(text: str) -> tuple[str, str]:
    """(header, body) of a file; the header is "" if the file has none. The marks `---` belong to neither."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    first, _, rest = text.partition("\n")
    if first.rstrip() != "---":
        return "", text
    start = 0
    while start <= len(rest):
        end = rest.find("\n", start)
        end = len(rest) if end < 0 else end
        if rest[start:end].rstrip() == "---":
            return rest[:start], rest[end + 1 :]
        start = end + 1
    return "", text


def read_frontmatter(text: str) -> tuple[dict[str, Any], str, str]:
    """(fields, body, problem) of a file. `problem` says what of the header could not be read; "" if all of it was."""
    header, body = split_frontmatter(text)
    if len(header) > MAX_HEADER:
        return {}, body, f"the frontmatter is longer than {MAX_HEADER:,} characters"
    reader = _Reader(header)
    found = reader.block(0, 0)
    if _is_mapping(found):
        return found, body, reader.problem
    return {}, body, "" if found is None else "the frontmatter holds no `name: value` lines"


def as_text(field: Any) -> str:
    """A field as one line of text; "" if it is absent or no text. A flow list is written as it was: `[a] [b]` and
    `[a, b]` are common where a text is meant."""
    if field is None or _is_mapping(field):
        return ""
    if isinstance(field, bool):
        return "true" if field else "false"
    if _is_list(field):
        return "[" + ", ".join(map(as_text, field)) + "]"
    return str(field).strip()


def as_names(field: Any) -> tuple[str, ...] | None:
    """A field that lists names: a list, or a text with commas or blanks between them. None if it is absent."""
    if field is None:
        return None
    items = field if _is_list(field) else [field]
    return tuple(name for item in items if not isinstance(item, (dict, list)) for name in split_list(as_text(item)))


def as_flag(field: Any, default: bool) -> bool:
    """A field that says yes or no."""
    named = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
    return named.get(as_text(field).lower(), default)


def _is_mapping(field: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(field, dict)


def _is_list(field: Any) -> TypeGuard[list[Any]]:
    return isinstance(field, list)


# ---------------------------------------------------------------- blocks


class _Reader:
    """Reads indented blocks from top to bottom; each line is visited a bounded number of times."""

    def __init__(self, text: str) -> None:
        self._lines = [line.replace("\t", "  ").rstrip() for line in text.split("\n")]
        self._at = 0
        self.problem = ""

    def block(self, indent: int, depth: int) -> Any:
        """The mapping, list or text that begins at the next line indented by at least `indent`."""
        found = self._peek()
        if found is None or found[0] < indent:
            return None
        indent, line = found
        if depth >= MAX_DEPTH:
            return self._folded(indent)
        if _is_item(line):
            return self._list(indent, depth)
        if _key(line) is not None:
            return self._mapping(indent, depth)
        return _plain(self._folded(indent)) if depth else self._mapping(indent, depth)

    def _mapping(self, indent: int, depth: int) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        while (found := self._peek()) is not None and found[0] >= indent:
            here, line = found
            pair = _key(line)
            if pair is None or here != indent:
                self._skip(line)
                continue
            self._at += 1
            fields[pair[0]] = self._field(pair[1], indent, depth)
        return fields

    def _list(self, indent: int, depth: int) -> list[Any]:
        items: list[Any] = []
        while (found := self._peek()) is not None and found[0] == indent and _is_item(found[1]):
            rest = found[1][1:]
            inner = indent + 1 + len(rest) - len(rest.lstrip())
            rest = _uncommented(rest.strip())
            if rest and (_key(rest) is not None or _is_item(rest)):
                self._lines[self._at] = " " * inner + rest  # `- a: 1` begins a block of its own
                items.append(self.block(inner, depth + 1))
            else:
                self._at += 1
                items.append(self._field(rest, indent, depth))
        return items

    def _field(self, rest: str, indent: int, depth: int) -> Any:
        """What follows a key or a dash: on the same line, or below it."""
        if not rest:
            found = self._peek()
            if found is None or found[0] < indent or (found[0] == indent and not _is_item(found[1])):
                return None
            return self.block(found[0], depth + 1)
        if rest[0] in "|>" and rest[1:].strip("+-0123456789 ") == "":
            return self._block_text(rest, indent)
        if rest[0] in "[{" or rest[0] in "\"'":
            whole = self._until_closed(rest, indent)
            return _flow(whole, depth)
        return _plain(" ".join(filter(None, (rest, self._folded(indent + 1)))))

    def _block_text(self, mark: str, indent: int) -> str:
        """A text after `|` (lines kept) or `>` (lines joined)."""
        lines: list[str] = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.strip() and _indent(line) <= indent:
                break
            lines.append(line)
            self._at += 1
        margin = min((_indent(line) for line in lines if line.strip()), default=0)
        lines = [line[margin:] for line in lines]
        while lines and not lines[-1]:
            lines.pop()
        if mark[0] == "|":
            text = "\n".join(lines)
        else:
            text = "".join(line + " " if line else "\n" for line in lines).replace(" \n", "\n").rstrip()
        return text if "-" in mark or not text else text + "\n"

    def _folded(self, indent: int) -> str:
        """Further lines of a text without quotes, joined by blanks."""
        parts: list[str] = []
        while (found := self._peek()) is not None and found[0] >= indent:
            parts.append(_uncommented(found[1]))
            self._at += 1
        return " ".join(parts)

    def _until_closed(self, text: str, indent: int) -> str:
        """A quoted text or flow value that may go on over deeper lines."""
        parts, state = [text], _Open()
        state.feed(text)
        start = self._at
        while state.open and (found := self._peek()) is not None and found[0] > indent:
            parts.append(found[1])
            state.feed(found[1])
            self._at += 1
        if state.open and len(parts) > 1:
            self._at = start  # never closed: then it was a text of one line
            return text
        return " ".join(parts)

    def _peek(self) -> tuple[int, str] | None:
        """(indent, text) of the next line that is not blank and no comment."""
        while self._at < len(self._lines):
            line = self._lines[self._at]
            bare = line.lstrip()
            if bare and bare[0] != "#":
                return len(line) - len(bare), bare
            self._at += 1
        return None

    def _skip(self, line: str) -> None:
        self._at += 1
        self.problem = self.problem or f"the line {line[:60]!r} of the frontmatter cannot be read"


class _Open:
    """Whether quotes or brackets are open after the text that was fed."""

    def __init__(self) -> None:
        self._quote, self._depth, self._begun = "", 0, False

    @property
    def open(self) -> bool:
        return bool(self._quote) or self._depth > 0

    def feed(self, text: str) -> None:
        escaped = False
        for char in text:
            if self._quote:
                if escaped:
                    escaped = False
                elif char == "\\" and self._quote == '"':
                    escaped = True
                elif char == self._quote:
                    self._quote = ""
            elif char in "\"'" and (self._depth or not self._begun):
                self._quote = char
            elif char in "[{":
                self._depth += 1
            elif char in "]}":
                self._depth -= 1
            self._begun = True


# ---------------------------------------------------------------- one line


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_item(line: str) -> bool:
    return line == "-" or line.startswith("- ")


def _key(line: str) -> tuple[str, str] | None:
    """(key, rest) of `key: rest`; None if the line is something else."""
    if line[0] in "\"'":
        end = line.find(line[0], 1)
        if end < 0 or line[end + 1 : end + 2] != ":":
            return None
        name, rest = line[1:end], line[end + 2 :]
    else:
        place = line.find(": ")
        if place < 0 and not line.endswith(":"):
            return None
        name, rest = (line[:-1], "") if place < 0 else (line[:place], line[place + 2 :])
        if line[0] in "[{#|>&*!%@`":
            return None
    if rest and not rest[0].isspace() and line[0] in "\"'":
        return None
    return name.strip(), _uncommented(rest.strip())


def _uncommented(text: str) -> str:
    """Without a comment at the end; what is quoted stays."""
    if text[:1] in ('"', "'"):
        end = _closing(text, 0)
        after = text[end + 1 :].lstrip() if end else ""
        return text[: end + 1] if end and after.startswith("#") else text
    if text.startswith("#"):
        return ""
    place = text.find(" #")
    return text if place < 0 else text[:place].rstrip()


def _closing(text: str, start: int) -> int:
    """Where the quoted text that begins at `start` ends; 0 if it does not."""
    quote, place = text[start], start + 1
    while place < len(text):
        char = text[place]
        if char == "\\" and quote == '"':
            place += 1
        elif char == quote:
            if quote == '"' or text[place + 1 : place + 2] != "'":
                return place
            place += 1  # '' is a quote inside of single quotes
        place += 1
    return 0


def _unquoted(text: str) -> str:
    """The text inside of the quotes around it."""
    if text[0] == "'":
        return text[1:-1].replace("''", "'")
    parts: list[str] = []
    escaped = False
    for char in text[1:-1]:
        if escaped:
            parts.append(_ESCAPES.get(char, char))
            escaped = False
        elif char == "\\":
            escaped = True
        else:
            parts.append(char)
    return "".join(parts)


def _plain(text: str) -> Any:
    """A value without quotes: a number, yes, no, nothing, or a text."""
    if text in _NAMES:
        return _NAMES[text]
    if len(text) <= 20 and text.lstrip("+-")[:1].isdecimal() and text.isascii() and "_" not in text:
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
    return text


def _flow(text: str, depth: int) -> Any:
    """A quoted text, `[a, b]` or `{a: b}`; the text itself if it is none of them from end to end."""
    if text[0] in "\"'":
        return _unquoted(text) if _closing(text, 0) == len(text) - 1 and len(text) > 1 else text
    parts = _flow_parts(text)
    if parts is None or depth >= MAX_DEPTH:
        return text
    if text[0] == "[":
        return [_flow_item(part, depth) for part in parts]
    pairs = [_key(part) or (part, "") for part in parts]
    return {name: _flow_item(rest, depth) if rest else None for name, rest in pairs}


def _flow_item(part: str, depth: int) -> Any:
    return _flow(part, depth + 1) if part[0] in "[{\"'" else _plain(part)


def _flow_parts(text: str) -> list[str] | None:
    """What the commas of `[…]` or `{…}` separate; None if its bracket is not closed by the last character."""
    parts: list[str] = []
    depth, start, place, before = 0, 1, 0, ""
    while place < len(text):
        char = text[place]
        if char in "\"'" and before in "[{,:":
            place = _closing(text, place) or len(text)
        elif char in "[{(":
            depth += 1
        elif char in "]})":
            depth -= 1
            if depth == 0 and place < len(text) - 1:
                return None
        elif char == "," and depth == 1:
            parts.append(text[start:place].strip())
            start = place + 1
        before = before if char == " " else char
        place += 1
    if depth != 0 or text[-1] != {"[": "]", "{": "}"}[text[0]]:
        return None
    return [part for part in (*parts, text[start:-1].strip()) if part]
