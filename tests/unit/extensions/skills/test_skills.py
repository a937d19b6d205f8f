"""The list of skills within its budget, and the Skill tool."""

from __future__ import annotations

from typing import Any

import pytest

from yume_shim.engine.cancel import CancelSignal
from yume_shim.extensions.skills.listing import INTRODUCTION, budget, listing
from yume_shim.extensions.skills.skill_tool import HARMLESS, SPEC, SkillTool
from yume_shim.types.blocks import ToolCall
from yume_shim.types.children import ChildRequest, ChildResult
from yume_shim.types.errors import Failure, ToolFailed
from yume_shim.types.models import Usage
from yume_shim.types.outputs import ToolContext, ToolOutput
from yume_shim.types.prompt_files import PromptFile, PromptFolder
from yume_shim.types.value import replace

WHERE = PromptFolder("/p/skills", "skill", "project")
GREET = PromptFile("greet", "BODY", WHERE, "/p/skills/greet", description="Greets people")


class Files:
    """A fixed set of files."""

    def __init__(self, *files: PromptFile) -> None:
        self._files = files

    def all(self) -> tuple[PromptFile, ...]:
        return self._files

    def find(self, name: str) -> PromptFile | None:
        return next((file for file in self._files if name in (file.name, file.title)), None)

    def refresh(self) -> bool:
        return False

    def listed(self) -> tuple[dict[str, Any], ...]:
        return ()


def listed(text: str) -> list[str]:
    return text.splitlines()[3:-1]


def test_names_and_descriptions_are_listed() -> None:
    plugin = replace(WHERE, source="plugin", plugin="kit")
    files = (
        GREET,
        replace(GREET, name="other", title="Title"),
        replace(GREET, name="secret", for_model=False),
        replace(GREET, name="kit:plain", where=plugin, described=False),
    )
    text = listing(files, 2_000)
    assert text.splitlines()[:2] == ["<system-reminder>", INTRODUCTION]
    assert listed(text) == ["- greet: Greets people", "- other (Title): Greets people"]
    assert listing((replace(GREET, for_model=False),), 2_000) == ""


@pytest.mark.parametrize("room", [100, 500, 2_000, 9_000])
def test_the_list_keeps_to_its_budget_and_keeps_names(room: int) -> None:
    files = tuple(replace(GREET, name=f"skill-{n:02}", description="word " * 60) for n in range(20))
    lines = listed(listing(files, room))
    assert sum(len(line) + 1 for line in lines[:-1]) <= room
    if room >= 500:
        assert len(lines) == 20
        assert all(line.startswith("- skill-") for line in lines)
    else:
        assert lines[-1].startswith("- … and ")


def test_short_descriptions_stay_whole_when_long_ones_are_cut() -> None:
    files = (replace(GREET, name="a", description="short"), replace(GREET, name="b", description="x" * 900))
    first, second = listed(listing(files, 300))
    assert first == "- a: short"
    assert second.endswith("…")


def test_the_budget_follows_the_window_or_the_user() -> None:
    assert [budget(8_000), budget(200_000), budget(10_000_000)] == [2_000, 8_000, 40_000]
    assert [budget(200_000, "500"), budget(200_000, "many")] == [500, 8_000]


# ---------------------------------------------------------------- the tool


class Run:
    """One call of the tool, and what it started."""

    def __init__(self, *files: PromptFile, child: ChildResult | None = None) -> None:
        self.tool = SkillTool(Files(*files), lambda file: None)
        self.started: list[tuple[ChildRequest, str]] = []
        self._child = child

    def __call__(self, **given: str) -> ToolOutput:
        call = self.tool.complete(ToolCall("c1", "Skill", given), SPEC)
        context = ToolContext(
            "c1",
            CancelSignal(),
            spawn=self._spawn if self._child is not None else None,
            expand=lambda file, arguments: f"{file.body} {arguments}",
        )
        return self.tool.run(self.tool.prepare(call, SPEC), context)

    def _spawn(self, request: ChildRequest, call_id: str, cancel: object) -> ChildResult:
        self.started.append((request, call_id))
        assert self._child is not None
        return self._child


def test_the_instructions_follow_the_result() -> None:
    done = {"success": True, "commandName": "greet"}
    expected = ToolOutput("Launching skill: greet", done, notes=("BODY Bob",))
    assert Run(GREET)(skill="greet", args="Bob") == expected
    assert Run(GREET)(skill="/greet", args="Bob") == expected
    assert Run(replace(GREET, title="Greeter"))(skill="Greeter", args="Bob") == expected


def test_a_skill_that_grants_something_needs_permission() -> None:
    tool = SkillTool(Files(GREET, replace(GREET, name="grants", allowed_tools=("Bash",))), lambda file: None)
    untrusted = replace(GREET, name="u", allowed_tools=("Bash",), where=replace(WHERE, grants=False))
    prepared = [tool.prepare(ToolCall("c", "Skill", {"skill": name}), SPEC).spec for name in ("greet", "grants")]
    assert prepared == [HARMLESS, SPEC]
    assert untrusted.grants == ()


@pytest.mark.parametrize(
    ("given", "message"),
    [("nothing", "Unknown skill: nothing"), ("secret", "Skill secret is reserved for the user")],
)
def test_what_cannot_be_used_is_refused(given: str, message: str) -> None:
    run = Run(GREET, replace(GREET, name="secret", for_model=False))
    with pytest.raises(ToolFailed, match=message) as failed:
        run(skill=given)
    assert failed.value.before_run


def test_the_tool_is_offered_if_there_is_a_skill_for_the_model() -> None:
    assert SkillTool(Files(GREET), lambda file: None).find("Skill") == SPEC
    only_user = SkillTool(Files(replace(GREET, for_model=False)), lambda file: None)
    assert (only_user.specs(), only_user.find("Skill")) == ((), None)


def test_a_fork_returns_the_last_answer_of_a_child() -> None:
    child = ChildResult("a1", "success", "Done.", 1, 0, Usage(), 5)
    run = Run(replace(GREET, fork=True, agent="Explore"), child=child)
    output = run(skill="greet", args="x")
    assert output == ToolOutput(
        'Skill "greet" completed (forked execution).\n\nResult:\nDone.',
        {"success": True, "commandName": "greet", "status": "forked", "agentId": "a1", "result": "Done."},
    )
    assert run.started == [(ChildRequest("BODY x", agent_type="Explore", description="Greets people"), "c1")]


def test_a_fork_that_fails_is_a_failed_call() -> None:
    child = ChildResult("a1", "provider_error", "", 1, 0, Usage(), 5, Failure("server", "it broke"))
    with pytest.raises(ToolFailed, match='Skill "greet" failed: it broke'):
        Run(replace(GREET, fork=True), child=child)(skill="greet")
    with pytest.raises(ToolFailed, match="none can be started here"):
        Run(replace(GREET, fork=True))(skill="greet")
