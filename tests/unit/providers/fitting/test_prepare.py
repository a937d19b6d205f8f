"""Fitting a request to its endpoint: the steps around adaptations."""

from __future__ import annotations

import base64
from typing import Any

from tests.helpers.counting import calls_of
from tests.helpers.refusals import TOOL, asked, asking, said
from tests.helpers.wire_cases import no_log
from yume_shim.providers.fitting.prepare import Preparer
from yume_shim.types.blocks import Image, Message, Text, ToolCall, ToolResult
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


def test_only_new_messages_are_searched_for_media() -> None:
    history = tuple(message for number in range(500) for message in (asked(Text("a")), said(Text(f"b{number}"))))
    preparer = Preparer(no_log)
    whole, more = (calls_of(lambda end=end: preparer.prepare(asking(*history[:end]))) for end in (996, 1_000))  # type: ignore[misc]
    assert more < whole / 50
    image = Image("image/png", base64.b64encode(b"no image").decode())
    late = preparer.prepare(asking(*history, asked(ToolResult("c1", (image,)))))
    assert late.notices == Preparer(no_log).prepare(asking(asked(ToolResult("c1", (image,))))).notices != ()
