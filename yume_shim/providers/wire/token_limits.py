"""Reads limits out of a refusal: the longest answer, the size of the context, what the account can pay for, the number
of tools.

Each row has a vendor, its sentence (or the part of it that matters) and the pattern that finds the number. Sentences
are matched in any case and anywhere in the message: proxies wrap them in their own text.
"""

from __future__ import annotations

import re

from yume_shim.types.errors import TokenLimits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Row = tuple[str, str, str]

MAX_TOKENS = 1_000_000_000
"""A larger number is not a limit."""

_N = r"(\d{1,15}(?:,\d{3}){0,4})"
_FIELD = r"max_?(?:completion_?|output_?|new_?)?tokens"
"""`max_tokens`, `max_completion_tokens`, `max_output_tokens`, `maxOutputTokens`."""

MAX_OUTPUT: tuple[Row, ...] = (
    (
        "Anthropic",
        "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-haiku",
        rf"{_FIELD}: \d+ > {_N}",
    ),
    (
        "OpenAI",
        "max_tokens is too large: 6000. This model supports at most 4096 completion tokens, whereas you provided 6000.",
        rf"{_FIELD}\W? is too large.{{0,60}}supports at most {_N}",
    ),
    (
        "DeepSeek",
        "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
        rf"range of {_FIELD}\W{{0,2}} (?:is|should be) \[\d+, ?{_N}\]",
    ),
    (
        "Alibaba",
        "InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 8192]",
        rf"range of {_FIELD}\W{{0,2}} (?:is|should be) \[\d+, ?{_N}\]",
    ),
    (
        "OpenAI",
        "Invalid 'max_output_tokens': integer above maximum value. Expected a value <= 16384, but got 128000 instead.",
        rf"{_FIELD}.{{0,160}}?expected a value <= {_N}",
    ),
    (
        "Groq",
        "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the",
        rf"max[_ ](?:completion_)?tokens\W? must be less than or equal to \W?{_N}",
    ),
    (
        "Bedrock",
        "The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value",
        rf"maximum tokens you requested exceeds the model limit of {_N}",
    ),
)
"""The longest answer."""
ABOVE_MAX_OUTPUT: tuple[Row, ...] = (
    (
        "Gemini",
        "it has a maxOutputTokens value of 65536 but the supported range is from 1 (inclusive) to 8193 (exclusive).",
        rf"{_FIELD}.{{0,80}}supported range is from \d+ \(inclusive\) to {_N} \(exclusive\)",
    ),
)
"""One more than the longest answer."""
WINDOW: tuple[Row, ...] = (
    (
        "Anthropic",
        "input length and `max_tokens` exceed context limit: 149907 + 64000 > 200000, decrease input length",
        rf"exceed context limit: \d+ \+ \d+ > {_N}",
    ),
    (
        "Anthropic",
        "prompt is too long: 210000 tokens > 200000 maximum",
        rf"prompt is too long: \d+ tokens > {_N} maximum",
    ),
    (
        "OpenAI, DeepSeek, vLLM, OpenRouter",
        "This model's maximum context length is 4096 tokens. However, you requested 5060",
        rf"maximum context length (?:is|of) {_N}",
    ),
    (
        "SGLang",
        "Requested token count exceeds the model's maximum context length of 32768 tokens.",
        rf"maximum context length (?:is|of) {_N}",
    ),
    (
        "Mistral",
        "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
        rf"too large for model with {_N} maximum context length",
    ),
    (
        "Gemini",
        "The input token count (1250074) exceeds the maximum number of tokens allowed (1048576).",
        rf"maximum number of tokens allowed \({_N}\)",
    ),
    (
        "llama.cpp",
        "request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it",
        rf"available context size \({_N} tokens\)",
    ),
    (
        "llama-cpp-python",
        "Requested tokens (2285) exceed context window of 2048",
        rf"exceed context window of {_N}",
    ),
    (
        "LM Studio",
        "However, the model is loaded with context length of only 4096 tokens, which is not enough.",
        rf"context length of only {_N}",
    ),
    (
        "xAI",
        "This model's maximum prompt length is 131072 but the request contains 531000 tokens.",
        rf"maximum prompt length is {_N}",
    ),
    (
        "Kimi",
        "Your request exceeded model token limit: 131072 (requested: 140000)",
        rf"exceeded model token limit: {_N}",
    ),
    (
        "Hugging Face, Together",
        "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 1000 `inputs` tokens and 8192",
        rf"max_new_tokens\W? must be <= {_N}",
    ),
    (
        "Cerebras",
        "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
        rf"current length is \d+ while limit is {_N}",
    ),
)
"""Prompt and answer together."""
INPUT: tuple[Row, ...] = (
    (
        "Anthropic",
        "exceed context limit: 149907 + 64000 > 200000",
        rf"exceed context limit: {_N} \+",
    ),
    (
        "Anthropic",
        "prompt is too long: 210000 tokens > 200000 maximum",
        rf"prompt is too long: {_N} tokens",
    ),
    (
        "OpenAI, DeepSeek, vLLM",
        "you requested 5060 tokens (4036 in the messages, 1024 in the completion)",
        rf"\({_N} in (?:the messages|your prompt)",
    ),
    (
        "llama-cpp-python",
        "however you requested 1076 tokens (52 in your prompt; 1024 for the completion).",
        rf"\({_N} in (?:the messages|your prompt)",
    ),
    (
        "vLLM",
        "This model's maximum context length is 64001 tokens and your request has 24235 input tokens",
        rf"request has {_N} input tokens",
    ),
    (
        "OpenAI",
        "However, your messages resulted in 8202 tokens.",
        rf"messages resulted in {_N} tokens",
    ),
    (
        "SGLang",
        "You requested a total of 40000 tokens: 8000 tokens from the input messages and 32000",
        rf"{_N} tokens from the input messages",
    ),
    (
        "Gemini",
        "The input token count (1250074) exceeds the maximum",
        rf"input token count \({_N}\)",
    ),
    (
        "llama.cpp",
        "request (4390 tokens) exceeds the available context size",
        rf"request \({_N} tokens\) exceeds",
    ),
    (
        "Mistral",
        "Prompt contains 40000 tokens, too large for model",
        rf"prompt contains {_N} tokens",
    ),
    (
        "Hugging Face, Together",
        "Given: 1000 `inputs` tokens and 8192 `max_new_tokens`",
        rf"given: {_N} `?inputs`? tokens",
    ),
    (
        "xAI",
        "but the request contains 531000 tokens.",
        rf"request contains {_N} tokens",
    ),
    (
        "Kimi",
        "exceeded model token limit: 131072 (requested: 140000)",
        rf"\(requested: {_N}\)",
    ),
)
"""The prompt, as the provider counted it."""
INPUT_PARTS: Row = (
    "OpenRouter",
    "you requested about 151072 tokens (18928 of text input, 1072 of tool input, 131072 in the output).",
    rf"{_N} of (?:text|tool|image|file|audio) input",
)
"""The same, in parts that are added up."""
INPUT_AT_LEAST: tuple[Row, ...] = (
    (
        "vLLM",
        "you requested 65535 output tokens and your prompt contains at least 62466 input tokens, for a total of",
        rf"prompt contains at least {_N} input tokens",
    ),
)
"""The same, where the provider stops counting at its limit."""
AFFORDABLE: tuple[Row, ...] = (
    (
        "OpenRouter",
        "You requested up to 16384 tokens, but can only afford 3919. To increase, visit",
        rf"can only afford {_N}",
    ),
)
"""The longest answer that the account can pay for."""
TOOLS: tuple[Row, ...] = (
    (
        "OpenAI",
        "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 217",
        rf"\btools\W{{0,4}}array too long.{{0,60}}(?:maximum length|at most) {_N}",
    ),
    (
        "Gemini",
        "tools[0].function_declarations: [FIELD_INVALID] At most 512 function declarations can be specified.",
        rf"at most {_N} (?:function declarations|functions|tools)",
    ),
    (
        "Groq",
        "'tools' : maximum number of items is 128",
        rf"\btools\W{{0,6}}maximum number of items is {_N}",
    ),
    (
        "GitHub",
        "You may not include more than 128 tools in your request.",
        rf"(?:may|can) ?not include more than {_N} (?:tools|functions)",
    ),
)
"""How many tools a request may offer."""


