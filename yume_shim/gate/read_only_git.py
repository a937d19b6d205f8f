"""git commands that only read. As in `read_only`, only flags that are known to be harmless.

`git_repository` examines the repository in which they run.
"""

from __future__ import annotations

import re

from yume_shim.gate.flags import SafeUse, split_flags

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from yume_shim.gate.flags import Operands
    from yume_shim.gate.shell import Word

_PICK = (
    "--all --branches --branches= --tags --tags= --remotes --remotes= --since: --until: --after: --before: --author: "
    "--committer: --grep: --max-count: --skip: --no-merges --merges --first-parent --reverse --topo-order "
    "--date-order --follow --left-right --cherry-pick --ancestry-path --regexp-ignore-case --invert-grep --all-match "
    "--walk-reflogs --no-walk --not --full-history --simplify-by-decoration --exclude= "
)
_SHOW = (
    "--oneline --graph --decorate --decorate= --no-decorate --format= --pretty --pretty= --abbrev-commit --abbrev= "
    "--no-abbrev-commit --date= --relative-date --source --no-notes --no-mailmap "
)
_DIFF = (
    "--stat --stat= --shortstat --numstat --dirstat --summary --name-only --name-status --patch --no-patch --raw "
    "--patch-with-stat --compact-summary --color --color= --no-color --word-diff --word-diff= --color-words "
    "--unified= --minimal --patience --histogram --find-renames --find-renames= --find-copies --diff-filter= "
    "--ignore-all-space --ignore-space-change --ignore-space-at-eol --ignore-blank-lines --no-ext-diff --no-textconv "
    "--no-renames --function-context --check --full-index --binary --no-prefix --relative --pickaxe-regex --cc "
)
_LETTERS = "pugicsEFPmwbaRzWtr"
_VALUES = "UMCB"
_NAMES = (
    "--contains --no-contains --merged --no-merged --contains: --no-contains: --merged: --no-merged: --points-at: "
    "--sort: --format: "
)


def _log(long: str, valued: str = "nSGL", operands: Operands = "paths") -> SafeUse:
    """A command that walks through revisions or compares: it does not group its flags."""
    return SafeUse(
        _LETTERS,
        valued,
        long,
        operands,
        digits=True,
        attached=valued + _VALUES,
    )


