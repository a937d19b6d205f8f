"""Which files a shell command may read or write against a deny rule or a safety check."""

from __future__ import annotations

import re

from yume_shim.gate.command_flow import MAX_PATH, follow, moves_home
from yume_shim.gate.name_changes import NameChanges
from yume_shim.gate.read_only import reads
from yume_shim.gate.searches import GREPS, SEARCHERS, recurses, searched
from yume_shim.gate.shell import Word
from yume_shim.gate.unwrap import FIND_RUNS, FINDERS, MAX_TAILS, name_of, without_git_options, written_name
from yume_shim.gate.word_set import word_set
from yume_shim.gate.writing_commands import CONTENT_WRITERS, GIT_WRITES, MAY_WRITE, WRITERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.gate.command_flow import Flow
    from yume_shim.gate.rulebook import RuleBook
    from yume_shim.gate.rules import PathPattern, Rule
    from yume_shim.gate.shell import Simple
    from yume_shim.gate.unwrap import Unwrapped
    from yume_shim.gate.workspace import Place, Workspace

NON_READERS = word_set(
    "echo printf true false ls cd pwd mkdir rmdir rm touch chmod chown stat basename dirname kill sleep type which "
    "test [ du df tree"
)
"""Commands that never show the content of the files they are given."""
READERS = word_set(
    "cat head tail less more grep egrep fgrep rg ag ack sed awk gawk cp mv tar zip sort uniq wc diff cmp comm xxd od "
    "hexdump strings base64 tac rev nl cut paste fold jq yq source . dd rsync scp tee bat vim vi nano"
)
"""Commands that show or pass on file contents: with `Read` deny rules, their files must be known."""
_FILE_ADDRESS = re.compile(r"(?i)\bfile:(.+)", re.S)
_READ_THEIR_OPERANDS = frozenset(("xargs", "parallel"))
"""Wrappers that take file names from their input."""
_WHOLE_FOLDERS = word_set("rm mv rsync shred chmod chown")
"""Commands that change all files of a folder they are given."""
RECURSIVE = word_set("rg ag ack rgrep ugrep ug tar bsdtar zip 7z rsync scp xcopy robocopy findstr ditto")


