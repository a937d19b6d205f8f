"""Which settings of a repository's own configuration are harmless for git commands that only read.

A repository may come from anyone, and many settings name a program (`core.fsmonitor`, `filter.*.clean`,
`diff.*.textconv`, `gpg.program`), another file (`include.path`, `mailmap.file`) or another folder (`core.worktree`).
Only what is listed here passes; the file must be written plainly, so that it means to git what it means here. Pure.
"""

from __future__ import annotations

import re

from yume_shim.gate.word_set import word_set
from yume_shim.types.value import Value

_HARMLESS_SECTIONS = word_set(
    "branch user author committer gc pack pull push fetch rebase merge mergetool difftool color column advice init gui "
    "gitk credential http url receive transfer rerere stash tag commit apply am sendemail maintenance feature fsck "
    "i18n index interactive alias add checkout clone clean svn svn-remote gitflow hub github gh instaweb imap notes "
    "revert sequencer sparse versionsort web browser man help worktree repack guitool grep submodule bugtraq gitreview"
)
"""Sections that name programs only for commands that write or use the network, or none."""
_HARMLESS_KEYS = {
    "core": word_set(
        "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf "
        "safecrlf eol quotepath whitespace abbrev compression loosecompression sparsecheckout sparsecheckoutcone "
        "splitindex untrackedcache preloadindex fscache longpaths protecthfs protectntfs trustctime checkstat editor "
        "sshcommand askpass notesref commentchar bigfilethreshold packedgitlimit packedgitwindowsize "
        "deltabasecachelimit commitgraph multipackindex warnambiguousrefs sharedrepository disambiguate hidedotfiles "
        "usereplacerefs checkroundtripencoding fsyncobjectfiles fsync fsyncmethod ignorestat"
    ),
    "extensions": word_set(
        "worktreeconfig objectformat compatobjectformat refstorage noop noop-v1 preciousobjects relativeworktrees"
    ),
    "diff": word_set(
        "algorithm renames renamelimit mnemonicprefix noprefix colormoved colormovedws context interhunkcontext "
        "wserrorhighlight indentheuristic statgraphwidth statnamewidth suppressblankempty autorefreshindex dirstat "
        "ignoresubmodules relative wordregex guitool tool xfuncname funcname binary"
    ),
    "status": word_set(
        "relativepaths short branch aheadbehind displaycommentprefix renamelimit renames showstash showuntrackedfiles"
    ),
    "log": word_set(
        "abbrevcommit date decorate excludedecoration initialdecorationset diffmerges follow graphcolors showroot "
        "mailmap"
    ),
    "blame": word_set("blankboundary coloring date showemail showroot markunblamablelines markignoredlines"),
    "gpg": word_set("format mintrustlevel allowedsignersfile"),
    "format": word_set("signoff subjectprefix numbered attach to cc outputdirectory suffix thread from"),
    "lfs": word_set(
        "repositoryformatversion url pushurl access locksverify fetchinclude fetchexclude concurrenttransfers "
        "skipdownloaderrors allowincompletepush"
    ),
}
_PROMISOR = frozenset(("promisor", "partialclonefilter"))
"""Of a remote that is asked for missing objects while a command only reads."""
_PATHS = ("core.hookspath", "core.worktree", "blame.ignorerevsfile")
_PLAIN_PATH = re.compile(r'[^#;"\\%~][^#;"\\]*|~/[^#;"\\]*')
"""A path that git reads as it is written."""
_OFF = frozenset(("false", "no", "off", "0"))

_SECTION = re.compile(r'[ \t]*\[([A-Za-z0-9-]+)(?:\.([A-Za-z0-9./-]+)|[ \t]+"((?:[^"\\]|\\["\\])*)")?\][ \t]*\Z')
_SETTING = re.compile(r"[ \t]*([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=[ \t]*(.*?))?[ \t]*\Z")
_BLANK = re.compile(r"[ \t]*(?:[#;].*)?\Z")


class OwnSettings(Value):
    """What a repository's configuration says, as far as it matters: why it must be asked about, or the values that are
    paths, which the caller examines."""

    problem: str = ""
    hooks_paths: tuple[str, ...] = ()
    worktrees: tuple[str, ...] = ()
    ignored_revisions: tuple[str, ...] = ()


def read_settings(text: str) -> OwnSettings:
    """Judge the text of a configuration file."""
    section = subsection = ""
    paths: dict[str, list[str]] = {name: [] for name in _PATHS}
    for line in text.removesuffix("\n").split("\n"):
        line = line.removesuffix("\r")
        if any(ord(char) < 32 and char != "\t" for char in line) or "\ufeff" in line:
            return OwnSettings("its configuration contains control characters")
        if _BLANK.match(line):
            continue
        head = _SECTION.match(line)
        if head:
            section, subsection = head[1].lower(), head[2] or head[3] or ""
            continue
        found = _SETTING.match(line)
        if not found or not section or line.endswith("\\"):
            return OwnSettings("its configuration is not written plainly")
        key, given = found[1].lower(), _plain(found[2])
        name = f"{section}.{key}"
        if name in paths:
            if found[2] is None or not _PLAIN_PATH.fullmatch(given):
                return OwnSettings(f"its configuration sets {name} in an unusual way")
            paths[name].append(given)
        elif not _is_harmless(section, subsection, key, given):
            return OwnSettings(f"its configuration sets {name}")
    return OwnSettings("", *(tuple(paths[name]) for name in _PATHS))


def _plain(text: str | None) -> str:
    """The value without quotes and comment, if it is simple. A setting without `=` is true."""
    if text is None:
        return "true"
    if len(text) > 1 and text[0] == text[-1] == '"' and not re.search(r'["\\]', text[1:-1]):
        return text[1:-1]
    plain: str = text if '"' in text else re.sub(r"[ \t][#;].*", "", text)
    return plain.strip()


def _is_harmless(section: str, subsection: str, key: str, given: str) -> bool:
    if section == "remote":
        return key not in _PROMISOR
    if section in _HARMLESS_SECTIONS:
        return True
    if f"{section}.{key}" == "core.fsmonitor":  # "true" is git's own daemon
        return given.lower() in ("true", "false")
    if f"{section}.{key}" in ("log.showsignature", "status.submodulesummary"):
        return given.lower() in _OFF
    if section == "lfs" and re.match(r"(?:extension|customtransfer|transfer)\b", subsection, re.I):
        return False
    return key in _HARMLESS_KEYS.get(section, ())