SUBCOMMANDS: Mapping[str, SafeUse] = {
    "status": SafeUse(
        "sbuvz",
        "",
        "--short --branch --porcelain --porcelain= --long --verbose --untracked-files --untracked-files= "
        "--ignored --ignored= --ahead-behind --no-ahead-behind --show-stash --column --no-column --no-renames",
        groups=True,
        words="-uno -unormal -uall",
    ),
    "log": _log(_PICK + _SHOW + _DIFF),
    "whatchanged": _log(_PICK + _SHOW + _DIFF),
    "show": _log(_SHOW + _DIFF, "SG"),
    "diff": _log(_DIFF + "--cached --staged --merge-base --exit-code --quiet", "SG"),
    "diff-tree": _log(_SHOW + _DIFF + "--no-commit-id --root", ""),
    "blame": SafeUse(
        "lsewnpfbct", "L", "--porcelain --line-porcelain --date= --show-email --show-number --root", attached="L"
    ),
    "shortlog": SafeUse("snec", "", _PICK + "--summary --numbered --email", words="-sn -ns -sne -nse -snc"),
    "rev-parse": SafeUse(
        "q",
        "",
        "--abbrev-ref --abbrev-ref= --short --short= --verify --show-toplevel --show-prefix --git-dir "
        "--absolute-git-dir --is-inside-work-tree --is-inside-git-dir --is-shallow-repository --symbolic-full-name "
        "--show-cdup --is-bare-repository --git-common-dir --quiet --all --branches --tags --symbolic --revs-only",
    ),
    "rev-list": SafeUse("", "n", _PICK + "--count --objects --oneline", digits=True, attached="n"),
    "ls-files": SafeUse(
        "cdmoiskutvz",
        "x",
        "--cached --deleted --modified --others --ignored --stage --unmerged --exclude= --directory --eol "
        "--exclude-standard --full-name --error-unmatch",
        groups=True,
    ),
    "ls-tree": SafeUse(
        "drtlz", "", "--name-only --name-status --long --full-name --full-tree --object-only", groups=True
    ),
    "describe": SafeUse(
        "", "", "--tags --all --always --long --dirty --abbrev= --exact-match --match= --exclude= --contains"
    ),
    "merge-base": SafeUse("a", "", "--all --is-ancestor --fork-point --octopus"),
    "name-rev": SafeUse("", "", "--name-only --tags --always"),
    "show-ref": SafeUse("dsq", "", "--heads --tags --head --dereference --hash --verify --quiet", groups=True),
    "for-each-ref": SafeUse("", "", _NAMES + "--count:"),
    "cat-file": SafeUse("tspe"),
    "count-objects": SafeUse("vH", operands="none", groups=True),
    "cherry": SafeUse("v", "", "--verbose"),
    "check-ignore": SafeUse("vqn", "", "--verbose --quiet --non-matching --no-index", groups=True),
    "symbolic-ref": SafeUse("q", "", "--short --quiet", max_operands=1),
    "grep": SafeUse(
        "nilLchHwvEFGPoqpWIr",
        "eABCm",
        "--line-number --ignore-case --files-with-matches --files-without-match --count --word-regexp --column "
        "--fixed-strings --extended-regexp --perl-regexp --cached --untracked --heading --break --max-depth= --and "
        "--or --not --show-function --function-context --no-color --color --color= --name-only --only-matching "
        "--max-count: --context: --after-context: --before-context: --full-name",
        digits=True,
        groups=True,
    ),
    "branch": SafeUse(
        "arvl", "", "--all --remotes --list --verbose --show-current --no-color --color " + _NAMES, "none", groups=True
    ),
    "tag": SafeUse("ln", "", "--list --column --no-column " + _NAMES, "none", digits=False, attached="n"),
    "remote": SafeUse("v", "", "--verbose", "none"),
    "reflog": SafeUse("p", "n", _PICK + _SHOW + _DIFF, "none", digits=True, attached="n"),
    "version": SafeUse("", "", "--build-options", "none"),
}
_TWO_WORDS = {
    ("stash", "list"): _log(_SHOW + _DIFF, "n", "none"),
    ("stash", "show"): SafeUse("pu", "", _DIFF, digits=False, attached="U"),
    ("worktree", "list"): SafeUse("v", "", "--porcelain --verbose", "none"),
    ("remote", "get-url"): SafeUse("", "", "--all --push", "text"),
    ("reflog", "show"): _log(_PICK + _SHOW + _DIFF, "n"),
}
_LISTS_BY = {
    "branch": frozenset(("--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at")),
    "tag": frozenset(("--list", "-l", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at")),
}
"""With one of these flags the operands are patterns; without one, a new name."""
_BEFORE = frozenset(("--no-pager", "-P", "--no-optional-locks"))
_CHECKS_SIGNATURES = re.compile(r"%[-+ ]?G|%\(\*?signature")
"""Placeholders that run a program to check a signature."""
_CONFIG_KEYS = re.compile(
    r"user\.(?:name|email)|init\.defaultbranch|core\.(?:bare|filemode|ignorecase|autocrlf|editor)"
    r"|pull\.(?:rebase|ff)|remote\.[\w/-]+\.(?:url|fetch)|branch\.[\w/-]+\.(?:remote|merge)",
    re.I,
)
"""Settings that may be shown: others may hold a password, and the user's own file is outside of the workspace."""


def git_reads(rest: tuple[Word, ...]) -> tuple[Word, ...] | None:
    """The paths that a git command reads, if it certainly only reads; otherwise None. Operands may be revisions or
    paths: all count as paths, so that nothing outside is reached (`git diff a b` compares any two files)."""
    first = next((place for place, word in enumerate(rest) if word.text not in _BEFORE), len(rest))
    rest = rest[first:]
    texts = [word.text for word in rest]
    if not texts or any(word.kind != "plain" for word in rest):
        return None
    if texts[0] == "config":
        return () if len(texts) == 3 and texts[1] == "--get" and _CONFIG_KEYS.fullmatch(texts[2]) else None
    safe, tail = _TWO_WORDS.get((texts[0], texts[1])) if len(texts) > 1 else None, rest[2:]
    if safe is None:
        safe, tail = SUBCOMMANDS.get(texts[0]), rest[1:]
    split = split_flags(safe, tail) if safe is not None else None
    if safe is None or split is None or any(_CHECKS_SIGNATURES.search(text) for text in texts):
        return None
    flags, operands = split
    if _LISTS_BY.get(texts[0], frozenset()) & flags or safe.operands == "text":
        return ()
    if len(operands) > (0 if safe.operands == "none" else safe.max_operands):
        return None
    if texts[0] == "grep" and "-e" not in flags:
        operands = operands[1:]
    return operands
