"""The rules in force, tied to the workspace: which one speaks about a call."""

from __future__ import annotations

import re

from yume_shim.gate.paths import look, slashed, tidy
from yume_shim.gate.rules import PathPattern, Rule, names_tool, parse_rule, path_pattern
from yume_shim.types.value import value

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


@value
class Entry:
    """A rule in force. `remembered`: it came with an answer, not from the settings. `paths` is what its content means
    as a path, once per spelling of the folder it is tied to."""

    rule: Rule
    remembered: bool = False
    paths: tuple[PathPattern, ...] = ()


class RuleBook:
    """deny, ask and allow rules; the caller asks for them in that order."""

    def __init__(self, rules: Rules, workspace: Workspace, log: Callable[[str, str], None]) -> None:
        self._workspace = workspace
        self._entries: dict[Behaviour, list[Entry]] = {"deny": [], "ask": [], "allow": []}
        written: dict[Behaviour, tuple[str, ...]] = {"deny": rules.deny, "ask": rules.ask, "allow": rules.allow}
        for behaviour, texts in written.items():
            for text in texts:
                rule = parse_rule(text)
                if rule is None:
                    log("warning", f"this permission rule is not understood and has no effect: {text}")
                else:
                    self._entries[behaviour].append(self._tie(behaviour, rule, remembered=False))

    # ------------------------------------------------ change

    def add(self, behaviour: Behaviour, rule: Rule) -> None:
        """Take over a rule that came with an answer."""
        entry = self._tie(behaviour, rule, remembered=True)
        if entry.rule not in [known.rule for known in self._entries[behaviour] if known.remembered]:
            self._entries[behaviour].append(entry)

    def remove(self, behaviour: Behaviour, rule: Rule) -> None:
        """Forget a rule."""
        self._entries[behaviour] = [entry for entry in self._entries[behaviour] if entry.rule != rule]

    def replace(self, behaviour: Behaviour, rules: list[Rule]) -> None:
        """Put these in place of all rules that came with answers."""
        self._entries[behaviour] = [entry for entry in self._entries[behaviour] if not entry.remembered]
        for rule in rules:
            self.add(behaviour, rule)

    def rebuild(self) -> None:
        """The workspace changed: path rules are tied to its folders anew."""
        for behaviour, entries in self._entries.items():
            self._entries[behaviour] = [self._tie(behaviour, entry.rule, entry.remembered) for entry in entries]

    def texts(self, behaviour: Behaviour) -> tuple[str, ...]:
        """The rules as written."""
        return tuple(entry.rule.text for entry in self._entries[behaviour])

    # ------------------------------------------------ ask

    def entries(self, behaviour: Behaviour, spec: ToolSpec, remembered_only: bool = False) -> list[Entry]:
        """The rules that speak about this tool."""
        return [
            entry
            for entry in self._entries[behaviour]
            if names_tool(entry.rule, spec) and (entry.remembered or not remembered_only)
        ]

    def bare(self, behaviour: Behaviour, spec: ToolSpec, remembered_only: bool = False) -> Rule | None:
        """The rule that covers every use of this tool."""
        return next((e.rule for e in self.entries(behaviour, spec, remembered_only) if e.rule.bare), None)

    def for_places(
        self, behaviour: Behaviour, spec: ToolSpec, places: tuple[Place, ...], remembered_only: bool = False
    ) -> Rule | None:
        """The rule that covers these paths: deny and ask if any spelling of any path is meant, allow only if both
        spellings of all of them are."""
        for entry in self.entries(behaviour, spec, remembered_only):
            if entry.rule.bare or (places and _covers(entry, places, every=behaviour == "allow")):
                return entry.rule
        return None

    def for_content(
        self, behaviour: Behaviour, spec: ToolSpec, call: ToolCall, remembered_only: bool = False
    ) -> Rule | None:
        """The rule that covers this use of a tool that is about neither files nor commands."""
        for entry in self.entries(behaviour, spec, remembered_only):
            if entry.rule.bare or _content_matches(entry.rule, spec, call, strict=behaviour == "allow"):
                return entry.rule
        return None

    def denies_paths(self) -> bool:
        """Whether any deny is about paths."""
        return any(entry.paths for entry in self._entries["deny"])

    def hiding(self) -> tuple[PathPattern, ...]:
        """What `Read` denies hide."""
        return tuple(pattern for entry in self._path_denies("Read") for pattern in entry.paths)

    def hides(self, place: Place) -> Rule | None:
        """The `Read` deny that hides this path."""
        return self._denied(place, "Read")

    def locks(self, place: Place) -> Rule | None:
        """The `Edit` or `Write` deny that keeps this path from being written."""
        return self._denied(place, "Edit") or self._denied(place, "Write")

    def _denied(self, place: Place, tool: str) -> Rule | None:
        return next((e.rule for e in self._path_denies(tool) if _covers(e, (place,), every=False)), None)

    def _path_denies(self, tool: str) -> list[Entry]:
        return [entry for entry in self._entries["deny"] if entry.rule.tool == tool and entry.paths]

    # ------------------------------------------------ tie

    def _tie(self, behaviour: Behaviour, rule: Rule, remembered: bool) -> Entry:
        if rule.bare or rule.content is None or rule.tool in PATHLESS or rule.is_mcp:
            return Entry(rule, remembered)
        space = self._workspace
        # A deny must hold in every folder of the session; an allow is taken at its word.
        bases = (space.cwd, tidy(look(space.cwd).real, space.flavour)) if behaviour == "allow" else space.folders
        homes = dict.fromkeys((space.home, tidy(look(space.home).real, space.flavour))) if space.home else {"": None}
        patterns: dict[str, PathPattern] = {}
        for base in dict.fromkeys(bases):
            for home in homes:
                pattern = path_pattern(rule.content, base, home, space.flavour)
                patterns[pattern.regex.pattern] = pattern
        for pattern in tuple(patterns.values()):
            other = self._through_links(pattern)
            if other is not None:
                patterns[other.regex.pattern] = other
        return Entry(rule, remembered, tuple(patterns.values()))

    def _through_links(self, pattern: PathPattern) -> PathPattern | None:
        """The pattern again with its spelled-out part resolved, when a link lies on the way."""
        flavour = self._workspace.flavour
        real = tidy(look(pattern.literal).real, flavour)
        before = re.escape(slashed(pattern.literal, flavour).rstrip("/"))
        if real == pattern.literal or not pattern.regex.pattern.startswith(before):
            return None
        rest = pattern.regex.pattern[len(before) :]
        regex = re.compile(re.escape(slashed(real, flavour).rstrip("/")) + rest, pattern.regex.flags)
        return PathPattern(real, regex, flavour)


def _covers(entry: Entry, places: tuple[Place, ...], every: bool) -> bool:
    def meant(path: str) -> bool:
        return any(pattern.matches(path) for pattern in entry.paths)

    if every:
        return all(not place.flaw and meant(place.asked) and meant(place.real) for place in places)
    return any(meant(place.asked) or meant(place.real) for place in places)


def _content_matches(rule: Rule, spec: ToolSpec, call: ToolCall, strict: bool) -> bool:
    content = rule.content or ""
    if content.startswith("domain:"):
        return _host_matches(content.removeprefix("domain:"), str(call.input.get("url", "")))
    if spec.rule_field:
        return call.input.get(spec.rule_field) == content
    # Content that means nothing for this tool: it never allows, and it forbids when it names any of the values.
    return not strict and content in [item for item in call.input.values() if isinstance(item, str)]


def _host_matches(wanted: str, url: str) -> bool:
    from urllib.parse import urlsplit

    try:
        host = (urlsplit(url if "://" in url else f"https://{url}").hostname or "").rstrip(".").lower()
    except ValueError:
        return False
    wanted = wanted.strip().lower()
    return host.endswith(wanted[1:]) if wanted.startswith("*.") else bool(host) and host == wanted
