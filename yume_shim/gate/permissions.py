"""The gate: whether a call may run, by mode, rules, paths and what a command does.

The order never changes: what a rule denies is denied in every mode; what a rule or a safety check wants asked is asked
in every mode; only then the mode, the rules that allow, and the harmless nature of a call can let it pass.
"""

from __future__ import annotations

from yume_shim.gate import wording
from yume_shim.gate.paths import native
from yume_shim.gate.workspace import Workspace
from yume_shim.types.errors import BadInvocation, BadLine
from yume_shim.types.outputs import Decision
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.gate.commands import CommandSubject
    from yume_shim.gate.files import FileSubject
    from yume_shim.gate.others import OtherSubject
    from yume_shim.gate.paths import Flavour
    from yume_shim.gate.rulebook import Behaviour, RuleBook
    from yume_shim.gate.rules import Rule
    from yume_shim.types.blocks import Json, ToolCall
    from yume_shim.types.models import ToolSpec
    from yume_shim.types.settings import Settings

MODES = ("default", "acceptEdits", "plan", "dontAsk", "bypassPermissions", "auto")
FLAT_WORDS = ("interactive", "deny")
"""Modes that only the flat dialect knows."""
OTHER_NAMES = {"manual": "default"}
FILE_KINDS = ("read", "edit", "search")


class Permissions:
    """Implements `types.ports.Gate`."""

    def __init__(
        self,
        settings: Settings,
        cwd: str,
        home: str,
        interactive_words: bool,
        log: Callable[[str, str], None],
        shell_cwd: Callable[[], str] | None = None,
        flavour: Flavour | None = None,
    ) -> None:
        """`shell_cwd` tells where the shell stands now, if it moves between commands."""
        self._log = log
        self._flat = interactive_words
        self._shell_cwd = shell_cwd
        self._space = Workspace(cwd, home, flavour or native(settings.env), settings.permissions.add_dirs)
        self._space.confined = settings.permissions.confined
        self._written = settings.permissions.rules
        self._made: RuleBook | None = None
        start = self._known(settings.permissions.mode)
        if start is None:
            raise BadInvocation(f"unknown permission mode '{settings.permissions.mode}' (one of {self._list()})")
        self._mode = start
        self._may_bypass = settings.permissions.allow_bypass or self._bypasses(start)

    @property
    def _book(self) -> RuleBook:
        """The rules, made for the first call that is judged: at start-up nobody needs them."""
        if self._made is None:
            from yume_shim.gate.rulebook import RuleBook

            self._made = RuleBook(self._written, self._space, self._log)
        return self._made

    # ------------------------------------------------ mode

    def mode(self) -> str:
        return self._mode

    def set_mode(self, mode: str) -> None:
        known = self._known(mode)
        if known is None:
            raise BadLine(f"unknown permission mode '{mode}' (one of {self._list()})", "invalid_mode")
        if self._bypasses(known) and not self._may_bypass:
            raise BadLine(
                f"cannot switch to {mode}: the program was not started with --allow-dangerously-skip-permissions",
                "bypass_not_launched",
            )
        self._mode = known

    def _known(self, mode: str) -> str | None:
        mode = OTHER_NAMES.get(mode, mode)
        return mode if mode in MODES or (self._flat and mode in FLAT_WORDS) else None

    def _list(self) -> str:
        return ", ".join(MODES + FLAT_WORDS if self._flat else MODES)

    def _bypasses(self, mode: str) -> bool:
        return mode == "bypassPermissions" or (mode == "auto" and self._flat)

    def _effective(self) -> str:
        if self._mode == "auto":
            return "bypassPermissions" if self._flat else "acceptEdits"
        return self._mode

    # ------------------------------------------------ decide

    def decide(self, call: ToolCall, spec: ToolSpec) -> Decision:
        mode = self._effective()
        subject = self._subject(call, spec)
        denied = subject.denied()
        if denied is not None:
            return denied
        if mode == "deny":
            return Decision("deny", wording.mode_denied(spec.name), "mode", mode)
        if spec.needs_host:  # a tool that is a question is put to the host, whatever mode and rules say
            return self._asked(Decision("ask", wording.tool_wanted(spec.name), "other", "it is a question"), spec, mode)
        must_ask = subject.must_ask()
        if must_ask is not None:
            return self._asked(must_ask, spec, mode)
        if mode == "interactive":
            remembered = subject.allowed(mode, by_rules=True, remembered_only=True)
            return Decision("allow", reason_type="rule") if remembered else subject.ask_decision(mode)
        if mode == "bypassPermissions" or subject.allowed(mode, by_rules=True):
            return Decision("allow")
        return self._asked(subject.ask_decision(mode), spec, mode)

    def _asked(self, decision: Decision, spec: ToolSpec, mode: str) -> Decision:
        if mode != "dontAsk":
            return decision
        message = wording.not_asked(spec.name, decision.message)
        return replace(decision, verdict="deny", message=message, reason_type="mode", suggestions=())

    def _subject(self, call: ToolCall, spec: ToolSpec) -> FileSubject | CommandSubject | OtherSubject:
        command = call.input.get("command")
        if spec.kind == "shell" and isinstance(command, str):
            from yume_shim.gate.commands import CommandSubject

            base = self._shell_cwd() if self._shell_cwd is not None else ""
            return CommandSubject(command, spec, self._space, self._book, base)
        if spec.kind in FILE_KINDS and not spec.name.startswith("mcp__"):
            from yume_shim.gate.files import FileSubject

            return FileSubject(call, spec, self._space, self._book)
        from yume_shim.gate.others import OtherSubject

        return OtherSubject(call, spec, self._book)

    # ------------------------------------------------ updates

    def directories(self) -> tuple[str, ...]:
        return self._space.extra

    def rules(self, behaviour: Behaviour) -> tuple[str, ...]:
        """The rules in force, as written."""
        return self._book.texts(behaviour)

    def hides(self, path: str) -> bool:
        """Whether a rule hides this file from reading; search tools may leave such files out."""
        return self._book.hides(self._space.place(path)) is not None

    def apply(self, updates: tuple[Json, ...]) -> None:
        """Take over permission updates, whatever their destination, for this session."""
        for update in updates:
            try:
                self._apply(update)
            except BadLine as error:
                self._log("warning", f"a permission update was not taken over: {error.message}")

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
        if kind == "replaceRules":
            self._book.replace(behaviour, rules)
            return
        for rule in rules:
            (self._book.add if kind == "addRules" else self._book.remove)(behaviour, rule)

    def remember(self, call: ToolCall, spec: ToolSpec) -> None:
        self.apply((self.exact_rule_for(call, spec),))

    def exact_rule_for(self, call: ToolCall, spec: ToolSpec) -> Json:
        """The update that lets exactly this call pass for the rest of the session."""
        from yume_shim.gate.rules import escape_command, escape_path

        command = call.input.get("command")
        if spec.kind == "shell" and isinstance(command, str):
            return wording.add_rule(spec.name, escape_command(command.strip()), "session")
        named = call.input.get(spec.path_field) if spec.path_field else None
        if spec.kind in FILE_KINDS and not spec.name.startswith("mcp__"):
            path = self._space.absolute(named) if isinstance(named, str) and named else self._space.cwd
            return wording.add_rule(spec.name, escape_path(path, self._space.flavour), "session")
        from yume_shim.gate.others import web_domain

        return wording.add_rule(spec.name, web_domain(call), "session")


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
