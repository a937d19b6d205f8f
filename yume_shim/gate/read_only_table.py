"""The harmless uses of commands that only read: for each command, the flags that are known to be harmless."""

from __future__ import annotations

from yume_shim.gate.flags import SafeUse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from yume_shim.gate.flags import Operands


def _getopt(
    flags: str = "",
    valued: str = "",
    long: str = "",
    operands: Operands = "paths",
    max_operands: int = 1_000_000,
    digits: bool = False,
    globs: bool = False,
    attached: str = "",
) -> SafeUse:
    """A program that reads its flags with getopt: they can be grouped, and values attached."""
    return SafeUse(flags, valued, long, operands, max_operands, digits, globs, True, attached)


_SUM = _getopt("bt", globs=True)
_GREP = _getopt(
    "EFGPivwxcoqsnHhabLlzrIU",
    "eABCm",
    "--extended-regexp --fixed-strings --perl-regexp --ignore-case --invert-match --word-regexp --line-regexp --count "
    "--color --color= --colour= --only-matching --quiet --no-messages --line-number --with-filename --no-filename "
    "--text --files-with-matches --files-without-match --recursive --include: --exclude: --exclude-dir: --max-count: "
    "--context= --after-context: --before-context: --regexp: --null --line-buffered --binary-files:",
    "pattern",
    digits=True,
    globs=True,
)
_RG = _getopt(
    "ivwxcoqsnNHIlFPUSu.0p",
    "egtTABCmrdj",
    "--files --hidden --no-hidden --no-ignore --no-ignore-vcs --glob: --iglob: --type: --type-not: --count "
    "--count-matches --json --line-number --no-line-number --ignore-case --smart-case --case-sensitive --fixed-strings "
    "--files-with-matches --files-without-match --max-count: --context: --after-context: --before-context: "
    "--no-heading --heading --color: --sort: --sortr: --stats --multiline --multiline-dotall --only-matching "
    "--max-depth: --invert-match --pcre2 --word-regexp --line-regexp --replace: --regexp: --no-messages "
    "--with-filename --no-filename --column --no-column --trim --vimgrep --text --type-list --version --max-columns: "
    "--max-filesize: --quiet --null --pretty --threads: --no-config --unrestricted --passthru --crlf --one-file-system",
    "pattern",
)

