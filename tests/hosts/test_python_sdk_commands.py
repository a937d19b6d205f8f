"""Skills, commands and plugins through the real Python Agent SDK, on three providers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.helpers.scripted_model import call, say
from tests.helpers.sdk_host import SdkHost, init_of, result_of, results, run, texts, turn

if TYPE_CHECKING:
    from tests.helpers.host_world import HostWorld


def write(world: HostWorld, name: str, text: str) -> None:
    path = world.cwd / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def test_skills_commands_and_plugins(world: HostWorld) -> None:
    """One session: what `initialize` and init list, a skill that the model uses, a command, a plugin's command, and an
    answer of the program itself."""
    write(
        world, ".claude/skills/tea/SKILL.md", "---\ndescription: Makes tea\n---\nUse $0, see ${CLAUDE_SKILL_DIR}/pot.md"
    )
    write(
        world,
        ".claude/commands/pour.md",
        "---\ndescription: Pours\nargument-hint: <cup>\n---\nPour into $ARGUMENTS: !`echo now`",
    )
    write(world, "kit/commands/wash.md", "Wash ${CLAUDE_PLUGIN_ROOT}")
    world.serve([call("Skill", skill="tea", args="sencha")], [say("Brewed.")], [say("Poured.")], [say("Washed.")])
    host = SdkHost(world)
    plugins: list[Any] = [{"type": "local", "path": str(world.cwd / "kit")}]

    async def story() -> None:
        async with host.client(plugins=plugins, setting_sources=["project"]) as client:
            info = await client.get_server_info()
            assert info is not None
            listed = {command["name"]: command for command in info["commands"]}
            assert listed["pour"] == {"name": "pour", "description": "Pours (project)", "argumentHint": "<cup>"}
            assert {"tea", "kit:wash", "compact", "init"} <= set(listed)
            first = await turn(client, "Tea, please")
            assert init_of(first)["skills"] == ["tea"]
            assert [plugin["name"] for plugin in init_of(first)["plugins"]] == ["kit"]
            assert [result.content for result in results(first)] == ["Launching skill: tea"]
            assert texts(await turn(client, "/pour a cup")) == ["Poured."]
            assert texts(await turn(client, "/kit:wash")) == ["Washed."]
            assert (result_of(await turn(client, "/cost")).result or "").startswith("Total cost: ")

    run(story())
    said = ["\n".join(request.said) for request in world.requests()]
    assert "- tea: Makes tea" in said[0]
    assert f"Use sencha, see {world.cwd}/.claude/skills/tea/pot.md" in said[1]
    assert "Pour into a cup: now" in said[2]
    assert f"Wash {world.cwd}/kit" in said[3]
    assert host.stderr == []
