"""What refusals teach, beyond one request: it is kept, it is tried once, and only what can be spared is left out."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.fake_server import FakeServer
from tests.helpers.fakes import FakeIds, cancel
from tests.helpers.settings import settings_with
from tests.helpers.wire_cases import no_log
from yume_shim.providers.fitting.adaptation import MAX_LESSONS, STRIPS, TOO_LARGE, Learned
from yume_shim.providers.fitting.plain_history import tell_flat
from yume_shim.providers.fitting.prepare import Preparer
from yume_shim.providers.fitting.refusal_rules import allowed_efforts, named_parameters, nearest, rows_for
from yume_shim.providers.load import load_provider
from yume_shim.providers.wire.failures import failure_from_status
from yume_shim.types.blocks import Document, Image, Message, Other, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.errors import Failure
from yume_shim.types.events import Notice, ResponseEnded, ResponseFailed
from yume_shim.types.models import Credential, Endpoint, ModelSpec, Quirks, Request, ToolSpec, WireRequest
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from yume_shim.types.blocks import Block, Json
    from yume_shim.types.events import ModelEvent

CHAT, CLAUDE = "openai-chat", "anthropic-messages"
SIGNATURE = "messages.1.content.0: Invalid `signature` in `thinking` block"
TOOL = ToolSpec("Read", "Reads.", {"type": "object", "properties": {}})
DIRECT = settings_with(transport="direct")
RECORDED = os.environ.get("YUME_RECORDED", "")


def refusal(message: str, status: int | None = 400, **more: Any) -> Failure:
    return Failure("bad_request", message, status, **more)


def asking(*messages: Message, api: str = CHAT, **more: Any) -> Request:
    quirks = more.pop("quirks", Quirks())
    model = ModelSpec("m", Endpoint("vendor", api, "http://127.0.0.1:1", quirks=quirks))
    return Request(model, messages or (Message("user", (Text("Hi"),)),), **more)


def said(*blocks: Block) -> Message:
    return Message("assistant", blocks, f"{CHAT}/m")


def asked(*blocks: Block) -> Message:
    return Message("user", blocks)


def thought(name: str) -> Thinking:
    return Thinking(name, opaque={CHAT: {"signature": name}})


# ---------------------------------------------------------------- over a connection


def chunk(delta: Json, finish: str | None = None) -> Json:
    return {"id": "c1", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


OK: list[Json] = [chunk({"role": "assistant", "content": "Hello."}), chunk({}, "stop"), {"!done": True}]


def refused(message: str, status: int = 400, **more: Any) -> list[Json]:
    return [{"!status": status, "body": {"error": {"message": message, "type": "invalid_request_error", **more}}}]


def talk(wires: list[list[Json]], *requests: Request) -> tuple[list[list[ModelEvent]], list[Json]]:
    """The events of each request and all bodies that arrived, over the real transport."""
    with FakeServer(requests[0].model.endpoint.api, wires) as server:
        there = [
            replace(one, model=replace(one.model, endpoint=replace(one.model.endpoint, base_url=server.url)))
            for one in requests
        ]
        provider = load_provider(there[0].model, Credential("k", "key", "test"), DIRECT, FakeIds(), no_log)
        try:
            events = [list(provider.stream(one, cancel())) for one in there]
        finally:
            provider.close()
        return events, [received.json() for received in server.requests]


def test_a_lesson_is_kept_for_later_requests_and_told_once() -> None:
    events, bodies = talk([refused("Unrecognized request argument supplied: stream_options"), OK], asking(), asking())
    assert ["stream_options" in body for body in bodies] == [True, False, False]
    notices = [event for one in events for event in one if isinstance(event, Notice)]
    assert notices == [Notice("parameter_left_out", "m at vendor refuses stream_options: it is left out.")]
    assert [type(one[-1]) for one in events] == [ResponseEnded, ResponseEnded]


def test_what_cannot_be_mended_is_told_as_it_is() -> None:
    events, bodies = talk([refused("Unsupported parameter: 'stream_options'"), refused("No such thing")], asking())
    assert len(bodies) == 2
    (*_, last) = events[0]
    assert isinstance(last, ResponseFailed)
    assert (last.failure.message, last.failure.kind) == ("No such thing", "bad_request")


def test_a_refusal_that_stays_the_same_is_learned_from_once() -> None:
    events, bodies = talk([refused("Unsupported parameter: 'stream_options' is not supported")], asking())
    assert len(bodies) == 2
    assert isinstance(events[0][-1], ResponseFailed)


def test_an_answer_that_has_begun_is_never_sent_again() -> None:
    begun = [chunk({"role": "assistant", "content": "Hel"}), {"error": {"message": "Unknown parameter: 'stop'"}}]
    events, bodies = talk([begun, OK], asking(quirks=Quirks(extra_body={"stop": ["x"]})))
    assert len(bodies) == 1
    assert isinstance(events[0][-1], ResponseFailed)


# ---------------------------------------------------------------- lessons that last


def test_reasoning_of_later_answers_is_sent_again() -> None:
    learned = Learned()
    first = asking(asked(Text("a")), said(thought("one"), Text("b")), asked(Text("c")))
    assert learned.learn(first, refusal(SIGNATURE)) == "without the reasoning so far"
    later = replace(first, messages=(*first.messages, said(thought("two"), Text("d")), asked(Text("e"))))
    assert learned.apply(later).messages == (
        asked(Text("a")),
        said(Text("b")),
        asked(Text("c")),
        said(thought("two"), Text("d")),
        asked(Text("e")),
    )
    shorter = replace(later, messages=later.messages[2:])  # a summary took the place of the beginning
    assert learned.apply(shorter).messages == later.messages[2:]


def test_reasoning_that_is_refused_every_time_is_given_up() -> None:
    learned = Learned()
    for number in range(STRIPS + 1):
        request = asking(asked(Text("a")), said(thought(f"t{number}")), asked(Text("b")))
        assert learned.learn(request, refusal(SIGNATURE)) is not None
    new = asking(asked(Text("a")), said(thought("new"), Text("x")), asked(Text("b")))
    assert learned.apply(new).messages == (asked(Text("a")), said(Text("x")), asked(Text("b")))


def test_echo_data_goes_and_what_was_said_stays() -> None:
    learned = Learned()
    private = {CHAT: {"signature": "s", "id": "fc_1"}}
    call, text = ToolCall("c1", "Read", {"a": 1}, opaque=private), Text("Look.", private)
    raw = Other(CHAT, {"type": "x"})
    request = asking(asked(Text("a")), said(text, call, raw), asked(ToolResult("c1", "r")))
    assert learned.learn(request, refusal("Thought signature is not valid")) is not None
    assert learned.apply(request).messages[1] == said(Text("Look."), ToolCall("c1", "Read", {"a": 1}), raw)


def test_thinking_comes_back_when_the_chain_without_reasoning_is_over() -> None:
    learned = Learned()
    chain = (asked(Text("a")), said(thought("one"), ToolCall("c1", "Read", {})), asked(ToolResult("c1", "r")))
    request = asking(*chain, api=CLAUDE, thinking="enabled", thinking_budget=2048)
    assert learned.learn(request, refusal(SIGNATURE)) is not None
    start = "a final `assistant` message must start with a thinking block"
    assert learned.learn(request, refusal(start)) is not None
    assert learned.learn(request, refusal(start)) is None
    assert (learned.apply(request).thinking, learned.apply(request).thinking_budget) == ("disabled", None)
    later = replace(request, messages=(*chain, said(Text("Done.")), asked(Text("Next"))))
    assert (learned.apply(later).thinking, learned.apply(later).thinking_budget) == ("enabled", 2048)


def test_old_images_go_the_newest_stay() -> None:
    learned = Learned()
    one, two, three = (Image("image/png", name) for name in ("b25l", "dHdv", "dGhyZWU="))
    paper = Document("application/pdf", "cGRm")
    messages = (asked(one, Text("a")), said(Text("b")), asked(ToolResult("c1", (Text("r"), paper, two))), asked(three))
    too_large = Failure("context_length", "Request exceeds the maximum size", 413, provider_code="request_too_large")
    assert learned.learn(asking(*messages), too_large) == "without older images and documents"
    assert learned.apply(asking(*messages)).messages == (
        asked(Text(TOO_LARGE), Text("a")),
        said(Text("b")),
        asked(ToolResult("c1", (Text("r"), Text(TOO_LARGE), Text(TOO_LARGE)))),
        asked(three),
    )
    assert learned.learn(asking(*messages), too_large) is None
    assert Learned().learn(asking(asked(three)), too_large) is None


TOO_MANY_BYTES = Failure("context_length", "Request exceeds the maximum size", 413, provider_code="request_too_large")


def test_an_old_image_that_is_shown_again_is_a_new_one() -> None:
    learned = Learned()

    def picture() -> Image:
        return Image("image/png", "b25l")

    then = (asked(picture()), said(Text("a")), asked(ToolResult("c1", (picture(),))), said(Text("b")), asked(picture()))
    assert learned.learn(asking(*then), TOO_MANY_BYTES) == "without older images and documents"
    gone = Text(TOO_LARGE)
    sent = (asked(gone), said(Text("a")), asked(ToolResult("c1", (gone,))), said(Text("b")), asked(picture()))
    assert learned.apply(asking(*then)).messages == sent
    later = (said(Text("c")), asked(picture(), Text("Again")))
    assert learned.apply(asking(*then, *later)).messages == (*sent, *later)
    summed_up = (asked(Text("So far")), *later)
    assert learned.apply(asking(*summed_up)).messages == summed_up
    assert learned.learn(asking(*then, *later), TOO_MANY_BYTES) == "without older images and documents"
    assert learned.apply(asking(*then, *later)).messages == (*sent[:-1], asked(gone), *later)
    assert learned.learn(asking(*then, *later), TOO_MANY_BYTES) is None


def test_thinking_waits_where_another_model_began_the_chain() -> None:
    """Its reasoning was never sent here; the model that takes over may not think in the middle of the chain."""
    learned = Learned()
    chain = (asked(Text("a")), said(ToolCall("c1", "Read", {})), asked(ToolResult("c1", "r")))
    request = asking(*chain, api=CLAUDE, thinking="enabled", thinking_budget=2048)
    expected = "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`"
    assert learned.learn(request, refusal(expected)) == "without thinking until this chain of calls has ended"
    assert learned.apply(request).thinking == "disabled"
    after = (*chain, said(Text("Done.")), asked(Text("Next")))
    own = (*after, said(thought("t"), ToolCall("c2", "Read", {})), asked(ToolResult("c2", "r")))
    assert [learned.apply(replace(request, messages=one)).thinking for one in (after, own)] == ["enabled", "enabled"]
    assert Learned().learn(replace(request, messages=own), refusal(expected)) is None


def test_lessons_that_did_not_help_are_forgotten() -> None:
    """A sentence may quote the user: "does not support tools" out of a message says nothing about the model."""
    preparer = Preparer(no_log)
    request = asking(asked(Text("Why does it say: does not support tools?")), tools=(TOOL,), stop_sequences=("x",))
    quoting = refusal("Invalid message: 'Why does it say: m does not support tools, and unknown `stop`?'")

    def sent() -> tuple[bool, bool]:
        ready = preparer.prepare(request)
        wire = preparer.edit(WireRequest("/", {"stop": ["x"], "model": "m"}))
        return ready.text_calls, "stop" in wire.body

    assert sent() == (False, True)
    assert preparer.learn(request, quoting) == "tools = False"
    assert sent() == (True, True)
    assert preparer.learn(request, quoting) == "without stop"
    assert sent() == (True, False)
    assert preparer.learn(request, quoting) is None
    assert sent() == (False, True)


@pytest.mark.parametrize(
    "end",
    [
        Failure("context_length", "prompt is too long", 400),
        Failure("server", "Internal server error", 500, retryable=True),
        Failure("overloaded", "busy", 529, retryable=True),
    ],
)
def test_lessons_stay_when_something_else_is_wrong(end: Failure) -> None:
    preparer, request = Preparer(no_log), asking(tools=(TOOL,))
    assert preparer.learn(request, refusal("m does not support tools")) == "tools = False"
    assert preparer.learn(request, end) is None
    assert preparer.prepare(request).text_calls


def test_what_the_model_wrote_wrongly_teaches_nothing_about_the_request() -> None:
    learned = Learned()
    learned.edit(WireRequest("/", {"temperature": 1}))
    request = asking(asked(ToolResult("c1", "r")), tools=(TOOL,), quirks=Quirks(continuation_without_tools=True))
    failure = refusal("Tool call did not match: 'temperature' not allowed", retryable=True, nudge="Again.")
    assert learned.learn(request, failure) is None


def test_declarations_are_tried_in_turn_and_never_twice() -> None:
    learned, request, tried = Learned(), asking(tools=(TOOL,)), []
    failure = refusal("tools[0].tool_type: required one_of 'tool_type' must have one initialized field")
    while learned.learn(request, failure) is not None:
        tried.append(learned.apply(request).model.endpoint.quirks.declarations)
    assert tried == ["snake", "parameters", "openai"]


def test_a_quirk_never_goes_back_to_what_was_refused() -> None:
    learned, request = Learned(), asking()
    learned.edit(WireRequest("/", {"max_tokens": 5}))
    assert learned.learn(request, refusal("no", param="max_tokens")) == "max_tokens_field = 'max_completion_tokens'"
    learned.edit(WireRequest("/", {"max_completion_tokens": 5}))
    assert learned.learn(request, refusal("no", param="max_completion_tokens")) is None


def test_one_request_teaches_only_so_much() -> None:
    names = ("temperature", "top_p", "stop", "stream_options", "metadata", "store", "user", "tool_choice")
    learned, request = Learned(), asking()
    body: Json = dict.fromkeys(names, 1)
    lessons = []
    for name in names:
        learned.edit(WireRequest("/", body))
        lessons.append(learned.learn(request, refusal(f"Unknown parameter: '{name}'")))
    assert lessons == [f"without {name}" for name in names[:MAX_LESSONS]] + [None] * (len(names) - MAX_LESSONS)
    assert learned.learn(asking(), refusal("Unknown parameter: 'user'")) == "without user"


def test_a_forced_choice_is_given_up_before_the_parameter() -> None:
    learned, request = Learned(), asking(tools=(TOOL,), tool_choice="Read")
    learned.edit(WireRequest("/", {"tool_choice": {"type": "function"}}))
    failure = refusal("Input should be 'auto', 'none' or 'any'", 422, param="tool_choice")
    assert learned.learn(request, failure) == "forced_choice = False"
    assert learned.learn(request, failure) == "without tool_choice"


def test_results_go_once_without_tools_only_where_that_is_wanted() -> None:
    result = asked(ToolResult("c1", "r"))
    for wanted, message, lesson in (
        (True, result, "without tools"),
        (True, asked(Text("a")), None),
        (False, result, None),
    ):
        learned = Learned()
        request = asking(message, tools=(TOOL,), quirks=Quirks(continuation_without_tools=wanted))
        assert learned.learn(request, refusal("Request contains an invalid argument.")) == lesson
        assert learned.apply(request).tools == (() if lesson else (TOOL,))
        assert learned.apply(replace(request, max_tokens=7)).tools == (TOOL,)
        assert learned.learn(request, refusal("Request contains an invalid argument.")) is None


@pytest.mark.parametrize("kind", ["auth", "rate_limit", "overloaded", "network", "timeout", "cancelled", "billing"])
def test_only_refusals_teach(kind: Any) -> None:
    learned = Learned()
    learned.edit(WireRequest("/", {"stop": 1}))
    assert learned.learn(asking(), Failure(kind, "Unknown parameter: 'stop'", 400)) is None


def test_edits_leave_what_was_encoded_alone() -> None:
    learned = Learned()
    body = {"reasoning": {"effort": "low"}, "model": "m"}
    learned.edit(WireRequest("/", body))
    learned.learn(asking(api="openai-responses"), refusal("no", param="reasoning.effort"))
    assert learned.edit(WireRequest("/", body)).body == {"model": "m"}
    assert body == {"reasoning": {"effort": "low"}, "model": "m"}


# ---------------------------------------------------------------- what refusals name

NAMED: list[tuple[str, str, str, tuple[str, ...]]] = [
    (CHAT, "Unsupported parameter: 'stop' is not supported with this model.", "stop", ("stop",)),
    (CHAT, "Unrecognized request argument supplied: parallel_tool_calls", "", ("parallel_tool_calls",)),
    (CHAT, "Unrecognized request argument supplied: thinking", "", ("thinking",)),
    (CHAT, "Extra inputs are not permitted", "stream_options", ("stream_options",)),
    (CHAT, "property 'reasoning_effort' is unsupported", "", ("reasoning_effort",)),
    (
        CHAT,
        "Invalid 'temperature': decimal below minimum value. Expected a value >= 0.",
        "temperature",
        ("temperature",),
    ),
    (CLAUDE, "`temperature` is deprecated for this model.", "", ("temperature",)),
    (CLAUDE, "`temperature` and `top_p` cannot both be specified for this model. Please use only one.", "", ("top_p",)),
    (CLAUDE, "thinking: Extra inputs are not permitted", "", ("thinking",)),
    (CLAUDE, "This model does not support the effort parameter.", "", ("output_config", "effort")),
    (CLAUDE, "output_config.effort: Extra inputs are not permitted", "", ("output_config", "effort")),
    ("openai-responses", "Unsupported parameter: 'temperature' is not supported.", "temperature", ("temperature",)),
    (
        "google-genai",
        "Unable to submit request because thinking_config.include_thoughts is only enabled when thinking is enabled.",
        "",
        ("generationConfig", "thinkingConfig", "includeThoughts"),
    ),
    (
        "google-genai",
        "Budget 0 is invalid. This model only works in thinking mode.",
        "",
        ("generationConfig", "thinkingConfig", "thinkingBudget"),
    ),
    (
        "google-genai",
        "Invalid JSON payload received. Unknown name \"thinkingLevel\" at 'generation_config.thinking_config'",
        "generation_config.thinking_config",
        ("generationConfig", "thinkingConfig"),
    ),
]


@pytest.mark.parametrize(("api", "message", "param", "path"), NAMED)
def test_parameters_are_found_in_real_sentences(api: str, message: str, param: str, path: tuple[str, ...]) -> None:
    assert next(named_parameters(api, refusal(message, param=param))).path == path


@pytest.mark.parametrize(
    ("api", "message", "param"),
    [
        (CHAT, "Invalid schema for function 'stop'", "tools[0].function.parameters"),
        (CHAT, "Content blocks are expected to be either text or image_url type. Invalid 'messages[3]'", "messages[3]"),
        (CLAUDE, "messages.3.content.0.thinking: something is invalid", ""),
        (CLAUDE, "messages.2.content.0.text: 'temperature' and tool_choice are not allowed here", ""),
        (CHAT, "Invalid content: 'set `temperature` and top_p'", "messages[2].content"),
        (CHAT, "'messages[2].content[0]' is invalid: reasoning_effort", ""),
        (CLAUDE, "messages: text content blocks must be non-empty", ""),
        (CLAUDE, "tools.12.custom.input_schema: input_schema does not support oneOf at the top level", ""),
        (CHAT, "This model's stop is not available today", ""),
        ("google-genai", "Request contains an invalid argument.", ""),
        ("unheard-of", "Unknown parameter: 'temperature'", "temperature"),
    ],
)
def test_what_a_request_cannot_do_without_is_not_named(api: str, message: str, param: str) -> None:
    assert list(named_parameters(api, refusal(message, param=param))) == []


@pytest.mark.parametrize(
    ("message", "levels"),
    [
        ("no effort level 'xhigh'. Supported levels: high, low, max, medium.", ("low", "medium", "high", "max")),
        ("'reasoning_effort' does not support 'max'. Supported values are: 'minimal' and 'low'.", ("low",)),
        ("Supported values are: 'none'.", ()),
        ("effort is wrong", ()),
    ],
)
def test_efforts_are_read(message: str, levels: tuple[str, ...]) -> None:
    assert allowed_efforts(message) == levels


@pytest.mark.parametrize(
    ("wanted", "allowed", "given"),
    [("xhigh", ("low", "high", "max"), "high"), ("max", ("low",), "low"), ("low", ("high", "max"), "high")],
)
def test_the_nearest_effort(wanted: str, allowed: tuple[str, ...], given: str) -> None:
    assert nearest(wanted, allowed) == given


@pytest.mark.parametrize(
    ("message", "teaches"),
    [
        ("stablelm2:latest does not support tools", (("tools", False),)),
        ("tools is not supported in this model. For a list of supported models, refer to", (("tools", False),)),
        ("Tool use is not supported for this model", (("tools", False),)),
        ("No endpoints found that support tool use.", (("tools", False),)),
        ("Function calling is not enabled for models/gemma-3", (("tools", False),)),
        ('"llama3.1:8b" does not support thinking', (("thinking", False),)),
        ("Streaming is not supported for this model", (("streaming", False),)),
        ("Developer instruction is not enabled for models/gemma-3-27b-it", (("system_role", "user"),)),
        ("System role not supported", (("system_role", "user"),)),
        ("`stream` must be set to false", (("streaming", False),)),
    ],
)
def test_sentences_teach(message: str, teaches: tuple[Any, ...]) -> None:
    assert [row.teaches for row in rows_for(refusal(message))] == [teaches]


@pytest.mark.parametrize(
    "message", ["Parallel tool use is not supported", "The file does not support text", "upstream timed out"]
)
def test_other_sentences_teach_nothing(message: str) -> None:
    assert list(rows_for(refusal(message))) == []


TEACHING = {
    "anthropic/err_400_effort_unsupported": "effort high",
    "deepseek/err_400_interleaved": "calls_together = True",
    "gemini/err_400_role": "flat_results = True",
    "openai_chat/err_400_gpt5": "without stop",
    "openai_chat/err_400_max_tokens": "max_tokens_field = 'max_completion_tokens'",
    "openai_chat/err_400_o1mini_developer_role": "system_role = 'system'",
    "openai_chat/err_400_o1mini_system_role": "system_role = 'user'",
    "openai_responses/err_400_other": "without temperature",
    "openai_responses/err_400_reasoning_item_without_following": "without the reasoning so far",
    "openai_responses/err_400_temperature": "without temperature",
    "reported_errors/anthropic_413_request_too_large": "without older images and documents",
    "reported_errors/deepseek_400_reasoning_content_required": "reasoning_echo = 'reasoning_content'",
    "reported_errors/gemini_400_missing_thought_signature": "checks_signatures = True",
    "reported_errors/openai_400_item_not_found_store_false": "without the reasoning so far",
}
"""What each recorded refusal teaches; those that are not listed teach nothing."""
APIS = {"anthropic": CLAUDE, "gemini": "google-genai", "openai_responses": "openai-responses"}


@pytest.mark.skipif(not RECORDED, reason="YUME_RECORDED names no folder of recordings")
def test_every_recorded_refusal_teaches_what_it_should() -> None:
    taught: dict[str, str] = {}
    for path in sorted(Path(RECORDED).glob("*/*.json")):
        if path.name.endswith((".meta.json", ".request.json")) or "err" not in str(path.relative_to(RECORDED)):
            continue
        name = str(path.relative_to(RECORDED))[: -len(".json")]
        vendor = path.stem.split("_")[0] if path.parent.name == "reported_errors" else path.parent.name
        lesson = _lesson_of(path, APIS.get(vendor, CHAT))
        if lesson is not None:
            taught[name] = lesson
    assert taught == TEACHING


def _lesson_of(path: Path, api: str) -> str | None:
    """What a request that sends everything would learn from this body."""
    status = json.loads(path.with_suffix(".meta.json").read_text("utf-8")).get("status") or 400
    picture = Image("image/png", "b25l")
    chain = (
        asked(Text("a"), picture),
        said(thought("t"), ToolCall("c1", "Read", {})),
        asked(ToolResult("c1", (Image("image/png", "dHdv"),))),
    )
    quirks = Quirks(system_role="developer")
    request = asking(*chain, api=api, tools=(TOOL,), effort="xhigh", tool_choice="Read", quirks=quirks)
    learned = Learned()
    names = (
        "temperature",
        "top_p",
        "stop",
        "max_tokens",
        "stream_options",
        "store",
        "thinking",
        "tool_choice",
        "include",
    )
    learned.edit(WireRequest("/", dict.fromkeys(names, 1)))
    return learned.learn(request, failure_from_status(int(status), {}, path.read_bytes(), "vendor"))


EXTRA = [{"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]
VIOLATION = {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [{"field": "tools[0].x"}]}


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"error": {"message": "no", "param": "reasoning.effort"}}, "reasoning.effort"),
        ({"error": {"message": "no", "param": None}}, ""),
        ({"detail": EXTRA}, "stream_options"),
        ({"object": "error", "message": {"detail": EXTRA}, "param": None}, "stream_options"),
        ({"error": {"code": 400, "message": "no", "details": [{"reason": "X"}, VIOLATION]}}, "tools[0].x"),
        ({"error": {"message": "no", "details": "text", "detail": [{"loc": "body"}, "text"]}}, ""),
        ({"error": "no"}, ""),
    ],
)
def test_the_parameter_is_read_from_the_body(body: Json, param: str) -> None:
    assert failure_from_status(422, {}, json.dumps(body).encode(), "vendor").param == param


# ---------------------------------------------------------------- the rest of preparing


def test_a_quota_below_the_prompt_is_an_overflow() -> None:
    preparer = Preparer(no_log)
    failure = Failure("rate_limit", "quota", 429, retryable=True, retry_after_ms=48_000, token_quota=100)
    long = asking(asked(Text("x" * 300)), said(ToolCall("c1", "Read", {})), asked(ToolResult("c1", "y" * 100)))
    assert preparer.judge(long, failure) == replace(
        failure, kind="context_length", retryable=False, retry_after_ms=None
    )
    assert preparer.judge(asking(asked(Text("x" * 300))), failure) == failure
    in_parts = asking(asked(ToolResult("c1", (Text("y" * 400),))))
    assert preparer.judge(in_parts, failure).kind == "context_length"
    assert preparer.judge(long, replace(failure, token_quota=0)).kind == "rate_limit"


def test_a_system_prompt_is_said_by_the_user_where_there_is_no_other_way() -> None:
    quirks = Quirks(system_role="user", tools=False)
    hello, answer = asked(Text("Hi")), said(Text("Yes?"))
    preparer = Preparer(no_log)

    def sent(*messages: Message, **more: Any) -> Request:
        made = replace(asking(quirks=quirks, **more), messages=messages)
        return preparer.prepare(made).request

    words = Text("Be brief.\n\nBe kind.")
    system = ("Be brief.", "Be kind.")
    assert sent(hello, answer, hello, system=system).messages == (asked(words, Text("Hi")), answer, hello)
    assert sent(answer, system=system).messages == (asked(words), answer)
    assert sent(system=system).messages == (asked(words),)
    assert sent(hello).messages == (hello,)
    taught = sent(hello, system=system, tools=(TOOL,))
    first = taught.messages[0].blocks[0]
    assert taught.system == ()
    assert isinstance(first, Text)
    assert first.text.startswith("Be brief.\n\nBe kind.\n\n# Tools")


def test_a_flat_history_is_words_and_media() -> None:
    picture, broken = Image("image/png", "b25l"), ToolCall("c2", "LS", {}, "{oops")
    request = asking(
        asked(Text("a")),
        said(thought("t"), Text("b", {CHAT: {"x": 1}}), ToolCall("c1", "Read", {"p": "ä"}), broken),
        asked(ToolResult("c1", (Text("r"), picture)), ToolResult("c2", "bad", is_error=True), ToolResult("c9", "")),
        said(thought("only"), Other(CHAT, {})),
    )
    assert tell_flat(request).messages == (
        asked(Text("a")),
        said(Text('b\n[tool_call Read c1]\n{"p":"ä"}\n[tool_call LS c2]\n{oops')),
        asked(
            Text("[tool_result Read c1]\nr"),
            picture,
            Text("[tool_result LS c2 error]\nbad\n[tool_result unknown c9]"),
        ),
    )
