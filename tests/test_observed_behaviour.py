"""Behaviour of the Claude forms that was observed with the Claude CLI itself, outside of the parity scenarios."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.scripted_model import ModelServer, call, refuse, say
from tests.helpers.vendor_place import MODELS, NESTED, VendorPlace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.helpers.child import Ended
    from tests.helpers.scripted_model import Answer

ASKING = (*NESTED, "--permission-prompt-tool", "stdio")
INTERRUPT = {"type": "control_request", "request_id": "i1", "request": {"subtype": "interrupt"}}
WRITE = call("Write", file_path="a.txt", content="x")


def user(text: str) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": text}}


def run(folder: Path, argv: tuple[str, ...], script: list[dict[str, Any]], *answers: Answer) -> Ended:
    with ModelServer(*answers) as server:
        place = VendorPlace(folder, server)
        words = [*argv, "--model", MODELS["anthropic-messages"], "--max-retries", "0"]
        return child.run(words, script, cwd=place.cwd, env=place.env)


@pytest.mark.parametrize(
    ("rule", "tool", "allowed"),
    [
        ("*", call("Bash", command="touch a"), False),
        ("Write(*)", WRITE, True),
        ("Edit(*)", WRITE, False),
        ("Edit(**)", WRITE, True),
        ("Edit(*.txt)", WRITE, True),
        ("Read(*)", call("Read", file_path="/etc/passwd"), False),
        ("Read", call("Read", file_path="/etc/passwd"), True),
        ("Bash(touch * b)", call("Bash", command="touch a b"), True),
        ("Bash(touch * b)", call("Bash", command="touch a c"), False),
    ],
)
def test_a_star_in_an_allow_rule(tmp_path: Path, rule: str, tool: Any, allowed: bool) -> None:
    ended = run(tmp_path, ("-p", "go", "--output-format", "json", "--allowedTools", rule), [], [tool], [say("ok")])
    [result] = ended.lines
    assert (result["permission_denials"] == []) is allowed


def test_a_call_that_is_interrupted_while_the_host_is_asked_is_a_denial(tmp_path: Path) -> None:
    script = [user("go"), {"!after": "can_use_tool"}, INTERRUPT, {"!after": "result"}]
    ended = run(tmp_path, ASKING, script, [call("Bash", command="touch a")], [say("ok")])
    result = ended.lines[-1]
    assert [denial["tool_input"] for denial in result["permission_denials"]] == [{"command": "touch a"}]
    assert (result["terminal_reason"], result["num_turns"]) == ("aborted_tools", 3)


def test_the_texts_of_a_failed_compaction(tmp_path: Path) -> None:
    script = [user("hi"), {"!after": "result"}, user("/compact"), {"!after": "result"}]
    ended = run(tmp_path, NESTED, script, [say("hello")], [refuse(400)])
    [status] = [line for line in ended.lines if line.get("compact_result")]
    result, text = ended.lines[-1], ended.lines[-2]["message"]["content"][0]["text"]
    assert text.startswith(
        "Error during compaction: API Error: 400 scripted refusal (anthropic: bad_request, status 400"
    )
    assert (status["compact_error"], result["result"]) == (text, text)
    assert (result["subtype"], result["is_error"], ended.code) == ("success", False, 0)


@pytest.mark.parametrize("form", ["text", "json", "stream-json"])
def test_a_name_to_resume_that_is_neither_an_id_nor_a_title(tmp_path: Path, form: str) -> None:
    verbose = ("--verbose",) if form == "stream-json" else ()
    ended = run(tmp_path, ("-p", "go", "--resume", "nope", "--output-format", form, *verbose), [], [say("ok")])
    message = ended.stderr.decode().strip()
    assert 'Provided value "nope" is not a UUID and does not match any session title.' in message
    assert [line["errors"] for line in ended.lines] == ([[message]] if form == "stream-json" else [])
    assert ended.code == 1
