"""Judges a shell command: denied by a rule, to be asked about, or allowed part by part."""

from __future__ import annotations

import os
import re

from yume_shim.gate import wording
from yume_shim.gate.command_denies import CommandDenies, before_glob, before_glob_text
from yume_shim.gate.command_flow import OutOfBudgetError, follow
from yume_shim.gate.folders import base_name, has_flag_like_names, names_below
from yume_shim.gate.name_changes import NameChanges, makes_files
from yume_shim.gate.paths import links_in
from yume_shim.gate.read_only import NO_FILES, is_loose_glob, reads
from yume_shim.gate.rules import command_matches, escape_command, is_exact, joined
from yume_shim.gate.shell import parse
from yume_shim.gate.shell_builtins import changes_shell, harmless_assignment, hides_code, printf_assigns
from yume_shim.gate.unwrap import cmd_reads, unwrap, without_wrappers, written_name
from yume_shim.gate.word_set import word_set
from yume_shim.gate.workspace import Place
from yume_shim.gate.writing_commands import writes
from yume_shim.types.outputs import Decision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.gate.rulebook import Behaviour, RuleBook
    from yume_shim.gate.rules import Rule
    from yume_shim.gate.shell import Simple, Word
    from yume_shim.gate.unwrap import Unwrapped
    from yume_shim.gate.workspace import Workspace
    from yume_shim.gate.writing_commands import Writes
    from yume_shim.types.models import ToolSpec
    from yume_shim.types.permission_records import PermissionUpdate

SUBCOMMANDS = word_set("git npm pnpm yarn cargo go docker kubectl pip pip3 uv gh poetry dotnet bun deno")
"""Commands whose second word says what they do: a suggested rule covers both words."""
_SAFE_TARGETS = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr"))


