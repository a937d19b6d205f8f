"""Follows a shell command through its `cd`s: in which folders its parts may run, and where their words lead."""

from __future__ import annotations

import re
import time

from yume_shim.gate.shell_builtins import PLACE_VARIABLES, changes_shell
from yume_shim.gate.unwrap import WRAPPERS, name_of, shell_words
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from yume_shim.gate.shell import Simple, Word
    from yume_shim.gate.workspace import Place, Workspace

MAX_BASES = 16
"""A command that may change into more folders than this is not followed."""
MAX_PLACES = 4_096
"""Paths (words times folders) that are looked up on the disk for one command; one with more is asked about."""
MAX_PATH = 4_096
"""A longer word names no file that could be opened; a command with one is asked about where paths matter."""
MAX_JUDGE_S = 0.25
"""Processor time for the paths of one command; one that needs more is asked about."""

_MOVES = ("cd", "pushd", "popd")
_FOLDER_LETTERS = {"sudo": "D", "doas": "D", "unshare": "w", "nsenter": "w"}
"""The flag that names a folder to work in; `C` for all others (env, git, make, tar, ninja, cargo, …)."""
_FOLDER_FLAG = re.compile(
    r"(?:-[A-Za-z0-9]*?(?P<letter>[CDw])|--(?:ch[a-z]*|cd|cwd|wd|dir|workdir|prefix|(?:[a-z]+-)?directory|work-tree)"
    r"(?:=|\Z))(?P<folder>.*)\Z",
    re.S,
)
_PLACE_NAMES = re.compile(r"(?<![\w${])(?:" + "|".join(sorted(PLACE_VARIABLES)) + r")(?![\w])", re.A)


class OutOfBudgetError(Exception):
    """Judging the command would take too long."""


class Flow:
    """`bases`: every folder that the parts may run in (a `cd` can fail); `unknown`: there may be others."""

    def __init__(self, space: Workspace, bases: tuple[str, ...], unknown: bool) -> None:
        self._space = space
        self.bases = bases
        self.unknown = unknown
        self._known: dict[str, tuple[Place, ...]] = {}
        self._left = MAX_PLACES
        self._end = time.thread_time() + MAX_JUDGE_S

    def places(self, text: str) -> tuple[Place, ...]:
        """Where a word may lead: one place per folder. Raises OutOfBudgetError."""
        self.check_time()
        found = self._known.get(text)
        if found is None:
            self._left -= len(self.bases)
            if self._left < 0 or len(text) > MAX_PATH:
                raise OutOfBudgetError
            found = self._known[text] = tuple(self._space.shell_place(text, base) for base in self.bases)
        return found

    def check_time(self) -> None:
        """Raises OutOfBudgetError if judging has taken too long."""
        if time.thread_time() > self._end:
            raise OutOfBudgetError

    def is_folder(self, text: str) -> bool:
        return any(place.is_folder for place in self.places(text))

    def exists(self, text: str) -> bool:
        return any(place.exists for place in self.places(text))


def follow(
    commands: Iterable[Simple], space: Workspace, base: str, repeats: bool = False, *, told: bool = False
) -> Flow:
    """Follow the commands, which start in `base`. `repeats`: they may run several times and in another order. `told`:
    also the folders that flags name (`env -C x`, `git -C x`), as if every command worked there, too."""
    bases = [base]
    unknown = False
    for command in commands:
        words = shell_words(command.words)
        name = words[0].text if words else ""
        if name not in _MOVES:
            unknown = unknown or _may_move(words)
            for folder in _told_folders(words) if told else ():
                unknown = unknown or folder.kind != "plain"
                bases = _with_reached(bases, [space.shell_place(folder.text, known) for known in bases])
            if len(bases) > MAX_BASES:
                return Flow(space, tuple(bases[:MAX_BASES]), True)
            continue
        target = words[-1] if name == "cd" and len(words) == 2 else None
        if target is None or target.kind != "plain" or target.text.startswith("-") or repeats:
            unknown = True
            continue
        if any(variable in PLACE_VARIABLES for variable, _ in command.assigns):
            unknown = True
        reached = [space.shell_place(target.text, known) for known in bases]
        unknown = unknown or any(place.flaw for place in reached)
        bases = _with_reached(bases, reached)
        if len(bases) > MAX_BASES:
            return Flow(space, tuple(bases[:MAX_BASES]), True)
    return Flow(space, tuple(bases), unknown)


def _with_reached(bases: list[str], reached: list[Place]) -> list[str]:
    # `cd link/..`: the shell removes `link/..` from the path, unless it was told to be physical. Both may happen.
    return list(dict.fromkeys((*bases, *(place.asked for place in reached), *(place.real for place in reached))))


def _told_folders(words: tuple[Word, ...]) -> Iterator[Word]:
    """The folders that flags name, in the forms that most programs share: `-C x`, `-Cx`, `--chdir x`, `--chdir=x`."""
    letter = _FOLDER_LETTERS.get(name_of(words[0]), "C") if words else ""
    for place, word in enumerate(words[1:], 1):
        found = _FOLDER_FLAG.match(word.text) if len(word.text) <= MAX_PATH else None
        if found is None or found["letter"] not in (None, letter):
            continue
        if found["folder"]:
            yield replace(word, text=found["folder"])
        elif words[place + 1 :]:
            yield words[place + 1]


def _may_move(words: tuple[Word, ...]) -> bool:
    """Whether a command other than a plain `cd` may change the folder: one with a wrapper that is not followed."""
    name = name_of(words[0]) if words else ""
    return name in _MOVES or (name in WRAPPERS and any(name_of(word) in _MOVES for word in words))


def moves_home(text: str, assigned: frozenset[str], commands: Iterable[Simple]) -> bool:
    """Whether the command may change a variable that decides where `cd` and `~` lead."""
    if "*" in assigned:
        return True
    if not _PLACE_NAMES.search(text):
        return False
    return bool(assigned) or any(command.assigns or changes_shell(shell_words(command.words)) for command in commands)
