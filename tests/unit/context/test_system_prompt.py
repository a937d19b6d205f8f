"""The system prompt: its parts, their order, and what replaces them."""

from __future__ import annotations

from yume_shim.context.environment import Facts
from yume_shim.context.system_prompt import IDENTITY, TOOL_HEADING, TOOL_RULES, build_system
from yume_shim.types.models import ToolSpec

FACTS = Facts("/home/me/project", "linux", "Linux 6.1", "zsh", True, "main", "2026-03-04")


def tools(*names: str) -> tuple[ToolSpec, ...]:
    return tuple(ToolSpec(name, "", {}) for name in names)


def test_the_fixed_part_comes_first_and_the_facts_last() -> None:
    whole, where = build_system(FACTS, tools("Read"))
    assert whole.startswith(IDENTITY)
    assert where == (
        "# Where you are\n"
        "Working directory: /home/me/project\n"
        "Git repository: yes, on branch main\n"
        "Platform: linux (Linux 6.1)\n"
        "Shell: zsh\n"
        "Date at the start of this session: 2026-03-04"
    )
    elsewhere = Facts("/srv", "win32", "Windows 11", "", False, "", "2027-01-01")
    other = build_system(elsewhere, tools("Read"))
    assert other[0] == whole
    assert other[1].splitlines()[1:5] == [
        "Working directory: /srv",
        "Git repository: no",
        "Platform: win32 (Windows 11)",
        "Shell: unknown",
    ]


def test_a_detached_head() -> None:
    detached = Facts("/p", "linux", "Linux", "sh", True, "", "2026-03-04")
    assert "Git repository: yes, on no branch" in build_system(detached, ())[1]


def test_tool_rules_name_only_tools_that_are_offered() -> None:
    for offered in (
        (),
        ("Read",),
        ("Read", "Edit"),
        ("Bash", "Grep"),
        ("Read", "Edit", "Write", "Bash", "Glob", "Grep"),
    ):
        whole = build_system(FACTS, tools(*offered))[0]
        assert (TOOL_HEADING in whole) == bool(offered)
        for needed, text in TOOL_RULES:
            assert (text in whole) == (bool(offered) and needed <= set(offered))


def test_the_hint_of_a_tool_comes_with_it() -> None:
    whole = build_system(FACTS, (ToolSpec("Spade", "", {}, prompt_hint="Dig with Spade."),))[0]
    assert "\n- Dig with Spade.\n" in whole


def test_the_order_of_tools_does_not_matter() -> None:
    one, other = tools("Read", "Bash", "Edit"), tools("Edit", "Read", "Bash")
    assert build_system(FACTS, one) == build_system(FACTS, other)


def test_a_custom_prompt_replaces_everything() -> None:
    assert build_system(FACTS, tools("Read"), "You are a cat.") == ("You are a cat.",)


def test_an_empty_custom_prompt_means_no_prompt() -> None:
    assert build_system(FACTS, tools("Read"), "") == ()
    assert build_system(FACTS, (), "", append="Meow.") == ("Meow.",)


def test_the_appended_prompt_comes_last() -> None:
    parts = build_system(FACTS, (), append="Meow.")
    assert (len(parts), parts[-1]) == (3, "Meow.")
    assert build_system(FACTS, (), "A", append="B") == ("A", "B")
