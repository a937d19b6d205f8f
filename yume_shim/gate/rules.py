"""Permission rules: parsing, and matching against tools, commands and paths.

    Tool                      every use of the tool; `mcp__server` is every tool of that server
    Bash(git status)          exactly this command               `\\*` is a literal star
    Bash(git status:*)        this command with any arguments    (the same as `Bash(git status *)`)
    Bash(npm run * --silent)  a star matches any text
    Read(src/**)              paths as in a .gitignore: `//` absolute, `~/` home, `/` and `./` the working folder;
                              a name without a slash matches at any depth
    WebFetch(domain:x.org)    that host

`Edit` rules cover every tool that edits, `Read` rules every tool that reads or searches.
"""

from __future__ import annotations

import re

from yume_shim.gate.paths import contains, folds, slashed, tidy
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.gate.paths import Flavour
    from yume_shim.types.models import ToolSpec


class Rule(Value):
    """A rule as written: the tool, and the content of the parentheses (None = no parentheses)."""

    tool: str
    content: str | None = None

    @property
    def bare(self) -> bool:
        """Covers every call of the tool."""
        return self.content is None or self.content in ("", "*", ":*", "**")

    @property
    def tool_only(self) -> bool:
        """Allows every call of the tool: `Read`, but not `Read(*)`, which means every file of the working folder."""
        return self.content is None or self.content in ("", ":*")

    @property
    def is_mcp(self) -> bool:
        """Names an MCP tool or server; both have this prefix in rules."""
        return self.tool.startswith("mcp__")

    @property
    def text(self) -> str:
        return self.tool if self.content is None else f"{self.tool}({self.content})"


def parse_rule(text: str) -> Rule | None:
    """The rule, or None if the text is not one."""
    text = text.strip()
    tool, paren, rest = text.partition("(")
    tool = tool.strip()
    if not tool or any(c.isspace() or c in "),;" for c in tool):
        return None
    if not paren:
        return Rule(tool)
    return Rule(tool, rest[:-1].strip()) if rest.endswith(")") else None


def names_tool(rule: Rule, spec: ToolSpec) -> bool:
    """Whether the rule names this tool, whatever its content."""
    if rule.tool in (spec.name, "*") or rule.tool in spec.aliases:
        return True
    if rule.tool == "Edit":
        return spec.kind == "edit"
    if rule.tool == "Read":
        return spec.kind in ("read", "search")
    if rule.is_mcp and spec.source == "mcp":
        server = rule.tool.removesuffix("__*")
        return server.count("__") == 1 and spec.name.startswith(server + "__")
    return False


# ---------------------------------------------------------------- commands

_ESCAPE = re.compile(r"\\([*\\])")
_STAR = re.compile(r"(?<!\\)((?:\\\\)*)\*")
_PLAIN_WORD = re.compile(r"[^\s'\"\\$`;&|<>()]+\Z")


def escape_command(command: str) -> str:
    """Rule content that matches exactly this command."""
    return command.replace("\\", "\\\\").replace("*", "\\*")


def joined(words: tuple[str, ...]) -> str:
    """The words as one line; words with blanks or quotes are quoted, so that one word cannot pass for several."""
    return " ".join(word if _PLAIN_WORD.match(word) else "'" + word.replace("'", "'\\''") + "'" for word in words)


def command_matches(content: str, raw: str, words: tuple[str, ...]) -> bool:
    """Whether rule content matches one simple command: `raw` as written, `words` without quotes."""
    head = _prefix_head(content)
    if head == "":
        return True
    if head is not None and not _STAR.search(head):
        prefix = _ESCAPE.sub(r"\1", head)
        head_words = tuple(prefix.split())
        return raw == prefix or raw.startswith(prefix + " ") or words[: len(head_words)] == head_words
    if not _STAR.search(content):
        exact = _ESCAPE.sub(r"\1", content)
        return exact in (raw, joined(words))
    patterns = [_star_pieces(content)] if head is None else [_star_pieces(head), [*_star_pieces(head + " "), ""]]
    return any(_star_matches(pieces, text) for pieces in patterns for text in (raw, joined(words)))


def is_exact(content: str, command: str) -> bool:
    """Whether rule content is exactly this whole command."""
    return not _STAR.search(content) and _ESCAPE.sub(r"\1", content) == command


def _prefix_head(content: str) -> str | None:
    """`git status` of `git status:*` and `git status *`; None if the content is not a prefix pattern."""
    if content in ("", "*", ":*"):
        return ""
    for ending in (":*", " *"):
        if content.endswith(ending):
            return content[: -len(ending)].rstrip()
    return None


def _star_pieces(content: str) -> list[str]:
    """The texts between the stars of a pattern."""
    pieces = [""]
    place = 0
    while place < len(content):
        here = content[place]
        if here == "\\" and content[place + 1 : place + 2] in ("*", "\\"):
            pieces[-1] += content[place + 1]
            place += 2
            continue
        if here == "*":
            pieces.append("")
        else:
            pieces[-1] += here
        place += 1
    return pieces


def _star_matches(pieces: list[str], text: str) -> bool:
    """Whether the pieces follow each other in the text, the first at its start and the last at its end. In linear time:
    a regular expression with several stars can take forever on a long text."""
    if len(pieces) == 1:
        return text == pieces[0]
    first, *middle, last = pieces
    if not text.startswith(first) or not text.endswith(last) or len(text) < len(first) + len(last):
        return False
    place, end = len(first), len(text) - len(last)
    for piece in middle:
        found = text.find(piece, place, end)
        if found < 0:
            return False
        place = found + len(piece)
    return True


# ---------------------------------------------------------------- paths

