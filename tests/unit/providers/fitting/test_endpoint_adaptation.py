"""Adaptations: each is made once, kept for later requests, undone if it did not help, and leaves out only what is
optional."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.fake_server import FakeServer
from tests.helpers.fakes import FakeIds, cancel
from tests.helpers.refusals import CHAT, CLAUDE, SIGNATURE, TOOL, asked, asking, refusal, said, thought
from tests.helpers.settings import settings_with
from tests.helpers.wire_cases import no_log
from yume_shim.providers.fitting.adaptations import MAX_STRIPS, Adaptations
from yume_shim.providers.fitting.endpoint_adaptation import MAX_ADAPTATIONS, EndpointAdaptation
from yume_shim.providers.fitting.history_edits import TOO_LARGE
from yume_shim.providers.fitting.prepare import Preparer
from yume_shim.providers.fitting.refusal_actions import adapt
from yume_shim.providers.load import load_provider
from yume_shim.types.blocks import Document, Image, Other, Text, ToolCall, ToolResult
from yume_shim.types.errors import Failure
from yume_shim.types.events import Notice, ResponseEnded, ResponseFailed
from yume_shim.types.models import Credential, Quirks, Request, WireRequest
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from yume_shim.types.blocks import Json
    from yume_shim.types.events import ModelEvent

DIRECT = settings_with(transport="direct")

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


def test_an_adaptation_is_kept_for_later_requests_and_reported_once() -> None:
    events, bodies = talk([refused("Unrecognized request argument supplied: stream_options"), OK], asking(), asking())
    assert ["stream_options" in body for body in bodies] == [True, False, False]
    notices = [event for one in events for event in one if isinstance(event, Notice)]
    assert notices == [Notice("parameter_left_out", "m at vendor refuses stream_options: it is left out.")]
    assert [type(one[-1]) for one in events] == [ResponseEnded, ResponseEnded]


def test_a_refusal_without_a_rule_is_passed_on() -> None:
    events, bodies = talk([refused("Unsupported parameter: 'stream_options'"), refused("No such thing")], asking())
    assert len(bodies) == 2
    (*_, last) = events[0]
    assert isinstance(last, ResponseFailed)
    assert (last.failure.message, last.failure.kind) == ("No such thing", "bad_request")


def test_a_repeated_refusal_causes_one_retry() -> None:
    events, bodies = talk([refused("Unsupported parameter: 'stream_options' is not supported")], asking())
    assert len(bodies) == 2
    assert isinstance(events[0][-1], ResponseFailed)


def test_an_answer_that_has_begun_is_never_sent_again() -> None:
    begun = [chunk({"role": "assistant", "content": "Hel"}), {"error": {"message": "Unknown parameter: 'stop'"}}]
    events, bodies = talk([begun, OK], asking(quirks=Quirks(extra_body={"stop": ["x"]})))
    assert len(bodies) == 1
    assert isinstance(events[0][-1], ResponseFailed)


# ---------------------------------------------------------------- adaptations that last


def test_later_reasoning_is_sent_back() -> None:
    adaptation = EndpointAdaptation()
    first = asking(asked(Text("a")), said(thought("one"), Text("b")), asked(Text("c")))
    assert adaptation.adapt(first, refusal(SIGNATURE)) == "without the reasoning so far"
    later = replace(first, messages=(*first.messages, said(thought("two"), Text("d")), asked(Text("e"))))
    assert adaptation.apply(later).messages == (
        asked(Text("a")),
        said(Text("b")),
        asked(Text("c")),
        said(thought("two"), Text("d")),
        asked(Text("e")),
    )
    shorter = replace(later, messages=later.messages[2:])  # a summary took the place of the beginning
    assert adaptation.apply(shorter).messages == later.messages[2:]


def test_reasoning_that_is_refused_every_time_is_never_sent_back() -> None:
    adaptation = EndpointAdaptation()
    for number in range(MAX_STRIPS + 1):
        request = asking(asked(Text("a")), said(thought(f"t{number}")), asked(Text("b")))
        assert adaptation.adapt(request, refusal(SIGNATURE)) is not None
    new = asking(asked(Text("a")), said(thought("new"), Text("x")), asked(Text("b")))
    assert adaptation.apply(new).messages == (asked(Text("a")), said(Text("x")), asked(Text("b")))


def test_echo_data_is_removed_and_text_kept() -> None:
    adaptation = EndpointAdaptation()
    private = {CHAT: {"signature": "s", "id": "fc_1"}}
    call, text = ToolCall("c1", "Read", {"a": 1}, opaque=private), Text("Look.", private)
    raw = Other(CHAT, {"type": "x"})
    request = asking(asked(Text("a")), said(text, call, raw), asked(ToolResult("c1", "r")))
    assert adaptation.adapt(request, refusal("Thought signature is not valid")) is not None
    assert adaptation.apply(request).messages[1] == said(Text("Look."), ToolCall("c1", "Read", {"a": 1}), raw)


def test_thinking_comes_back_when_the_chain_without_reasoning_is_over() -> None:
    adaptation = EndpointAdaptation()
    chain = (asked(Text("a")), said(thought("one"), ToolCall("c1", "Read", {})), asked(ToolResult("c1", "r")))
    request = asking(*chain, api=CLAUDE, thinking="enabled", thinking_budget=2048)
    assert adaptation.adapt(request, refusal(SIGNATURE)) is not None
    start = "a final `assistant` message must start with a thinking block"
    assert adaptation.adapt(request, refusal(start)) is not None
    assert adaptation.adapt(request, refusal(start)) is None
    assert (adaptation.apply(request).thinking, adaptation.apply(request).thinking_budget) == ("disabled", None)
    later = replace(request, messages=(*chain, said(Text("Done.")), asked(Text("Next"))))
    assert (adaptation.apply(later).thinking, adaptation.apply(later).thinking_budget) == ("enabled", 2048)


def test_old_images_are_removed_and_the_newest_kept() -> None:
    adaptation = EndpointAdaptation()
    one, two, three = (Image("image/png", name) for name in ("b25l", "dHdv", "dGhyZWU="))
    paper = Document("application/pdf", "cGRm")
    messages = (asked(one, Text("a")), said(Text("b")), asked(ToolResult("c1", (Text("r"), paper, two))), asked(three))
    too_large = Failure("context_length", "Request exceeds the maximum size", 413, provider_code="request_too_large")
    assert adaptation.adapt(asking(*messages), too_large) == "without older images and documents"
    assert adaptation.apply(asking(*messages)).messages == (
        asked(Text(TOO_LARGE), Text("a")),
        said(Text("b")),
        asked(ToolResult("c1", (Text("r"), Text(TOO_LARGE), Text(TOO_LARGE)))),
        asked(three),
    )
    assert adaptation.adapt(asking(*messages), too_large) is None
    assert EndpointAdaptation().adapt(asking(asked(three)), too_large) is None


TOO_MANY_BYTES = Failure("context_length", "Request exceeds the maximum size", 413, provider_code="request_too_large")


def test_an_old_image_that_appears_again_is_sent() -> None:
    adaptation = EndpointAdaptation()

    def picture() -> Image:
        return Image("image/png", "b25l")

    then = (asked(picture()), said(Text("a")), asked(ToolResult("c1", (picture(),))), said(Text("b")), asked(picture()))
    assert adaptation.adapt(asking(*then), TOO_MANY_BYTES) == "without older images and documents"
    gone = Text(TOO_LARGE)
    sent = (asked(gone), said(Text("a")), asked(ToolResult("c1", (gone,))), said(Text("b")), asked(picture()))
    assert adaptation.apply(asking(*then)).messages == sent
    later = (said(Text("c")), asked(picture(), Text("Again")))
    assert adaptation.apply(asking(*then, *later)).messages == (*sent, *later)
    compacted = (asked(Text("So far")), *later)
    assert adaptation.apply(asking(*compacted)).messages == compacted
    assert adaptation.adapt(asking(*then, *later), TOO_MANY_BYTES) == "without older images and documents"
    assert adaptation.apply(asking(*then, *later)).messages == (*sent[:-1], asked(gone), *later)
    assert adaptation.adapt(asking(*then, *later), TOO_MANY_BYTES) is None


def test_thinking_is_postponed_where_another_model_began_the_chain() -> None:
    """The other model's reasoning is not sent; the model that continues may not think in the middle of the chain."""
    adaptation = EndpointAdaptation()
    chain = (asked(Text("a")), said(ToolCall("c1", "Read", {})), asked(ToolResult("c1", "r")))
    request = asking(*chain, api=CLAUDE, thinking="enabled", thinking_budget=2048)
    expected = "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`"
    assert adaptation.adapt(request, refusal(expected)) == "without thinking until this chain of calls has ended"
    assert adaptation.apply(request).thinking == "disabled"
    after = (*chain, said(Text("Done.")), asked(Text("Next")))
    own = (*after, said(thought("t"), ToolCall("c2", "Read", {})), asked(ToolResult("c2", "r")))
    assert [adaptation.apply(replace(request, messages=one)).thinking for one in (after, own)] == ["enabled", "enabled"]
    assert EndpointAdaptation().adapt(replace(request, messages=own), refusal(expected)) is None


