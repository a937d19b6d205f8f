"""Definitions of agents: what their fields mean, where they come from, and which of two counts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from yume_shim.extensions.agents.agent_list import AgentList
from yume_shim.extensions.agents.builtin_agents import BUILTIN_AGENTS
from yume_shim.extensions.agents.definition_files import MAX_FILES, read_folder
from yume_shim.extensions.agents.definition_reader import BadDefinition, narrowed, read_definition
from yume_shim.types.agent_offer import MAX_LISTED, agent_spec, builtin_listing, listing
from yume_shim.types.agents import AgentDefinition, AgentFolder, AgentSettings
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from pathlib import Path


def read(**fields: Any) -> tuple[AgentDefinition, list[str]]:
    warnings: list[str] = []
    return read_definition("a", {"description": "D", **fields}, "P", "flag", warnings.append), warnings


PLAIN = AgentDefinition("a", "D", "P", "flag")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, PLAIN),
        ({"tools": ["Read", "Grep"]}, replace(PLAIN, tools=("Read", "Grep"))),
        ({"tools": "Read, Grep"}, replace(PLAIN, tools=("Read", "Grep"))),
        ({"tools": "*"}, PLAIN),
        ({"tools": []}, replace(PLAIN, tools=())),
        (
            {"tools": "Read, Agent(scout, tester)"},
            replace(PLAIN, tools=("Read", "Agent"), agent_types=("scout", "tester")),
        ),
        ({"disallowed-tools": "Bash"}, replace(PLAIN, disallowed_tools=("Bash",))),
        ({"disallowedTools": ["mcp__kit"]}, replace(PLAIN, disallowed_tools=("mcp__kit",))),
        ({"model": "inherit"}, PLAIN),
        ({"model": "google/gemini-3.5-flash"}, replace(PLAIN, model="google/gemini-3.5-flash")),
        ({"fallbackModel": "a, b"}, replace(PLAIN, fallback_models=("a", "b"))),
        ({"permissionMode": "plan", "maxTurns": 3}, replace(PLAIN, permission_mode="plan", max_turns=3)),
        ({"effort": "high", "background": True}, replace(PLAIN, effort="high", background=True)),
        ({"background": "false"}, replace(PLAIN, background=False)),
        ({"skills": ["one"], "color": "red"}, replace(PLAIN, skills=("one",), color="red")),
        (
            {"mcpServers": ["kit", {"own": {"command": "x"}}]},
            replace(PLAIN, mcp_servers=("kit", {"own": {"command": "x"}})),
        ),
        ({"mcpServers": {"b": {"url": "u"}}}, replace(PLAIN, mcp_servers=({"b": {"url": "u"}},))),
        ({"hooks": {"Stop": []}, "unknown": 5}, replace(PLAIN, hooks={"Stop": []})),
    ],
)
def test_fields(fields: dict[str, Any], expected: AgentDefinition) -> None:
    assert read(**fields) == (expected, [])


@pytest.mark.parametrize(
    ("fields", "warning"),
    [
        ({"effort": "huge"}, "`effort`"),
        ({"permissionMode": "root"}, "`permissionMode`"),
        ({"maxTurns": 0}, "`maxTurns`"),
        ({"maxTurns": "9" * 5_000}, "`maxTurns`"),
        ({"mcpServers": 5}, "`mcpServers`"),
        ({"mcpServers": [5]}, "`mcpServers`"),
    ],
)
def test_a_wrong_value_is_left_out_and_reported(fields: dict[str, Any], warning: str) -> None:
    made, warnings = read(**fields)
    assert made == PLAIN
    assert len(warnings) == 1
    assert warning in warnings[0]


@pytest.mark.parametrize("fields", [{"tools": {"a": 1}}, {"tools": [5]}, {"hooks": "x"}, {"description": ""}])
def test_limits_that_cannot_be_read_refuse_the_definition(fields: dict[str, Any]) -> None:
    with pytest.raises(BadDefinition):
        read(**fields)


def test_a_file_of_an_untrusted_folder_widens_nothing() -> None:
    wide = replace(
        PLAIN,
        model="other/m",
        fallback_models=("x",),
        permission_mode="acceptEdits",
        mcp_servers=("kit",),
        hooks={"Stop": []},
        tools=("Read",),
    )
    all_dropped = ("permissionMode", "fallbackModel", "mcpServers", "hooks")
    kept = replace(PLAIN, model="other/m", tools=("Read",), same_provider=True)
    assert narrowed(wide, starts=False) == (kept, all_dropped)
    assert narrowed(wide, starts=True) == (
        replace(kept, mcp_servers=("kit",), hooks={"Stop": []}),
        ("permissionMode", "fallbackModel"),
    )
    strict = replace(PLAIN, permission_mode="plan")
    assert narrowed(strict, starts=False) == (replace(strict, same_provider=True), ())


def write(folder: Path, name: str, header: str, body: str = "Body") -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\n{header}\n---\n{body}\n")


def test_files(tmp_path: Path) -> None:
    write(tmp_path, "one.md", "name: one\ndescription: Use when: asked\ntools: Read")
    write(tmp_path, "deep/two.md", "name: two\ndescription: Two")
    write(tmp_path, "again.md", "name: zone\ndescription: Z")
    write(tmp_path, "no-name.md", "description: D")
    write(tmp_path, "no-description.md", "name: lost")
    (tmp_path / "text.md").write_text("just text")
    (tmp_path / "three.txt").write_text("---\nname: three\ndescription: D\n---\n")
    (tmp_path / "gone.md").symlink_to(tmp_path / "nowhere")
    warnings: list[str] = []
    found = read_folder(AgentFolder(str(tmp_path), "user"), warnings.append)
    assert found == {
        "zone": AgentDefinition("zone", "Z", "Body", "user", path=str(tmp_path / "again.md")),
        "two": AgentDefinition("two", "Two", "Body", "user", path=str(tmp_path / "deep" / "two.md")),
        "one": AgentDefinition(
            "one", "Use when: asked", "Body", "user", tools=("Read",), path=str(tmp_path / "one.md")
        ),
    }
    assert [warning.split(": ", 1)[1].split(":")[0] for warning in warnings] == [
        "not read",
        "agent 'lost' is not offered",
    ]


def test_a_folder_is_read_within_limits(tmp_path: Path) -> None:
    for number in range(MAX_FILES + 5):
        (tmp_path / f"{number:04}.md").write_text(f"---\nname: a{number}\ndescription: D\n---\n")
    warnings: list[str] = []
    assert len(read_folder(AgentFolder(str(tmp_path), "user"), warnings.append)) == MAX_FILES
    assert warnings == [f"{tmp_path} has more than {MAX_FILES} files: the rest is not read"]
    assert read_folder(AgentFolder(str(tmp_path / "none"), "user"), warnings.append) == {}


def test_the_later_source_wins_and_names_are_sorted(tmp_path: Path) -> None:
    write(tmp_path / "user", "x.md", "name: Explore\ndescription: mine")
    write(tmp_path / "user", "y.md", "name: beta\ndescription: user's")
    write(tmp_path / "project", "y.md", "name: beta\ndescription: project's\npermissionMode: acceptEdits")
    warnings: list[str] = []
    folders = (
        AgentFolder(str(tmp_path / "user"), "user"),
        AgentFolder(str(tmp_path / "project"), "project", trusted=False, starts=False),
    )
    given = {"gamma": {"description": "G", "prompt": "p"}, "bad": {"description": "B"}}
    agents = AgentList(AgentSettings(given=given, folders=folders), warnings.append)
    assert agents.names() == ("beta", "Explore", "gamma", "general-purpose", "Plan")
    assert [(agent.name, agent.origin) for agent in agents.all()[:3]] == [
        ("beta", "project"),
        ("Explore", "user"),
        ("gamma", "flag"),
    ]
    assert [warning.split(": ", 1)[-1] for warning in warnings] == [
        "this folder is not trusted: permissionMode of agent 'beta' is ignored",
        "it needs a `prompt`",
    ]
    before = agents.all()
    assert agents.all() is before
    agents.add_given({"beta": {"description": "host's", "prompt": "p"}})
    agents.set_plugins([AgentDefinition("kit:tool", "K", "p", "plugin"), AgentDefinition("gamma", "K", "p", "plugin")])
    found = {agent.name: agent.origin for agent in agents.all()}
    assert (found["beta"], found["kit:tool"], found["gamma"]) == ("host", "plugin", "flag")


def test_the_tool_lists_the_agents_within_a_limit() -> None:
    text = agent_spec(builtin_listing(), background=True).description
    assert all(f"- {agent.name}: {agent.description}" in text for agent in BUILTIN_AGENTS)
    many = [AgentDefinition(f"agent-{number}", "word " * 300, "") for number in range(60)]
    listed = listing(many)
    assert len(listed) < MAX_LISTED + 60 * 12
    assert listed.count("\n") == 59
    assert listed.endswith("- agent-59")