_GLOB = frozenset("*?[")
_CLASS = re.compile(r"\[([!^]?)(\][^\]/]*|[^\]/]+)\]")


class PathPattern(Value):
    """A path rule bound to a folder. `literal` is the part of the path before the first wildcard."""

    literal: str
    regex: re.Pattern[str]
    flavour: Flavour
    widely: bool = False
    """macOS: it is compared with what may be the same name on some file system."""

    def matches(self, path: str) -> bool:
        """Whether a tidy absolute path matches, or is below one that does."""
        text = slashed(path, self.flavour)
        if self.flavour.name == "macos":
            from yume_shim.text.macos_paths import composed, perhaps_same

            text = perhaps_same(text) if self.widely else composed(text)
        return self.regex.fullmatch(text) is not None

    def wide(self) -> PathPattern:
        """The same for rules that deny, on macOS. (Its expression holds no escape in capitals.)"""
        from yume_shim.text.macos_paths import perhaps_same

        return PathPattern(self.literal, re.compile(perhaps_same(self.regex.pattern), re.S), self.flavour, True)

    def overlaps(self, folder: str) -> bool:
        """Whether something in or below the folder may match."""
        literal = self.literal
        if self.widely:
            from yume_shim.text.macos_paths import perhaps_same

            folder, literal = perhaps_same(folder), perhaps_same(literal)
        return contains(folder, literal, self.flavour) or contains(literal, folder, self.flavour)


def escape_path(path: str, flavour: Flavour) -> str:
    """Rule content that matches exactly this absolute path (and what is below it)."""
    if flavour.windows:  # where a backslash separates names
        return "/" + re.sub(r"[*?\[]", r"[\g<0>]", slashed(path, flavour))
    return "/" + re.sub(r"([*?\[\\])", r"\\\1", slashed(path, flavour))


def path_pattern(content: str, base: str, home: str, flavour: Flavour) -> PathPattern:
    """Bind rule content to the folder `base` (and `~/` to `home`)."""
    anchored = True
    if flavour.name == "macos":
        from yume_shim.text.macos_paths import composed

        content, base, home = composed(content), composed(base), composed(home)
    if flavour.windows or flavour.mounts:
        from yume_shim.gate.windows_rules import rule_content

        content = rule_content(content, flavour)[0]
    if content.startswith("///"):  # Windows: a network path
        anchor, rest = "//", content[3:]
    elif content.startswith("//"):
        anchor, rest = "/", content[2:]
    elif content == "~" or content.startswith("~/"):
        anchor, rest = home, content[2:]
    elif content.startswith("/"):
        anchor, rest = base, content[1:]
    else:
        anchor = base
        rest = content.removeprefix("./")
        anchored = rest != content or "/" in rest.rstrip("/")
    rest = rest.rstrip("/")
    while rest.startswith("../"):
        anchor, rest = tidy(anchor + "/..", flavour), rest[3:]
    root = "/" if anchor == "//" else slashed(anchor, flavour).rstrip("/")
    body = _glob_regex(rest) if anchored else "(?:.*/)?" + _glob_regex(rest)
    regex = re.escape(root) + ("/" + body if rest else "") + r"(?:/.*)?"
    literal = tidy(_literal(rest, anchor, flavour), flavour) if anchored else anchor
    return PathPattern(literal, re.compile(regex, re.S | (re.I if folds(literal, flavour) else 0)), flavour)


def _literal(rest: str, anchor: str, flavour: Flavour) -> str:
    kept: list[str] = []
    for name in rest.split("/"):
        plain = re.sub(r"\\(.)", "", name)
        if _GLOB & set(plain):
            break
        kept.append(re.sub(r"\\(.)", r"\1", name))
    if flavour.windows and anchor == "/" and kept and re.fullmatch("[A-Za-z]", kept[0]):
        return "/".join([f"{kept[0]}:", *kept[1:], ""])
    if anchor == "//":
        return "/".join(["/", *kept])
    return "/".join([anchor.rstrip("/"), *kept])


def _class_body(inside: str) -> str:
    """The characters of a class. In a range that is none (`z-a`) the hyphen is itself: a rule must not match less."""
    body = re.sub(r"([\\\[\]&~|^])", r"\\\1", inside)
    try:
        if "--" not in body:
            re.compile(f"[{body}]")
            return body
    except re.error:
        pass
    return body.replace("-", "\\-")


def _glob_regex(glob: str) -> str:
    """A .gitignore pattern as a regular expression. A final `/**` also matches the folder itself: a rule that hides
    all files of a folder hides the folder."""
    out: list[str] = []
    place, size = 0, len(glob)
    no_class_before = 0
    while place < size:
        char = glob[place]
        if char == "/" and place == size - 3 and glob.endswith("/**"):
            break
        if glob.startswith("**/", place):
            out.append("(?:.*/)?")
            place += 3
        elif glob.startswith("**", place):
            out.append(".*")
            place += 2
        elif char == "*":
            out.append("[^/]*")
            place += 1
        elif char == "?":
            out.append("[^/]")
            place += 1
        elif char == "[" and place >= no_class_before:
            found = _CLASS.match(glob, place)
            out.append(f"[{'^' if found[1] else ''}{_class_body(found[2])}]" if found else r"\[")
            if found is None:  # nor does one begin further on in this name: there is no end of it
                slash = glob.find("/", place)
                no_class_before = slash if slash > 0 else size
            place = found.end() if found else place + 1
        elif char == "\\" and place + 1 < size:
            out.append(re.escape(glob[place + 1]))
            place += 2
        else:
            out.append(re.escape(char))
            place += 1
    return "".join(out)
