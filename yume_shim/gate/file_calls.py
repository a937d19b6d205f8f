"""Judges a call of a file tool: which paths it touches, and whether it may touch them."""

from __future__ import annotations

import re

from yume_shim.gate import wording
from yume_shim.gate.inputs import text_at
from yume_shim.types.outputs import Decision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.gate.rulebook import RuleBook
    from yume_shim.gate.workspace import Place, Workspace
    from yume_shim.types.blocks import ToolCall
    from yume_shim.types.models import ToolSpec


class FileCall:
    """One call of a tool that reads, searches or edits files."""

    def __init__(self, call: ToolCall, spec: ToolSpec, space: Workspace, book: RuleBook) -> None:
        self._spec = spec
        self._space = space
        self._book = book
        self._places = self._touched(call)

    def _touched(self, call: ToolCall) -> tuple[Place, ...]:
        """The path of the call, and the folder where its path pattern starts, if it has one."""
        first = self._space.place(text_at(call, self._spec.path_field) or self._space.cwd)
        pattern = text_at(call, self._spec.pattern_field)
        if pattern is None:
            return (first,)
        found = re.search(r"[*?\[{]", pattern)
        head = pattern[: found.start()] if found else pattern
        rest = pattern[found.start() :] if found else ""
        # `x/*/../..` goes up after its wildcard, from an unknown depth: count it as going up from the start.
        climbs = "/.." * rest.replace("\\", "/").split("/").count("..")
        end = max(head.rfind("/"), head.rfind("\\") if self._space.flavour.windows else -1)
        start = (head[: end + 1] or ".") + climbs
        bases = dict.fromkeys((first.asked, first.real))  # the tool searches the resolved folder
        return first, *(self._space.place(start, base) for base in bases)

    @property
    def path(self) -> str:
        return self._places[0].asked

    @property
    def judged(self) -> str:
        """The resolved path that this decision is about: the tool must open exactly this."""
        return self._places[0].real

    def denied(self) -> Decision | None:
        for place in self._places:
            if "NUL" in place.flaw or self._space.misread(place):
                return Decision("deny", wording.bad_path(place.asked, place.flaw), "safetyCheck", place.flaw)
        if self._space.confined:
            outside = next((place for place in self._places if not self._space.inside(place)), None)
            if outside is not None:
                return Decision("deny", wording.outside_confinement(outside.asked), "workingDir", "--restricted")
        rule = self._book.for_places("deny", self._spec, self._places)
        if rule is None:
            rule = next((found for place in self._places if (found := self._book.hides(place))), None)
        if rule is None:
            return None
        if rule.bare:
            return Decision("deny", wording.tool_denied(self._spec.name), "rule", rule.text)
        return Decision("deny", wording.path_denied(), "deniedPath", rule.text)

    def must_ask(self, mode: str) -> Decision | None:
        """The question, if this call needs one whatever the mode and the rules allow."""
        rule = self._book.for_places("ask", self._spec, self._places)
        if rule is not None:
            return Decision("ask", wording.rule_asks(self._spec.name), "rule", rule.text, (), self.path)
        if self._spec.kind == "edit":
            name = self._space.protected(self._places[0], mode)
            if name:
                return Decision("ask", wording.sensitive_file(self.path, name), "safetyCheck", name, (), self.path)
        if self._spec.shows_content and self._place_may_show_hidden():
            why = "rules hide some files from reading, and a search here may show them"
            return Decision("ask", f"{wording.read_request(self.path)} ({why})", "safetyCheck", why, (), self.path)
        return None

    def _place_may_show_hidden(self) -> bool:
        patterns = self._book.hidden_patterns()
        return any(p.overlaps(place.asked) or p.overlaps(place.real) for p in patterns for place in self._places)

    def allowed(self, mode: str, remembered_only: bool = False) -> bool:
        edits = self._spec.kind == "edit"
        rules_apply = not (edits and mode == "plan")  # in plan mode no rule allows edits
        if rules_apply and self._book.for_places("allow", self._spec, self._places, remembered_only) is not None:
            return True
        if remembered_only or not all(self._space.inside(place) for place in self._places):
            return False
        return not edits or (mode == "acceptEdits" and not self._places[0].is_link)

    def ask_decision(self, mode: str) -> Decision:
        """The question, with the permission updates that the host may offer the user."""
        place = next((place for place in self._places if not self._space.inside(place)), None)
        edits = self._spec.kind == "edit"
        if place is not None and place.flaw:
            return Decision(
                "ask", wording.bad_path(place.asked, place.flaw), "safetyCheck", place.flaw, (), place.asked
            )
        if place is not None:
            text = wording.write_request(place.asked, mode) if edits else wording.read_request(place.asked)
            folder = wording.parent(place.asked, place.is_folder)
            offers = (wording.add_folder(folder), wording.accept_edits()) if edits else (wording.add_folder(folder),)
            return Decision("ask", text, "workingDir", "outside of the workspace", offers, place.asked)
        if not edits:
            return Decision("ask", wording.read_request(self.path), "mode", mode)
        if self._places[0].is_link and mode == "acceptEdits":
            text = wording.link_request(self.path, self._places[0].real)
            return Decision("ask", text, "safetyCheck", "symbolic link", (), self.path)
        return Decision("ask", wording.write_request(self.path, mode), "mode", mode, (wording.accept_edits(),))
