"""A shell command before the gate: denied by a rule, to be asked about, or allowed part by part."""

from __future__ import annotations

import re

from yume_shim.gate import wording
from yume_shim.gate.file_commands import PLANTERS, WRITERS, writes
from yume_shim.gate.names import names
from yume_shim.gate.paths import components, links_in, look
from yume_shim.gate.read_only import reads
from yume_shim.gate.rules import command_matches, escape_command, is_exact
from yume_shim.gate.shell import Word, parse
from yume_shim.gate.unwrap import name_of, strictly, unwrap
from yume_shim.types.outputs import Decision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from yume_shim.gate.file_commands import Writes
    from yume_shim.gate.rulebook import Behaviour, RuleBook
    from yume_shim.gate.rules import Rule
    from yume_shim.gate.shell import Simple
    from yume_shim.gate.unwrap import Seen
    from yume_shim.gate.workspace import Place, Workspace
    from yume_shim.types.blocks import Json
    from yume_shim.types.models import ToolSpec

MAX_BASES = 16
"""More folders than this that a command may have changed into are not followed."""

HARMLESS_VARIABLES = names(
    "LANG LANGUAGE LC_ALL LC_COLLATE LC_CTYPE LC_MESSAGES LC_NUMERIC LC_TIME TZ NO_COLOR FORCE_COLOR CLICOLOR CI "
    "NODE_ENV PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE RUST_BACKTRACE GIT_OPTIONAL_LOCKS"
)
"""Assignments in front of a command that do not change what it does to files or what it runs."""
NO_READERS = names(
    "echo printf true false ls cd pwd mkdir rmdir rm touch chmod chown stat basename dirname kill sleep type which "
    "test [ du df tree"
)
"""Commands that never show what is inside the files they are given."""
READERS = names(
    "cat head tail less more grep egrep fgrep rg ag ack sed awk gawk cp mv tar zip sort uniq wc diff cmp comm xxd od "
    "hexdump strings base64 tac rev nl cut paste fold jq yq source . dd rsync scp tee bat vim vi nano"
)
"""Commands that show or pass on what is inside: a file of theirs must be known before a read deny is satisfied."""
GOES_DEEP = names("rg ag ack tar zip rsync scp")
SUBCOMMANDS = names("git npm pnpm yarn cargo go docker kubectl pip pip3 uv gh poetry dotnet bun deno")
"""Commands whose second word says what they do: an offered rule covers that much."""
_SAFE_TARGETS = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr"))
_BARE_REPOSITORY = ("HEAD", "objects", "refs")