def test_adaptations_that_did_not_help_are_undone() -> None:
    """A refusal may quote the user: "does not support tools" in a quoted message says nothing about the model."""
    preparer = Preparer(no_log)
    request = asking(asked(Text("Why does it say: does not support tools?")), tools=(TOOL,), stop_sequences=("x",))
    quoting = refusal("Invalid message: 'Why does it say: m does not support tools, and unknown `stop`?'")

    def sent() -> tuple[bool, bool]:
        ready = preparer.prepare(request)
        wire = preparer.edit(WireRequest("/", {"stop": ["x"], "model": "m"}))
        return ready.text_calls, "stop" in wire.body

    assert sent() == (False, True)
    assert preparer.adapt(request, quoting) == "tools = False"
    assert sent() == (True, True)
    assert preparer.adapt(request, quoting) == "without stop"
    assert sent() == (True, False)
    assert preparer.adapt(request, quoting) is None
    assert sent() == (False, True)


@pytest.mark.parametrize(
    "end",
    [
        Failure("context_length", "prompt is too long", 400),
        Failure("server", "Internal server error", 500, retryable=True),
        Failure("overloaded", "busy", 529, retryable=True),
    ],
)
def test_adaptations_are_kept_when_the_last_failure_has_another_cause(end: Failure) -> None:
    preparer, request = Preparer(no_log), asking(tools=(TOOL,))
    assert preparer.adapt(request, refusal("m does not support tools")) == "tools = False"
    assert preparer.adapt(request, end) is None
    assert preparer.prepare(request).text_calls