class CommandDenies:
    """What one command may do to the files that rules deny and to sensitive files."""

    def __init__(
        self, text: str, base: str, unwrapped: Callable[[], Unwrapped], book: RuleBook, space: Workspace
    ) -> None:
        """`base`: the folder in which the command starts. `unwrapped` finds everything that it runs."""
        self._text = text
        self._base = base
        self._unwrapped = unwrapped
        self._book = book
        self._space = space
        self._followed: Flow | None = None

    @property
    def _parts(self) -> tuple[Simple, ...]:
        return self._unwrapped().parts

    @property
    def _flow(self) -> Flow:
        """The folders in which the parts run, also those of scripts inside the command."""
        if self._followed is None:
            seen = self._unwrapped()
            flow = follow(seen.parts, self._space, self._base, seen.repeats, told=True)
            flow.unknown = flow.unknown or moves_home(self._text, seen.assigned, seen.parts)
            self._followed = flow
        return self._followed

    def denied_path(self) -> Rule | None:
        """The rule that denies a file the command names."""
        parts = self._parts if self._book.denies_paths() else ()
        return next((rule for rule in map(self._denied_path, parts) if rule is not None), None)

    def _denied_path(self, command: Simple) -> Rule | None:
        name, written = _names(command)
        for redirect in command.redirects:
            reads, writes = "<" in redirect.operator, ">" in redirect.operator
            rule = None if redirect.descriptor else self._denied_text(redirect.target.text, reads, writes)
            if rule is not None:
                return rule
        reads, writes = written not in NON_READERS, name in WRITERS
        for word in command.words[1:] if reads or writes else ():
            for text in file_texts(word.text):
                rule = self._denied_text(text, reads, writes)
                if rule is not None:
                    return rule
        return None

    def _denied_text(self, text: str, reads: bool, writes: bool) -> Rule | None:
        """The rule that denies reading or writing the file that a word names."""
        for place in self._readings(text) if len(text) <= MAX_PATH else ():
            rule = self._book.hides(place) if reads else None
            rule = rule or (self._book.locks(place) if writes else None)
            if rule is not None:
                return rule
        return None

    def _readings(self, text: str) -> tuple[Place, ...]:
        """Where a word may lead, also as programs of Windows read it."""
        places = self._flow.places(text)
        if not (self._space.flavour.windows or self._space.flavour.mounts):
            return places
        from yume_shim.gate.windows_words import readings

        texts = (text, *readings(text))
        # `/w/x` is `W:\x`, but a program that gets it as it is opens `C:\w\x`.
        if re.match(r"[\\/][A-Za-z][\\/]", text):
            texts = (*texts, *(base[:2] + text for base in self._flow.bases if base[1:2] == ":"))
        plain = (self._space.place(each, base) for each in texts for base in self._flow.bases)
        return (*places, *(place for each in texts[1:] for place in self._flow.places(each)), *plain)

    def _misread(self, command: Simple) -> bool:
        """Whether a word of the command may name a file in a way that cannot be compared with rules."""
        flavour = self._space.flavour
        if not (flavour.windows or flavour.mounts or flavour.name == "macos"):
            return False
        from yume_shim.gate.windows_words import unclear
        from yume_shim.text.windows_paths import FOREIGN

        texts = [redirect.target.text for redirect in command.redirects if not redirect.descriptor]
        if command.words and written_name(command.words[0]) not in NON_READERS - WRITERS:
            texts += [text for word in command.words[1:] if "://" not in word.text for text in file_texts(word.text)]
        texts = [text for text in texts if len(text) <= MAX_PATH]
        if flavour.name == "macos":
            return any(self._space.misread(place) for text in texts for place in self._flow.places(text))
        if flavour.mounts:  # programs of Windows can be started here, too
            return any(unclear(text, FOREIGN) for text in texts if "\\" in text or text.startswith("//"))
        return any(unclear(text, place.flaw) for text in texts for place in self._flow.places(text))

    def sensitive_target(self, mode: str) -> tuple[Place, str] | None:
        """The sensitive file that the command would write, and the name that makes it sensitive."""
        for command in self._parts:
            targets = [r.target.text for r in command.redirects if r.operator != "<" and not r.descriptor]
            if command.words and name_of(command.words[0]) in CONTENT_WRITERS:
                targets += [text for word in command.words[1:] for text in file_texts(word.text)]
            for text in targets:
                for place in self._flow.places(text) if len(text) <= MAX_PATH else ():
                    name = self._space.protected(place, mode)
                    if name:
                        return place, name
        return None

    def may_pass_rules(self) -> str:
        """Why the command may reach a file that a rule denies, without naming it; "" if it cannot."""
        if not self._book.denies_paths():
            return ""
        if self._unwrapped().unparsed:
            return "rules deny some files, and what this command does cannot be seen"
        if any(map(self._misread, self._parts)):
            return "rules deny some files, and this path cannot be compared with them"
        if self._book.hidden_patterns() and any(self._shows(command) for command in self._parts):
            return "rules hide some files from reading, and this may show them"
        if self._book.locked_patterns() and any(self._may_write_locked(command) for command in self._parts):
            return "rules deny writing some files, and it is not known which files this command writes"
        if self._uses_changed_names():
            return "rules deny some files, and this command moves or links names that it uses"
        return ""

    def _uses_changed_names(self) -> bool:
        """Whether a part reads or writes through a name that another part moves, links or unpacks."""
        commands = self._unwrapped().commands
        changes = NameChanges(commands, self._flow, self._space)
        if not changes:
            return False
        hides, locks = bool(self._book.hidden_patterns()), bool(self._book.locked_patterns())
        for number, command in enumerate(commands):
            words = [redirect.target for redirect in command.redirects if not redirect.descriptor]
            names = {name_of(word) for word in command.words[:MAX_TAILS]}  # its own name, or after a wrapper
            if (hides and names & READERS) or (locks and names & WRITERS):
                words += [Word(text, word.kind) for word in command.words[1:] for text in file_texts(word.text)]
            if any(changes.affect(number, word) for word in words if len(word.text) <= MAX_PATH):
                return True
        return False

    def _shows(self, command: Simple) -> bool:
        """Whether the command may show a hidden file that it does not name: through a pattern, by reading folders,
        or through a word that is known only at run time."""
        name, written = _names(command)
        sources = [redirect.target for redirect in command.redirects if "<" in redirect.operator]
        if any(source.kind != "plain" or self._flow.unknown for source in sources):
            return True
        if not name or written in NON_READERS:
            return False
        words = tuple(word for word in command.words[1:] if len(word.text) <= MAX_PATH)
        if name in _READ_THEIR_OPERANDS and any(name_of(word) in READERS for word in words):
            return True
        if name in READERS and (self._flow.unknown or any(word.kind == "dynamic" for word in words)):
            return True
        patterns = self._book.hidden_patterns()
        if any(self._overlaps(before_glob(word.text), patterns) for word in words if word.kind == "glob"):
            return True
        texts = [word.text for word in words]
        searches = name == "git" and without_git_options(tuple(texts))[:1] == ("grep",)
        deep = name in RECURSIVE or searches or (name == "git" and "--no-index" in texts)
        deep = deep or (name in READERS and any(recurses(name, text) for text in texts))
        deep = deep or (name in READERS and name not in GREPS and any(self._flow.is_folder(w.text) for w in words))
        deep = deep or (name in FINDERS and any(word.text in FIND_RUNS for word in words))
        if not deep:
            return False
        if name in SEARCHERS:
            folders = searched(name, texts) or ["."]
        else:
            given = [text for text in texts if not text.startswith("-")]
            operands = searched("git grep", texts[texts.index("grep") + 1 :]) if searches else given
            folders = operands if any(map(self._flow.exists, operands)) else ["."]
        if searches and words[0].text != "grep":  # options in front may name another folder
            folders = [*folders, ".", *(text for word in words for text in file_texts(word.text))]
        return any(self._overlaps(text, patterns) for text in folders)

    def _may_write_locked(self, command: Simple) -> bool:
        """Whether the command may change a file that it does not name and that a rule protects: through a pattern, by
        removing or moving a folder, or through a word that is known only at run time."""
        name, _ = _names(command)
        if _may_write(name, command) and any(self._names_locked(word) for word in command.words[1:]):
            return True
        if name == "sed" and self._space.flavour.name == "macos":
            from yume_shim.gate.bsd_words import differs

            if differs(command.words):
                return True
        targets = [r.target for r in command.redirects if ">" in r.operator and not r.descriptor]
        if (targets or name in WRITERS) and self._flow.unknown:
            return True
        if any(target.kind != "plain" for target in targets):
            return True
        words = tuple(word for word in command.words[1:] if len(word.text) <= MAX_PATH) if name in WRITERS else ()
        if any(word.kind == "dynamic" for word in words):
            return True
        patterns = self._book.locked_patterns()
        if any(self._overlaps(before_glob(word.text), patterns) for word in words if word.kind == "glob"):
            return True
        whole = [word.text for word in words if not word.text.startswith("-")] if name in _WHOLE_FOLDERS else []
        whole = whole[:-1] if name == "mv" else whole
        return any(self._flow.is_folder(text) and self._overlaps(text, patterns) for text in whole)

    def _names_locked(self, word: Word) -> bool:
        """Whether a word names a file that a rule protects."""
        return any(self._denied_text(text, reads=False, writes=True) is not None for text in file_texts(word.text))

    def _overlaps(self, text: str, patterns: tuple[PathPattern, ...]) -> bool:
        return any(
            pattern.overlaps(place.real) or pattern.overlaps(place.asked)
            for place in self._readings(text)
            for pattern in patterns
        )


