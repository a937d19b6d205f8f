"""Adaptations to limits and schemas, over a connection: what is sent again, how often, and what is learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.fake_server import FakeServer
from tests.helpers.fakes import FakeIds, cancel
from tests.helpers.refusals import asking
from tests.helpers.settings import settings_with
from tests.helpers.wire_cases import no_log
from yume_shim.providers.fitting.schema_refusals import refused_keywords
from yume_shim.providers.load import provider_maker
from yume_shim.types.errors import Failure
from yume_shim.types.events import ResponseEnded, ResponseFailed
from yume_shim.types.models import Credential, ToolSpec
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from yume_shim.types.blocks import Json
    from yume_shim.types.models import Request

TOOL = ToolSpec(
    "find",
    "Finds.",
    {
        "type": "object",
        "properties": {
            "format": {"type": "string", "default": "x"},
            "n": {"type": "integer", "minimum": 1, "const": 2},
        },
        "additionalProperties": False,
    },
)


def chunk(delta: Json, finish: str | None = None) -> Json:
    return {"id": "c1", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


OK: list[Json] = [chunk({"role": "assistant", "content": "Hello."}), chunk({}, "stop"), {"!done": True}]


def refused(message: str, status: int = 400, **more: Any) -> list[Json]:
    return [{"!status": status, "body": {"error": {"message": message, "type": "invalid_request_error", **more}}}]


def talk(wires: list[list[Json]], *requests: Request) -> tuple[list[str], list[Json], list[Json]]:
    """How each request ended, all bodies that arrived, and what was learned."""
    learned: list[Json] = []
    with FakeServer(requests[0].model.endpoint.api, wires) as server:
        there = [
            replace(one, model=replace(one.model, endpoint=replace(one.model.endpoint, base_url=server.url)))
            for one in requests
        ]
        make = provider_maker(
            there[0].model,
            settings_with(transport="direct"),
            FakeIds(),
            no_log,
            None,
            lambda _, facts: learned.append(facts),
        )
        provider = make(Credential("k", "key", "test"))
        ends: list[str] = []
        try:
            for one in there:
                last = list(provider.stream(one, cancel()))[-1]
                ends.append(last.failure.kind if isinstance(last, ResponseFailed) else "ok")
                assert isinstance(last, ResponseEnded | ResponseFailed)
        finally:
            provider.close()
        return ends, [received.json() for received in server.requests], learned


LARGE = "max_tokens is too large: 8192. This model supports at most 4096 completion tokens, whereas you provided 8192."
FULL = (
    "This model's maximum context length is 16384 tokens. However, you requested 17192 tokens (9000 in the messages, "
    "8192 in the completion)."
)


def test_an_output_limit_holds_for_later_requests_and_is_learned_once() -> None:
    ends, bodies, learned = talk([refused(LARGE, param="max_tokens"), OK, OK], asking(), asking())
    assert ends == ["ok", "ok"]
    assert [body["max_tokens"] for body in bodies] == [8_192, 4_096, 4_096]
    assert learned == [{"max_output": 4_096}]


def test_a_full_context_shortens_this_answer_only() -> None:
    ends, bodies, learned = talk([refused(FULL), OK, OK], asking(), asking())
    assert ends == ["ok", "ok"]
    assert [body["max_tokens"] for body in bodies] == [8_192, 7_384, 8_192]
    assert learned == [{"window": 16_384}]


def test_both_limits_one_after_the_other() -> None:
    ends, bodies, learned = talk([refused(LARGE), refused(FULL.replace("9000", "14000")), OK], asking())
    assert ends == ["ok"]
    assert [body["max_tokens"] for body in bodies] == [8_192, 4_096, 2_384]
    assert learned == [{"max_output": 4_096, "window": 16_384}]


def test_a_context_that_stays_full_is_reported() -> None:
    """The engine makes room then; nothing is learned from a refusal that no answer has proved."""
    ends, bodies, learned = talk([refused(FULL), refused(FULL.replace("9000", "9001")), OK], asking())
    assert ends == ["context_length"]
    assert [body["max_tokens"] for body in bodies] == [8_192, 7_384]
    assert learned == []


def test_a_window_is_learned_when_a_shorter_request_succeeds() -> None:
    ends, bodies, learned = talk([refused(FULL.replace("9000", "16300")), OK], asking(), asking())
    assert ends == ["context_length", "ok"]
    assert [body["max_tokens"] for body in bodies] == [8_192, 8_192]
    assert learned == [{"window": 16_384}]


def test_a_limit_that_did_not_help_is_not_learned() -> None:
    ends, bodies, learned = talk([refused(LARGE), refused("No."), OK], asking(), asking())
    assert ends == ["bad_request", "ok"]
    assert [body["max_tokens"] for body in bodies] == [8_192, 4_096, 8_192]
    assert learned == []


@pytest.mark.parametrize(
    ("affordable", "sent"), [(1_234, [8_192, 1_234]), (0, [8_192]), (100, [8_192]), (9_000, [8_192])]
)
def test_credit_shortens_the_answer_and_is_not_learned(affordable: int, sent: list[int]) -> None:
    poor = refused(f"requires more credits. You requested up to 8192 tokens, but can only afford {affordable}.", 402)
    ends, bodies, learned = talk([poor, OK], asking())
    assert ends == ["ok" if len(sent) == 2 else "billing"]
    assert [body["max_tokens"] for body in bodies] == sent
    assert learned == []


def test_a_number_never_renames_the_parameter() -> None:
    """The same number under another name would be refused again."""
    _, bodies, _ = talk([refused(LARGE.replace("4096", "8192"), param="max_tokens"), OK], asking())
    assert [sorted(body.keys() & {"max_tokens", "max_completion_tokens"}) for body in bodies] == [["max_tokens"]]


def test_keywords_are_left_out_and_learned() -> None:
    wires = [refused("'default' is not allowed"), refused("additionalProperties is not supported"), OK, OK]
    ends, bodies, learned = talk(wires, asking(tools=(TOOL,)), asking(tools=(TOOL,)))
    assert ends == ["ok", "ok"]
    last = bodies[-1]["tools"][0]["function"]["parameters"]
    assert last == {
        "type": "object",
        "properties": {"format": {"type": "string"}, "n": {"type": "integer", "minimum": 1, "const": 2}},
    }
    assert bodies[2] == bodies[3]
    assert learned == [{"schema_drop": ["default", "additionalProperties"]}]


@pytest.mark.parametrize(
    ("message", "param", "keywords"),
    [
        ("'default' is not allowed", "", ("default",)),
        ("additionalProperties is not supported", "", ("additionalProperties",)),
        ("Invalid schema for function 'find': In context=(), 'const' is not permitted.", "tools[0]", ("const",)),
        (
            (
                "Unknown name \"const\" at 'tools[0].function_declarations[0]': Cannot find field.\n"
                "Unknown name \"additionalProperties\" at 'tools[0]': Cannot find field."
            ),
            "",
            ("const", "additionalProperties"),
        ),
        ("Unsupported JSON schema fields: {'minimum', 'default'}", "", ("minimum", "default")),
        ("'additionalProperties' is required to be supplied and to be false.", "tools[0].function.parameters", ()),
        ("The default model is not allowed for this key, if the format is wrong", "", ()),
        ("'pattern' is not allowed", "", ()),
        ("'type' is not allowed", "", ()),
        ("messages.3.content.0.text: 'default' is not allowed", "", ()),
        ("'default' is not allowed", "messages[2].content", ()),
        ("tools.0.custom.input_schema: 'default' is not allowed", "", ("default",)),
        ("There is no 'default' here", "", ()),
    ],
)
def test_refused_keywords(message: str, param: str, keywords: tuple[str, ...]) -> None:
    assert refused_keywords(Failure("bad_request", message, 400, param=param), (TOOL,)) == keywords
