"""git commands that only read. As in `read_only`, only flags that are known to be harmless."""

from __future__ import annotations

from yume_shim.gate.read_only import SafeUse, split_flags

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

SUBCOMMANDS: Mapping[str, SafeUse] = {
    "status": SafeUse(
        "sbuvz",
        "",
        "--short --branch --porcelain --porcelain= --long --verbose --untracked-files --untracked-files= "
        "--ignored --ahead-behind --no-ahead-behind --show-stash --column --no-column --no-renames",
    ),
    "log": SafeUse("pugicsEFPm", "nSGL", _PICK + _SHOW + _DIFF, digits=True),
    "show": SafeUse("puswU0123456789", "", _SHOW + _DIFF),
    "diff": SafeUse("pubwaRzU0123456789", "SG", _DIFF + "--cached --staged --merge-base --exit-code --quiet"),
    "blame": SafeUse("lsewnpfbct", "L", "--porcelain --date= --show-email --show-number --root"),
    "shortlog": SafeUse("snec", "", _PICK + "--summary --numbered --email"),
    "rev-parse": SafeUse(
        "",
        "",
        "--abbrev-ref --short --short= --verify --show-toplevel --show-prefix --git-dir --is-inside-work-tree "
        "--symbolic-full-name --show-cdup --is-bare-repository --git-common-dir --quiet --all --branches --tags",
    ),
    "rev-list": SafeUse("", "n", _PICK + "--count --objects --oneline", digits=True),
    "ls-files": SafeUse(
        "cdmoiskutvz",
        "x",
        "--cached --deleted --modified --others --ignored --stage --unmerged --exclude= "
        "--exclude-standard --full-name --error-unmatch",
    ),
    "ls-tree": SafeUse("drtlz", "", "--name-only --name-status --long --full-name --full-tree"),
    "describe": SafeUse("", "", "--tags --all --always --long --dirty --abbrev= --exact-match --match= --contains"),
    "merge-base": SafeUse("a", "", "--all --is-ancestor --fork-point --octopus"),
    "name-rev": SafeUse("", "", "--name-only --tags --always"),
    "show-ref": SafeUse("dsq", "", "--heads --tags --head --dereference --hash --verify --quiet"),
    "for-each-ref": SafeUse("", "", "--format= --sort= --count= --contains= --merged= --no-merged= --points-at="),
    "cat-file": SafeUse("tspe"),
    "count-objects": SafeUse("vH", operands="none"),
    "grep": SafeUse(
        "nilLchHwvEFGPoqpWI",
        "eABCm",
        "--line-number --ignore-case --files-with-matches --count --word-regexp "
        "--fixed-strings --extended-regexp --perl-regexp --cached --untracked --heading --break --max-depth= --and "
        "--or --show-function --no-color --color --color= --name-only",
        digits=True,
    ),
    "branch": SafeUse(
        "arvl",
        "",
        "--all --remotes --list --verbose --show-current --no-color --color --contains= --merged= "
        "--no-merged= --sort= --format= --points-at=",
        "none",
    ),
    "tag": SafeUse("l", "", "--list --sort= --format= --contains= --points-at= --merged=", "none"),
    "remote": SafeUse("v", "", "--verbose", "none"),
}
_TWO_WORDS = {
    ("stash", "list"): SafeUse("p", "n", _SHOW + _DIFF, "none"),
    ("stash", "show"): SafeUse("pu", "", _DIFF),
    ("worktree", "list"): SafeUse("v", "", "--porcelain --verbose", "none"),
    ("remote", "get-url"): SafeUse("", "", "--all --push", "text"),
    ("reflog", "show"): SafeUse("", "n", _PICK + _SHOW + _DIFF),
}
_BEFORE = frozenset(("--no-pager", "-P", "--no-optional-locks"))


def git_reads(rest: tuple[Word, ...]) -> tuple[Word, ...] | None:
    """The paths that a git command reads, if it certainly only reads; otherwise None. Operands may be revisions or
    paths: all count as paths, so that nothing outside is reached (`git diff a b` compares any two files)."""
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
    split = split_flags(safe, tail) if safe is not None else None
    if safe is None or split is None:
        return None
    flags, operands = split
    if safe.operands == "none" and operands:
        return None
    if texts[0] == "grep" and "-e" not in flags:
        operands = operands[1:]
    if safe.operands == "text":
        return ()
    return operands
