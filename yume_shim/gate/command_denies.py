"""Which files a shell command may read or write against a deny rule or a safety check."""

from __future__ import annotations

import re

from yume_shim.gate.shell import Word
from yume_shim.gate.unwrap import name_of
from yume_shim.gate.word_set import word_set
from yume_shim.gate.writing_commands import CONTENT_WRITERS, WRITERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.gate.command_flow import Flow
    from yume_shim.gate.rulebook import RuleBook
    from yume_shim.gate.rules import Rule
    from yume_shim.gate.shell import Script, Simple
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
RECURSIVE = word_set("rg ag ack tar zip rsync scp")


class CommandDenies:
    """What one command may do to the files that rules deny and to sensitive files."""

    def __init__(self, script: Script, flow: Flow, book: RuleBook, space: Workspace) -> None:
        self._script = script
        self._flow = flow
        self._book = book
        self._space = space

    def denied_path(self) -> Rule | None:
        """The rule that denies a file the command names."""
        commands = self._script.commands if self._book.denies_paths() else ()
        return next((rule for rule in map(self._denied_path, commands) if rule is not None), None)

    def _denied_path(self, command: Simple) -> Rule | None:
        name = name_of(command.words[0]) if command.words else ""
        for redirect in command.redirects:
            if not redirect.descriptor:
                for place in self._flow.places(redirect.target.text):
                    rule = self._book.hides(place) if redirect.operator == "<" else self._book.locks(place)
                    if rule is not None:
                        return rule
        for word in command.words[1:]:
            for text in file_texts(word.text):
                for place in self._flow.places(text):
                    rule = None if name in NON_READERS else self._book.hides(place)
                    rule = rule or (self._book.locks(place) if name in WRITERS else None)
                    if rule is not None:
                        return rule
        return None

    def sensitive_target(self, mode: str) -> tuple[Place, str] | None:
        """The sensitive file that the command would write, and the name that makes it sensitive."""
        for command in self._script.commands:
            targets = [r.target.text for r in command.redirects if r.operator != "<" and not r.descriptor]
            if command.words and name_of(command.words[0]) in CONTENT_WRITERS:
                targets += [text for word in command.words[1:] for text in file_texts(word.text)]
            for text in targets:
                for place in self._flow.places(text):
                    name = self._space.protected(place, mode)
                    if name:
                        return place, name
        return None

    def may_show_hidden(self) -> bool:
        patterns = self._book.hidden_patterns()
        return bool(patterns) and any(self._shows(command) for command in self._script.commands)

    def _shows(self, command: Simple) -> bool:
        """Whether the command may show a hidden file that it does not name: through a pattern, by reading folders,
        or through a word that is known only at run time."""
        name = name_of(command.words[0]) if command.words else ""
        if not name or name in NON_READERS:
            return False
        words = command.words[1:]
        if name in READERS and (self._flow.unknown or any(word.kind == "dynamic" for word in words)):
            return True
        if any(self._overlaps(before_glob(word.text)) for word in words if word.kind == "glob"):
            return True
        flags = "".join(word.text[1:] for word in words if re.match(r"-[A-Za-z]+\Z", word.text))
        deep = name in RECURSIVE or (name == "git" and words[:1] == (Word("grep"),))
        deep = deep or (
            name in READERS and ("r" in flags or "R" in flags or any(w.text == "--recursive" for w in words))
        )
        deep = deep or (
            name in READERS
            and name not in ("grep", "egrep", "fgrep")
            and any(self._flow.is_folder(w.text) for w in words)
        )
        deep = deep or (name == "find" and any(word.text in ("-exec", "-execdir", "-ok", "-okdir") for word in words))
        if not deep:
            return False
        operands = [word.text for word in words if not word.text.startswith("-")]
        return self._overlaps(".") if not any(map(self._flow.exists, operands)) else any(map(self._overlaps, operands))

    def _overlaps(self, text: str) -> bool:
        return any(
            pattern.overlaps(place.real) or pattern.overlaps(place.asked)
            for place in self._flow.places(text)
            for pattern in self._book.hidden_patterns()
        )


def file_texts(text: str) -> list[str]:
    """The pieces of a word that may be file names: `x`, `--file=x`, `if=x`, `@x`, `rev:x`."""
    found = [] if text.startswith("-") else [text]
    for mark in "=@:":
        _, sep, tail = text.partition(mark)
        if sep and tail:
            found.append(tail)
    return found


def before_glob_text(text: str) -> str:
    """The part of a pattern before its first wildcard."""
    found = re.search(r"[*?\[]", text)
    return text[: found.start()] if found else text


def before_glob(text: str) -> str:
    """The folder that a pattern searches."""
    head = before_glob_text(text)
    return head[: head.rfind("/") + 1] or "."
