"""What the parts of a command do to names on the disk that other parts use.

A command is judged before it runs. `mv n n3 && echo x > n3/out/new` looks harmless then: `n3` does not exist yet, so
nothing shows that `n3/out` will be a link. So a part that uses a name which another part puts there, or which leads
through a link while other parts move names about, is not known to be harmless. The order of the parts is not
considered: in pipes and background jobs they run at the same time.

Making a plain file or folder changes nothing: a path through a name that does not exist leads to the same place when
the name is a plain folder. So only what may bring or remove a link counts.
"""

from __future__ import annotations

import os
import stat

from yume_shim.gate.paths import contains, expand, tidy
from yume_shim.gate.unwrap import WRAPPERS, name_of, shell_words, without_git_options
from yume_shim.gate.word_set import word_set

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from yume_shim.gate.command_flow import Flow
    from yume_shim.gate.shell import Simple, Word
    from yume_shim.gate.workspace import Place, Workspace

MAX_SOURCE_ENTRIES = 2_000
"""A folder with more entries than this, in all, is not searched for links: it counts as having some."""
MAX_ROUNDS = 4
"""Names that are moved several times are followed this often; after that, any name may have changed."""

_ANYWHERE = word_set(
    "tar bsdtar gtar unzip cpio 7z 7za 7zr jar ar patch rsync bsdcpio pax "
    "subst mklink net mountvol junction fsutil mount umount ditto hdiutil"
)
"""Commands that make names which only their input shows, or give folders another name."""
_GIT_CHANGES = word_set(
    "am apply bisect checkout cherry-pick clone merge mv pull rebase reset restore revert stash submodule "
    "sparse-checkout switch worktree read-tree checkout-index rm clean"
)
_REMOVERS = word_set("rm rmdir unlink shred trash")
_PLACERS = word_set("mv cp ln link install gmv gcp gln")
_MAKERS = _ANYWHERE | _REMOVERS | _PLACERS | {"git"}
_WRITERS = _MAKERS | word_set("mkdir touch tee dd truncate mktemp mkfifo mknod sed split csplit curl wget")


