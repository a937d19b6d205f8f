"""Commands that only read: per command the flags that are known to be harmless, and nothing else.

A flag that is not listed makes the command one that must be asked about: options that write or run something
(`sort -o`, `find -exec`, `rg --pre`, `git --output`, `tree -o`, `file -C`) are legion, and new ones appear.
Pure: whether the paths may be read is the caller's question.
"""

from __future__ import annotations

import re

from yume_shim.gate.names import names
from yume_shim.types.value import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    from yume_shim.gate.shell import Word

    Operands = Literal["paths", "text", "none", "pattern", "filter"]


@value
class Safe:
    """The harmless use of one command: short flags, short flags with a value, long flags (`--x=` takes a value)."""

    flags: str = ""
    valued: str = ""
    long: str = ""
    operands: Operands = "paths"
    most: int = 1_000_000
    """The most operands it may have: a second one is an output file for some."""
    digits: bool = False
    """`-5` is a number."""
    globs: bool = False
    """A file name that looks like a flag can do no harm here, so `*` may be given."""


_SUM = Safe("bt", globs=True)
_GREP = Safe(
    "EFGPivwxcoqsnHhabLlzrIU",
    "eABCm",
    "--extended-regexp --fixed-strings --perl-regexp --ignore-case --invert-match --word-regexp --count --color "
    "--color= --colour= --only-matching --quiet --no-messages --line-number --with-filename --no-filename --text "
    "--files-with-matches --files-without-match --recursive --include= --exclude= --exclude-dir= --max-count= "
    "--context= --after-context= --before-context= --regexp= --null --line-buffered --binary-files=",
    "pattern",
    digits=True,
)
_RG = Safe(
    "ivwxcoqsnNHIlFPUSu.0p",
    "egtTABCmrdj",
    "--files --hidden --no-ignore --no-ignore-vcs --glob= --iglob= --type= --type-not= --count --count-matches --json "
    "--line-number --no-line-number --ignore-case --smart-case --case-sensitive --fixed-strings --files-with-matches "
    "--files-without-match --max-count= --context= --after-context= --before-context= --no-heading --heading --color= "
    "--sort= --sortr= --stats --multiline --multiline-dotall --only-matching --max-depth= --invert-match --pcre2 "
    "--word-regexp --replace= --regexp= --no-messages --with-filename --no-filename --column --trim --vimgrep --text "
    "--type-list --version --max-columns= --max-filesize= --quiet --null --pretty --threads=",
    "pattern",
)

