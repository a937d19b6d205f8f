"""Small programs that only read: scripts of sed and awk, filters of jq, conditions of test, and the
expressions of find. Only the forms listed here are accepted; each of these languages can also write files or run
commands. Pure."""

from __future__ import annotations

import re

from yume_shim.gate.flags import SafeUse, split_flags
from yume_shim.gate.word_set import word_set

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.gate.shell import Word

# ---------------------------------------------------------------- sed

# In some seds a delimiter inside [ ] does not end an expression: brackets without one mean the same everywhere.
_RE = r"/(?:[^/\\\n\[]|\\[^\n]|\[\^?[^\]/\\\n]+\])+/I?"
_ADDRESS = rf"(?:[0-9]+|\$|{_RE})"
_RANGE = rf"(?:{_ADDRESS}(?: ?, ?(?:{_ADDRESS}|[+~][0-9]+))? ?!?)?"
_SUBSTITUTE = (
    r"s(?P<d>[/|#,@:])(?:(?!(?P=d))[^\\\n\[]|\\[^\n]|\[\^?(?:(?!(?P=d))[^\]\\\n])+\])*(?P=d)"
    r"(?:(?!(?P=d))[^\\\n]|\\[^\n])*(?P=d)[gIip0-9]*"
)
_SED_COMMAND = re.compile(rf"\s*{_RANGE} ?(?:[pdq=]|{_SUBSTITUTE})\s*\Z")
MAX_SCRIPT = 1_000
"""Characters of a script that is examined; a longer one is not accepted."""


def sed_reads(rest: tuple[Word, ...]) -> tuple[Word, ...] | None:
    """The files of `sed [-nEr] SCRIPT FILE…`, if the script only prints, deletes, substitutes and quits."""
    scripts: list[Word] = []
    files: list[Word] = []
    words = iter(rest)
    for word in words:
        if word.text in ("-e", "--expression"):
            given = next(words, None)
            if given is None or given.text.startswith("-"):
                return None
            scripts.append(given)
        elif word.text.startswith("-") and word.text != "-":
            if word.text not in ("-n", "-E", "-r", "-nE", "-En", "-nr", "--quiet", "--silent", "--regexp-extended"):
                return None
        else:
            files.append(word)
    if not scripts:
        scripts, files = files[:1], files[1:]
    if not scripts or not all(script.kind == "plain" and is_harmless_sed(script.text) for script in scripts):
        return None
    return tuple(files)


def is_harmless_sed(script: str) -> bool:
    """Whether a script of sed neither writes files (`w`) nor runs commands (`e`)."""
    if len(script) > MAX_SCRIPT:
        return False
    if _SED_COMMAND.match(script):
        return True
    parts = script.split(";")  # a part that is cut inside an expression is no command
    return len(parts) > 1 and all(_SED_COMMAND.match(part) for part in parts)


# ---------------------------------------------------------------- awk

_AWK_ITEM = r'(?:\$(?:[0-9]+|NF|\(NF-[0-9]+\))|NR|NF|FNR|FILENAME|"(?:[^"\\\n]|\\[tn"\\])*")'
_AWK_TEST = (
    r"(?:(?:NR|NF|FNR|\$[0-9]+|\$NF) ?(?:==|!=|<=|>=|<|>) ?(?:[0-9]+|\"[^\"\\\n]*\")"
    r"|(?:\$[0-9]+ ?!?~ ?)?/(?:[^/\\\n\[]|\\[^\n]|\[\^?[^\]/\\\n]+\])+/|NF|NR%[0-9]+==[0-9]+)"
)
_AWK = re.compile(
    rf"\s*(?:!?{_AWK_TEST}(?: ?(?:&&|\|\||,) ?!?{_AWK_TEST})*)?\s*"
    rf"(?:\{{\s*print(?:\s+{_AWK_ITEM}(?:\s*,?\s*{_AWK_ITEM})*)?\s*;?\s*\}})?\s*\Z"
)


def awk_reads(rest: tuple[Word, ...]) -> tuple[Word, ...] | None:
    """The files of `awk [-F x] PROGRAM FILE…`, if the program only selects and prints."""
    split = split_flags(SafeUse(valued="F", attached="F"), rest)
    if split is None or not split[1]:
        return None
    program, files = split[1][0], split[1][1:]
    accepted = program.kind == "plain" and 0 < len(program.text.strip()) <= MAX_SCRIPT and _AWK.match(program.text)
    return files if accepted else None


# ---------------------------------------------------------------- jq, test

# jq can read the environment, where keys are, and load modules.
_JQ_REACHES_OUT = re.compile(r"\benv\b|\$ENV|\bimport\b|\binclude\b|input_filename|modulemeta|debug|halt|\$__", re.I)
_TEST_FILE = word_set("-e -f -d -r -w -x -s -L -h -b -c -p -S -g -u -k -O -G")
_TEST_BINARY = frozenset(("=", "==", "!="))


def is_harmless_jq(text: str) -> bool:
    return _JQ_REACHES_OUT.search(text) is None


def test_reads(rest: tuple[Word, ...]) -> tuple[Word, ...] | None:
    """`test -f FILE`, `test -n TEXT`, `test A = B`. Others evaluate their words (`-v`), or are not needed."""
    if rest and rest[0].text == "!":
        rest = rest[1:]
    texts = tuple(word.text for word in rest)
    if any(word.kind != "plain" for word in rest):
        return None
    if len(texts) == 2 and texts[0] in _TEST_FILE:
        return rest[1:]
    if len(texts) == 2 and texts[0] in ("-n", "-z"):
        return ()
    return () if len(texts) == 3 and texts[1] in _TEST_BINARY else None


# ---------------------------------------------------------------- find

_FIND_FLAGS = word_set(
    "-print -print0 -empty -not -a -o -and -or -prune -ls -quit -readable -writable -executable -depth "
    "-xdev -mount -P ! ( ) , -true -false -daystart -noleaf"
)
_FIND_VALUED = word_set(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype "
    "-type -xtype -size -mtime -mmin -atime -amin -ctime -cmin -maxdepth "
    "-mindepth -user -group -uid -gid -perm -links -inum -printf -newermt"
)
_LOOKS_LIKE_FIND_FLAG = re.compile(r"-[A-Za-z]+[0-9]?\Z")


def find_reads(rest: tuple[Word, ...]) -> tuple[Word, ...] | None:
    """The folders where a search of `find` starts, if its expression only tests and prints."""
    first = next((place for place, word in enumerate(rest) if word.text.startswith(("-", "(", "!"))), len(rest))
    if any(word.kind != "plain" for word in rest[first:]):
        return None
    words = iter(rest[first:])
    for word in words:
        if word.text in _FIND_VALUED:
            given = next(words, None)
            if given is None or (_LOOKS_LIKE_FIND_FLAG.match(given.text) and given.text not in _FIND_FLAGS):
                return None
        elif word.text not in _FIND_FLAGS:
            return None
    return rest[:first]
