"""The current rules, bound to the folders of the workspace: finds the rule that covers a call."""

from __future__ import annotations

import re

from yume_shim.gate.paths import slashed, tidy
from yume_shim.gate.rules import PathPattern, Rule, names_tool, parse_rule, path_pattern
from yume_shim.types.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from yume_shim.gate.workspace import Place, Workspace
    from yume_shim.types.blocks import ToolCall
    from yume_shim.types.models import ToolSpec
    from yume_shim.types.settings import Rules

    Behaviour = Literal["allow", "ask", "deny"]

BEHAVIOURS: dict[str, Behaviour] = {"deny": "deny", "ask": "ask", "allow": "allow"}
PATHLESS = frozenset(("Bash", "WebFetch", "WebSearch", "Task", "Agent", "Skill"))
"""Tools whose rule content is never a path. Rules are read before the tools are known, so this goes by name."""


class Entry(Value):
    """A current rule. `remembered`: it came with an answer, not from the settings. `paths`: its content as path
    patterns, one per spelling of the folder that it is bound to."""

    rule: Rule
    remembered: bool = False
    paths: tuple[PathPattern, ...] = ()
    granted: bool = False
    """It holds until the turn ends."""


class RuleBook:
    """The deny, ask and allow rules; the caller consults them in that order. A change replaces a list as a whole, so
    that other threads can read meanwhile; the caller must not make two changes at the same time."""

    def __init__(self, rules: Rules, workspace: Workspace, log: Callable[[str, str], None]) -> None:
        self._workspace = workspace
        self._log = log
        self._entries: dict[Behaviour, list[Entry]] = {"deny": [], "ask": [], "allow": []}
        written: dict[Behaviour, tuple[str, ...]] = {"deny": rules.deny, "ask": rules.ask, "allow": rules.allow}
        for behaviour, texts in written.items():
            for text in texts:
                rule = parse_rule(text)
                if rule is None:
                    log("warning", f"this permission rule is invalid and has no effect: {text}")
                else:
                    self._entries[behaviour].append(self._bind(behaviour, rule, remembered=False))
                    self._check_spelling(self._entries[behaviour][-1])

    def _check_spelling(self, entry: Entry) -> None:
        """Warn about a path rule that Windows reads otherwise than it looks."""
        if not entry.paths or not self._workspace.flavour.windows:
            return
        from yume_shim.gate.windows_rules import rule_content

        why = rule_content(entry.rule.content or "", self._workspace.flavour)[1]
        if why:
            self._log("warning", f"the permission rule {entry.rule.text} may not match what you mean: {why}")

    # ------------------------------------------------ change

    def add(self, behaviour: Behaviour, rule: Rule) -> None:
        """Add a rule that came with an answer."""
        entry = self._bind(behaviour, rule, remembered=True)
        if entry.rule not in [known.rule for known in self._entries[behaviour] if known.remembered]:
            self._entries[behaviour] = [*self._entries[behaviour], entry]

    def add_saved(self, texts: tuple[str, ...]) -> None:
        """Add allow rules that came with answers in earlier sessions."""
        for text in texts:
            rule = parse_rule(text)
            if rule is not None:
                self.add("allow", rule)

    def add_written(self, allow: tuple[str, ...]) -> None:
        """Add allow rules of the settings."""
        rules = [rule for text in allow if (rule := parse_rule(text)) is not None]
        self._entries["allow"] = [
            *self._entries["allow"],
            *(self._bind("allow", rule, remembered=False) for rule in rules),
        ]

    def remove(self, behaviour: Behaviour, rule: Rule) -> None:
        """Remove a rule, wherever it came from."""
        self._entries[behaviour] = [entry for entry in self._entries[behaviour] if entry.rule != rule]

    def replace(self, behaviour: Behaviour, rules: list[Rule]) -> None:
        """Replace all rules that came with answers."""
        self._entries[behaviour] = [entry for entry in self._entries[behaviour] if not entry.remembered]
        for rule in rules:
            self.add(behaviour, rule)

    def grant(self, rule: Rule) -> None:
        """Allow what this rule covers until `end_grants`."""
        entry = replace(self._bind("allow", rule, remembered=False), granted=True)
        self._entries["allow"] = [*self._entries["allow"], entry]

    def end_grants(self) -> None:
        """Remove the rules that hold for one turn."""
        self._entries["allow"] = [entry for entry in self._entries["allow"] if not entry.granted]

    def rebuild(self) -> None:
        """Bind path rules to the folders again: the workspace changed."""
        for behaviour, entries in self._entries.items():
            self._entries[behaviour] = [
                replace(self._bind(behaviour, entry.rule, entry.remembered), granted=entry.granted) for entry in entries
            ]

    # ------------------------------------------------ find

    def entries(self, behaviour: Behaviour, spec: ToolSpec, remembered_only: bool = False) -> list[Entry]:
        """The rules that name this tool. An allow rule must name it: `*` allows nothing, and `Edit(*)` only Edit."""
        return [
            entry
            for entry in self._entries[behaviour]
            if names_tool(entry.rule, spec)
            and (entry.remembered or not remembered_only)
            and (behaviour != "allow" or not _too_wide(entry.rule, spec))
        ]

    def for_places(
        self, behaviour: Behaviour, spec: ToolSpec, places: tuple[Place, ...], remembered_only: bool = False
    ) -> Rule | None:
        """The rule that covers these paths. A deny or ask rule covers them if it matches any spelling of any path, an
        allow rule only if it matches both spellings of all of them."""
        for entry in self.entries(behaviour, spec, remembered_only):
            whole = entry.rule.tool_only if behaviour == "allow" else entry.rule.bare
            if whole or (places and _covers(entry, places, every=behaviour == "allow")):
                return entry.rule
        return None

    def for_content(
        self, behaviour: Behaviour, spec: ToolSpec, call: ToolCall, remembered_only: bool = False
    ) -> Rule | None:
        """The rule that covers this call of a tool that handles neither files nor commands."""
        for entry in self.entries(behaviour, spec, remembered_only):
            if entry.rule.bare or _content_matches(entry.rule, spec, call, strict=behaviour == "allow"):
                return entry.rule
        return None

    def denies_paths(self) -> bool:
        """Whether any deny rule names paths."""
        return any(entry.paths for entry in self._entries["deny"])

    def locked_patterns(self) -> tuple[PathPattern, ...]:
        """The patterns of all `Edit` and `Write` deny rules."""
        denies = (*self._path_denies("Edit"), *self._path_denies("Write"))
        return tuple(pattern for entry in denies for pattern in entry.paths)

    def hidden_patterns(self) -> tuple[PathPattern, ...]:
        """The patterns of all `Read` deny rules."""
        return tuple(pattern for entry in self._path_denies("Read") for pattern in entry.paths)

    def hides(self, place: Place) -> Rule | None:
        """The `Read` deny rule that hides this path."""
        return self._denied(place, "Read")

    def hides_all(self) -> bool:
        """Whether a deny rule such as `Read(**)` hides every file. (`Read` alone only removes the tool.)"""
        denies = self._entries["deny"]
        return any(entry.rule.tool == "Read" and entry.rule.bare and entry.rule.content for entry in denies)

    def locks(self, place: Place) -> Rule | None:
        """The `Edit` or `Write` deny rule that forbids writing this path."""
        return self._denied(place, "Edit") or self._denied(place, "Write")

    def _denied(self, place: Place, tool: str) -> Rule | None:
        return next((e.rule for e in self._path_denies(tool) if _covers(e, (place,), every=False)), None)

    def _path_denies(self, tool: str) -> list[Entry]:
        return [entry for entry in self._entries["deny"] if entry.rule.tool == tool and entry.paths]

    # ------------------------------------------------ bind

    def _bind(self, behaviour: Behaviour, rule: Rule, remembered: bool) -> Entry:
        whole = rule.tool_only if behaviour == "allow" else rule.bare
        if whole or rule.content is None or rule.tool in PATHLESS or rule.is_mcp:
            return Entry(rule, remembered)
        space = self._workspace
        # A deny must hold in every folder of the session; an allow counts for the working folder only.
        bases = (space.cwd, self._real(space.cwd)) if behaviour == "allow" else space.folders
        homes = dict.fromkeys((space.home, self._real(space.home))) if space.home else {"": None}
        patterns: dict[str, PathPattern] = {}
        for base in dict.fromkeys(bases):
            for home in homes:
                pattern = path_pattern(rule.content, base, home, space.flavour)
                patterns[pattern.regex.pattern] = pattern
        for pattern in tuple(patterns.values()):
            other = self._through_links(pattern)
            if other is not None:
                patterns[other.regex.pattern] = other
        if behaviour != "allow" and space.flavour.name == "macos":
            patterns |= {f"wide {text}": pattern.wide() for text, pattern in patterns.items()}
        return Entry(rule, remembered, tuple(patterns.values()))

    def _real(self, path: str) -> str:
        return tidy(self._workspace.resolve(path).real, self._workspace.flavour)

    def _through_links(self, pattern: PathPattern) -> PathPattern | None:
        """The pattern with its literal part resolved, if that part leads through a link."""
        flavour = self._workspace.flavour
        real = self._real(pattern.literal)
        before = re.escape(slashed(pattern.literal, flavour).rstrip("/"))
        if real == pattern.literal or not pattern.regex.pattern.startswith(before):
            return None
        rest = pattern.regex.pattern[len(before) :]
        regex = re.compile(re.escape(slashed(real, flavour).rstrip("/")) + rest, pattern.regex.flags)
        return PathPattern(real, regex, flavour)


