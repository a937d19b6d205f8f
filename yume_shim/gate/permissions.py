"""The gate: decides whether a call may run, by mode, rules, paths and what a command does.

The order never changes. First, a call that a rule denies is denied in every mode. Second, a call that a rule or a
safety check wants confirmed is asked about in every mode. Only then can the mode, an allow rule, or the harmlessness of
the call allow it.
"""

from __future__ import annotations

import threading

from yume_shim.gate import wording
from yume_shim.gate.paths import native, resolve
from yume_shim.gate.workspace import Workspace
from yume_shim.types.errors import BadInvocation, BadLine
from yume_shim.types.outputs import Decision
from yume_shim.types.settings import AUTO_MODE, CLAUDE_MODES, FLAT_MODES, MODE_ALIASES
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.disk.resolve import Resolved
    from yume_shim.gate.command_calls import CommandCall
    from yume_shim.gate.file_calls import FileCall
    from yume_shim.gate.hidden_files import HiddenFiles
    from yume_shim.gate.other_calls import OtherCall
    from yume_shim.gate.paths import Flavour
    from yume_shim.gate.rulebook import RuleBook
    from yume_shim.gate.rules import Rule
    from yume_shim.types.blocks import Json, ToolCall
    from yume_shim.types.confinement import Confinement
    from yume_shim.types.models import ToolSpec
    from yume_shim.types.ports import Confiner
    from yume_shim.types.settings import Settings

MODES = (*CLAUDE_MODES, AUTO_MODE)
FILE_KINDS = ("read", "edit", "search")


