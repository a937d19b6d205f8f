"""What the end of a hook means, by its exit code and what it printed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from yume_shim.extensions.hooks.answers import HookAnswer, HookRun, async_seconds, is_async, read_answer
from yume_shim.extensions.hooks.specs import Hook

GUARD = Hook("PreToolUse", command="guard")
PROMPT = Hook("UserPromptSubmit", command="watch")
JUDGE = Hook("PreToolUse", prompt="is it fine?")


def special(event: str = "PreToolUse", **fields: Any) -> str:
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, **fields}})


DENY = special(permissionDecision="deny", permissionDecisionReason="why")
ALLOW = special(permissionDecision="allow")


def ended(code: int | None, stdout: str = "", stderr: str = "", hook: Hook = GUARD, **fields: Any) -> HookAnswer:
    return read_answer(HookRun(hook, code, stdout, stderr, **fields))


@pytest.mark.parametrize("code", [0, 1, 2, 3, 127, -9])
def test_a_refusal_counts_whatever_the_exit_code_is(code: int) -> None:
    answer = ended(code, DENY, "noise")
    assert (answer.verdict, answer.reason) == ("deny", "why")


def test_exit_code_two_blocks_whatever_the_json_says() -> None:
    answer = ended(2, ALLOW, "no")
    assert (answer.blocks, answer.verdict, answer.reason) == (True, "", "[guard]: no")
    assert ended(2).reason == "[guard]: No stderr output"


@pytest.mark.parametrize(
    ("code", "failure"),
    [
        (0, ""),
        (1, ""),
        (126, "the command cannot be run"),
        (127, "the command was not found"),
        (-15, "the command was ended by signal 15"),
    ],
)
def test_which_ends_are_no_answer(code: int, failure: str) -> None:
    assert ended(code) == HookAnswer(label="guard", failure=failure)


@pytest.mark.parametrize(
    ("stdout", "failure"),
    [
        ('{"decision": "blo', "its answer is not valid JSON"),
        (ALLOW + DENY, "its answer is not valid JSON"),
        ("{" * 5000, "its answer is not valid JSON"),
        ('{"a":' * 5000 + "1" + "}" * 5000, "its answer is not valid JSON"),
        ('{"decision": "no"}', "`decision` must be approve or block"),
        ('{"continue": 1}', "`continue` must be true or false"),
        ('{"hookSpecificOutput": []}', "`hookSpecificOutput` must be an object"),
        (special("Stop"), "`hookSpecificOutput.hookEventName` must be 'PreToolUse', not 'Stop'"),
        (special(permissionDecision="maybe"), "`permissionDecision` must be allow or deny or ask or defer"),
        (special(updatedInput="x"), "`updatedInput` must be an object"),
    ],
)
def test_an_answer_of_another_form_does_not_count(stdout: str, failure: str) -> None:
    answer = ended(0, stdout)
    assert (answer.failure, answer.refuses, answer.verdict, answer.input) == (failure, False, "", None)


@pytest.mark.parametrize(
    "stdout",
    [
        special("Stop", permissionDecision="deny"),
        json.dumps({"hookSpecificOutput": {"permissionDecision": "deny"}}),
        json.dumps({"decision": "block", "reason": 5}),
    ],
)
def test_a_refusal_of_a_wrong_form_still_refuses(stdout: str) -> None:
    answer = ended(0, stdout)
    assert (answer.refuses, bool(answer.failure)) == (True, True)


def test_an_answer_that_is_too_long_refuses() -> None:
    assert ended(0, "{...", cut=True).refuses
    assert not ended(0, "text", cut=True).refuses
    assert not ended(0, "{...", hook=PROMPT, cut=True).refuses


def test_an_answer_of_a_guard_that_ran_out_of_time() -> None:
    assert ended(None, DENY, timed_out=True, failed="it timed out").refuses
    assert ended(None, ALLOW, timed_out=True, failed="it timed out").failure == "it timed out"


def test_plain_text_is_for_the_model_after_success_only() -> None:
    assert ended(0, " hello\n", hook=PROMPT).text == "hello"
    assert ended(0, "{ no json", hook=PROMPT).text == "{ no json"
    assert ended(1, "hello", hook=PROMPT) == HookAnswer(label="watch")


def test_unknown_fields_and_nulls_are_ignored() -> None:
    body = {"foo": 1, "reason": None, "suppressOutput": True, "systemMessage": "hi"}
    assert ended(0, json.dumps(body)) == HookAnswer(label="guard", message="hi")


@pytest.mark.parametrize(
    ("text", "failure", "refuses"),
    [
        ('{"ok": true, "reason": "fine"}', "", False),
        ('{"ok": false, "reason": "rude"}', "", True),
        ('```json\n{"ok": false, "reason": "rude"}\n```', "", True),
        ("no", "the model gave no judgement", False),
        ('{"ok": "false"}', "the model gave no judgement", False),
    ],
)
def test_the_judgement_of_a_model(text: str, failure: str, refuses: bool) -> None:
    answer = ended(None, text, hook=JUDGE)
    assert (answer.failure, answer.refuses, answer.stops) == (failure, refuses, refuses)
    if refuses:
        assert (answer.reason, answer.stop_reason) == ("[is it fine?]: rude", "rude")


def test_what_the_judgement_of_a_model_ends() -> None:
    def no(event: str, **fields: Any) -> tuple[bool, bool]:
        answer = ended(None, '{"ok": false, "reason": "r"}', hook=Hook(event, prompt="p", **fields))
        return answer.blocks, answer.stops

    assert no("PreToolUse", continues=True) == (True, False)
    assert no("PostToolUse") == (True, True)
    assert no("Stop") == (True, False)
    assert no("UserPromptSubmit") == (False, True)
    assert no("UserPromptSubmit", continues=True) == (True, False)


def test_lines_of_hooks_that_work_on() -> None:
    assert is_async(b'{"async": true, "asyncTimeout": 1500}')
    assert async_seconds(b'{"async": true, "asyncTimeout": 1500}') == 1.5
    assert [async_seconds(line) for line in (b'{"async": true}', b'{"asyncTimeout": true}', b"x")] == [None] * 3
    assert not is_async(b'{"async": 1}')
