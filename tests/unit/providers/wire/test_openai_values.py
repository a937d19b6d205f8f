"""Names, ids and other values for the OpenAI APIs."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.fakes import FakeIds
from yume_shim.providers.wire.openai_body import bearer, count, effort_of, with_extra
from yume_shim.providers.wire.openai_content import file_name
from yume_shim.providers.wire.openai_ids import CALL_ID, OwnIds, WireIds
from yume_shim.providers.wire.openai_tools import own_names, wire_name
from yume_shim.types.blocks import Document, Message, ToolCall, ToolResult
from yume_shim.types.models import Credential, Endpoint, ModelSpec, Quirks, Request, ToolSpec

API = "openai-chat"
TOOL_NAME = re.compile("[A-Za-z0-9_-]{1,64}")


def request(*messages: Message, id_pattern: str = "") -> Request:
    endpoint = Endpoint("somebody", API, "http://127.0.0.1:1/v1", quirks=Quirks(id_pattern=id_pattern))
    return Request(ModelSpec("m", endpoint), messages)


def calls(*ids: str, origin: str = "") -> Message:
    return Message("assistant", tuple(ToolCall(call_id, "LS", {}) for call_id in ids), origin)


@given(st.text(max_size=200))
def test_every_name_is_legal(name: str) -> None:
    wire = wire_name(name)
    assert TOOL_NAME.fullmatch(wire)
    assert wire == name or not TOOL_NAME.fullmatch(name)


@given(st.lists(st.text(max_size=90), unique=True, max_size=20))
def test_changed_names_are_mapped_back(names: list[str]) -> None:
    tools = tuple(ToolSpec(name, "", {}) for name in names)
    back = own_names(tools)
    assert [back.get(wire_name(name), wire_name(name)) for name in names] == names


@pytest.mark.parametrize("pattern", ["", "^[a-zA-Z0-9]{9}$", "^tool[A-Za-z0-9_-]+$"])
@given(ids=st.lists(st.text(min_size=1, max_size=80), unique=True, max_size=20))
def test_ids_are_legal_unique_and_the_same_for_call_and_result(pattern: str, ids: list[str]) -> None:
    wire = WireIds(
        request(calls(*ids), Message("user", tuple(ToolResult(i, "") for i in ids)), id_pattern=pattern), API
    )
    sent = [wire[call_id] for call_id in ids]
    assert sent == [wire[call_id] for call_id in ids]
    assert len(set(sent)) == len(ids)
    if not pattern.startswith("^tool"):  # no hash looks like that: such ids are sent unchanged
        assert all(re.fullmatch(pattern or CALL_ID.pattern, one) for one in sent)


def test_only_the_provider_itself_gets_its_own_id_back() -> None:
    private = {API: {"id": "functions.LS:0"}}
    own = Message("assistant", (ToolCall("call_1", "LS", {}, opaque=private),), f"{API}/m")
    foreign = Message("assistant", (ToolCall("call_2", "LS", {}, opaque=private),), f"{API}/other")
    wire = WireIds(request(own, foreign), API)
    assert (wire["call_1"], wire["call_2"], wire["orphan"]) == ("functions.LS:0", "call_2", "orphan")


def test_a_providers_id_is_sent_once() -> None:
    blocks = tuple(ToolCall(call_id, "LS", {}, opaque={API: {"id": "call_0"}}) for call_id in ("one", "two"))
    wire = WireIds(request(Message("assistant", blocks, f"{API}/m")), API)
    assert (wire["one"], wire["two"]) == ("call_0", "two")


def test_incoming_ids_are_unique_in_the_session() -> None:
    ids = OwnIds(request(calls("call_0")), FakeIds().call_id)
    assert [ids.take(given) for given in ("call_0", "call_1", "call_1", "", "x" * 41)] == [
        ("call_000001", {"id": "call_0"}),
        ("call_1", {}),
        ("call_000002", {"id": "call_1"}),
        ("call_000003", {}),
        ("call_000004", {"id": "x" * 41}),
    ]


def test_ids_that_cannot_be_created_do_not_hang() -> None:
    ids = OwnIds(request(calls("same")), lambda: "same")
    assert ids.take("")[0] == "same"


def test_a_key_is_a_bearer_token_and_no_key_gives_no_header() -> None:
    assert bearer(Credential("k", "key", "env")) == {"Authorization": "Bearer k"}
    assert bearer(Credential("t", "token", "env")) == {"Authorization": "Bearer t"}
    assert bearer(Credential("", "none", "")) == {}


def test_extra_fields_override_and_null_removes_a_field() -> None:
    body = {"model": "m", "include": ["x"], "keep": None}
    assert with_extra(body, {"include": None, "seed": 1}) == {"model": "m", "keep": None, "seed": 1}


@pytest.mark.parametrize(
    ("thinking", "asked", "effort", "allowed", "expected"),
    [
        ("effort", "default", "high", True, "high"),
        ("effort", "default", None, True, None),
        ("effort", "disabled", "high", True, "low"),
        ("effort", "default", "high", False, None),
        ("", "enabled", "high", True, None),
    ],
)
def test_effort(thinking: str, asked: Any, effort: Any, allowed: bool, expected: str | None) -> None:
    endpoint = Endpoint("somebody", API, "http://127.0.0.1:1/v1", quirks=Quirks(thinking=allowed))
    model = ModelSpec("m", endpoint, thinking=thinking)
    assert effort_of(Request(model, (), thinking=asked, effort=effort)) == expected


def test_files_have_names_with_their_ending() -> None:
    assert file_name(Document("application/pdf", "")) == "document.pdf"
    assert file_name(Document("application/pdf", "", "Plan.PDF")) == "Plan.PDF"
    assert file_name(Document("application/pdf", "", "plan")) == "plan.pdf"


def test_counts_are_numbers_or_zero() -> None:
    assert (count({"a": None, "b": 2}, "a", "b"), count({}, "a"), count(None, "a"), count([], "a")) == (2, 0, 0, 0)
