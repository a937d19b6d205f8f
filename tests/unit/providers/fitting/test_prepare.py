"""Fitting a request to its endpoint: the steps around adaptations."""

from __future__ import annotations

from typing import Any

from tests.helpers.refusals import TOOL, asked, asking, said
from tests.helpers.wire_cases import no_log
from yume_shim.providers.fitting.prepare import Preparer
from yume_shim.types.blocks import Message, Text, ToolCall, ToolResult
from yume_shim.types.errors import Failure
from yume_shim.types.models import Quirks, Request
from yume_shim.types.value import replace


def test_a_token_quota_below_the_prompt_is_an_overflow() -> None:
    preparer = Preparer(no_log)
    failure = Failure("rate_limit", "quota", 429, retryable=True, retry_after_ms=48_000, token_quota=100)
    long = asking(asked(Text("x " * 150)), said(ToolCall("c1", "Read", {})), asked(ToolResult("c1", "y " * 50)))
    assert preparer.judge(long, failure) == replace(
        failure, kind="context_length", retryable=False, retry_after_ms=None
    )
    assert preparer.judge(asking(asked(Text("x " * 150))), failure) == failure
    in_parts = asking(asked(ToolResult("c1", (Text("y " * 200),))))
    assert preparer.judge(in_parts, failure).kind == "context_length"
    assert preparer.judge(long, replace(failure, token_quota=0)).kind == "rate_limit"


def test_the_system_prompt_is_put_before_the_first_user_message() -> None:
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
    with_tools = sent(hello, system=system, tools=(TOOL,))
    first = with_tools.messages[0].blocks[0]
    assert with_tools.system == ()
    assert isinstance(first, Text)
    assert first.text.startswith("Be brief.\n\nBe kind.\n\n# Tools")
