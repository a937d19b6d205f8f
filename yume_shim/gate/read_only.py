"""Commands that only read: for each command, the flags that are known to be harmless.

A command with any other flag must be asked about: many options write or run something (`sort -o`, `find -exec`,
`rg --pre`, `git --output`, `tree -o`, `file -C`), and new ones appear.
Pure: the caller decides whether the paths may be read.
"""

from __future__ import annotations

import re

from yume_shim.gate.word_set import word_set
from yume_shim.types.value import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    from yume_shim.gate.shell import Word

    Operands = Literal["paths", "text", "none", "pattern", "filter"]


@value
class SafeUse:
    """The harmless use of one command: short flags, short flags with a value, long flags (`--x=` takes a value)."""

    flags: str = ""
    valued: str = ""
    long: str = ""
    operands: Operands = "paths"
    max_operands: int = 1_000_000
    """The most operands it may have: for some commands a second one is an output file."""
    digits: bool = False
    """`-5` is a number."""
    globs: bool = False
    """`*` may be given: a file name that looks like a flag does no harm here."""


_SUM = SafeUse("bt", globs=True)
_GREP = SafeUse(
    "EFGPivwxcoqsnHhabLlzrIU",
    "eABCm",
    "--extended-regexp --fixed-strings --perl-regexp --ignore-case --invert-match --word-regexp --count --color "
    "--color= --colour= --only-matching --quiet --no-messages --line-number --with-filename --no-filename --text "
    "--files-with-matches --files-without-match --recursive --include= --exclude= --exclude-dir= --max-count= "
    "--context= --after-context= --before-context= --regexp= --null --line-buffered --binary-files=",
    "pattern",
    digits=True,
)
_RG = SafeUse(
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

COMMANDS: Mapping[str, SafeUse] = {
    "ls": SafeUse(
        "aAbBcCdfFgGhiklmnopqQrRsStuUvxXZ1N",
        "wTI",
        "--all --almost-all --color --color= --directory --full-time --group-directories-first --human-readable "
        "--inode --recursive --reverse --size --sort= --time= --time-style= --ignore= --hide= --classify --no-group",
        globs=True,
    ),
    "cat": SafeUse(
        "AbeEnstTuv", "", "--number --number-nonblank --show-all --show-ends --show-tabs --squeeze-blank", globs=True
    ),
    "head": SafeUse("qvz", "nc", "--lines= --bytes= --quiet --verbose", digits=True, globs=True),
    "tail": SafeUse("qvzr", "nc", "--lines= --bytes= --quiet --verbose", digits=True, globs=True),
    "wc": SafeUse("clmwL", "", "--bytes --chars --lines --words --max-line-length", globs=True),
    "grep": _GREP,
    "egrep": _GREP,
    "fgrep": _GREP,
    "rg": _RG,
    "sort": SafeUse(
        "bdfghiMnRrVucsz", "kt", "--reverse --unique --numeric-sort --human-numeric-sort --version-sort --key="
    ),
    "uniq": SafeUse("cdDiuz", "fsw", "--count --repeated --unique --ignore-case", max_operands=1),
    "cut": SafeUse("sz", "dfbc", "--delimiter= --fields= --bytes= --characters= --complement --output-delimiter="),
    "tr": SafeUse("cCdst", "", "--complement --delete --squeeze-repeats --truncate-set1", "text"),
    "nl": SafeUse("p", "bnwsvi", "--body-numbering= --number-width="),
    "tac": SafeUse(),
    "rev": SafeUse(),
    "fold": SafeUse("bs", "w", "--width= --spaces"),
    "expand": SafeUse("i", "t"),
    "paste": SafeUse("sz", "d", "--delimiters= --serial"),
    "column": SafeUse("tx", "sc", "--table --separator="),
    "comm": SafeUse("123z"),
    "cmp": SafeUse("bls", "n", max_operands=2),
    "diff": SafeUse(
        "uNqyBbwiaEZstdpTe",
        "UCWIFx",
        "--unified --unified= --brief --side-by-side --ignore-all-space --ignore-space-change --ignore-blank-lines "
        "--color --color= --stat --width= --suppress-common-lines --report-identical-files --text --minimal",
        max_operands=2,
    ),
    "od": SafeUse("bcdoxv", "ANjt"),
    "hexdump": SafeUse("Cbcdovx", "ns"),
    "xxd": SafeUse("pubi", "lscg", max_operands=1),
    "strings": SafeUse("a", "nt", "--bytes= --all"),
    "base64": SafeUse("dDi", "w", "--decode --wrap=", max_operands=1),
    "md5sum": _SUM,
    "sha1sum": _SUM,
    "sha224sum": _SUM,
    "sha256sum": _SUM,
    "sha384sum": _SUM,
    "sha512sum": _SUM,
    "b2sum": _SUM,
    "cksum": SafeUse(globs=True),
    "file": SafeUse("bik", "", "--brief --mime --mime-type --mime-encoding", globs=True),
    "stat": SafeUse("Lt", "c", "--format= --printf= --terse --dereference", globs=True),
    "du": SafeUse(
        "abchkmsxS0",
        "d",
        "--all --human-readable --summarize --total --max-depth= --apparent-size",
    ),
    "df": SafeUse("ahikPT", "", "--human-readable --inodes --total"),
    "tree": SafeUse(
        "adfpsughDFiCnrtvN",
        "LIP",
        "--dirsfirst --gitignore --noreport --filelimit= --prune --du --si",
    ),
    "realpath": SafeUse("emqsz", "", "--relative-to= --relative-base= --no-symlinks"),
    "readlink": SafeUse("efmnqsvz"),
    "basename": SafeUse("az", "s", "--multiple --suffix= --zero", "text"),
    "dirname": SafeUse("z", "", "--zero", "text"),
    "jq": SafeUse(
        "rcnsSeMCaj",
        "",
        "--raw-output --compact-output --null-input --slurp --sort-keys --exit-status --monochrome-output "
        "--color-output --ascii-output --join-output --tab --raw-input --seq --stream",
        "filter",
    ),
    "echo": SafeUse(operands="text"),
    "true": SafeUse(operands="text"),
    "false": SafeUse(operands="text"),
    "printf": SafeUse(operands="text"),
    "seq": SafeUse("w", "sf", "--equal-width --separator=", "text", digits=True),
    "sleep": SafeUse(operands="text", max_operands=1),
    "pwd": SafeUse("LP", operands="none"),
    "whoami": SafeUse(operands="none"),
    "id": SafeUse("unGgrz", "", "--user --name --group --groups", "text", max_operands=1),
    "groups": SafeUse(operands="none"),
    "uname": SafeUse("asnrvmpio", "", "--all --kernel-name --kernel-release --machine --operating-system", "none"),
    "arch": SafeUse(operands="none"),
    "hostname": SafeUse("fsid", "", "--fqdn --short", "none"),
    "nproc": SafeUse("", "", "--all", "none"),
    "uptime": SafeUse("ps", "", "--pretty --since", "none"),
    "free": SafeUse("bkmght", "", "--human --mega --giga --total", "none"),
    "tty": SafeUse("s", operands="none"),
    "which": SafeUse("a", "", "--all", "text"),
    "type": SafeUse("aptPf", operands="text"),
}

_TAKES_ANYTHING = frozenset(("echo", "true", "false"))
_VERSIONS = {
    "git": ("--version",),
    "node": ("--version", "-v"),
    "python": ("--version", "-V"),
    "python3": ("--version", "-V"),
    "bash": ("--version",),
}
_FIND_FLAGS = word_set(
    "-print -print0 -empty -not -a -o -and -or -prune -ls -quit -readable -writable -executable -depth "
    "-xdev -mount -P ! ( ) , -true -false -daystart -noleaf"
)
_FIND_VALUED = word_set(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype "
    "-type -xtype -size -mtime -mmin -atime -amin -ctime -cmin -maxdepth "
    "-mindepth -user -group -uid -gid -perm -links -inum -printf -newermt"
)
_SED_PRINT = re.compile(r"(?:\d+|\$)(?:,(?:\+?\d+|\$))?p(?:; ?(?:\d+|\$)(?:,(?:\+?\d+|\$))?p)*\Z")
_PS = frozenset(("", "aux", "-ef", "-e", "-A", "-a", "-f"))
# jq can read the environment, where keys are, and load modules.
_JQ_REACHES_OUT = re.compile(r"env|import|include|input_filename|debug|halt|\$__", re.I)


def reads(words: tuple[Word, ...]) -> tuple[Word, ...] | None:
    """The paths that the command reads, if it certainly only reads; otherwise None."""
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


def _by_table(name: str, safe: SafeUse, rest: tuple[Word, ...]) -> tuple[Word, ...] | None:
    if name in _TAKES_ANYTHING or name == "printf":
        return tuple(word for word in rest if word.kind == "glob")
    split = split_flags(safe, rest)
    if split is None:
        return None
    flags, operands = split
    if len(operands) > safe.max_operands or (safe.operands == "none" and operands):
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


def split_flags(safe: SafeUse, rest: tuple[Word, ...]) -> tuple[frozenset[str], tuple[Word, ...]] | None:
    """(flags used, operands), or None if any flag is not known to be harmless."""
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
            # `--x value` is refused: if the value is optional, the next word is an operand.
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


def _letters(safe: SafeUse, text: str) -> tuple[set[str] | None, str]:
    """The flags of `-abc`, and where the value of the last one is: "" (it has none, or it is attached) or "next"."""
    found: set[str] = set()
    for place, letter in enumerate(text):
        found.add("-" + letter)
        if letter in safe.valued:
            return found, "next" if place == len(text) - 1 else ""
        if letter not in safe.flags:
            return None, ""
    return found, ""


def _loose_globs(words: tuple[Word, ...]) -> bool:
    """Whether a pattern could expand to a flag: a file may be called `-o`, or `--pre=x`."""
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
    split = split_flags(SafeUse("uRI", "d", "--utc --iso-8601 --iso-8601= --rfc-3339= --date= --rfc-email"), rest)
    if split is None or any(not word.text.startswith("+") for word in split[1]):
        return None
    return ()
