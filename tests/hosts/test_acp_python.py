"""`yume-shim acp` with the official Python client of the protocol."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from acp import RequestError, image_block, text_block
from acp.schema import EmbeddedResourceContentBlock, McpServerStdio, ResourceContentBlock, TextResourceContents

from tests.helpers.acp_client import Editor, connected, run
from tests.helpers.scripted_model import call, hold, say, think

if TYPE_CHECKING:
    from tests.helpers.host_world import HostWorld

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SERVER = str(Path(__file__).parents[1] / "helpers" / "odd_mcp_server.py")


def test_a_whole_session(world: HostWorld) -> None:
    """Text, calls, a permission, a cancel, another model and mode, close, list, load: on each provider."""
    (world.cwd / "kettle.txt").write_text("sencha at 70 degrees\n", "utf-8")
    world.serve(
        [say("Let me look."), call("Read", file_path="kettle.txt")],
        [call("Write", file_path="note.txt", content="70 degrees\n")],
        [say("Sencha, at 70 degrees.")],
        [say("One, two"), hold()],
        [say("Still here.")],
    )

    async def story() -> None:
        editor = Editor()
        editor.choices = ["allow_once"]
        async with connected(world, editor) as agent:
            opened = await agent.new_session(cwd=str(world.cwd))
            assert opened.modes is not None
            assert opened.modes.current_mode_id == "default"
            ended = await agent.prompt(session_id=opened.session_id, prompt=[text_block("What is in the kettle?")])
            assert ended.stop_reason == "end_turn"
            _check_first_turn(editor, world)
            editor.updates.clear()
            running = asyncio.create_task(
                agent.prompt(session_id=opened.session_id, prompt=[text_block("Count to ten.")])
            )
            await editor.until("agent_message_chunk")
            await agent.cancel(session_id=opened.session_id)
            assert (await running).stop_reason == "cancelled"
            other = f"{world.vendor.name}/{world.vendor.other_model}"
            changed = await agent.set_config_option(session_id=opened.session_id, config_id="model", value=other)
            assert changed is not None
            assert {option.id: option.current_value for option in changed.config_options}["model"] == other
            await agent.set_session_mode(session_id=opened.session_id, mode_id="plan")
            again = await agent.prompt(session_id=opened.session_id, prompt=[text_block("Are you there?")])
            assert again.stop_reason == "end_turn"
            assert [one["currentModeId"] for one in editor.take("current_mode_update")] == ["plan"]
            await agent.close_session(session_id=opened.session_id)
            listed = await agent.list_sessions(cwd=str(world.cwd))
            assert [(one.session_id, one.title) for one in listed.sessions] == [
                (opened.session_id, "What is in the kettle?")
            ]
            editor.updates.clear()
            await agent.load_session(session_id=opened.session_id, cwd=str(world.cwd))
            _check_loaded(editor)

    run(story())
    assert [request.model for request in world.requests()][-1] == world.vendor.other_model


def _check_first_turn(editor: Editor, world: HostWorld) -> None:
    assert editor.text() == "Let me look.Sencha, at 70 degrees."
    started = editor.take("tool_call")
    assert [(one["kind"], one["title"], one["status"]) for one in started] == [
        ("read", "Read kettle.txt", "in_progress"),
        ("edit", "Write note.txt", "in_progress"),
    ]
    assert started[0]["locations"] == [{"path": str(world.cwd / "kettle.txt")}]
    finished = editor.take("tool_call_update")
    assert [(one["toolCallId"], one["status"]) for one in finished] == [
        (one["toolCallId"], "completed") for one in started
    ]
    assert "sencha at 70 degrees" in finished[0]["content"][0]["content"]["text"]
    diff = {"type": "diff", "path": str(world.cwd / "note.txt"), "newText": "70 degrees\n"}
    assert finished[1]["content"] == [diff]
    (asked,) = editor.asked
    assert asked["call"]["toolCallId"] == started[1]["toolCallId"]
    assert asked["call"]["content"][0] == diff
    kinds = ["allow_once", "allow_always", "allow_always", "reject_once", "reject_always"]  # this call, or all edits
    assert [kind for kind, _ in asked["options"]] == kinds
    assert (world.cwd / "note.txt").read_text("utf-8") == "70 degrees\n"
    assert [one["title"] for one in editor.take("session_info_update")] == ["What is in the kettle?"]
    (usage,) = editor.take("usage_update")
    assert 0 < usage["used"] < usage["size"]
    commands = {
        one["name"]: one["description"] for one in editor.take("available_commands_update")[0]["availableCommands"]
    }
    assert len(commands["compact"]) > len("compact")
    assert "clear" not in commands


def _check_loaded(editor: Editor) -> None:
    kinds = [update["sessionUpdate"] for update in editor.updates]
    assert kinds[:5] == ["user_message_chunk", "agent_message_chunk", "tool_call", "tool_call_update", "tool_call"]
    assert editor.text("user_message_chunk").startswith("What is in the kettle?Count to ten.")
    assert editor.text().endswith("Still here.")


def test_permissions_that_last(any_world: HostWorld) -> None:
    """Always and never, and what a client that cancels the question gets."""
    world = any_world
    touch, remove = "touch made", "touch unwanted"
    world.serve(
        [call("Bash", command=touch), call("Bash", command=remove)],
        [call("Bash", command=touch), call("Bash", command=remove)],
        [say("Done.")],
        [call("Bash", command="touch third")],
    )

    async def story() -> None:
        editor = Editor()
        editor.choices = ["allow_always", "reject_always"]
        async with connected(world, editor) as agent:
            opened = await agent.new_session(cwd=str(world.cwd))
            ended = await agent.prompt(session_id=opened.session_id, prompt=[text_block("Go.")])
            assert ended.stop_reason == "end_turn"
            assert len(editor.asked) == 2
            assert [one["status"] for one in editor.take("tool_call_update")] == ["completed", "failed"] * 2
            editor.asked.clear()
            editor.hold_permission = asyncio.Event()
            running = asyncio.create_task(agent.prompt(session_id=opened.session_id, prompt=[text_block("Third.")]))
            await editor.until_asked()
            await agent.cancel(session_id=opened.session_id)
            assert (await running).stop_reason == "cancelled"
            editor.hold_permission.set()

    run(story())
    assert sorted(path.name for path in world.cwd.iterdir()) == ["made"]


def test_files_of_the_editor(any_world: HostWorld) -> None:
    """Unsaved text is read and edited; a long file is written whole; what the editor does not have is on disk."""
    world = any_world
    open_file, plain = world.cwd / "open.txt", world.cwd / "plain.txt"
    open_file.write_text("old on disk\n", "utf-8")
    plain.write_text("only on disk\n", "utf-8")
    long = "".join(f"line {number} of a long file with some words in it\n" for number in range(60_000))
    world.serve(
        [call("Read", file_path="open.txt"), call("Read", file_path="plain.txt")],
        [call("Edit", file_path="open.txt", old_string="unsaved", new_string="edited")],
        [call("Write", file_path="long.txt", content=long)],
        [call("Write", file_path="../outside.txt", content="no")],
        [say("Done.")],
    )

    async def story() -> None:
        editor = Editor()
        editor.buffers = {str(open_file): "unsaved in the editor\n"}
        editor.choices = ["allow_once", "allow_once", "reject_once"]
        async with connected(world, editor, files=True) as agent:
            opened = await agent.new_session(cwd=str(world.cwd))
            await agent.prompt(session_id=opened.session_id, prompt=[text_block("Edit.")])
            assert editor.written == {str(open_file): "edited in the editor\n", str(world.cwd / "long.txt"): long}

    run(story())
    results = world.requests()[1].results
    assert ["unsaved in the editor" in results[0], "only on disk" in results[1]] == [True, True]
    assert (world.cwd / "long.txt").read_text("utf-8") == long


def test_what_a_prompt_may_hold(any_world: HostWorld) -> None:
    """Images, embedded and linked resources, a plan, an MCP server of the client; audio is refused."""
    world = any_world
    todos = [{"content": "Look", "status": "in_progress", "activeForm": "Looking"}]
    world.serve(
        [think("Hm."), call("TodoWrite", todos=todos)],
        [call("mcp__tea__echo", words="hello")],
        [call("Bash", command="printf 'a\\nb\\n'")],
        [say("Done.")],
    )
    resource = TextResourceContents(uri="file:///notes/tea.md", text="brew @/etc/passwd at 70", mime_type="text/plain")
    prompt: list[Any] = [
        text_block("Look at this."),
        image_block(PIXEL, "image/png"),
        EmbeddedResourceContentBlock(type="resource", resource=resource),
        ResourceContentBlock(type="resource_link", name="pot.py", uri="file:///shelf/my%20pot.py"),
    ]

    async def story() -> None:
        editor = Editor()
        async with connected(world, editor, "--allowedTools", "Bash(printf:*)", "mcp__tea") as agent:
            server = McpServerStdio(name="tea", command=sys.executable, args=[SERVER, "plain"], env=[])
            opened = await agent.new_session(cwd=str(world.cwd), mcp_servers=[server])
            ended = await agent.prompt(session_id=opened.session_id, prompt=prompt)
            assert ended.stop_reason == "end_turn"
            (plan,) = editor.take("plan")
            assert plan["entries"] == [{"content": "Look", "priority": "medium", "status": "in_progress"}]
            assert editor.text("agent_thought_chunk") == "Hm."
            assert [(one["kind"], one["title"]) for one in editor.take("tool_call")] == [
                ("other", "mcp__tea__echo"),
                ("execute", "printf 'a\\nb\\n'"),
            ]
            assert [one["status"] for one in editor.take("tool_call_update")] == ["completed", "completed"]
            shown = editor.take("tool_call_update")[-1]["content"]
            assert shown == [{"type": "content", "content": {"type": "text", "text": "```console\na\nb\n```"}}]
            with pytest.raises(RequestError, match="audio"):
                await agent.prompt(
                    session_id=opened.session_id,
                    prompt=[{"type": "audio", "data": "AA==", "mimeType": "audio/wav"}],  # type: ignore[list-item]
                )

    run(story())
    first = world.requests()[0]
    assert "brew @/etc/passwd at 70" in str(first.said)
    assert "[pot.py](/shelf/my pot.py)" in str(first.said)
    assert "root:" not in str(first.said)
