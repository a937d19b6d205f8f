"""git commands that only read. Same rule as `read_only`: only flags known to be harmless."""

from __future__ import annotations

from yume_shim.gate.read_only import Safe, sort_out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from yume_shim.gate.shell import Word

_PICK = (
    "--all --branches --tags --remotes --since= --until= --after= --before= --author= --committer= --grep= "
    "--max-count= --skip= --no-merges --merges --first-parent --reverse --topo-order --date-order --follow "
    "--left-right --cherry-pick --ancestry-path --regexp-ignore-case --invert-grep --all-match "
)
_SHOW = (
    "--oneline --graph --decorate --decorate= --no-decorate --format= --pretty --pretty= --abbrev-commit --abbrev= "
    "--no-abbrev-commit --date= --relative-date --show-signature --source "
)
_DIFF = (
    "--stat --stat= --shortstat --numstat --dirstat --summary --name-only --name-status --patch --no-patch --raw "
    "--patch-with-stat --color --color= --no-color --word-diff --word-diff= --unified= --minimal --patience "
    "--histogram --find-renames --find-renames= --find-copies --diff-filter= --ignore-all-space --ignore-space-change "
    "--ignore-blank-lines --no-ext-diff --no-textconv --no-renames --function-context --check --full-index --binary "
)

SUBCOMMANDS: Mapping[str, Safe] = {
    "status": Safe(
        "sbuvz",
        "",
        "--short --branch --porcelain --porcelain= --long --verbose --untracked-files --untracked-files= "
        "--ignored --ahead-behind --no-ahead-behind --show-stash --column --no-column --no-renames",
    ),
    "log": Safe("pugicsEFPm", "nSGL", _PICK + _SHOW + _DIFF, digits=True),
    "show": Safe("puswU0123456789", "", _SHOW + _DIFF),
    "diff": Safe("pubwaRzU0123456789", "SG", _DIFF + "--cached --staged --merge-base --exit-code --quiet"),
    "blame": Safe("lsewnpfbct", "L", "--porcelain --date= --show-email --show-number --root"),
    "shortlog": Safe("snec", "", _PICK + "--summary --numbered --email"),
    "rev-parse": Safe(
        "",
        "",
        "--abbrev-ref --short --short= --verify --show-toplevel --show-prefix --git-dir --is-inside-work-tree "
        "--symbolic-full-name --show-cdup --is-bare-repository --git-common-dir --quiet --all --branches --tags",
    ),
    "rev-list": Safe("", "n", _PICK + "--count --objects --oneline", digits=True),
    "ls-files": Safe(
        "cdmoiskutvz",
        "x",
        "--cached --deleted --modified --others --ignored --stage --unmerged --exclude= "
        "--exclude-standard --full-name --error-unmatch",
    ),
    "ls-tree": Safe("drtlz", "", "--name-only --name-status --long --full-name --full-tree"),
    "describe": Safe("", "", "--tags --all --always --long --dirty --abbrev= --exact-match --match= --contains"),
    "merge-base": Safe("a", "", "--all --is-ancestor --fork-point --octopus"),
    "name-rev": Safe("", "", "--name-only --tags --always"),
    "show-ref": Safe("dsq", "", "--heads --tags --head --dereference --hash --verify --quiet"),
    "for-each-ref": Safe("", "", "--format= --sort= --count= --contains= --merged= --no-merged= --points-at="),
    "cat-file": Safe("tspe"),
    "count-objects": Safe("vH", operands="none"),
    "grep": Safe(
        "nilLchHwvEFGPoqpWI",
        "eABCm",
        "--line-number --ignore-case --files-with-matches --count --word-regexp "
        "--fixed-strings --extended-regexp --perl-regexp --cached --untracked --heading --break --max-depth= --and "
        "--or --show-function --no-color --color --color= --name-only",
        digits=True,
    ),
    "branch": Safe(
        "arvl",
        "",
        "--all --remotes --list --verbose --show-current --no-color --color --contains= --merged= "
        "--no-merged= --sort= --format= --points-at=",
        "none",
    ),
    "tag": Safe("l", "", "--list --sort= --format= --contains= --points-at= --merged=", "none"),
    "remote": Safe("v", "", "--verbose", "none"),
}
_TWO_WORDS = {
    ("stash", "list"): Safe("p", "n", _SHOW + _DIFF, "none"),
    ("stash", "show"): Safe("pu", "", _DIFF),
    ("worktree", "list"): Safe("v", "", "--porcelain --verbose", "none"),
    ("remote", "get-url"): Safe("", "", "--all --push", "text"),
    ("reflog", "show"): Safe("", "n", _PICK + _SHOW + _DIFF),
}
_BEFORE = frozenset(("--no-pager", "-P", "--no-optional-locks"))


def git_reads(rest: tuple[Word, ...]) -> tuple[Word, ...] | None:
    """What a git command reads, if reading is all it does. Operands may be revisions or paths: both are handed back as
    paths, `rev:path` also by its path, so that nothing outside is reached (`git diff a b` compares any two files)."""
    first = next((place for place, word in enumerate(rest) if word.text not in _BEFORE), len(rest))
    rest = rest[first:]
    texts = [word.text for word in rest]
    if not texts or any(word.kind != "plain" for word in rest):
        return None
    if texts == ["reflog"]:
        return ()
    safe, tail = _TWO_WORDS.get((texts[0], texts[1])) if len(texts) > 1 else None, rest[2:]
    if safe is None:
        safe, tail = SUBCOMMANDS.get(texts[0]), rest[1:]
    sorted_out = sort_out(safe, tail) if safe is not None else None
    if safe is None or sorted_out is None:
        return None
    flags, operands = sorted_out
    if safe.operands == "none" and operands:
        return None
    if texts[0] == "grep" and "-e" not in flags:
        operands = operands[1:]
    if safe.operands == "text":
        return ()
    return operands
