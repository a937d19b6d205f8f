"""Colours code by a few rules per family of languages, and terminal output by its own colours. Linear time: every
pattern matches up to its end or to the end of the text."""

from __future__ import annotations

import re

from yume_shim.pages.html.escaping import code
from yume_shim.pages.printed import settled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match, Pattern

MAX_COLOURED = 30_000
"""Characters of a text that are coloured; a longer one stays plain."""
_STRINGS = r'"(?:[^"\\\n]|\\[\s\S]?)*(?:"|$)' + r"|'(?:[^'\\\n]|\\[\s\S]?)*(?:'|$)"
_NUMBER = r"\b\d[\w.]{0,40}"
_HASH, _SLASHES = r"#[^\n]*", r"//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)"
_TRIPLE = r'"""(?:[^"\\]|\\[\s\S]?|"(?!""))*(?:"""|\Z)|' + r"'''(?:[^'\\]|\\[\s\S]?|'(?!''))*(?:'''|\Z)|"
_WORDS = {
    "python": "and as assert async await break case class continue def del elif else except False finally for from global if "
    "import in is lambda match None nonlocal not or pass raise return self True try while with yield",
    "curly": "abstract as async await bool boolean break case catch char class const continue default defer do double else enum "
    "export extends false final finally float fn for from func function go if impl implements import in instanceof int "
    "interface let long match mod mut namespace new nil null package private protected pub public return self static "
    "string struct super switch this throw true try type typeof undefined use var void while yield",
    "shell": "case do done elif else esac exit export fi for function if in local return then until while cd echo set",
    "sql": "select from where insert into values update delete create table index drop alter join left right inner outer on "
    "group by order having limit and or not null is as distinct union primary key default begin commit",
    "data": "true false null yes no",
}
_FAMILIES = {
    "python": ("py", "python", "pyi", "python3"),
    "curly": (
        *(
            "js",
            "javascript",
            "ts",
            "typescript",
            "jsx",
            "tsx",
            "mjs",
            "c",
            "h",
            "cpp",
            "cc",
            "hpp",
            "cs",
            "java",
            "go",
            "rs",
        ),
        *("rust", "kt", "kotlin", "swift", "php", "scala", "dart", "css", "scss", "zig", "proto"),
    ),
    "shell": (
        "sh",
        "bash",
        "zsh",
        "shell",
        "console",
        "fish",
        "dockerfile",
        "make",
        "makefile",
        "rb",
        "ruby",
        "pl",
        "perl",
    ),
    "sql": ("sql",),
    "data": ("json", "jsonl", "jsonc", "yaml", "yml", "toml", "ini", "cfg", "env"),
}
_FAMILY = {name: family for family, names in _FAMILIES.items() for name in names}
_COMMENTS = {"python": _HASH, "curly": _SLASHES, "shell": _HASH, "sql": r"--[^\n]*", "data": _HASH}
_patterns: dict[str, Pattern[str]] = {}


def coloured(text: str, language: str = "") -> str:
    """Code as HTML."""
    family = _FAMILY.get(language.lower().lstrip("."))
    if language.lower() in ("diff", "patch"):
        return "\n".join(_diff_line(line) for line in text.split("\n"))
    if family is None or len(text) > MAX_COLOURED:
        return code(text)
    made: list[str] = []
    at = 0
    for found in _pattern(family).finditer(text):
        made += [code(text[at : found.start()]), f'<i class="{found.lastgroup}">{code(found[0])}</i>']
        at = found.end()
    made.append(code(text[at:]))
    return "".join(made)


def language_of(path: str) -> str:
    """The language of a file, by its name."""
    name = path.rpartition("/")[2].rpartition("\\")[2].lower()
    return name.rpartition(".")[2] if "." in name else name


def _pattern(family: str) -> Pattern[str]:
    known = _patterns.get(family)
    if known is None:
        strings = (
            (_TRIPLE if family == "python" else "")
            + _STRINGS
            + (r"|`(?:[^`\\]|\\[\s\S]?)*(?:`|\Z)" if family == "curly" else "")
        )
        words = "|".join(_WORDS[family].split())
        case = "(?i)" if family == "sql" else ""
        known = _patterns[family] = re.compile(
            f"{case}(?P<s>{strings})|(?P<c>{_COMMENTS[family]})|(?P<n>{_NUMBER})|(?P<k>\\b(?:{words})\\b)", re.MULTILINE
        )
    return known


def _diff_line(line: str) -> str:
    kind = (
        "k"
        if line.startswith(("@@", "diff ", "index "))
        else "add"
        if line.startswith("+")
        else "del"
        if line.startswith("-")
        else ""
    )
    return f'<i class="{kind}">{code(line)}</i>' if kind else code(line)


# ------------------------------------------------------------ terminal output

_SEQUENCE = re.compile(
    "\x1b(?:\\[([0-9;:]{0,60})m|\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b\n]*(?:\x07|\x1b\\\\)?|[ -/]*[0-~])"
)


def terminal(text: str) -> str:
    """The output of a program: colours become classes, other terminal sequences are left out."""
    text = settled(text)
    if "\x1b" not in text:
        return code(text)
    made: list[str] = []
    at, style = 0, ""
    for found in _SEQUENCE.finditer(text):
        made.append(_styled(text[at : found.start()], style))
        at = found.end()
        if found[1] is not None:
            style = _next_style(style, found)
    made.append(_styled(text[at:], style))
    return "".join(made)


def _styled(text: str, style: str) -> str:
    return f'<i class="{style}">{code(text)}</i>' if text and style else code(text)


def _next_style(style: str, found: Match[str]) -> str:
    """Foreground colours, bold and dim; whatever else a sequence says changes nothing."""
    kept = dict.fromkeys(style.split())
    parts = [int(part) if part.isdigit() else 0 for part in (found[1] or "0").replace(":", ";").split(";")]
    if 38 in parts or 48 in parts:  # an exact colour: the page has its own
        return style
    for part in parts:
        if part == 0:
            kept.clear()
        elif part in (1, 2):
            kept[f"a{part}"] = None
        elif 30 <= part <= 37 or 90 <= part <= 97 or part == 39:
            kept = {name: None for name in kept if not name.startswith("f")}
            if part != 39:
                kept[f"f{part % 10}"] = None
        elif part == 22:
            kept = {name: None for name in kept if name not in ("a1", "a2")}
    return " ".join(kept)