def read_limits(message: str, fields: Mapping[str, Any]) -> TokenLimits | None:
    """The limits that a refusal names; None if it names none. `fields` is the error object around the message:
    llama.cpp gives its numbers as `n_ctx` and `n_prompt_tokens`, too."""
    limits = TokenLimits(
        max_output=_first(MAX_OUTPUT, message) or max(_first(ABOVE_MAX_OUTPUT, message) - 1, 0),
        window=_first(WINDOW, message) or _field(fields, "n_ctx"),
        input=_first(INPUT, message) or _sum(INPUT_PARTS, message) or _field(fields, "n_prompt_tokens"),
        input_at_least=_first(INPUT_AT_LEAST, message),
        affordable=_first(AFFORDABLE, message),
        max_tools=_first(TOOLS, message),
    )
    return limits if limits.max_output or limits.window or limits.affordable or limits.max_tools else None


def _first(rows: tuple[Row, ...], message: str) -> int:
    for _, _, pattern in rows:
        found = re.search(pattern, message, re.IGNORECASE | re.DOTALL)
        if found and (number := _whole(found.group(1))):
            return number
    return 0


def _sum(row: Row, message: str) -> int:
    return sum(_whole(found) for found in re.findall(row[2], message, re.IGNORECASE))


def _field(fields: Mapping[str, Any], name: str) -> int:
    found = fields.get(name)
    return found if type(found) is int and 0 < found <= MAX_TOKENS else 0


def _whole(digits: str) -> int:
    number = int(digits.replace(",", ""))
    return number if number <= MAX_TOKENS else 0