class CommandCall:
    """One call of a shell tool."""

    def __init__(self, command: str, spec: ToolSpec, space: Workspace, book: RuleBook, base: str) -> None:
        self._command = command.strip()
        self._spec = spec
        self._space = space
        self._book = book
        self._script = parse(command)
        self._computed: Unwrapped | None = None
        base = base or space.cwd
        self._flow = follow(self._script.commands, space, base)
        self._denies = CommandDenies(self._command, base, lambda: self._unwrapped, book, space)
        self._changed: NameChanges | None = None
        self._too_much = False
        self._outside: Place | None = None
        self._why = ""
        self.by_rule = False
        """Set by `allowed`: a rule allows the command or one of its parts."""
        self.targets: list[Place] = []
        """Set by `allowed`: what the command was judged to change."""

    @property
    def _unwrapped(self) -> Unwrapped:
        """Everything that runs; computed only if a rule needs it."""
        if self._computed is None:
            self._computed = unwrap(self._script)
        return self._computed

    @property
    def text(self) -> str:
        return self._command

    @property
    def programs(self) -> tuple[str, ...]:
        """The names of the commands that it runs."""
        unwrapped = (without_wrappers(command) for command in self._script.commands)
        return tuple(dict.fromkeys(written_name(words[0]) for words in unwrapped if words))

    # ------------------------------------------------ deny, ask

    def denied(self) -> Decision | None:
        try:
            return self._denied()
        except OutOfBudgetError:
            self._too_much = True
            return None

    def _denied(self) -> Decision | None:
        rule = self._rule("deny")
        if rule is not None:
            text = wording.tool_denied(self._spec.name) if rule.bare else wording.command_denied(self._command)
            return Decision("deny", text, "rule", rule.text)
        hidden = self._denies.denied_path()
        return Decision("deny", wording.path_denied(), "rule", hidden.text) if hidden is not None else None

    def _rule(self, behaviour: Behaviour) -> Rule | None:
        """The deny or ask rule that covers any command that runs here."""
        for entry in self._book.entries(behaviour, self._spec):
            content = entry.rule.content
            if content is None or entry.rule.bare or command_matches(content, self._command, ()):
                return entry.rule
            if any(command_matches(content, run.raw, run.words) for run in self._unwrapped.runs):
                return entry.rule
            self._flow.check_time()
        return None

    def must_ask(self, mode: str) -> Decision | None:
        """The question, if this command needs one whatever the mode and the rules allow."""
        found: Decision | None = None
        try:
            found = None if self._too_much else self._must_ask(mode)
        except OutOfBudgetError:
            self._too_much = True
        if self._too_much:
            why = "it is too long or too complex to be judged"
            return self._ask(wording.command_approval(why, ""), "safetyCheck", why)
        return found

    def _must_ask(self, mode: str) -> Decision | None:
        rule = self._rule("ask")
        if rule is not None:
            return self._ask(wording.rule_asks(self._spec.name), "rule", rule.text)
        content_denies = [e for e in self._book.entries("deny", self._spec) if not e.rule.bare]
        if content_denies and self._unwrapped.opaque:
            why = "rules deny some commands, and this one may run commands that cannot be seen"
            return self._ask(wording.command_approval(why, ""), "safetyCheck", why)
        target = self._denies.sensitive_target(mode)
        if target is not None:
            return self._ask(wording.sensitive_file(target[0].asked, target[1]), "safetyCheck", target[1], target[0])
        why = self._denies.may_pass_rules()
        return self._ask(wording.command_approval(why, ""), "safetyCheck", why) if why else None

    # ------------------------------------------------ allow

    def allowed(self, mode: str, remembered_only: bool = False) -> bool:
        """Whether every part is allowed, by a rule, by the mode, or because it only reads."""
        for entry in self._book.entries("allow", self._spec, remembered_only):
            content = entry.rule.content
            if entry.rule.bare or content is None or is_exact(content, self._command):
                self.by_rule = True
                return True
        try:
            return not self._script.problem and not self.not_allowed(mode, remembered_only)
        except OutOfBudgetError:
            self._too_much = True
            return False

    def not_allowed(self, mode: str, remembered_only: bool = False) -> list[Simple]:
        """The parts that nothing allows."""
        if not self._script.commands:
            return [] if not self._command else list(self._script.commands)
        return [
            command
            for number, command in enumerate(self._script.commands)
            if not self._part_allowed(number, command, mode, remembered_only)
        ]

    def _part_allowed(self, number: int, command: Simple, mode: str, remembered_only: bool) -> bool:
        self._flow.check_time()
        if not all(harmless_assignment(name, word) for name, word in command.assigns):
            return False
        if not all(self._redirect_allowed(r.operator, r.target, r.descriptor, mode) for r in command.redirects):
            return False
        words = without_wrappers(command)
        if not words or self._changes_others(words) or self._changed_by_others(number, command, ()):
            return False
        if self._allow_rule(command, words, remembered_only):
            self.by_rule = True
            return True
        if remembered_only or self._space.rules_only:
            return False
        if words[0].text == "cd":
            if len(words) != 2 or self._flow.unknown or self._changed_by_others(number, command, words[1:]):
                return False
            return self._readable(words[1])
        if self._space.flavour.name == "macos" and self._differs(words):
            return False
        paths = reads(words)
        if paths is not None and words[0].text == "git":
            self._why = self._repository_problem()
            if self._why:
                return False
        if paths is not None:
            if self._flow.unknown or self._changed_by_others(number, command, paths):
                return False
            return all(self._readable(word) for word in paths if word.text not in NO_FILES)
        writing = writes(words) if mode == "acceptEdits" else None
        if writing is None or self._changed_by_others(number, command, writing.paths):
            return False
        return self._writing_allowed(writing)

    def _differs(self, words: tuple[Word, ...]) -> bool:
        from yume_shim.gate.bsd_words import differs

        return differs(words)

    def _changes_others(self, words: tuple[Word, ...]) -> bool:
        """Whether this part assigns variables or changes the shell otherwise: what the other parts do is not known
        then. A subscript with commands in it makes even a single part unknown."""
        if hides_code(words) or (words[0].text == "printf" and printf_assigns(words[1:])):
            return True
        return len(self._script.commands) > 1 and changes_shell(words)

    def _changed_by_others(self, number: int, command: Simple, paths: tuple[Word, ...]) -> bool:
        """Whether other parts move, link or unpack names that these paths, or the redirects, lead through."""
        if len(self._script.commands) == 1:
            return False
        if self._changed is None:
            self._changed = NameChanges(self._script.commands, self._flow, self._space)
        if not self._changed:
            return False
        targets = (redirect.target for redirect in command.redirects if not redirect.descriptor)
        return any(self._changed.affect(number, word) for word in (*paths, *targets))

    def _allow_rule(self, command: Simple, words: tuple[Word, ...], remembered_only: bool) -> bool:
        texts = tuple(word.text for word in words)
        if cmd_reads(words) and (self._space.flavour.windows or self._space.flavour.mounts):
            return False
        raw = command.raw if words == command.words else joined(texts)
        return any(
            command_matches(entry.rule.content or "", raw, texts)
            for entry in self._book.entries("allow", self._spec, remembered_only)
        )

    def _redirect_allowed(self, operator: str, target: Word, descriptor: bool, mode: str) -> bool:
        if descriptor or (operator != "<" and target.text in _SAFE_TARGETS):
            return True
        if target.kind != "plain" or self._flow.unknown:
            return False
        if operator == "<":
            return self._readable(target)
        return mode == "acceptEdits" and all(self._writable(place) for place in self._flow.places(target.text))

    def _readable(self, word: Word) -> bool:
        if word.kind == "glob" and "/" in word.text[len(before_glob_text(word.text)) :].rstrip("/"):
            return False  # a pattern for folders may match a link
        text = before_glob(word.text) if word.kind == "glob" else word.text
        for place in self._flow.places(text):
            if not self._space.inside(place):
                self._outside = self._outside or place
                return False
            if word.kind == "glob" and not self._links_stay_inside(place):
                return False
            if is_loose_glob(word) and has_flag_like_names(place.real):
                return False
        return True

    def _links_stay_inside(self, folder: Place) -> bool:
        if not self._space.resolve(folder.real).is_folder:
            return True
        links = links_in(folder.real)
        return links is not None and all(self._space.inside(self._space.place(link)) for link in links)

    def _repository_problem(self) -> str:
        """Why git must be asked about here. Another part of the command may be the edit that plants a repository."""
        from yume_shim.gate.git_repository import repository_problem

        base, *others = self._flow.bases
        if others:
            return "it may run in several folders"
        if any(map(makes_files, self._script.commands)) and not self._space.resolve(f"{base}/.git").exists:
            return "the same command makes files"
        return repository_problem(base, self._space)

    def _writable(self, place: Place) -> bool:
        if not self._space.inside(place):
            self._outside = self._outside or place
            return False
        self.targets.append(place)
        roots = (place.asked in self._space.folders, place.real in self._space.folders)
        return not (place.is_link or place.has_other_names or any(roots) or self._space.protected(place))

    def _writing_allowed(self, writing: Writes) -> bool:
        if self._flow.unknown:
            return False
        *sources, last = (word.text for word in writing.paths)
        for text in (*sources, last):
            for place in self._flow.places(text):
                if writing.into and text == last and place.is_folder and place.real in self._space.folders:
                    self.targets.append(place)
                elif not self._writable(place):
                    return False
        into = writing.into and self._flow.is_folder(last)
        if writing.exact and (len(sources) != 1 or self._flow.is_folder(last)):
            return False  # the two folders are merged: any file below may be replaced
        for text in sources if writing.into or writing.exact else ():
            target = f"{last}/{base_name(text, self._space.flavour)}" if into else last
            for place in self._flow.places(target):
                if into and (not self._writable(place) or place.is_folder or (writing.whole and place.exists)):
                    return False
                if any(not self._movable(source, place) for source in self._flow.places(text)):
                    return False
        return True

    def _movable(self, source: Place, target: Place) -> bool:
        """Whether nothing gets a protected name when a folder is copied or moved to a new place."""
        names = names_below(source.real) if source.is_folder else []
        if names is None:
            return False
        made = (os.path.join(target.real, name) for name in names)
        return not any(self._space.protected(Place(path, path)) for path in made)

    # ------------------------------------------------ ask

    def ask_decision(self, mode: str) -> Decision:
        """The question, with the permission updates that the host may offer the user."""
        try:
            not_allowed, target = self.not_allowed(mode), self._forbidden_redirect(mode)
        except OutOfBudgetError:
            not_allowed, target = list(self._script.commands), ""
        if self._script.problem:
            text = wording.command_approval(self._script.problem, mode)
        elif target:
            text = wording.redirect_approval(target)
        elif len(self._script.commands) > 1:
            text = wording.parts_approval(tuple(part.raw or self._command for part in not_allowed), mode)
        else:
            text = wording.command_approval(self._why, mode)
        suggestions = self._suggestions(not_allowed, mode)
        place = self._outside
        if place is not None:
            suggestions = (*suggestions, wording.add_folder(wording.parent(place.asked, place.is_folder)))
        return Decision(
            "ask", text, "other", self._script.problem or self._why, suggestions, place.asked if place else ""
        )

    def _forbidden_redirect(self, mode: str) -> str:
        for command in self._script.commands:
            for r in command.redirects:
                if r.operator != "<" and not self._redirect_allowed(r.operator, r.target, r.descriptor, mode):
                    return r.target.text
        return ""

    def _suggestions(self, not_allowed: list[Simple], mode: str) -> tuple[PermissionUpdate, ...]:
        if self._script.problem or not not_allowed or any(part.redirects or part.assigns for part in not_allowed):
            return (wording.add_rule(self._spec.name, escape_command(self._command)),)
        unique = dict.fromkeys(_suggested_rule(part) for part in not_allowed)
        offer = wording.add_rule(self._spec.name, *unique)
        edits = mode != "acceptEdits" and all(writes(part.words) is not None for part in not_allowed)
        return (offer, wording.accept_edits()) if edits else (offer,)

    def _ask(self, text: str, kind: str, reason: str, place: Place | None = None) -> Decision:
        return Decision("ask", text, kind, reason, (), place.asked if place else "")


def _suggested_rule(part: Simple) -> str:
    """Rule content for a part: command and sub-command with any arguments, or exactly this part."""
    words = part.words
    if len(words) > 2 and words[0].text in SUBCOMMANDS and re.fullmatch(r"[a-z][a-z0-9-]*", words[1].text):
        return f"{words[0].text} {words[1].text}:*"
    return escape_command(part.raw)