COMMANDS: Mapping[str, SafeUse] = {
    "ls": _getopt(
        "aAbBcCdfFgGhiklmnopqQrRsStuUvxXZ1N",
        "wTI",
        "--all --almost-all --color --color= --directory --full-time --group-directories-first --human-readable "
        "--inode --recursive --reverse --size --sort= --time= --time-style= --ignore= --hide= --classify --no-group",
        globs=True,
    ),
    "cat": _getopt(
        "AbeEnstTuv", "", "--number --number-nonblank --show-all --show-ends --show-tabs --squeeze-blank", globs=True
    ),
    "head": _getopt("qvz", "nc", "--lines: --bytes: --quiet --verbose", digits=True, globs=True),
    "tail": _getopt("qvzr", "nc", "--lines: --bytes: --quiet --verbose", digits=True, globs=True),
    "wc": _getopt("clmwL", "", "--bytes --chars --lines --words --max-line-length", globs=True),
    "grep": _GREP,
    "egrep": _GREP,
    "fgrep": _GREP,
    "rg": _RG,
    "sort": _getopt(
        "bdfghiMnRrVucsz",
        "kt",
        "--reverse --unique --numeric-sort --human-numeric-sort --version-sort --general-numeric-sort --ignore-case "
        "--ignore-leading-blanks --stable --check --key: --field-separator:",
    ),
    "uniq": _getopt("cdDiuz", "fsw", "--count --repeated --unique --ignore-case", max_operands=1),
    "cut": _getopt("sz", "dfbc", "--delimiter: --fields: --bytes: --characters: --complement --output-delimiter:"),
    "tr": _getopt("cCdst", "", "--complement --delete --squeeze-repeats --truncate-set1", "text"),
    "nl": _getopt("p", "bnwsvi", "--body-numbering: --number-width:"),
    "tac": _getopt(),
    "rev": _getopt(),
    "fold": _getopt("bs", "w", "--width: --spaces"),
    "expand": _getopt("i", "t", max_operands=1),  # that of Windows copies the first file to the second
    "unexpand": _getopt("a", "t"),
    "fmt": _getopt("stuc", "w"),
    "paste": _getopt("sz", "d", "--delimiters: --serial"),
    "column": _getopt("tx", "sc", "--table --separator:"),
    "comm": _getopt("123z", max_operands=2),
    "join": _getopt("i", "12tao", max_operands=2),
    "cmp": _getopt("bls", "n", max_operands=2),
    "diff": _getopt(
        "uNqyBbwiaEZstdpTe",
        "UCWIFx",
        "--unified --unified= --brief --side-by-side --ignore-all-space --ignore-space-change --ignore-blank-lines "
        "--ignore-case --color --color= --stat --width= --suppress-common-lines --report-identical-files --text "
        "--minimal",
        max_operands=2,
    ),
    "od": _getopt("bcdoxv", "ANjt"),
    "hexdump": _getopt("Cbcdovx", "ns"),
    "xxd": SafeUse("pubie", "lscg", max_operands=1, attached="lscg"),
    "strings": _getopt("a", "nt", "--bytes: --all", digits=True),
    "base64": _getopt("dDi", "w", "--decode --wrap:", max_operands=1),
    "base32": _getopt("di", "w", "--decode --wrap:", max_operands=1),
    "md5sum": _SUM,
    "sha1sum": _SUM,
    "sha224sum": _SUM,
    "sha256sum": _SUM,
    "sha384sum": _SUM,
    "sha512sum": _SUM,
    "b2sum": _SUM,
    "cksum": _getopt(globs=True),
    "file": _getopt("bikh", "", "--brief --mime --mime-type --mime-encoding --no-dereference", globs=True),
    "stat": _getopt("Ltf", "c", "--format: --printf: --terse --dereference --file-system", globs=True),
    "du": _getopt(
        "abchkmsxS0",
        "d",
        "--all --human-readable --summarize --total --max-depth: --apparent-size --exclude: --one-file-system --bytes",
    ),
    "df": _getopt("ahikPT", "", "--human-readable --inodes --total"),
    "tree": SafeUse(
        "adfpsughDFiCnrtvN",
        "LIP",
        "--dirsfirst --gitignore --noreport --filelimit= --prune --du --si",
    ),
    "realpath": _getopt("emqsz", "", "--relative-to= --relative-base= --no-symlinks --canonicalize-missing"),
    "readlink": _getopt("efmnqsvz", "", "--canonicalize"),
    "basename": _getopt("az", "s", "--multiple --suffix: --zero", "text"),
    "dirname": _getopt("z", "", "--zero", "text"),
    "jq": _getopt(
        "rcnsSeMCajR",
        "",
        "--raw-output --compact-output --null-input --slurp --sort-keys --exit-status --monochrome-output "
        "--color-output --ascii-output --join-output --tab --raw-input --seq --stream --indent: --arg:: --argjson::",
        "filter",
    ),
    "echo": SafeUse(operands="text"),
    "true": SafeUse(operands="text"),
    "false": SafeUse(operands="text"),
    "printf": SafeUse(operands="text"),
    "seq": _getopt("w", "sf", "--equal-width --separator:", "text", digits=True),
    "sleep": SafeUse(operands="text", max_operands=1),
    "pwd": _getopt("LP", operands="none"),
    "whoami": SafeUse(operands="none"),
    "id": _getopt("unGgrz", "", "--user --name --group --groups", "text", max_operands=1),
    "groups": SafeUse(operands="none"),
    "uname": _getopt("asnrvmpio", "", "--all --kernel-name --kernel-release --machine --operating-system", "none"),
    "arch": SafeUse(operands="none"),
    "hostname": SafeUse("s", "", "--short", "none"),
    "nproc": SafeUse("", "", "--all", "none"),
    "uptime": _getopt("ps", "", "--pretty --since", "none"),
    "free": _getopt("bkmght", "", "--human --mega --giga --total", "none"),
    "tty": SafeUse("s", operands="none"),
    "which": _getopt("a", "", "--all", "text"),
    "type": _getopt("aptPf", operands="text"),
}
