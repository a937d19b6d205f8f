"""A history that grows request by request is encoded as if each request were the first."""

from __future__ import annotations

import copy
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.counting import calls_of
from tests.helpers.wire_cases import cases
from yume_shim.providers.wire import history_memo
from yume_shim.text import codec
from yume_shim.types.blocks import Message, Text, ToolCall, ToolResult
from yume_shim.types.stored_history import StoredHistory
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from yume_shim.types.models import Request, WireRequest

APIS = ("anthropic-messages", "openai-responses", "openai-chat", "google-genai", "ollama-chat")
ROUNDS = 90


def request_of(api: str, rounds: int, ids: str = "call_{}") -> tuple[Any, Request]:
    """A request with so many rounds of one call, with the values of the same messages every time."""
    case = next(iter(cases(api)))
    messages: list[Message] = [Message("user", (Text("begin"),))]
    for number in range(rounds):
        call = ToolCall(ids.format(number), "Read", {"file_path": "é", "limit": number})
        result = ToolResult(call.id, f"line {number}", is_error=bool(number % 2))
        messages += [Message("assistant", (Text("I look."), call), case.request.model.origin)]
        messages += [Message("user", (result, *((Text("and?"),) if number % 5 == 0 else ())))]
    return case.adapter, replace(case.request, messages=tuple(messages))


def cut(request: Request, count: int) -> Request:
    """The same with its first messages only; the first of them is made anew, as the engine does."""
    first = request.messages[0]
    return replace(request, messages=(replace(first, blocks=tuple(first.blocks)), *request.messages[1:count]))


def alone(adapter: Any, request: Request, monkeypatch: pytest.MonkeyPatch) -> WireRequest:
    """Encoded with nothing remembered."""
    with monkeypatch.context() as patch:
        patch.setattr(history_memo.HistoryMemo, "take", lambda self, request, names=None: (None, [], request.messages))
        patch.setattr(history_memo.HistoryMemo, "keep", lambda self, request, names, state, items: items)
        return adapter.encode_request(request)  # type: ignore[no-any-return]


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("ids", ["call_{}", "same", "a.b:{}"])
def test_a_growing_history_is_encoded_as_a_new_one(api: str, ids: str, monkeypatch: pytest.MonkeyPatch) -> None:
    adapter, request = request_of(api, ROUNDS, ids)
    before: list[tuple[Any, Any]] = []
    for count in (*range(1, len(request.messages) + 1, 2), 41, 41, 7, len(request.messages)):
        grown = cut(request, count)
        wire = adapter.encode_request(grown)
        expected = alone(adapter, grown, monkeypatch)
        assert replace(wire, body=history_memo.plain_body(wire.body)) == expected
        assert history_memo.body_text(wire.body)[0] == codec.dumps(expected.body)
        before.append((wire.body, copy.deepcopy(history_memo.plain_body(wire.body))))
    assert all(history_memo.plain_body(now) == then for now, then in before), "a later request changed an earlier body"


@pytest.mark.parametrize("api", APIS)
def test_only_what_was_added_is_encoded(api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    adapter, request = request_of(api, ROUNDS)
    left: list[int] = []
    take = history_memo.HistoryMemo.take

    def watched(self: Any, request: Request, names: object = None) -> Any:
        found = take(self, request, names)
        left.append(len(found[2]))
        return found

    monkeypatch.setattr(history_memo.HistoryMemo, "take", watched)
    for count in (41, 43, 43, 161, 181):
        adapter.encode_request(cut(replace(request, session_id=api), count))
    assert left == [41, 2, 0, 118, 20]


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("ids", ["call_{}", "a.b:{}"])
def test_a_history_goes_on_from_a_checkpoint(api: str, ids: str, monkeypatch: pytest.MonkeyPatch) -> None:
    adapter, request = request_of(api, ROUNDS, ids)
    for count in (41, 121):
        adapter.encode_request(cut(request, count))
        memo = history_memo.MEMOS[api]
        assert memo.sent_with(request.messages[:count]) is not None
        facts, text = memo.packed() or ({}, b"")
        memo.forget()
        read = partial(tuple, request.messages[:count])
        stored = StoredHistory(count - 1, "", 0, ((), ()), codec.loads(codec.dumps(facts)), text, read)
        messages = (*cut(request, 1).messages, *stored.messages, *request.messages[count:])
        body = adapter.encode_request(replace(request, messages=messages)).body
        assert [stored.is_read] == [False]
        expected = alone(adapter, request, monkeypatch)
        assert history_memo.body_text(body)[0] == codec.dumps(expected.body)
        for other in (replace(request, session_id="other"), cut(request, 1)):
            first = replace(other.messages[0], blocks=(Text("else"),))
            changed = replace(other, messages=(first, *stored.messages, *request.messages[count:]))
            adapter.encode_request(changed)
            assert stored.is_read
            memo.forget()


@pytest.mark.parametrize("api", APIS)
def test_the_next_request_costs_the_same_however_long_the_history_is(api: str) -> None:
    adapter, request = request_of(api, 8 * ROUNDS)
    cost: list[int] = []
    for count in (401, 801, 1201):
        history_memo.body_text(adapter.encode_request(cut(request, count - 4)).body)
        history_memo.body_text(adapter.encode_request(cut(request, count - 2)).body)
        grown = cut(request, count)
        cost.append(calls_of(partial(_sent, adapter, grown)))
    assert max(cost) < 1.2 * min(cost) + 50, cost


def _sent(adapter: Any, request: Request) -> bytes:
    return history_memo.body_text(adapter.encode_request(request).body)[0]


def test_values_that_are_only_equal_are_encoded_again() -> None:
    adapter, request = request_of("anthropic-messages", ROUNDS)
    adapter.encode_request(request)
    call = ToolCall("call_0", "Read", {"file_path": "é", "limit": False})  # equal to 0, but another JSON
    other = replace(request.messages[1], blocks=(Text("I look."), call))
    changed = replace(request, messages=(request.messages[0], other, *request.messages[2:]))
    body = history_memo.plain_body(adapter.encode_request(changed).body)
    assert body["messages"][1]["content"][1]["input"]["limit"] is False