class CommandSubject:
    """One call of a shell tool."""

    def __init__(self, command: str, spec: ToolSpec, space: Workspace, book: RuleBook, base: str) -> None:
        self._command = command.strip()
        self._spec = spec
        self._space = space
        self._book = book
        self._script = parse(command)
        self._unwrapped: Seen | None = None
        self._bases, self._lost = self._follow_cd(base or space.cwd)
        self._outside: Place | None = None

    @property
    def _seen(self) -> Seen:
        """All that runs; looked for only when a rule asks."""
        if self._unwrapped is None:
            self._unwrapped = unwrap(self._script)
        return self._unwrapped

    def _follow_cd(self, base: str) -> tuple[tuple[str, ...], bool]:
        """Every folder the parts may run in (a `cd` may also fail), and whether that is uncertain."""
        bases = [base]
        lost = False
        for command in self._script.commands:
            if not command.words or name_of(command.words[0]) not in ("cd", "pushd", "popd"):
                continue
            target = command.words[1] if len(command.words) == 2 else None
            if target is None or target.kind != "plain" or target.text.startswith("-") or command.words[0].text != "cd":
                lost = True
                continue
            reached = [self._space.place(target.text, known).real for known in bases]
            bases = list(dict.fromkeys((*bases, *reached)))
            if len(bases) > MAX_BASES:
                return tuple(bases[:MAX_BASES]), True
        return tuple(bases), lost

    def _places(self, text: str) -> Iterator[Place]:
        for base in self._bases:
            yield self._space.place(text, base)

    # ------------------------------------------------ deny, ask

    def denied(self) -> Decision | None:
        rule = self._rule("deny")
        if rule is not None:
            text = wording.tool_denied(self._spec.name) if rule.bare else wording.command_denied(self._command)
            return Decision("deny", text, "rule", rule.text)
        for command in self._script.commands if self._book.denies_paths() else ():
            hidden = self._denied_path(command)
            if hidden is not None:
                return Decision("deny", wording.path_denied(), "rule", hidden.text)
        return None

    def _rule(self, behaviour: Behaviour) -> Rule | None:
        """The deny or ask rule that speaks about any command that runs here."""
        for entry in self._book.entries(behaviour, self._spec):
            content = entry.rule.content
            if content is None or entry.rule.bare or command_matches(content, self._command, ()):
                return entry.rule
            if any(command_matches(content, run.raw, run.words) for run in self._seen.runs):
                return entry.rule
        return None

    def _denied_path(self, command: Simple) -> Rule | None:
        name = name_of(command.words[0]) if command.words else ""
        for redirect in command.redirects:
            if not redirect.descriptor:
                for place in self._places(redirect.target.text):
                    rule = self._book.hides(place) if redirect.operator == "<" else self._book.locks(place)
                    if rule is not None:
                        return rule
        for word in command.words[1:]:
            for text in _file_texts(word.text):
                for place in self._places(text):
                    rule = None if name in NO_READERS else self._book.hides(place)
                    rule = rule or (self._book.locks(place) if name in WRITERS else None)
                    if rule is not None:
                        return rule
        return None

    def must_ask(self) -> Decision | None:
        """What must be asked about in every mode."""
        rule = self._rule("ask")
        if rule is not None:
            return self._ask(wording.rule_asks(self._spec.name), "rule", rule.text)
        content_denies = [e for e in self._book.entries("deny", self._spec) if not e.rule.bare]
        if content_denies and self._seen.opaque:
            why = "rules deny some commands, and not all that this one runs can be seen"
            return self._ask(wording.command_wanted(why, ""), "safetyCheck", why)
        planted = self._planted()
        if planted is not None:
            return self._ask(wording.sensitive(planted[0].asked, planted[1]), "safetyCheck", planted[1], planted[0])
        if self._may_show_hidden():
            why = "rules hide some files from reading, and this may show them"
            return self._ask(wording.command_wanted(why, ""), "safetyCheck", why)
        return None

    def _planted(self) -> tuple[Place, str] | None:
        """The sensitive file that this would write, with the name that makes it so."""
        for command in self._script.commands:
            targets = [r.target.text for r in command.redirects if r.operator != "<" and not r.descriptor]
            if command.words and name_of(command.words[0]) in PLANTERS:
                targets += [text for word in command.words[1:] for text in _file_texts(word.text)]
            for text in targets:
                for place in self._places(text):
                    name = self._space.protected(place)
                    if name:
                        return place, name
        return None

    def _may_show_hidden(self) -> bool:
        hiding = self._book.hiding()
        return bool(hiding) and any(self._shows(command) for command in self._script.commands)

    def _shows(self, command: Simple) -> bool:
        """Whether the command may show a hidden file that it does not name: by a pattern, by going through folders, by
        a word known only when it runs."""
        name = name_of(command.words[0]) if command.words else ""
        if not name or name in NO_READERS:
            return False
        words = command.words[1:]
        if name in READERS and (self._lost or any(word.kind == "dynamic" for word in words)):
            return True
        if any(self._overlaps(_before_glob(word.text)) for word in words if word.kind == "glob"):
            return True
        flags = "".join(word.text[1:] for word in words if re.match(r"-[A-Za-z]+\Z", word.text))
        deep = name in GOES_DEEP or (name == "git" and words[:1] == (Word("grep"),))
        deep = deep or (
            name in READERS and ("r" in flags or "R" in flags or any(w.text == "--recursive" for w in words))
        )
        deep = deep or (
            name in READERS and name not in ("grep", "egrep", "fgrep") and any(self._is_folder(w.text) for w in words)
        )
        deep = deep or (name == "find" and any(word.text in ("-exec", "-execdir", "-ok", "-okdir") for word in words))
        if not deep:
            return False
        operands = [word.text for word in words if not word.text.startswith("-")]
        return self._overlaps(".") if not any(map(self._exists, operands)) else any(map(self._overlaps, operands))

    def _overlaps(self, text: str) -> bool:
        return any(
            pattern.overlaps(place.real) or pattern.overlaps(place.asked)
            for place in self._places(text)
            for pattern in self._book.hiding()
        )

    def _is_folder(self, text: str) -> bool:
        return any(place.is_folder for place in self._places(text))

    def _exists(self, text: str) -> bool:
        return any(place.exists for place in self._places(text))

    # ------------------------------------------------ allow

    def allowed(self, mode: str, by_rules: bool, remembered_only: bool = False) -> bool:
        """Whether rules (if `by_rules`), the mode and the nature of the parts allow all of it."""
        if by_rules:
            for entry in self._book.entries("allow", self._spec, remembered_only):
                content = entry.rule.content
                if entry.rule.bare or content is None or is_exact(content, self._command):
                    return True
        return not self._script.problem and not self.unmet(mode, by_rules, remembered_only)

    def unmet(self, mode: str, by_rules: bool, remembered_only: bool = False) -> list[Simple]:
        """The parts that nothing allows."""
        if not self._script.commands:
            return [] if not self._command else list(self._script.commands)
        return [c for c in self._script.commands if not self._part(c, mode, by_rules, remembered_only)]

    def _part(self, command: Simple, mode: str, by_rules: bool, remembered_only: bool) -> bool:
        if any(name not in HARMLESS_VARIABLES or word.kind != "plain" for name, word in command.assigns):
            return False
        if not all(self._redirect_ok(r.operator, r.target, r.descriptor, mode) for r in command.redirects):
            return False
        words = strictly(command)
        if not words:
            return False
        if by_rules and self._allow_rule(command, words, remembered_only):
            return True
        if remembered_only:
            return False
        if words[0].text == "cd":
            return len(words) == 2 and not self._lost and self._readable(words[1])
        if words[0].text == "git" and (len(self._bases) > 1 or self._planted_repository()):
            return False
        paths = reads(words)
        if paths is not None:
            return not self._lost and all(self._readable(word) for word in paths if word.text != "-")
        writing = writes(words) if mode == "acceptEdits" else None
        return writing is not None and self._writing_ok(writing)

    def _allow_rule(self, command: Simple, words: tuple[Word, ...], remembered_only: bool) -> bool:
        texts = tuple(word.text for word in words)
        raw = command.raw if words == command.words else " ".join(texts)
        return any(
            command_matches(entry.rule.content or "", raw, texts)
            for entry in self._book.entries("allow", self._spec, remembered_only)
        )

    def _redirect_ok(self, operator: str, target: Word, descriptor: bool, mode: str) -> bool:
        if descriptor or (operator != "<" and target.text in _SAFE_TARGETS):
            return True
        if target.kind != "plain" or self._lost:
            return False
        if operator == "<":
            return self._readable(target)
        return mode == "acceptEdits" and all(self._writable(place) for place in self._places(target.text))

    def _readable(self, word: Word) -> bool:
        if word.kind == "glob" and "/" in word.text[len(_before_glob_text(word.text)) :]:
            return False  # a pattern for folders may lead through a link
        text = _before_glob(word.text) if word.kind == "glob" else word.text
        for place in self._places(text):
            if not self._space.inside(place):
                self._outside = self._outside or place
                return False
            if word.kind == "glob" and not self._links_stay_inside(place):
                return False
        return True

    def _links_stay_inside(self, folder: Place) -> bool:
        links = links_in(folder.real)
        return links is not None and all(self._space.inside(self._space.place(link)) for link in links)

    def _planted_repository(self) -> bool:
        """Whether git here could be made to run something by files that an edit can create: a folder that looks like
        a bare repository, or a repository of its own below the working folder."""
        space = self._space
        for base in self._bases:
            folder = space.place(base).real
            steps = len(components(folder, space.flavour)) - len(components(look(space.cwd).real, space.flavour))
            for step in range(max(steps, 0) + 1):
                if all(look(f"{folder}/{name}").exists for name in _BARE_REPOSITORY):
                    return True
                if step < steps and look(f"{folder}/.git").exists:
                    return True
                folder = look(f"{folder}/..").real
        return False

    def _writable(self, place: Place) -> bool:
        if not self._space.inside(place):
            self._outside = self._outside or place
            return False
        roots = (place.asked in self._space.folders, place.real in self._space.folders)
        return not (place.is_link or any(roots) or self._space.protected(place))

    def _writing_ok(self, writing: Writes) -> bool:
        if self._lost:
            return False
        last = writing.paths[-1].text
        for word in writing.paths:
            for place in self._places(word.text):
                into = writing.into and word is writing.paths[-1] and place.is_folder
                root = into and place.real in self._space.folders
                if not root and not self._writable(place):
                    return False
        if not writing.into:
            return True
        for word in writing.paths[:-1]:
            name = re.split(r"[/\\]", word.text.rstrip("/"))[-1]
            for place in self._places(f"{last}/{name}"):
                if self._is_folder(last) and (not self._writable(place) or (writing.whole and place.exists)):
                    return False
        return True

    # ------------------------------------------------ ask

    def ask_decision(self, mode: str) -> Decision:
        """The question, with what may be offered as an answer for next time."""
        unmet = self.unmet(mode, by_rules=True)
        target = self._open_redirect(mode)
        if self._script.problem:
            text = wording.command_wanted(self._script.problem, mode)
        elif target:
            text = wording.redirect_wanted(target)
        elif len(self._script.commands) > 1:
            text = wording.parts_wanted(tuple(part.raw or self._command for part in unmet), mode)
        else:
            text = wording.command_wanted("", mode)
        suggestions = self._offers(unmet, mode)
        place = self._outside
        if place is not None:
            suggestions = (*suggestions, wording.add_folder(wording.parent(place.asked, place.is_folder)))
        return Decision("ask", text, "other", self._script.problem, suggestions, place.asked if place else "")

    def _open_redirect(self, mode: str) -> str:
        for command in self._script.commands:
            for r in command.redirects:
                if r.operator != "<" and not self._redirect_ok(r.operator, r.target, r.descriptor, mode):
                    return r.target.text
        return ""

    def _offers(self, unmet: list[Simple], mode: str) -> tuple[Json, ...]:
        if self._script.problem or not unmet or any(part.redirects or part.assigns for part in unmet):
            return (wording.add_rule(self._spec.name, escape_command(self._command)),)
        rules = [{"toolName": self._spec.name, "ruleContent": _offer(part)} for part in unmet]
        unique = list({rule["ruleContent"]: rule for rule in rules}.values())
        offer: Json = {"type": "addRules", "rules": unique, "behavior": "allow", "destination": "localSettings"}
        edits = mode != "acceptEdits" and all(writes(part.words) is not None for part in unmet)
        return (offer, wording.accept_edits()) if edits else (offer,)

    def _ask(self, text: str, kind: str, reason: str, place: Place | None = None) -> Decision:
        return Decision("ask", text, kind, reason, (), place.asked if place else "")


def _offer(part: Simple) -> str:
    """Rule content for a part: the command and its sub-command with any arguments, or the part to the letter."""
    words = part.words
    if len(words) > 2 and words[0].text in SUBCOMMANDS and re.fullmatch(r"[a-z][a-z0-9-]*", words[1].text):
        return f"{words[0].text} {words[1].text}:*"
    return escape_command(part.raw)


def _file_texts(text: str) -> list[str]:
    """What in a word may be a file name: `x`, `--file=x`, `if=x`, `@x`, `rev:x`."""
    found = [] if text.startswith("-") else [text]
    for mark in "=@:":
        _, sep, tail = text.partition(mark)
        if sep and tail:
            found.append(tail)
    return found


def _before_glob_text(text: str) -> str:
    found = re.search(r"[*?\[]", text)
    return text[: found.start()] if found else text


def _before_glob(text: str) -> str:
    """The folder in which a pattern looks."""
    head = _before_glob_text(text)
    return head[: head.rfind("/") + 1] or "."
