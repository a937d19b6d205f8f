"""Parses a shell command into its simple commands, and says whether they are all that it runs.

tree-sitter-bash does the parsing, but its grammar is made for highlighting, not for judging: it splits some texts
differently from bash (`a'b'\\c` becomes two words, `> x y` one redirect with two targets). So a tree is trusted only
where it accounts for every byte: real blanks between words, only legal characters inside a word, only white space
outside of nodes. A script that fails these checks is marked:

    problem   it is not simple: not just plain commands, joined by `&& || ; | |& &` and line ends, with plain words and
              plain redirects
    opaque    it may run something that cannot be seen here

A rule may allow a command only if it has no problem; a deny rule checks all commands found, and does not trust an
opaque script.
"""

from __future__ import annotations

import re

from yume_shim.gate.shell_tree import syntax_tree
from yume_shim.gate.word_set import word_set
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from tree_sitter import Node

    WordKind = Literal["plain", "glob", "dynamic"]


class Word(Value):
    """A word without its quotes. "glob": the shell may replace it by file names; "dynamic": its value is known only at
    run time."""

    text: str
    kind: WordKind = "plain"


class Redirect(Value):
    """`operator` has no file descriptor. `descriptor`: it copies one, and `target` is its number."""

    operator: str
    target: Word
    descriptor: bool = False


class Simple(Value):
    """One simple command. `raw` is the text of its words as written, with quotes."""

    words: tuple[Word, ...]
    raw: str = ""
    assigns: tuple[tuple[str, Word], ...] = ()
    redirects: tuple[Redirect, ...] = ()


class Script(Value):
    """All commands of a text, in order. `problem` says why it is not simple; `opaque`: it may run others, too.
    `assigned`: the variables that it assigns anywhere, as far as they are written as such. `repeats`: it has loops or
    functions, so a command may run several times, and not in this order."""

    commands: tuple[Simple, ...]
    problem: str = ""
    opaque: bool = False
    assigned: frozenset[str] = frozenset()
    repeats: bool = False


MAX_BYTES = 128 * 1024
"""A longer command is not parsed: it is asked about unless nothing depends on what it runs."""
MAX_NODES = 30_000
"""A tree with more nodes than this is not judged."""
MAX_VARIABLE = 1_024
"""Bytes before a redirect that are searched for the name of a variable that it assigns."""


RESERVED = word_set("if then else elif fi for while until do done case esac function select in coproc { } ! [[ ]]")
_JOINTS = frozenset((";", "&", "&&", "||", "|", "|&", "\n"))
_PLAIN_NODES = frozenset(("program", "list", "pipeline", "redirected_statement", "command", "comment"))
_OPERATORS = frozenset((">", ">>", ">|", "&>", "&>>", "<>", ">&", "<", "<&"))
_SUBSTITUTIONS = {
    "command_substitution": "a command substitution",
    "process_substitution": "a process substitution",
    "arithmetic_expansion": "an arithmetic expansion",
    "expansion": "a parameter expansion",
    "simple_expansion": "a variable",
    "ansi_c_string": "an ANSI-C string",
    "translated_string": "a translated string",
    "brace_expression": "a brace expansion",
    "heredoc_redirect": "a here-document",
    "herestring_redirect": "a here-string",
    "function_definition": "a function",
    "subshell": "a subshell",
    "test_command": "a test",
    "variable_assignment": "an assignment",
}

# A line continuation joins the text around it, so it separates words only next to a real blank.
_GAP = re.compile(rb"(?:[ \t]+(?:\\\n)?|\n)*\Z")
_BLANK = re.compile(rb"(?:[ \t]+(?:\\\n)?)+\Z")
_REDIRECT_STARTS = (b"<", b">", b"&")
_NUMBER = re.compile(r"-?[0-9]+\Z")
# A number that does not fit an int is a file name for bash.
_DESCRIPTOR = re.compile(r"[0-9]{1,9}\Z")
_ASSIGNING_REDIRECT = re.compile(rb"(?:\A|[\s;&|(])\{[A-Za-z_][^{}\s]*\}\Z")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_EVALUATING = frozenset(("test_command", "arithmetic_expansion", "declaration_command", "unset_command"))
_EVALUATORS = frozenset(("let", "test", "[", "getopts", "read", "wait", "printf"))
# Text that is code once it is evaluated: `'a[$(code)]'` as a number, `x='$(code)'` in `${x@P}`.
_CODE_AS_TEXT = re.compile(r"'[^']*(?:\$[({]|`)[^']*'|\\[$`]|\$'")
_REPEATING = frozenset(
    ("for_statement", "c_style_for_statement", "while_statement", "function_definition", "select_statement")
)
_RAW_STRING = re.compile(r"'[^']*'\Z")
_BARE = re.compile(r"[\w\-./,:=+@%^#!\]~*?\[{}]|[^\x00-\x7f]")
_TILDE = re.compile(r"~(?:/|\Z)")


