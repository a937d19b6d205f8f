"""Commands that only read: whether a command certainly does nothing else, and which paths it reads.

A command with a flag that is not in the table must be asked about: many options write or run something (`sort -o`,
`find -exec`, `rg --pre`, `git --output`, `tree -o`, `file -C`), and new ones appear.
Pure: the caller decides whether the paths may be read.
"""

from __future__ import annotations

from yume_shim.gate.flags import SafeUse, split_flags
from yume_shim.gate.read_only_table import COMMANDS
from yume_shim.gate.shell import Word
from yume_shim.gate.shell_builtins import printf_assigns

NO_FILES = frozenset(("-", "/dev/null"))
"""Operands that name no file."""
_TAKES_ANYTHING = frozenset(("echo", "true", "false"))
_VERSION = ("--version",)
_VERSIONS = {
    "git": _VERSION,
    "node": ("--version", "-v"),
    "python": ("--version", "-V"),
    "python3": ("--version", "-V"),
    "ruby": ("--version", "-v"),
    "perl": ("--version", "-v"),
    "java": ("-version", "--version"),
    **dict.fromkeys(("bash", "make", "cmake", "gcc", "g++", "clang", "jq", "curl", "docker", "pip", "pip3"), _VERSION),
}
"""Programs that print their version without reading a file of the working folder. (cargo, go, npm, yarn and pnpm may
run or fetch another version of themselves that a file there names.)"""
_PS = frozenset(("", "aux", "-ef", "-e", "-A", "-a", "-f"))
_DATE = SafeUse(
    "uR", "d", "--utc --iso-8601 --iso-8601= --rfc-3339= --date: --rfc-email", groups=True, attached="I", digits=False
)
_RESPONSE_FILES = frozenset(("strings",))
"""Commands that replace `@FILE` by the words in the file, flags and file names included."""


def reads(words: tuple[Word, ...]) -> tuple[Word, ...] | None:
    """The paths that the command reads, if it certainly only reads; otherwise None. A pattern `x/*` among them means
    the files in folder x."""
    if not words or any(word.kind == "dynamic" for word in words) or words[0].kind != "plain":
        return None
    name, rest = words[0].text, words[1:]
    texts = tuple(word.text for word in rest)
    if len(texts) == 1 and texts[0] in _VERSIONS.get(name, ()):
        return ()
    if name in _RESPONSE_FILES and any(text.startswith("@") for text in texts):
        return None
    match name:
        case "git":
            from yume_shim.gate.read_only_git import git_reads

            return git_reads(rest)
        case "find" | "sed" | "awk" | "test":
            return _script(name, rest)
        case "printf":
            return None if not rest or printf_assigns(rest) else tuple(word for word in rest if word.kind == "glob")
        case "ps":
            return () if " ".join(texts) in _PS else None
        case "command":
            return () if len(rest) > 1 and texts[0] in ("-v", "-V") and not rest[1].text.startswith("-") else None
        case "date":
            return _date(rest)
    safe = COMMANDS.get(name)
    paths = _by_table(name, safe, rest) if safe is not None else None
    if name == "diff" and paths is not None:  # of a folder it compares the files, and follows links among them
        paths += tuple(Word(f"{word.text.rstrip('/')}/*", "glob") for word in paths if word.text not in NO_FILES)
    return paths


def _script(name: str, rest: tuple[Word, ...]) -> tuple[Word, ...] | None:
    from yume_shim.gate import read_only_scripts as scripts

    match name:
        case "find":
            paths = scripts.find_reads(rest)
        case "sed":
            paths = scripts.sed_reads(rest)
        case "awk":
            paths = scripts.awk_reads(rest)
        case _:
            return scripts.test_reads(rest)
    return None if paths is None or _loose_globs(paths) else paths


def _by_table(name: str, safe: SafeUse, rest: tuple[Word, ...]) -> tuple[Word, ...] | None:
    if name in _TAKES_ANYTHING:
        return tuple(word for word in rest if word.kind == "glob")
    split = split_flags(safe, rest)
    if split is None:
        return None
    flags, operands = split
    if len(operands) > safe.max_operands or (safe.operands == "none" and operands):
        return None
    if safe.max_operands < SafeUse().max_operands and any(word.kind == "glob" for word in operands):
        return None  # it may expand to more operands
    if not safe.globs and _loose_globs(operands):
        return None
    if safe.operands == "pattern" and not {"-e", "--regexp", "--files", "--type-list", "--version"} & flags:
        if not operands or operands[0].kind != "plain":
            return None
        operands = operands[1:]
    if safe.operands == "filter":
        from yume_shim.gate.read_only_scripts import is_harmless_jq

        if not operands or operands[0].kind != "plain" or not is_harmless_jq(operands[0].text):
            return None
        operands = operands[1:]
    if safe.operands == "text":
        operands = tuple(word for word in operands if word.kind == "glob")
    return operands


def _loose_globs(words: tuple[Word, ...]) -> bool:
    """Whether a pattern could expand to a flag: a file may be called `-o`, or `--pre=x`."""
    return any(is_loose_glob(word) for word in words)


def is_loose_glob(word: Word) -> bool:
    """Whether a pattern may match a name that begins with `-`."""
    return word.kind == "glob" and word.text[0] in "*?[-"


def _date(rest: tuple[Word, ...]) -> tuple[Word, ...] | None:
    split = split_flags(_DATE, rest)
    if split is None or any(not word.text.startswith("+") for word in split[1]):
        return None
    return ()