def test_a_refusal_of_model_output_changes_nothing() -> None:
    adaptation = EndpointAdaptation()
    adaptation.edit(WireRequest("/", {"temperature": 1}))
    request = asking(asked(ToolResult("c1", "r")), tools=(TOOL,), quirks=Quirks(continuation_without_tools=True))
    failure = refusal("Tool call did not match: 'temperature' not allowed", retryable=True, nudge="Again.")
    assert adaptation.adapt(request, failure) is None


@pytest.mark.parametrize(
    ("api", "forms"),
    [
        ("google-genai", ["snake", "parameters", "openai"]),
        (CHAT, ["snake", "parameters"]),  # its first form is OpenAI's
        ("anthropic-messages", []),
    ],
)
def test_declarations_are_tried_in_turn_and_never_twice(api: str, forms: list[str]) -> None:
    adaptation, request, tried = EndpointAdaptation(), asking(tools=(TOOL,), api=api), []
    failure = refusal("tools[0].tool_type: required one_of 'tool_type' must have one initialized field")
    while adaptation.adapt(request, failure) is not None:
        tried.append(adaptation.apply(request).model.endpoint.quirks.declarations)
    assert tried == forms


def test_a_quirk_is_never_set_back_to_a_refused_value() -> None:
    adaptation, request = EndpointAdaptation(), asking()
    adaptation.edit(WireRequest("/", {"max_tokens": 5}))
    assert adaptation.adapt(request, refusal("no", param="max_tokens")) == "max_tokens_field = 'max_completion_tokens'"
    adaptation.edit(WireRequest("/", {"max_completion_tokens": 5}))
    assert adaptation.adapt(request, refusal("no", param="max_completion_tokens")) is None


