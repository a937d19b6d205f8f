"""Refusal rules: the vendors' sentences, the parameters that they name, and what recorded refusals lead to."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.refusals import CHAT, CLAUDE, TOOL, asked, asking, refusal, said, thought
from yume_shim.providers.fitting.endpoint_adaptation import EndpointAdaptation
from yume_shim.providers.fitting.refusal_actions import ACTIONS
from yume_shim.providers.fitting.refusal_rules import RULES, allowed_efforts, matching_rules, named_parameters
from yume_shim.providers.wire.failures import failure_from_status
from yume_shim.types.blocks import Image, Text, ToolCall, ToolResult
from yume_shim.types.models import Quirks, WireRequest
from yume_shim.types.value import fields

RECORDED = os.environ.get("YUME_RECORDED", "")


def test_every_action_of_a_rule_exists() -> None:
    for rule in RULES:
        for step in rule.actions:
            assert step in ACTIONS if isinstance(step, str) else step[0] in fields(Quirks)


# ---------------------------------------------------------------- parameters that refusals name

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
def test_required_parameters_and_content_are_not_named(api: str, message: str, param: str) -> None:
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
def test_supported_efforts_are_read(message: str, levels: tuple[str, ...]) -> None:
    assert allowed_efforts(message) == levels


@pytest.mark.parametrize(
    ("message", "actions"),
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
def test_sentences_match_their_rule(message: str, actions: tuple[Any, ...]) -> None:
    assert [rule.actions for rule in matching_rules(refusal(message))] == [actions]


@pytest.mark.parametrize(
    "message", ["Parallel tool use is not supported", "The file does not support text", "upstream timed out"]
)
def test_other_sentences_match_no_rule(message: str) -> None:
    assert list(matching_rules(refusal(message))) == []


CHANGES = {
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
"""What each recorded refusal changes; those that are not listed change nothing."""
APIS = {"anthropic": CLAUDE, "gemini": "google-genai", "openai_responses": "openai-responses"}


@pytest.mark.skipif(not RECORDED, reason="YUME_RECORDED names no folder of recordings")
def test_every_recorded_refusal_changes_what_it_should() -> None:
    changes: dict[str, str] = {}
    for path in sorted(Path(RECORDED).glob("*/*.json")):
        if path.name.endswith((".meta.json", ".request.json")) or "err" not in str(path.relative_to(RECORDED)):
            continue
        name = str(path.relative_to(RECORDED))[: -len(".json")]
        vendor = path.stem.split("_")[0] if path.parent.name == "reported_errors" else path.parent.name
        change = _change_by(path, APIS.get(vendor, CHAT))
        if change is not None:
            changes[name] = change
    assert changes == CHANGES


def _change_by(path: Path, api: str) -> str | None:
    """What this body changes for a request that sends everything."""
    status = json.loads(path.with_suffix(".meta.json").read_text("utf-8")).get("status") or 400
    picture = Image("image/png", "b25l")
    chain = (
        asked(Text("a"), picture),
        said(thought("t"), ToolCall("c1", "Read", {})),
        asked(ToolResult("c1", (Image("image/png", "dHdv"),))),
    )
    quirks = Quirks(system_role="developer")
    request = asking(*chain, api=api, tools=(TOOL,), effort="xhigh", tool_choice="Read", quirks=quirks)
    adaptation = EndpointAdaptation()
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
    adaptation.edit(WireRequest("/", dict.fromkeys(names, 1)))
    return adaptation.adapt(request, failure_from_status(int(status), {}, path.read_bytes(), "vendor"))
