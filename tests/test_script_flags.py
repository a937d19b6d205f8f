"""The flags of unattended runs: exit codes by cause, `--fail-on`, `--deadline`, `--max-tool-calls`, `--retry-forever`,
`--errors`, and the result of a failed start. The same run on several providers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.engine_fakes import SPEC, Bench, FunctionTools, ScriptedProvider, answer, calls, fails, info, says
from tests.helpers.scripted_model import ModelServer, Refuse, call, hold, say
from tests.helpers.timing import wait_until
from yume_shim.app.script_ends import script_exit_code
from yume_shim.engine.session import Session
from yume_shim.types.blocks import Text
from yume_shim.types.commands import EndOfInput, UserInput
from yume_shim.types.errors import Failure
from yume_shim.types.events import Denial, Retrying, ToolFinished, TurnEnded
from yume_shim.types.exit_codes import CODES, FAIL_ON, MEANINGS, cause_of
from yume_shim.types.instruction_settings import InstructionSettings
from yume_shim.types.models import Usage
from yume_shim.types.script_settings import ScriptSettings
from yume_shim.types.settings import Settings
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.types.exit_codes import Cause, Failing

DETAILED = Settings(script=ScriptSettings(detailed_codes=True))
PLACES = {
    "anthropic": ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", ""),
    "openai": ("OPENAI_BASE_URL", "OPENAI_API_KEY", "/v1"),
    "gemini": ("GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY", ""),
}


def run(base: Path, server: ModelServer, *argv: str, provider: str = "anthropic", **env: str) -> child.Ended:
    home, cwd = base / "home", base / "ws"
    home.mkdir(exist_ok=True)
    cwd.mkdir(exist_ok=True)
    address, key, path = PLACES[provider]
    given = {address: server.url + path, key: "not-a-key", **env}
    words = ("-p", "Hi", "--provider", provider, "--model", "m", "--max-retries", "0", *argv)
    return child.run(words, (), cwd=cwd, env=child.clean_environment(home, **given))


def end(outcome: str, kind: str = "", **more: Any) -> TurnEnded:
    failure = Failure(kind, "no") if kind else None  # type: ignore[arg-type]
    return TurnEnded(outcome, "", 1, 0, 0, Usage(), 0.0, failure=failure, **more)  # type: ignore[arg-type]


# ---------------------------------------------------------------- causes and codes


@pytest.mark.parametrize(
    ("ended", "fail_on", "cause"),
    [
        (end("success"), FAIL_ON, ""),
        (end("auth_error", "auth"), (), "auth"),
        (end("provider_error", "billing"), (), "auth"),
        (end("provider_error", "rate_limit"), (), "rate"),
        (end("provider_error", "overloaded"), (), "provider"),
        (end("provider_error", "tls"), (), "provider"),
        (end("provider_error", "context_length"), (), "limit"),
        (end("provider_error", "refusal"), (), "refused"),
        (end("max_turns"), (), "turns"),
        (end("max_budget"), (), "budget"),
        (end("structured_output_retries"), (), "limit"),
        (end("cancelled"), (), "interrupted"),
        (end("execution_error"), (), "other"),
        (end("execution_error", stopped_by="deadline"), (), "limit"),
        (end("execution_error", stopped_by="tool_calls"), (), "limit"),
        (end("success", denials=(Denial("Write", "c", {}),)), (), ""),
        (end("success", denials=(Denial("Write", "c", {}),)), ("denied",), "denied"),
        (end("success", stop_reason="max_tokens"), ("denied",), ""),
        (end("success", stop_reason="max_tokens"), ("truncated",), "truncated"),
        (end("success", stop_reason="incomplete"), ("truncated",), "truncated"),  # OpenAI, without a reason
        (end("success", stop_reason="refusal"), FAIL_ON, "refused"),
    ],
)
def test_causes(ended: TurnEnded, fail_on: tuple[Failing, ...], cause: Cause) -> None:
    assert cause_of(ended, fail_on) == cause
    script = ScriptSettings(detailed_codes=True, fail_on=fail_on)
    detailed = Settings(script=script)
    plain = 0 if ended.outcome == "success" else 1
    assert script_exit_code(plain, detailed, "", ended, deadline_over=False) == CODES[cause]
    simple = Settings(script=replace(script, detailed_codes=False))
    assert script_exit_code(plain, simple, "", ended, deadline_over=False) == (1 if cause else 0)


def test_an_answer_that_ignores_the_schema_fails_where_codes_are_detailed() -> None:
    with_schema = InstructionSettings(json_schema={"type": "object"})
    detailed = replace(DETAILED, instructions=with_schema)
    for ended, settings, code in (
        (end("success"), detailed, CODES["limit"]),
        (end("success"), Settings(instructions=with_schema), 0),
        (end("success"), DETAILED, 0),
        (end("success", structured_output={"a": 1}), detailed, 0),
        (replace(end("success"), num_turns=0), detailed, 0),  # a local command
        (end("max_turns"), detailed, CODES["turns"]),
    ):
        assert script_exit_code(0, settings, "", ended, deadline_over=False) == code


def test_codes_differ_and_are_described() -> None:
    assert len(set(CODES.values())) == len(CODES)
    assert CODES.keys() == MEANINGS.keys()
    assert 2 not in CODES.values()


def test_signals_and_deadlines_come_first() -> None:
    detailed, plain = DETAILED, Settings(script=ScriptSettings(deadline=1))
    assert script_exit_code(0, detailed, "SIGINT", end("success"), deadline_over=False) == 130
    assert script_exit_code(0, plain, "SIGINT", end("success"), deadline_over=False) == 0
    assert script_exit_code(0, detailed, "", None, deadline_over=True) == CODES["limit"]
    assert script_exit_code(0, plain, "", None, deadline_over=True) == 1
    assert script_exit_code(0, detailed, "", None, deadline_over=False) == 0


# ---------------------------------------------------------------- whole runs


@pytest.mark.parametrize("provider", PLACES)
def test_a_refused_key_and_a_rate_limit(provider: str, tmp_path: Path) -> None:
    with ModelServer([Refuse(401)], [Refuse(429)]) as server:
        codes = [run(tmp_path, server, "--exit-codes", "detailed", provider=provider).code for _ in range(2)]
    assert codes == [CODES["auth"], CODES["rate"]]


@pytest.mark.parametrize("form", ["flat", "text", "json", "stream-json"])
def test_the_deadline_ends_a_run_whose_model_is_silent(form: str, tmp_path: Path) -> None:
    with ModelServer([hold()]) as server:
        argv = ("--output-format", form, "--verbose", "--deadline", "1.5", "--exit-codes", "detailed")
        ended = run(tmp_path, server, *argv, provider="openai")
    assert ended.code == CODES["limit"]
    assert b"longer than --deadline allows (1.5 s)" in ended.stderr
    if form == "text":
        assert ended.stdout in (b"Execution error: Reached the deadline (1.5 s)\n", b"")
        return
    lines: list[Any] = list(ended.lines[0]) if form == "json" else list(ended.lines)
    for result in (line for line in lines if line["type"] == "result"):
        assert (result["subtype"], result["is_error"]) == ("error_during_execution", True)
        assert "Reached the deadline (1.5 s)" in result["errors"][0]
    if form == "flat":
        assert [line["type"] for line in lines][-3:] == ["interrupt", "result", "message_stop"]
        assert [line["reason"] for line in lines if line["type"] == "interrupt"] == ["deadline"]


def test_at_the_deadline_what_a_tool_has_started_ends(tmp_path: Path) -> None:
    command = "sleep 300 & echo $! > pid; wait"
    with ModelServer([call("Bash", command=command)]) as server:
        argv = ("--output-format", "flat", "--deadline", "6", "--permission-mode", "bypassPermissions")
        ended = run(tmp_path, server, *argv, IS_SANDBOX="1")
    assert ended.code == 1
    [result] = [line for line in ended.lines if line["type"] == "tool_result"]
    assert result["is_error"]
    pid = int((tmp_path / "ws" / "pid").read_text())
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"), "the command of a tool outlived the run")


def test_errors_go_to_stderr(tmp_path: Path) -> None:
    with ModelServer([Refuse(401)], [Refuse(401)], [say("Hello.")]) as server:
        moved, usual, fine = (
            run(tmp_path, server, *given) for given in (("--errors", "stderr"), (), ("--errors", "stderr"))
        )
    assert (moved.code, moved.stdout, b"Invalid API key" in moved.stderr) == (1, b"", True)
    assert (usual.code, usual.stdout[:15]) == (1, b"Invalid API key")
    assert (fine.code, fine.stdout) == (0, b"Hello.\n")


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        (("--no-such-flag",), 2, "unknown option"),
        (("--fail-on", "sunshine"), 2, "--fail-on takes truncated, denied, refused"),
        (("--resume", "aaaaaaaa-0000-4000-8000-000000000000"), 2, "No conversation found"),
    ],
)
def test_a_start_that_fails_prints_one_json_result(
    argv: tuple[str, ...], code: int, words: str, tmp_path: Path
) -> None:
    with ModelServer([say("Hello.")]) as server:
        ended = run(tmp_path, server, "--output-format", "json", "--exit-codes", "detailed", *argv)
        plain = run(tmp_path, server, "--output-format", "json", *argv)
        assert server.requests == []
    [result] = ended.lines
    assert (result["type"], result["is_error"], result["num_turns"]) == ("result", True, 0)
    assert words in result["errors"][0]
    assert (ended.code, plain.code, plain.stdout) == (code, 1, b"")


# ---------------------------------------------------------------- in the engine


def session(bench: Bench, *prompts: str) -> list[TurnEnded]:
    made = Session(bench.services, SPEC, "s-1", lambda text: SPEC, info)
    for text in prompts:
        made.submit(UserInput((Text(text),), text))
    made.submit(EndOfInput())
    made.run()
    return bench.of(TurnEnded)


def scripted(bench: Bench, **flags: Any) -> Bench:
    settings = replace(bench.services.settings, script=ScriptSettings(**flags))
    bench.services = replace(bench.services, settings=settings)
    return bench


def test_no_more_tool_calls_than_allowed_in_the_whole_run() -> None:
    ran: list[str] = []

    def up(given: Any, _: Any) -> str:
        ran.append(given["n"])
        return "ok"

    two = answer(calls("a", "Up", n="1"), calls("b", "Up", n="2", index=1), stop="tool_calls")
    three = answer(*(calls(f"c{n}", "Up", n=f"{n}", index=n) for n in range(3)), stop="tool_calls")
    bench = scripted(Bench(ScriptedProvider(two, answer(says("one")), three), FunctionTools(Up=up)), max_tool_calls=3)
    first, second = session(bench, "a", "b")
    assert (first.outcome, ran) == ("success", ["1", "2", "0"])
    assert (second.outcome, second.stopped_by) == ("execution_error", "tool_calls")
    assert second.limit == "Reached maximum number of tool calls (3)"
    results = bench.of(ToolFinished)
    assert [each.result.is_error for each in results] == [False, False, False, True, True]
    assert "--max-tool-calls" in results[-1].result.content


def test_a_limit_is_waited_for_without_end_and_with_signs_of_life() -> None:
    limited = fails(kind="rate_limit", retry_after_ms=100_000)
    bench = scripted(
        Bench(ScriptedProvider(*[limited] * 2, *[fails()] * 30, answer(says("At last.")))), retry_forever=True
    )
    [ended] = session(bench, "go")
    assert (ended.outcome, ended.text) == ("success", "At last.")
    waits = bench.of(Retrying)
    assert [each.attempt for each in waits][-1] == 32
    assert {each.max_retries for each in waits} == {0}
    assert [each.wait_ms for each in waits[:4]] == [100_000, 70_000, 40_000, 10_000]


@pytest.mark.parametrize("kind", ["server", "network", "auth"])
def test_other_failures_are_not_waited_for(kind: str) -> None:
    bench = scripted(Bench(ScriptedProvider(*[fails(kind=kind, retryable=kind != "auth")] * 30)), retry_forever=True)
    [ended] = session(bench, "go")
    assert ended.outcome in ("provider_error", "auth_error")
    assert len(bench.provider.requests) <= SPEC.endpoint.backoff.retries + 1