def _too_wide(rule: Rule, spec: ToolSpec) -> bool:
    """As the Claude CLI reads allow rules: a `*` in place of a tool or of its paths does not reach other tools."""
    return rule.tool == "*" or (rule.content == "*" and rule.tool not in (spec.name, *spec.aliases))


def _covers(entry: Entry, places: tuple[Place, ...], every: bool) -> bool:
    def matches(path: str) -> bool:
        return any(pattern.matches(path) for pattern in entry.paths)

    if every:
        return all(not place.flaw and matches(place.asked) and matches(place.real) for place in places)
    return any(matches(place.asked) or matches(place.real) for place in places)


def _content_matches(rule: Rule, spec: ToolSpec, call: ToolCall, strict: bool) -> bool:
    content = rule.content or ""
    if content.startswith("domain:"):
        return _host_matches(content.removeprefix("domain:"), str(call.input.get("url", "")), strict)
    if spec.rule_field:
        named = call.input.get(spec.rule_field)
        if not isinstance(named, str):
            return False
        return named == content or (content.endswith(":*") and f"{named}:".startswith(content[:-1]))
    # This tool gives the content no meaning: it never allows, and it denies if any parameter has that value.
    return not strict and content in [item for item in call.input.values() if isinstance(item, str)]


def _host_matches(pattern: str, url: str, strict: bool) -> bool:
    """Whether a rule's host covers that of a URL. If the URL has no certain host, an allow rule (`strict`) does not
    cover it, any other rule does."""
    from yume_shim.text.web_host import host_matches, host_of

    try:
        host = host_of(url if "://" in url else f"https://{url}")
    except ValueError:
        return not strict
    return host_matches(pattern, host)