class Permissions:
    """Implements `types.ports.Gate`.

    `decide` runs on the threads of loops (the session's and children's), `apply` on those of tool calls, `set_mode`
    also on the stdin reader's. The lock guards changes of rules and folders. `decide` takes no lock: it reads the mode,
    the lists of rules and the tuples of folders, which are replaced as a whole.
    """

    def __init__(
        self,
        settings: Settings,
        cwd: str,
        home: str,
        flat: bool,
        log: Callable[[str, str], None],
        shell_cwd: Callable[[], str] | None = None,
        flavour: Flavour | None = None,
        confiner: Confiner | None = None,
        *,
        shell: str = "",
        resolver: Callable[[str], Resolved] = resolve,
    ) -> None:
        """`flat`: the modes of the flat dialect. `shell_cwd` returns the shell's current folder, if it can change.
        `confiner` says what the system can enforce; without one it is taken to enforce everything (the tool refuses a
        command that it cannot confine). `shell`, `resolver`: as in `workspace.Workspace`."""
        self._log = log
        self._flat = flat
        self._shell_cwd = shell_cwd
        self._confiner = confiner
        folders = settings.permissions.add_dirs
        self._space = Workspace(cwd, home, flavour or native(settings.env), folders, shell=shell, resolver=resolver)
        self._space.confined = settings.permissions.confined
        self._space.rules_only = settings.permissions.files_damaged
        self._sandbox = settings.tools.claude_sandbox
        if settings.permissions.files_damaged:
            self._sandbox = replace(self._sandbox, auto_allow=False)
        self._rules = settings.permissions.rules
        self._limits = settings.permissions
        self._rulebook: RuleBook | None = None
        self._hidden_files: HiddenFiles | None = None
        self._lock = threading.RLock()
        start = self._known(settings.permissions.mode)
        if start is None:
            raise BadInvocation(f"unknown permission mode '{settings.permissions.mode}' (one of {self._mode_names()})")
        self._mode = start
        self._may_bypass = settings.permissions.allow_bypass or self._bypasses(start)

    @property
    def _book(self) -> RuleBook:
        """The rules, built for the first call that is judged: start-up does not need them."""
        if self._rulebook is None:
            from yume_shim.gate.rulebook import RuleBook

            with self._lock:
                if self._rulebook is None:
                    book = RuleBook(self._rules, self._space, self._log)
                    book.add_saved(self._limits.saved)
                    self._rulebook = book
        return self._rulebook

    # ------------------------------------------------ mode

    def mode(self) -> str:
        return self._mode

    def set_mode(self, mode: str) -> None:
        known = self._known(mode)
        if known is None:
            raise BadLine(f"unknown permission mode '{mode}' (one of {self._mode_names()})", code="invalid_mode")
        if self._bypasses(known) and self._limits.no_bypass:
            raise BadLine(f"cannot switch to {mode}: the settings disable it", code="bypass_disabled")
        if self._bypasses(known) and not self._may_bypass:
            raise BadLine(
                f"cannot switch to {mode}: the program was not started with --allow-dangerously-skip-permissions",
                code="bypass_not_launched",
            )
        self._mode = known

    def for_agent(self, mode: str) -> Permissions:
        """The gate of an agent that asks for a mode of its own: the same rules and folders, and that mode if the
        session is in mode default. Every other mode of the session counts for its agents too."""
        if self._mode != "default" or not mode:
            return self
        import copy

        _ = self._book, self._hidden()  # both gates share them
        made = copy.copy(self)
        try:
            made.set_mode(mode)
        except BadLine as error:
            self._log("warning", f"an agent keeps the session's permission mode: {error.message}")
            return self
        return made

    def _known(self, mode: str) -> str | None:
        """The mode without its alias; None if there is no such mode here."""
        mode = MODE_ALIASES.get(mode, mode)
        return mode if mode in MODES or (self._flat and mode in FLAT_MODES) else None

    def _mode_names(self) -> str:
        return ", ".join(MODES + FLAT_MODES if self._flat else MODES)

    def _bypasses(self, mode: str) -> bool:
        return mode == "bypassPermissions" or (mode == AUTO_MODE and self._flat)

    def _effective(self) -> str:
        """The mode that decides: `auto` means another one in each dialect."""
        mode = self._mode
        if mode == AUTO_MODE:
            mode = "bypassPermissions" if self._flat else "acceptEdits"
        return "default" if mode == "acceptEdits" and self._space.rules_only else mode

    # ------------------------------------------------ decide

    def decide(self, call: ToolCall, spec: ToolSpec) -> Decision:
        from yume_shim.gate.file_calls import FileCall

        subject = self._subject(call, spec)
        decision = self._verdict(subject, spec)
        if spec.kind == "shell" and self._sandbox.enabled:
            from yume_shim.gate.sandbox import in_sandbox

            return in_sandbox(call, decision, subject, self._sandbox, self._sandbox_confinement, self._effective())
        if decision.verdict == "deny" or not isinstance(subject, FileCall):
            return decision
        return replace(decision, judged=subject.judged)

    def _verdict(self, subject: FileCall | CommandCall | OtherCall, spec: ToolSpec) -> Decision:
        mode = self._effective()
        denied = subject.denied()
        if denied is not None:
            return denied
        if mode == "deny":
            return Decision("deny", wording.mode_denied(spec.name), "mode", mode)
        if spec.needs_host:  # such a tool is itself a question: always ask
            return self._ask_or_deny(
                Decision("ask", wording.tool_request(spec.name), "other", "it is a question"), spec, mode
            )
        must_ask = subject.must_ask(mode)
        if must_ask is not None:
            return self._ask_or_deny(must_ask, spec, mode)
        if mode == "interactive":
            remembered = subject.allowed(mode, remembered_only=True)
            return Decision("allow", reason_type="rule") if remembered else subject.ask_decision(mode)
        if mode == "bypassPermissions":
            return Decision("allow")
        if not subject.allowed(mode):
            return self._ask_or_deny(subject.ask_decision(mode), spec, mode)
        if spec.kind != "shell":
            return Decision("allow")
        return self._ask_or_deny(self._confined(subject, mode), spec, mode)

    def _confined(self, subject: FileCall | CommandCall | OtherCall, mode: str) -> Decision:
        """An allowed command, with what the system must enforce on it; a question if it cannot."""
        from yume_shim.gate.command_calls import CommandCall

        if not isinstance(subject, CommandCall) or subject.by_rule:
            return Decision("allow")
        from yume_shim.gate.confinement import confine

        return confine(subject, self._hidden(), self._book, self._confiner, mode)

    def _hidden(self) -> HiddenFiles:
        with self._lock:
            if self._hidden_files is None:
                from yume_shim.gate.hidden_files import HiddenFiles

                self._hidden_files = HiddenFiles()
            return self._hidden_files

    def _sandbox_confinement(self) -> tuple[Confinement | None, str]:
        """(the sandbox of the settings, ""), or (None, why a command cannot run in it)."""
        from yume_shim.types.confinement import Confinement

        hidden, why = self._hidden().find(self._book.hidden_patterns())
        confinement = Confinement("sandbox", hidden=hidden)
        why = why or (self._confiner.problem(confinement) if self._confiner is not None else "")
        if why:
            self._log("warning", f"commands do not run in the sandbox that the settings ask for: {why}")
        return (None, why) if why else (confinement, "")

    def _ask_or_deny(self, decision: Decision, spec: ToolSpec, mode: str) -> Decision:
        """The question, or in mode dontAsk the denial in its place."""
        if mode != "dontAsk" or decision.verdict == "allow":
            return decision
        message = wording.denied_unasked(spec.name, decision.message)
        return replace(decision, verdict="deny", message=message, reason_type="mode", suggestions=())

    def _subject(
        self, call: ToolCall, spec: ToolSpec, book: RuleBook | None = None
    ) -> FileCall | CommandCall | OtherCall:
        from yume_shim.gate.inputs import text_at

        book = book or self._book
        command = text_at(call, spec.command_field)
        if spec.kind == "shell" and command is not None:
            from yume_shim.gate.command_calls import CommandCall

            base = self._shell_cwd() if self._shell_cwd is not None else ""
            return CommandCall(command, spec, self._space, book, base)
        if _judged_by_path(spec):
            from yume_shim.gate.file_calls import FileCall

            return FileCall(call, spec, self._space, book)
        from yume_shim.gate.other_calls import OtherCall

        return OtherCall(call, spec, book)

    def covers(self, rule: str, call: ToolCall, spec: ToolSpec) -> bool | None:
        """Whether this rule, taken as a deny rule, covers the call; None if the text is no rule."""
        from yume_shim.gate.rulebook import RuleBook
        from yume_shim.gate.rules import parse_rule
        from yume_shim.types.settings import Rules

        if parse_rule(rule) is None:
            return None
        book = RuleBook(Rules(deny=(rule,)), self._space, self._log)
        return self._subject(call, spec, book).denied() is not None

    def hides(self, path: str) -> bool:
        """Whether a `Read` deny rule hides this path from the model, whoever reads it."""
        if self._rulebook is None and not any(rule.lstrip().startswith("Read") for rule in self._rules.deny):
            return False  # the usual case: start-up needs no rules
        place = self._space.place(path)
        return self._space.misread(place) or self._book.hides(place) is not None or self._book.hides_all()

    # ------------------------------------------------ updates

    def directories(self) -> tuple[str, ...]:
        return self._space.extra

    def trust_rules(self, allow: tuple[str, ...]) -> None:
        """Add allow rules of the settings: the host trusts the folder now."""
        with self._lock:
            self._rules = replace(self._rules, allow=(*self._rules.allow, *allow))
            if self._rulebook is not None:
                self._rulebook.add_written(allow)

    def apply(self, updates: tuple[Json, ...]) -> None:
        """Apply permission updates to this session, whatever their destination."""
        for update in updates:
            try:
                with self._lock:
                    self._apply(update)
            except BadLine as error:
                self._log("warning", f"a permission update was not applied: {error.message}")

    def _apply(self, update: Json) -> None:
        kind = update.get("type")
        match kind:
            case "setMode":
                self.set_mode(str(update.get("mode", "")))
            case "addDirectories" | "removeDirectories":
                for folder in _texts(update.get("directories")):
                    (self._space.add if kind == "addDirectories" else self._space.remove)(folder)
                self._book.rebuild()
            case "addRules" | "replaceRules" | "removeRules":
                self._apply_rules(str(kind), update)
            case _:
                raise BadLine(f"unknown type {kind!r}")

    def _apply_rules(self, kind: str, update: Json) -> None:
        from yume_shim.gate.rulebook import BEHAVIOURS

        behaviour = BEHAVIOURS.get(str(update.get("behavior")))
        if behaviour is None:
            raise BadLine(f"unknown behavior {update.get('behavior')!r}")
        rules = _rules(update.get("rules"))
        if behaviour == "allow" and kind != "removeRules" and self._limits.managed_only:
            raise BadLine("managed settings admit only their own allow rules")
        if kind == "removeRules" and any(rule in self._managed(behaviour) for rule in rules):
            raise BadLine("it would remove a rule of the managed settings")
        if kind == "replaceRules":
            self._book.replace(behaviour, rules)
            return
        for rule in rules:
            (self._book.add if kind == "addRules" else self._book.remove)(behaviour, rule)

    def _managed(self, behaviour: str) -> list[Rule | None]:
        from yume_shim.gate.rules import parse_rule

        written = {"deny": self._limits.managed.deny, "ask": self._limits.managed.ask}
        return [parse_rule(text) for text in written.get(behaviour, ())]

    def remember(self, call: ToolCall, spec: ToolSpec, rules: tuple[str, ...]) -> tuple[str, ...]:
        """Allow what these rules cover, without any the very same call, for the rest of the session. Returns the rules.
        Raises BadLine if a text is no rule, or no answer may add one."""
        from yume_shim.gate.rules import parse_rule

        found = [parse_rule(text) for text in rules] or list(_rules(self.exact_rule_for(call, spec)["rules"]))
        parsed = [rule for rule in found if rule is not None]
        if len(parsed) < len(found):
            raise BadLine(f"not permission rules: {', '.join(rules)}")
        if self._limits.managed_only:
            raise BadLine("managed settings admit only their own allow rules")
        with self._lock:
            for rule in parsed:
                self._book.add("allow", rule)
        return tuple(rule.text for rule in parsed)

    def grant(self, rules: tuple[str, ...]) -> None:
        """Allow what these rules cover until the turn ends; denials and rules that ask hold all the same."""
        from yume_shim.gate.rules import parse_rule

        if self._limits.managed_only:
            self._log("warning", "managed settings admit only their own allow rules: `allowed-tools` is ignored")
            return
        with self._lock:
            for text in rules:
                rule = parse_rule(text)
                if rule is None:
                    self._log("warning", f"this rule of `allowed-tools` is invalid and has no effect: {text}")
                else:
                    self._book.grant(rule)

    def end_grants(self) -> None:
        with self._lock:
            if self._rulebook is not None:
                self._rulebook.end_grants()

    def exact_rule_for(self, call: ToolCall, spec: ToolSpec) -> Json:
        """The permission update that allows exactly this call for the rest of the session."""
        from yume_shim.gate.inputs import text_at
        from yume_shim.gate.rules import escape_command, escape_path

        command = text_at(call, spec.command_field)
        if spec.kind == "shell" and command is not None:
            return wording.add_rule(spec.name, escape_command(command.strip()), destination="session")
        if _judged_by_path(spec):
            path = text_at(call, spec.path_field)
            path = self._space.absolute(path) if path else self._space.cwd
            return wording.add_rule(spec.name, escape_path(path, self._space.flavour), destination="session")
        from yume_shim.gate.other_calls import rule_content

        return wording.add_rule(spec.name, rule_content(call, spec), destination="session")


def _judged_by_path(spec: ToolSpec) -> bool:
    return spec.source == "builtin" and spec.kind in FILE_KINDS


def _texts(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _rules(value: object) -> list[Rule]:
    from yume_shim.gate.rules import Rule

    found: list[Rule] = []
    for item in value if isinstance(value, list) else []:
        if not isinstance(item, dict) or not isinstance(item.get("toolName"), str):
            raise BadLine("a rule without toolName")
        content = item.get("ruleContent")
        found.append(Rule(item["toolName"], content if isinstance(content, str) and content else None))
    return found