def _names(command: Simple) -> tuple[str, str]:
    """The command's name as any system may find it, and as it was written."""
    return (name_of(command.words[0]), written_name(command.words[0])) if command.words else ("", "")


def _may_write(name: str, command: Simple) -> bool:
    """Whether a command that is no certain writer may change files that it names."""
    if name == "git":
        used = without_git_options(tuple(word.text for word in command.words[1:]))
        return used[:1] != () and used[0] in GIT_WRITES
    return name in MAY_WRITE and reads(command.words) is None


def file_texts(text: str) -> list[str]:
    """The pieces of a word that may be file names: `x`, `--file=x`, `-fx`, `if=x`, `@x`, `rev:x`."""
    found = [] if text.startswith("-") else [text]
    if text[:1] == "-" and text[1:2].isalpha() and len(text) > 2:
        found.append(text[2:])
    for mark in "=@:":
        _, sep, tail = text.partition(mark)
        if sep and tail:
            found.append(tail)
    address = _FILE_ADDRESS.search(text)
    if address is not None:
        found += _paths_of_address(address.group(1))
    return found


def _paths_of_address(rest: str) -> list[str]:
    """The path of a `file:` address, `rest` being what follows the scheme; with or without the name of a host."""
    from urllib.parse import unquote

    plain = unquote(rest).partition("?")[0].partition("#")[0]
    path = plain[2:].partition("/") if plain.startswith("//") else ("", "", "")
    return [plain, "/" + path[2]] if path[1] else [plain]


def before_glob_text(text: str) -> str:
    """The part of a pattern before its first wildcard."""
    found = re.search(r"[*?\[]", text)
    return text[: found.start()] if found else text


def before_glob(text: str) -> str:
    """The folder that a pattern searches."""
    head = before_glob_text(text)
    return head[: head.rfind("/") + 1] or "."
