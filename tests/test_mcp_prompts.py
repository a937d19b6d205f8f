"""Prompts of MCP servers as slash commands, in the whole program."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import child
from tests.helpers.scripted_model import ModelServer, call, say
from tests.helpers.timing import wait_until
from tests.helpers.vendor_place import FLAT, MODELS, NESTED, SESSION, VendorPlace
from yume_shim.app.command_list import BUILTIN_NAMES

SERVER = Path(__file__).parent / "helpers" / "prompt_server.py"
CONFIG = json.dumps({"mcpServers": {"my kit": {"command": sys.executable, "args": [str(SERVER)]}}})
GREET = "mcp__my_kit__greet_all"
LISTED = {"name": GREET, "description": "Greets somebody.", "argumentHint": "<name> [words]"}
EXPANDED = 'Say hello: {"name": "Ada Lovelace", "words": "well and often"}\n\n'


def user(text: str) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": text}}


def bodies(server: ModelServer) -> list[str]:
    return [json.dumps(each.json()) for each in server.requests if each.method == "POST" and "/show" not in each.path]


@pytest.mark.parametrize("api", MODELS)
def test_a_prompt_of_a_server_goes_to_the_model(tmp_path: Path, api: str) -> None:
    """Over every API, and the same again after the session was resumed."""
    with ModelServer([say("Hello.")], [say("Bye.")]) as server:
        place = VendorPlace(tmp_path, server)
        first = f'/{GREET} "Ada Lovelace" well and often'
        argv = ("--model", MODELS[api], "--mcp-config", CONFIG)
        place.run("--session-id", SESSION, *argv, lines=[{"type": "user", "content": first}], form=FLAT)
        place.run("--resume", SESSION, *argv, lines=[{"type": "user", "content": "Thanks"}], form=FLAT)
        asked = bodies(server)
    for body in asked:
        assert json.dumps(EXPANDED)[1:-1] in body
        assert "From a resource." in body
        assert "[image left out" in body


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"/{GREET}", "Error: Missing argument: name"),
        ("/mcp__my_kit__broken", "Error: the prompt is broken"),
    ],
)
def test_a_prompt_that_fails_ends_without_a_request(tmp_path: Path, text: str, reason: str) -> None:
    with ModelServer() as server:
        place = VendorPlace(tmp_path, server)
        for form, line in ((NESTED, user(text)), (FLAT, {"type": "user", "content": text})):
            lines = place.run("--model", MODELS["openai-chat"], "--mcp-config", CONFIG, lines=[line], form=form)
            [result] = [line for line in lines if line["type"] == "result"]
            assert (result["result"], result["num_turns"]) == (reason, 0)
        assert bodies(server) == []


def test_an_unknown_command_goes_to_the_model_as_text(tmp_path: Path) -> None:
    with ModelServer([say("What?")]) as server:
        place = VendorPlace(tmp_path, server)
        argv = ("--model", MODELS["openai-chat"], "--mcp-config", CONFIG)
        place.run(*argv, lines=[user("/mcp__my_kit__nothing x")])
        [body] = bodies(server)
    assert "/mcp__my_kit__nothing x" in body


def talk(program: child.Child) -> child.Ended:
    """`initialize`, a turn in which a prompt is added, then the server is switched off and on."""
    program.send({"type": "control_request", "request_id": "i", "request": {"subtype": "initialize"}})
    program.wait_for("control_response")
    program.send(user("Go"))
    wait_until(lambda: any(b"mcp__my_kit__new" in line for line in program.out), "the new prompt")
    for enabled in (False, True):
        toggle = {"subtype": "mcp_toggle", "serverName": "my kit", "enabled": enabled}
        program.send({"type": "control_request", "request_id": f"t{enabled}", "request": toggle})
        program.wait_for("control_response")
    return program.end()


def test_commands_are_listed_and_changes_are_announced(tmp_path: Path) -> None:
    """The answer to `initialize` does not wait for servers: their prompts come with `commands_changed`, and init lists
    them; a prompt that is added and a toggle change the list."""
    with ModelServer([call("mcp__my_kit__more")], [say("Done.")]) as server:
        place = VendorPlace(tmp_path, server)
        argv = [*NESTED, "--model", MODELS["openai-chat"], "--mcp-config", CONFIG, "--allowedTools", "mcp__my_kit"]
        program = child.start(argv, cwd=place.cwd, env=place.env)
        try:
            ended = talk(program)
        finally:
            program.kill()
    [answer] = [line["response"] for line in ended.lines if line.get("response", {}).get("request_id") == "i"]
    seen = [answer["response"]["commands"]]
    seen += [line["commands"] for line in ended.lines if line.get("subtype") == "commands_changed"]
    names = [[command["name"] for command in commands] for commands in seen]
    own, first = [*BUILTIN_NAMES], [GREET, "mcp__my_kit__broken"]
    assert any(LISTED in commands for commands in seen)
    if names[0] == own:  # the server was not connected yet, as nearly always
        names.pop(0)
    assert names[0] == own + first
    assert own + first + ["mcp__my_kit__new"] in names
    assert own in names[1:]
    assert names[-1][: len(own + first)] == own + first
    [init] = [line for line in ended.lines if line.get("subtype") == "init"]
    assert init["slash_commands"] == own + first


def test_commands_can_be_switched_off(tmp_path: Path) -> None:
    with ModelServer([say("Hm.")]) as server:
        place = VendorPlace(tmp_path, server)
        argv = ("--model", MODELS["openai-chat"], "--mcp-config", CONFIG, "--disable-slash-commands")
        lines = place.run(*argv, lines=[user(f"/{GREET} Ada")])
        [body] = bodies(server)
    assert [line["slash_commands"] for line in lines if line.get("subtype") == "init"] == [[]]
    assert "Say hello" not in body
