"""What people read in the print modes: every part of an answer, the reason of a refusal, what was substituted."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.cassettes import run_cassette, write_cassette
from tests.helpers.host_world import OPENAI, HostWorld
from tests.helpers.scripted_model import call, hold, say, think, wire_of
from tests.helpers.wire_writers import WRITERS

if TYPE_CHECKING:
    from pathlib import Path


CLAUDE = "claude-sonnet-5-5"


def claude(*texts: str, stop: str = "end_turn", **details: Any) -> list[dict[str, Any]]:
    """One answer of Anthropic's API."""
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": CLAUDE, "content": []}
    frames: list[dict[str, Any]] = [{"type": "message_start", "message": message}]
    for index, text in enumerate(texts):
        frames.append({"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}})
        delta = {"type": "text_delta", "text": text}
        frames.append({"type": "content_block_delta", "index": index, "delta": delta})
        frames.append({"type": "content_block_stop", "index": index})
    usage = {"input_tokens": 5, "output_tokens": 5}
    return [
        *frames,
        {"type": "message_delta", "delta": {"stop_reason": stop, **details}, "usage": usage},
        {"type": "message_stop"},
    ]


def ask(folder: Path, *wires: list[dict[str, Any]], form: str = "text", api: str = "anthropic-messages") -> child.Ended:
    cassette = write_cassette(folder / "cassette", api, CLAUDE if api == "anthropic-messages" else "m", *wires)
    return run_cassette(cassette, "-p", "hi", "--output-format", form)


# ---------------------------------------------------------------- parts of an answer


PARTS = (claude("One, ", stop="max_tokens"), claude("two, ", stop="pause_turn"), claude("three."))


def test_text_mode_prints_all_parts_of_an_answer(tmp_path: Path) -> None:
    assert ask(tmp_path, *PARTS).stdout == b"One, two, three.\n"


def test_json_has_the_last_part_as_result_and_all_as_parts(tmp_path: Path) -> None:
    [result] = ask(tmp_path, *PARTS, form="json").lines
    assert (result["result"], result["result_parts"]) == ("three.", ["One, ", "two, ", "three."])


def test_an_answer_in_one_part_has_no_parts(tmp_path: Path) -> None:
    [result] = ask(tmp_path, claude("One.", "Two."), form="json").lines
    assert result["result"] == "One.\nTwo."
    assert "result_parts" not in result


# ---------------------------------------------------------------- refusals


def _gemini(reason: str, **more: Any) -> list[dict[str, Any]]:
    return [{"candidates": [{"content": {"parts": []}, "finishReason": reason, **more}]}]


def _chat(**choice: Any) -> list[dict[str, Any]]:
    first = {"index": 0, "delta": {"role": "assistant", "content": ""}}
    last = {"index": 0, "delta": {}, "finish_reason": "content_filter", **choice}
    return [{"id": "c", "choices": [first]}, {"id": "c", "choices": [last]}, {"!done": True}]


RATINGS = [
    {"category": "HARM_CATEGORY_HARASSMENT", "probability": "HIGH", "blocked": True},
    {"category": "HARM_CATEGORY_HATE_SPEECH", "probability": "LOW"},
]
DETAILS = {"type": "refusal", "category": "cyber", "explanation": "Not this."}
REFUSALS: list[tuple[str, list[dict[str, Any]], str]] = [
    ("anthropic-messages", claude(stop="refusal", stop_details=DETAILS), "cyber: Not this."),
    ("google-genai", _gemini("SAFETY", safetyRatings=RATINGS), "SAFETY: HARM_CATEGORY_HARASSMENT"),
    ("google-genai", _gemini("RECITATION", finishMessage="Quoted too much."), "RECITATION: Quoted too much."),
    ("google-genai", _gemini("PROHIBITED_CONTENT"), "PROHIBITED_CONTENT"),
    ("google-genai", _gemini("SPII"), "SPII"),
    ("google-genai", _gemini("LANGUAGE"), "LANGUAGE"),
    (
        "google-genai",
        [{"promptFeedback": {"blockReason": "BLOCKLIST", "blockReasonMessage": "A listed word."}}],
        "BLOCKLIST: A listed word.",
    ),
    ("openai-chat", _chat(content_filter_results={"hate": {"filtered": True}}), "content_filter: hate"),
    (
        "openai-responses",
        [
            {"type": "response.created", "response": {"id": "r", "status": "in_progress"}},
            {
                "type": "response.incomplete",
                "response": {"id": "r", "status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
            },
        ],
        "content_filter",
    ),
]


@pytest.mark.parametrize(("api", "wire", "reason"), REFUSALS, ids=[f"{api} {why}" for api, _, why in REFUSALS])
def test_a_refusal_gives_the_providers_reason(
    tmp_path: Path, api: str, wire: list[dict[str, Any]], reason: str
) -> None:
    ended = ask(tmp_path, wire, api=api)
    assert f"The model declined to answer: {reason}" in ended.stderr.decode()
    assert ended.code == 0


def test_a_refusal_gives_its_reason_in_both_dialects(tmp_path: Path) -> None:
    cassette = write_cassette(tmp_path / "cassette", "google-genai", "m", _gemini("SAFETY"), _gemini("SAFETY"))
    text = "The model declined to answer: SAFETY"
    flat = run_cassette(cassette, "-p", "hi", "--output-format", "flat").lines
    [warning] = [line["message"] for line in flat if line.get("code") == "refusal"]
    assert warning.startswith(f"{text}. ")
    nested = run_cassette(cassette, "-p", "hi", "--output-format", "stream-json", "--verbose").lines
    assert [line["content"] for line in nested if line.get("subtype") == "informational"] == [warning]


# ---------------------------------------------------------------- empty answers


@pytest.mark.parametrize("api", sorted(WRITERS))
@pytest.mark.parametrize(("steps", "text"), [([], "is empty"), ([think("hm")], "contains only reasoning")])
def test_an_answer_without_text_is_reported(tmp_path: Path, api: str, steps: list[Any], text: str) -> None:
    ended = ask(tmp_path, wire_of(api, steps), api=api)
    assert f"The model's answer {text}." in ended.stderr.decode()
    assert ended.stdout.strip() == b""


def test_an_answer_with_text_is_not_reported(tmp_path: Path) -> None:
    assert ask(tmp_path, wire_of("openai-chat", [say("Hi.")]), api="openai-chat").stderr == b""


# ---------------------------------------------------------------- waits


def _busy(seconds: float) -> list[dict[str, Any]]:
    body = {"type": "error", "error": {"type": "rate_limit_error", "message": "Slow down."}}
    return [{"!status": 429, "headers": {"retry-after": str(seconds)}, "body": body}]


def test_a_long_wait_is_reported_when_it_begins_and_a_short_one_is_not(tmp_path: Path) -> None:
    ended = ask(tmp_path, _busy(1), _busy(7), claude("Hi."))
    told = [line for line in ended.stderr.decode().splitlines() if "Slow down." in line]
    assert len(told) == 1
    assert told[0].endswith("Slow down. (rate_limit); retry 2 of 3 in 7.0 s")
    assert ended.stdout == b"Hi.\n"


# ---------------------------------------------------------------- wording


@pytest.mark.parametrize(
    ("api", "form", "who"),
    [
        ("anthropic-messages", "stream-json", "Claude"),
        ("anthropic-messages", "flat", "The model"),
        ("openai-chat", "stream-json", "The model"),
        ("google-genai", "flat", "The model"),
    ],
)
def test_messages_about_permissions_name_who_asks(tmp_path: Path, api: str, form: str, who: str) -> None:
    write = wire_of(api, [call("Write", file_path="a.txt", content="x")])
    cassette = write_cassette(
        tmp_path / "cassette",
        api,
        CLAUDE if api == "anthropic-messages" else "m",
        write,
        wire_of(api, [say("Done.")], 2),
    )
    ended = run_cassette(cassette, "-p", "hi", "--output-format", form, "--verbose")
    assert f"{who} requested permissions to write to" in ended.stdout.decode()
    assert (b"Claude requested" in ended.stdout) == (who == "Claude")


def test_a_missing_model_is_named(tmp_path: Path) -> None:
    body = {"type": "error", "error": {"type": "not_found_error", "message": "not found"}}
    ended = ask(tmp_path, [{"!status": 404, "body": body}])
    assert f"not found (model '{CLAUDE}'); `yume-shim models` lists the known ones" in ended.stdout.decode()
    assert ended.code == 1


def test_a_model_without_a_key_is_refused_at_once(tmp_path: Path) -> None:
    world = HostWorld(tmp_path, OPENAI)
    world.serve([hold()])
    script: list[dict[str, Any]] = [
        {"type": "user", "content": "hi"},
        {"type": "set_model", "model": "groq/zzz"},
        {"!after": "error"},
        {"type": "interrupt"},
        {"!after": "result"},
        {"type": "set_permission_mode", "mode": "plan"},
        {"!after": "permission_mode"},
    ]
    lines = child.run(["--output-format", "flat"], script, cwd=world.cwd, env=world.env).lines
    world.close()
    [error] = [line for line in lines if line["type"] == "error"]
    assert (error["code"], error["provider"]) == ("auth", "groq")
    assert {"type": "system", "subtype": "permission_mode", "permissionMode": "plan"} in lines
    kinds = [line["type"] for line in lines]
    assert kinds.index("error") < kinds.index("result")


# ---------------------------------------------------------------- where the output goes


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device that is always full")
@pytest.mark.parametrize("form", ["text", "stream-json", "flat", "--version", "models"])
def test_output_that_a_full_disk_did_not_take_is_a_failure(form: str, tmp_path: Path) -> None:
    """`yume-shim -p … > answer.txt` has not succeeded without the answer. A reader that left (`head`) is no failure."""
    cassette = write_cassette(tmp_path / "cassette", "anthropic-messages", CLAUDE, claude("Fine."))
    asked = ["--provider", "replay", "--cassette", str(cassette), "--output-format", form]
    asked += ["hi"] if form == "flat" else ["--verbose", "-p", "hi"]
    words = [form] if form in ("--version", "models") else asked
    codes = []
    for target in (">/dev/full", "| :", ">&-"):
        shell = f'{{ "$@"; echo $? >code; }} {target}'
        run = ["bash", "-c", shell, "-", *child.PROGRAM, *words]
        env = child.clean_environment(tmp_path)
        done = subprocess.run(
            run,
            cwd=tmp_path,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=child.DEADLINE,
            check=False,
        )
        codes.append(((tmp_path / "code").read_text(), done.stderr.count(b"stdout cannot be written: No space left")))
    assert codes == [("1\n", 1), ("0\n", 0), ("0\n", 0)]