def parse(text: str) -> Script:
    """Parse a command. Never raises: what cannot be parsed is opaque."""
    if len(text) > MAX_BYTES:
        return _fallback(text[:MAX_BYTES], "it is too long")
    if not text.replace("\t", " ").replace("\n", " ").isprintable():
        return _fallback(text, "it contains control characters or Unicode whitespace")
    try:
        source = text.encode("utf-8")
        root = syntax_tree(source)
        if root is None:
            return _fallback(text, "it takes too long to parse")
        walk = _Walk(source)
        if root.has_error:
            walk.flag("it is not complete shell syntax", opaque=True)
        walk.visit(root)
        if walk.evaluates and _CODE_AS_TEXT.search(text):
            walk.flag("it evaluates text that may contain commands", opaque=True)
    except ImportError:
        return _fallback(text, "the shell parser is not installed (pip install tree-sitter tree-sitter-bash)")
    except (LookupError, RecursionError, ValueError):
        return _fallback(text, "it could not be parsed")
    return Script(tuple(walk.commands), walk.problem, walk.opaque, frozenset(walk.assigned), walk.repeats)


def _fallback(text: str, problem: str) -> Script:
    """Split at blanks and operators, so that deny rules have something to check when there is no tree."""
    pieces = [re.split(r"\s+", piece.strip()) for piece in re.split(r"[;&|\n\r()`]+", text)]
    commands = [Simple(tuple(Word(word) for word in words), " ".join(words)) for words in pieces if words != [""]]
    return Script(tuple(commands), problem, opaque=True)