class NameChanges:
    """The names that the parts of one command place or remove, by the place of the part in the command."""

    def __init__(self, commands: Iterable[Simple], flow: Flow, space: Workspace) -> None:
        self._flow = flow
        self._space = space
        self._words = [_maker(command.words) for command in commands]
        self._placed: list[set[str]] = [set() for _ in self._words]
        self._removing: list[bool] = [False for _ in self._words]
        self._anywhere: list[bool] = [False for _ in self._words]
        self._follow()
        self._some = any(self._placed) or any(self._removing) or any(self._anywhere)

    def __bool__(self) -> bool:
        return self._some

    def _follow(self) -> None:
        for _ in range(MAX_ROUNDS):
            before = [set(names) for names in self._placed]
            for place, words in enumerate(self._words):
                if words:
                    self._take(place, words)
            if before == self._placed:
                return
        self._anywhere = [True for _ in self._words]

    def affect(self, number: int, word: Word) -> bool:
        """Whether parts other than this one may change where its path leads."""
        self._flow.check_time()
        others = [place for place in range(len(self._words)) if place != number]
        if any(self._anywhere[place] for place in others):
            return True
        placed = {name for place in others for name in self._placed[place]}
        if not placed and not any(self._removing[place] for place in others):
            return False
        text = word.text
        if word.kind == "glob":
            text = text[: min((text.find(mark) for mark in "*?[" if mark in text), default=len(text))]
            text = text[: text.rfind("/") + 1] or "."
            folders = {form for place in self._flow.places(text) for form in (place.asked, place.real)}
            if any(os.path.dirname(name) in folders for name in placed):
                return True
        return any(self._through_link(place) for place in self._flow.places(text)) or self._passes(text, placed)

    def _passes(self, text: str, placed: set[str]) -> bool:
        """Whether any step of the path is one of the names, or below one: `name/../x` passes `name`."""
        flavour = self._space.flavour
        for base in self._flow.bases:
            full = expand(self._space.shell_text(text), base, self._space.home, flavour)
            sep = "\\" if flavour.windows else "/"
            steps = full.split(sep)
            prefixes = {tidy(sep.join(steps[: end + 1]) or "/", flavour) for end in range(len(steps))}
            forms = prefixes if ".." in steps else {tidy(full, flavour)}
            if any(contains(name, form, flavour) for name in placed for form in forms):
                return True
        return any(contains(name, place.real, flavour) for place in self._flow.places(text) for name in placed)

    def _through_link(self, place: Place) -> bool:
        """Whether the path leads through a link (other than one above the workspace)."""
        if place.real == place.asked:
            return False
        flavour = self._space.flavour
        return not any(
            contains(outer, place.asked, flavour) and place.real == tidy(inner + place.asked[len(outer) :], flavour)
            for outer in self._space.folders
            for inner in self._space.folders
        )

    # ------------------------------------------------ one part

    def _take(self, number: int, words: tuple[Word, ...]) -> None:
        self._flow.check_time()
        name = name_of(words[0])
        operands, flags = _operands(words[1:])
        unclear = any(word.kind != "plain" for word in words[1:]) or any(
            flag.startswith(("-t", "--t")) for flag in flags
        )
        git = without_git_options(tuple(word.text for word in words[1:]))[:1] if name == "git" else ()
        if name in _ANYWHERE or (git and git[0] in _GIT_CHANGES):
            self._anywhere[number] = True
        elif name in _REMOVERS:
            if unclear or not all(self._plain(text) for text in operands):
                self._removing[number] = True
        elif name in _PLACERS:
            if unclear:
                self._anywhere[number] = True
            else:
                self._place(number, name.removeprefix("g"), operands, flags)

    def _place(self, number: int, name: str, operands: list[str], flags: list[str]) -> None:
        sources, target = (operands[:-1], operands[-1]) if len(operands) > 1 else (operands, ".")
        letters = "".join(flag[1:] for flag in flags if not flag.startswith("--"))
        if name == "install":
            return
        if name == "cp" and not set(letters) & set("rRaPdsl") and not any(flag.startswith("--") for flag in flags):
            return  # copies what links lead to: a plain file
        if name in ("mv", "cp") and not set(letters) & set("sl") and all(self._plain(text) for text in sources):
            return
        self._removing[number] = name == "mv"
        names = [target, *(f"{target}/{source.rstrip('/').rsplit('/', 1)[-1]}" for source in sources)]
        for text in names if target != "." else names[1:]:
            for place in self._flow.places(text):
                self._placed[number] |= {place.asked, place.real}

    def _plain(self, text: str) -> bool:
        """Whether this is a plain file, or a folder without links, and no part places anything in it."""
        placed = set().union(*self._placed)
        flavour = self._space.flavour
        for place in self._flow.places(text):
            if place.is_link or self._through_link(place) or not _has_no_links(place.real):
                return False
            if any(contains(name, place.real, flavour) or contains(place.real, name, flavour) for name in placed):
                return False
        return True


def _maker(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The words from the command on that makes or removes names; nothing if there is none."""
    words = shell_words(words)
    if words and name_of(words[0]) in WRAPPERS:
        found = (place for place, word in enumerate(words) if name_of(word) in _MAKERS)
        words = words[next(found, len(words)) :]
    return words if words and name_of(words[0]) in _MAKERS else ()


def makes_files(command: Simple) -> bool:
    """Whether the command is known to make, move or remove files."""
    if any(redirect.operator != "<" and not redirect.descriptor for redirect in command.redirects):
        return any(not r.target.text.startswith("/dev/") for r in command.redirects if r.operator != "<")
    words = shell_words(command.words)
    return bool(words) and name_of(words[0]) in _WRITERS and name_of(words[0]) != "git"


def _operands(words: tuple[Word, ...]) -> tuple[list[str], list[str]]:
    texts = [word.text for word in words]
    end = texts.index("--") if "--" in texts else len(texts)
    flags = [text for text in texts[:end] if text.startswith("-") and text != "-"]
    return [text for text in texts[:end] if text not in flags] + texts[end + 1 :], flags


def _has_no_links(path: str) -> bool:
    """Whether a path is a file, or a folder with no link below it. A missing one may be anything by then."""
    try:
        mode = os.lstat(path).st_mode
        if not stat.S_ISDIR(mode):
            return stat.S_ISREG(mode)
        waiting, seen = [path], 0
        while waiting:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    seen += 1
                    if seen > MAX_SOURCE_ENTRIES or entry.is_symlink():
                        return False
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
    except (OSError, ValueError):
        return False
    return True