COMMANDS: Mapping[str, Safe] = {
    "ls": Safe(
        "aAbBcCdfFgGhiklmnopqQrRsStuUvxXZ1N",
        "wTI",
        "--all --almost-all --color --color= --directory --full-time --group-directories-first --human-readable "
        "--inode --recursive --reverse --size --sort= --time= --time-style= --ignore= --hide= --classify --no-group",
        globs=True,
    ),
    "cat": Safe(
        "AbeEnstTuv", "", "--number --number-nonblank --show-all --show-ends --show-tabs --squeeze-blank", globs=True
    ),
    "head": Safe("qvz", "nc", "--lines= --bytes= --quiet --verbose", digits=True, globs=True),
    "tail": Safe("qvzr", "nc", "--lines= --bytes= --quiet --verbose", digits=True, globs=True),
    "wc": Safe("clmwL", "", "--bytes --chars --lines --words --max-line-length", globs=True),
    "grep": _GREP,
    "egrep": _GREP,
    "fgrep": _GREP,
    "rg": _RG,
    "sort": Safe(
        "bdfghiMnRrVucsz", "kt", "--reverse --unique --numeric-sort --human-numeric-sort --version-sort --key="
    ),
    "uniq": Safe("cdDiuz", "fsw", "--count --repeated --unique --ignore-case", most=1),
    "cut": Safe("sz", "dfbc", "--delimiter= --fields= --bytes= --characters= --complement --output-delimiter="),
    "tr": Safe("cCdst", "", "--complement --delete --squeeze-repeats --truncate-set1", "text"),
    "nl": Safe("p", "bnwsvi", "--body-numbering= --number-width="),
    "tac": Safe(),
    "rev": Safe(),
    "fold": Safe("bs", "w", "--width= --spaces"),
    "expand": Safe("i", "t"),
    "paste": Safe("sz", "d", "--delimiters= --serial"),
    "column": Safe("tx", "sc", "--table --separator="),
    "comm": Safe("123z"),
    "cmp": Safe("bls", "n", most=2),
    "diff": Safe(
        "uNqyBbwiaEZstdpTe",
        "UCWIFx",
        "--unified --unified= --brief --side-by-side --ignore-all-space --ignore-space-change --ignore-blank-lines "
        "--color --color= --stat --width= --suppress-common-lines --report-identical-files --text --minimal",
        most=2,
    ),
    "od": Safe("bcdoxv", "ANjt"),
    "hexdump": Safe("Cbcdovx", "ns"),
    "xxd": Safe("pubi", "lscg", most=1),
    "strings": Safe("a", "nt", "--bytes= --all"),
    "base64": Safe("dDi", "w", "--decode --wrap=", most=1),
    "md5sum": _SUM,
    "sha1sum": _SUM,
    "sha224sum": _SUM,
    "sha256sum": _SUM,
    "sha384sum": _SUM,
    "sha512sum": _SUM,
    "b2sum": _SUM,
    "cksum": Safe(globs=True),
    "file": Safe("bik", "", "--brief --mime --mime-type --mime-encoding", globs=True),
    "stat": Safe("Lt", "c", "--format= --printf= --terse --dereference", globs=True),
    "du": Safe(
        "abchkmsxS0",
        "d",
        "--all --human-readable --summarize --total --max-depth= --apparent-size",
    ),
    "df": Safe("ahikPT", "", "--human-readable --inodes --total"),
    "tree": Safe(
        "adfpsughDFiCnrtvN",
        "LIP",
        "--dirsfirst --gitignore --noreport --filelimit= --prune --du --si",
    ),
    "realpath": Safe("emqsz", "", "--relative-to= --relative-base= --no-symlinks"),
    "readlink": Safe("efmnqsvz"),
    "basename": Safe("az", "s", "--multiple --suffix= --zero", "text"),
    "dirname": Safe("z", "", "--zero", "text"),
    "jq": Safe(
        "rcnsSeMCaj",
        "",
        "--raw-output --compact-output --null-input --slurp --sort-keys --exit-status --monochrome-output "
        "--color-output --ascii-output --join-output --tab --raw-input --seq --stream",
        "filter",
    ),
    "echo": Safe(operands="text"),
    "true": Safe(operands="text"),
    "false": Safe(operands="text"),
    "printf": Safe(operands="text"),
    "seq": Safe("w", "sf", "--equal-width --separator=", "text", digits=True),
    "sleep": Safe(operands="text", most=1),
    "pwd": Safe("LP", operands="none"),
    "whoami": Safe(operands="none"),
    "id": Safe("unGgrz", "", "--user --name --group --groups", "text", most=1),
    "groups": Safe(operands="none"),
    "uname": Safe("asnrvmpio", "", "--all --kernel-name --kernel-release --machine --operating-system", "none"),
    "arch": Safe(operands="none"),
    "hostname": Safe("fsid", "", "--fqdn --short", "none"),
    "nproc": Safe("", "", "--all", "none"),
    "uptime": Safe("ps", "", "--pretty --since", "none"),
    "free": Safe("bkmght", "", "--human --mega --giga --total", "none"),
    "tty": Safe("s", operands="none"),
    "which": Safe("a", "", "--all", "text"),
    "type": Safe("aptPf", operands="text"),
}

_TAKES_ANYTHING = frozenset(("echo", "true", "false"))
_VERSIONS = {
    "git": ("--version",),
    "node": ("--version", "-v"),
    "python": ("--version", "-V"),
    "python3": ("--version", "-V"),
    "bash": ("--version",),
}
_FIND_FLAGS = names(
    "-print -print0 -empty -not -a -o -and -or -prune -ls -quit -readable -writable -executable -depth "
    "-xdev -mount -P ! ( ) , -true -false -daystart -noleaf"
)
_FIND_VALUED = names(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype "
    "-type -xtype -size -mtime -mmin -atime -amin -ctime -cmin -maxdepth "
    "-mindepth -user -group -uid -gid -perm -links -inum -printf -newermt"
)
_SED_PRINT = re.compile(r"(?:\d+|\$)(?:,(?:\+?\d+|\$))?p(?:; ?(?:\d+|\$)(?:,(?:\+?\d+|\$))?p)*\Z")
_PS = frozenset(("", "aux", "-ef", "-e", "-A", "-a", "-f"))
# jq can read the environment, where keys are, and other modules.
_JQ_REACHES_OUT = re.compile(r"env|import|include|input_filename|debug|halt|\$__", re.I)