class _Walk:
    """Walks a tree once; collects the commands, and what is not simple."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self.commands: list[Simple] = []
        self.problem = ""
        self.opaque = False
        self.assigned: set[str] = set()
        self.repeats = False
        self.evaluates = False
        """It has arithmetic, tests or declarations: they evaluate text that looks harmless otherwise."""
        self._nodes = 0

    def flag(self, problem: str, opaque: bool = False) -> None:
        self.problem = self.problem or problem
        self.opaque = self.opaque or opaque

    def _text(self, node: Node) -> str:
        return self._source[node.start_byte : node.end_byte].decode("utf-8")

    # ------------------------------------------------ structure

    def visit(self, node: Node) -> None:
        kind = node.type
        self._count()
        if kind == "comment":
            self._comment(node)
            return
        if not node.is_named:
            return
        self.repeats = self.repeats or kind in _REPEATING
        self.evaluates = self.evaluates or kind in _EVALUATING or self._is_arithmetic(node)
        if kind == "variable_name" and not self._only_expands(node.parent):
            self.assigned.add(self._text(node))
        if kind not in _PLAIN_NODES:
            self.flag("it contains " + _SUBSTITUTIONS.get(kind, f"a {kind.replace('_', ' ')}"))
        if node.is_missing or kind == "ERROR":
            self.flag("it is not complete shell syntax", opaque=True)
        if kind in ("command", "redirected_statement"):
            self._statement(node)
            return
        if kind == "file_redirect":  # without a command: `$(< file)`
            found, after_target = self._redirect(node)
            self.commands.append(Simple(tuple(after_target), "", (), tuple(found)))
            return
        if kind in ("heredoc_body", "string", "raw_string", "ansi_c_string", "regex", "test_operator"):
            self._inside(node)
            return
        self._check_gaps(node)
        for child in node.children:
            if kind in ("program", "list", "pipeline") and not child.is_named and child.type not in _JOINTS:
                self.flag(f"it contains {child.type!r}")
            self.visit(child)

    def _is_arithmetic(self, node: Node) -> bool:
        """Whether this is `(( … ))` or `${x@P}`."""
        if node.type == "compound_statement":
            return self._source[node.start_byte : node.start_byte + 2] == b"(("
        return node.type == "expansion" and "@" in self._text(node)

    def _only_expands(self, node: Node | None) -> bool:
        """Whether a variable is only expanded here: `$x`, `${x%y}`, but not `${x:=y}`."""
        if node is None:
            return False
        return node.type == "simple_expansion" or (node.type == "expansion" and "=" not in self._text(node))

    def _count(self) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise LookupError("too many nodes")

    def _inside(self, node: Node) -> None:
        for child in node.children:
            self.visit(child)

    def _comment(self, node: Node) -> None:
        before = self._source[node.start_byte - 1 : node.start_byte]
        if before not in (b"", b" ", b"\t", b"\n", b";", b"&", b"|") or "\n" in self._text(node):
            self.flag("there is a # inside a word", opaque=True)

    def _check_gaps(self, node: Node) -> None:
        whole = node.type == "program"  # the scanner may have skipped bytes at its start and end
        place = 0 if whole else node.start_byte
        end = len(self._source) if whole else node.end_byte
        for child in node.children:
            if not _GAP.match(self._source[place : child.start_byte]):
                self.flag("a part of it could not be parsed", opaque=True)
            place = child.end_byte
        if (whole or node.children) and not _GAP.match(self._source[place:end]):
            self.flag("a part of it could not be parsed", opaque=True)

    # ------------------------------------------------ a command

    def _statement(self, node: Node) -> None:
        """A command, or one or more commands with redirects after them."""
        if node.type == "command":
            self._command(node)
            return
        self._check_gaps(node)
        for before, after in zip(node.children, node.children[1:], strict=False):
            self._check_blank(before, after)
        redirects: list[Redirect] = []
        extra: list[Word] = []
        bodies: list[Node] = []
        for child in node.children:
            if child.type == "file_redirect":
                found, after_target = self._redirect(child)
                redirects += found
                extra += after_target
            elif child.type in ("heredoc_redirect", "herestring_redirect"):
                self.visit(child)
            else:
                bodies.append(child)
        first = len(self.commands)
        for body in bodies:
            self.visit(body)
        # tree-sitter attaches the redirect of a pipeline's last command to the whole pipeline
        last = self.commands.pop() if len(self.commands) > first else Simple(())
        words = (*last.words, *extra)
        raw = " ".join([last.raw, *(word.text for word in extra)]).strip()
        self.commands.append(Simple(words, raw, last.assigns, (*last.redirects, *redirects)))

    def _command(self, node: Node) -> None:
        assigns: list[tuple[str, Word]] = []
        words: list[Word] = []
        raws: list[str] = []
        here: list[Redirect] = []
        before: Node | None = None
        for child in node.children:
            self._check_blank(before, child)
            before = child
            if child.type == "variable_assignment":
                assigns.append(self._assignment(child))
            elif child.type == "file_redirect":
                found, after_target = self._redirect(child)
                here += found
                words += after_target
                raws += [word.text for word in after_target]
            elif child.type == "herestring_redirect":
                self.visit(child)
            else:
                body = child.children[0] if child.type == "command_name" and child.child_count == 1 else child
                words.append(self._word(body))
                raws.append(self._text(child))
        self.evaluates = self.evaluates or (bool(words) and words[0].text in _EVALUATORS)
        if words and (not words[0].text or raws[0] in RESERVED or words[0].kind != "plain"):
            self.flag("what it runs is known only at run time", opaque=True)
        self.commands.append(Simple(tuple(words), " ".join(raws), tuple(assigns), tuple(here)))

    def _check_blank(self, before: Node | None, child: Node) -> None:
        if before is None:
            return
        gap = self._source[before.end_byte : child.start_byte]
        last = self._source[max(before.end_byte - MAX_VARIABLE, 0) : before.end_byte]
        if child.type == "file_redirect" and not gap and _ASSIGNING_REDIRECT.search(last):
            self.flag("a redirect assigns a variable")
            self.assigned.add("*")
        touching = (
            gap == b""
            and child.type == "file_redirect"
            and self._source[child.start_byte : child.start_byte + 1] in _REDIRECT_STARTS
        )
        if not touching and not _BLANK.match(gap):
            self.flag("its words are not clearly separated", opaque=True)

    def _assignment(self, node: Node) -> tuple[str, Word]:
        name, _, rest = self._text(node).partition("=")
        if not _NAME.match(name):
            self.flag("it contains an assignment to a list or a part of one")
            self.visit(node)  # a subscript can contain commands
        if len(node.children) == 2 or not rest:
            return name, Word("")
        return name, self._word(node.children[-1])

    def _redirect(self, node: Node) -> tuple[list[Redirect], list[Word]]:
        """The redirect, and the words after its target: in `> x y` y is a word of the command for bash, but a second
        target for the grammar."""
        parts = [child for child in node.children if child.type != "file_descriptor"]
        for before, after in zip(node.children, node.children[1:], strict=False):
            gap = self._source[before.end_byte : after.start_byte]
            if gap.strip(b" \t") or (gap and before.type == "file_descriptor"):
                self.flag("a part of it could not be parsed", opaque=True)
        for child in node.children:
            if child.type == "file_descriptor" and not _DESCRIPTOR.match(self._text(child)):
                self.flag("a part of it could not be parsed", opaque=True)
        operator = parts[0].type
        if operator not in _OPERATORS or len(parts) < 2:
            self.flag(f"it contains the redirect {operator!r}")
        if len(parts) > 2:
            self.flag("it has words after a redirect")
        words = [self._word(part) for part in parts[1:]]
        if words and words[0].kind != "plain":
            self.flag("the target of a redirect is known only at run time")
        copied = bool(words) and operator in (">&", "<&") and bool(_DESCRIPTOR.match(words[0].text))
        if operator in (">&", "<&") and not copied:
            self.flag(f"it contains the redirect {operator!r}")  # bash removes quotes from such a target twice
        return [Redirect(operator, word, copied) for word in words[:1]], words[1:]

    # ------------------------------------------------ a word

    def _word(self, node: Node) -> Word:
        """The word. A quoted ~ at its start is an ordinary name: `./` is put in front of it."""
        word = self._part(node)
        return Word("./" + word.text, word.kind) if word.text.startswith("~") and self._text(node)[:1] != "~" else word

    def _part(self, node: Node) -> Word:
        kind = node.type
        text = self._text(node)
        self._count()
        if kind == "word":
            return self._bare(text)
        if kind == "number" and _NUMBER.match(text):
            return Word(text)
        if kind == "raw_string" and _RAW_STRING.match(text):
            return Word(text[1:-1])
        if kind == "string":
            return self._string(node, text)
        if kind == "concatenation":
            return self._concatenation(node, text)
        self.visit(node)  # collects what a substitution runs, and sets the problem
        self.flag("it contains a word that is not plain")
        return Word(text, "dynamic")

    def _concatenation(self, node: Node, text: str) -> Word:
        parts = [self._part(child) for child in node.children]
        place = node.start_byte
        for child in node.children:
            if child.start_byte != place:
                self.flag("its words are not clearly separated", opaque=True)
            place = child.end_byte
        bare = "".join(self._text(child) for child in node.children if child.type in ("word", "number"))
        # A ~ with a quote before its slash is not the home.
        odd = text.startswith("~") and not self._text(node.children[0]).startswith("~/")
        if odd or any(part.kind == "dynamic" for part in parts) or _is_brace(bare):
            self.flag("it contains a word that is not plain")
            return Word(text, "dynamic")
        joined = "".join(part.text for part in parts)
        return Word(joined, "glob" if any(part.kind == "glob" for part in parts) else "plain")

    def _bare(self, text: str) -> Word:
        """An unquoted word: backslashes are removed; every other character must be literal or part of a glob."""
        out: list[str] = []
        glob = False
        place = 0
        while place < len(text):
            here = text[place]
            if here == "\\" and place + 1 < len(text) and text[place + 1] != "\n":
                out.append(text[place + 1])
                place += 2
                continue
            if not _BARE.match(here):
                self.flag("a word contains a character that is not plain", opaque=True)
                return Word(text, "dynamic")
            glob = glob or here in "*?["
            out.append(here)
            place += 1
        if _is_brace(text) or (text.startswith("~") and not _TILDE.match(text)) or re.search(r"[=:]~", text):
            self.flag("it contains a word that is not plain")
            return Word(text, "dynamic")
        return Word("".join(out), "glob" if glob else "plain")

    def _string(self, node: Node, text: str) -> Word:
        inner = text[1:-1]
        plain = re.sub(r"\\[\\$`\"]", "", inner)
        if any(child.is_named and child.type != "string_content" for child in node.children):
            for child in node.children:
                if child.type != "string_content":
                    self.visit(child)
            self.flag("it contains a word that is not plain")
            return Word(inner, "dynamic")
        if "$" in plain or "`" in plain or '"' in plain or "\\\n" in plain or not text.endswith('"'):
            self.flag("it contains a string that is not plain")
            return Word(inner, "dynamic")
        return Word(re.sub(r"\\([\\$`\"])", r"\1", inner))


def _is_brace(text: str) -> bool:
    bare = re.sub(r"\\.", "", text)
    return "{" in bare and ("," in bare or ".." in bare)