def test_the_adaptations_of_one_request_are_limited() -> None:
    names = ("temperature", "top_p", "stop", "stream_options", "metadata", "store", "user", "tool_choice")
    adaptation, request = EndpointAdaptation(), asking()
    body: Json = dict.fromkeys(names, 1)
    changes = []
    for name in names:
        adaptation.edit(WireRequest("/", body))
        changes.append(adaptation.adapt(request, refusal(f"Unknown parameter: '{name}'")))
    assert changes == [f"without {name}" for name in names[:MAX_ADAPTATIONS]] + [None] * (len(names) - MAX_ADAPTATIONS)
    assert adaptation.adapt(asking(), refusal("Unknown parameter: 'user'")) == "without user"


def test_a_forced_choice_is_dropped_before_the_parameter() -> None:
    adaptation, request = EndpointAdaptation(), asking(tools=(TOOL,), tool_choice="Read")
    adaptation.edit(WireRequest("/", {"tool_choice": {"type": "function"}}))
    failure = refusal("Input should be 'auto', 'none' or 'any'", 422, param="tool_choice")
    assert adaptation.adapt(request, failure) == "forced_choice = False"
    assert adaptation.adapt(request, failure) == "without tool_choice"


def test_results_are_sent_once_without_tools_where_the_quirk_says_so() -> None:
    result = asked(ToolResult("c1", "r"))
    for quirk, message, change in (
        (True, result, "without tools"),
        (True, asked(Text("a")), None),
        (False, result, None),
    ):
        adaptation = EndpointAdaptation()
        request = asking(message, tools=(TOOL,), quirks=Quirks(continuation_without_tools=quirk))
        assert adaptation.adapt(request, refusal("Request contains an invalid argument.")) == change
        assert adaptation.apply(request).tools == (() if change else (TOOL,))
        assert adaptation.apply(replace(request, max_tokens=7)).tools == (TOOL,)
        assert adaptation.adapt(request, refusal("Request contains an invalid argument.")) is None


@pytest.mark.parametrize("kind", ["auth", "rate_limit", "overloaded", "network", "timeout", "cancelled", "billing"])
def test_other_failures_change_nothing(kind: Any) -> None:
    adaptation = EndpointAdaptation()
    adaptation.edit(WireRequest("/", {"stop": 1}))
    assert adaptation.adapt(asking(), Failure(kind, "Unknown parameter: 'stop'", 400)) is None


def test_edits_do_not_change_the_encoded_body() -> None:
    adaptation = EndpointAdaptation()
    body = {"reasoning": {"effort": "low"}, "model": "m"}
    adaptation.edit(WireRequest("/", body))
    adaptation.adapt(asking(api="openai-responses"), refusal("no", param="reasoning.effort"))
    assert adaptation.edit(WireRequest("/", body)).body == {"model": "m"}
    assert body == {"reasoning": {"effort": "low"}, "model": "m"}


def test_an_adaptation_is_a_new_value_and_the_old_one_stays() -> None:
    none, request = Adaptations(), asking(tools=(TOOL,))
    first = adapt(none, request, refusal("m does not support tools"), {})
    assert first is not None
    second = adapt(first.adaptations, request, refusal("Unknown parameter: 'stop'"), {"stop": 1})
    assert second is not None
    assert none == Adaptations()
    assert (dict(first.adaptations.quirks), first.adaptations.omitted) == ({"tools": False}, ())
    assert (dict(second.adaptations.quirks), second.adaptations.omitted) == ({"tools": False}, (("stop",),))
    assert adapt(second.adaptations, request, refusal("Unknown parameter: 'stop'"), {"stop": 1}) is None


def test_requests_of_two_threads_do_not_mix() -> None:
    adaptation = EndpointAdaptation()
    adaptation.edit(WireRequest("/", {"top_p": 1}))
    sent, may_go_on = threading.Event(), threading.Event()
    summaries: list[str | None] = []

    def other() -> None:
        adaptation.edit(WireRequest("/", {"temperature": 1}))
        sent.set()
        assert may_go_on.wait(10)
        summaries.append(adaptation.adapt(asking(), refusal("Unrecognized request argument supplied: temperature")))

    thread = threading.Thread(target=other)
    thread.start()
    assert sent.wait(10)
    mine = asking()
    assert adaptation.adapt(mine, refusal("Unrecognized request argument supplied: top_p")) == "without top_p"
    may_go_on.set()
    thread.join()
    assert summaries == ["without temperature"]
    assert adaptation.undo(refusal("no"))  # the other thread built on it: it stays
    assert adaptation.edit(WireRequest("/", {"top_p": 1, "temperature": 1})).body == {}