def reads(words: tuple[Word, ...]) -> tuple[Word, ...] | None:
    """What the command reads, if reading is all it does; None if that is not certain."""
    if not words or any(word.kind == "dynamic" for word in words) or words[0].kind != "plain":
        return None
    name = words[0].text
    rest = words[1:]
    texts = tuple(word.text for word in rest)
    if len(texts) == 1 and texts[0] in _VERSIONS.get(name, ()):
        return ()
    match name:
        case "git":
            from yume_shim.gate.read_only_git import git_reads

            return git_reads(rest)
        case "find":
            return _find(rest)
        case "sed":
            quiet = len(texts) >= 2 and texts[0] == "-n" and rest[1].kind == "plain" and _SED_PRINT.match(texts[1])
            plain = all(not text.startswith("-") for text in texts[2:])
            return rest[2:] if quiet and plain and not _loose_globs(rest[2:]) else None
        case "ps":
            return () if " ".join(texts) in _PS else None
        case "date":
            return _date(rest)
        case "printf" if texts and texts[0].startswith("-"):
            return None
    safe = COMMANDS.get(name)
    return _by_table(name, safe, rest) if safe is not None else None


def _by_table(name: str, safe: Safe, rest: tuple[Word, ...]) -> tuple[Word, ...] | None:
    if name in _TAKES_ANYTHING or name == "printf":
        return tuple(word for word in rest if word.kind == "glob")
    sorted_out = sort_out(safe, rest)
    if sorted_out is None:
        return None
    flags, operands = sorted_out
    if len(operands) > safe.most or (safe.operands == "none" and operands):
        return None
    if not safe.globs and _loose_globs(operands):
        return None
    if safe.operands == "pattern" and not {"-e", "--regexp", "--files", "--type-list", "--version"} & flags:
        if not operands or operands[0].kind != "plain":
            return None
        operands = operands[1:]
    if safe.operands == "filter":
        if not operands or operands[0].kind != "plain" or _JQ_REACHES_OUT.search(operands[0].text):
            return None
        operands = operands[1:]
    if safe.operands == "text":
        operands = tuple(word for word in operands if word.kind == "glob")
    return operands


def sort_out(safe: Safe, rest: tuple[Word, ...]) -> tuple[frozenset[str], tuple[Word, ...]] | None:
    """(flags used, operands), or None if a flag is not known to be harmless."""
    flags: set[str] = set()
    operands: list[Word] = []
    long = safe.long.split()
    words = iter(rest)
    for word in words:
        text = word.text
        if text == "--":
            operands += words
        elif text == "-" or not text.startswith("-"):
            operands.append(word)
        elif word.kind != "plain":
            return None
        elif safe.digits and text[1:].isdecimal():
            continue
        elif text.startswith("--"):
            # `--x value` is not taken: where the value is optional, the next word is an operand.
            name, equals, _ = text.partition("=")
            if name + equals not in long:
                return None
            flags.add(name)
        else:
            letters, value = _letters(safe, text[1:])
            if letters is None or (value == "next" and getattr(next(words, None), "kind", "") != "plain"):
                return None
            flags.update(letters)
    return frozenset(flags), tuple(operands)


def _letters(safe: Safe, text: str) -> tuple[set[str] | None, str]:
    """The flags of `-abc`, and where the value of the last one is: "" (none or attached), "next"."""
    found: set[str] = set()
    for place, letter in enumerate(text):
        found.add("-" + letter)
        if letter in safe.valued:
            return found, "next" if place == len(text) - 1 else ""
        if letter not in safe.flags:
            return None, ""
    return found, ""


def _loose_globs(words: tuple[Word, ...]) -> bool:
    """Whether a pattern could become a flag: a file may be called `-o`, or `--pre=x`."""
    return any(word.kind == "glob" and word.text[0] in "*?[-" for word in words)


def _find(rest: tuple[Word, ...]) -> tuple[Word, ...] | None:
    first = next((place for place, word in enumerate(rest) if word.text.startswith(("-", "(", "!"))), len(rest))
    starts = rest[:first]
    if _loose_globs(starts) or any(word.kind != "plain" for word in rest[first:]):
        return None
    words = iter(rest[first:])
    for word in words:
        if word.text in _FIND_VALUED:
            if next(words, None) is None:
                return None
        elif word.text not in _FIND_FLAGS:
            return None
    return starts


def _date(rest: tuple[Word, ...]) -> tuple[Word, ...] | None:
    sorted_out = sort_out(Safe("uRI", "d", "--utc --iso-8601 --iso-8601= --rfc-3339= --date= --rfc-email"), rest)
    if sorted_out is None or any(not word.text.startswith("+") for word in sorted_out[1]):
        return None
    return ()
