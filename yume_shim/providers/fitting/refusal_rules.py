"""Rules about refusals, as tables: the vendors' sentences with the change that each asks for, and for each API the
parameters that are optional. Loaded when a request was refused, not before.

Sentences are matched in any case and anywhere in the message: proxies wrap them in their own text.
"""

from __future__ import annotations

import re

from yume_shim.types.effort import EFFORTS
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from yume_shim.types.errors import Failure

DECLARATION_FORMS = {
    "google-genai": ("", "snake", "parameters", "openai"),
    "openai-chat": ("", "snake", "parameters"),
}
"""Forms of function declarations of an API, in the order in which they are tried (see Quirks.declarations)."""


class Rule(Value):
    """A sentence, or a status that means the same, and what to do about it. The first action that changes anything is
    taken. An action is a name in `refusal_actions.ACTIONS`, or a quirk and its new value."""

    pattern: str
    actions: tuple[str | tuple[str, Any], ...]
    status: int = 0


RULES = (
    # Gemini 3. Gives stand-in signatures to models that the catalogue does not know.
    Rule(r"missing a thought_?signature", ("stand_ins", "strip", "flat")),
    Rule(r"thought[ _]?signature is (?:not valid|invalid)|invalid thought[ _]?signature", ("strip", "flat")),
    # Anthropic; the sentence begins with the path of the block
    Rule(r"invalid `?signature`? in `?thinking`? block", ("strip",)),
    Rule(r"thinking`? blocks in the latest assistant message cannot be modified", ("strip",)),
    # Anthropic, when reasoning was removed in the middle of a chain of calls and thinking has a budget
    Rule(r"must start with a thinking block|expected `?thinking`? or `?redacted_thinking`?", ("think_later",)),
    # OpenAI Responses: `invalid_encrypted_content` "The encrypted content gAAA… could not be verified."
    Rule(r"invalid_encrypted_content|encrypted content.{0,300}could not be (?:verified|decrypted)", ("strip",)),
    Rule(r"item with id '?rs_\w+'? not found|item '?rs_\w+'? of type '?reasoning'? was provided without", ("strip",)),
    # DeepSeek, Kimi
    Rule(r"reasoning_content.{0,60}must be passed back", (("reasoning_echo", "reasoning_content"),)),
    # DeepSeek's Responses API, when a message comes between calls and their outputs
    Rule(r"no tool output found for (?:tool|function) call", (("calls_together", True),)),
    # Gemini and its proxies
    Rule(r"unknown name \W*parameters_?json_?schema", ("declare_parameters", "declare")),
    # "models/x is not found for API version v1, or is not supported for generateContent"; v1 of some proxies knows less
    Rule(
        r"not found for api version v1\b|unknown name \W*system_?instruction",
        (("api_version", "v1beta"),),
    ),
    Rule(r"required one_of '?tool_type'? must have one initialized field", ("declare",)),
    Rule(r"please use a valid role: user, model", ("flat",)),
    # Ollama says "registry.ollama.ai/library/x does not support tools", OpenAI "tools is not supported in this model",
    # OpenRouter (with 404) "No endpoints found that support tool use"
    Rule(
        r"does not support tools"
        r"|(?<!parallel )\b(?:tools|tool (?:use|calls?|calling)|function calling)\W? (?:is|are) not (?:support|enabl)ed"
        r"|no endpoints found that support tool use",
        (("tools", False),),
    ),
    # OpenAI's first o1 models took neither role
    Rule(r"messages\[0\]\.role' does not support 'developer'", (("system_role", "system"), ("system_role", "user"))),
    Rule(r"messages\[0\]\.role' does not support 'system'", (("system_role", "user"),)),
    # Gemma, in Gemini's API ("Developer instruction is not enabled for models/gemma-3-27b-it") and by its own template
    Rule(
        r"(?:developer|system) instructions? (?:is|are) not (?:enabl|support)ed|system role (?:is )?not supported",
        (("system_role", "user"),),
    ),
    # OpenAI's first o1 models: "'stream' does not support true with this model"
    Rule(
        r"'?stream'? does not support true|streaming (?:is|are) (?:not supported|unsupported)"
        r"|does not support streaming|['`\"]?stream['`\"]? must be (?:set to )?false",
        (("streaming", False),),
    ),
    Rule(r"does not support thinking|\bthinking is not supported", (("thinking", False),)),
    # Anthropic, to 'xhigh': "Supported levels: high, low, max, medium."
    Rule(r"effort.{0,120}supported (?:levels|values)|supported (?:levels|values).{0,120}effort", ("effort",)),
    # Anthropic: 413 `request_too_large` is about bytes, not tokens, and old images take most of them
    Rule(r"request_too_large|request exceeds the maximum size", ("old_media",), status=413),
)
NOTICES: dict[str, tuple[str, str]] = {
    "streaming": ("no_streaming", "{model} at {endpoint} does not stream: each answer arrives as a whole."),
    "flat_results": (
        "flat_results",
        "{model} at {endpoint} refuses earlier tool calls in its API's own form: they are sent as plain text.",
    ),
    "thinking": ("parameter_left_out", "{model} at {endpoint} refuses thinking: it is not requested."),
    "prompt_cache": ("parameter_left_out", "{model} at {endpoint} refuses cache_control: it is left out."),
    "strict_tools": ("parameter_left_out", "{model} at {endpoint} refuses strict: it is left out."),
}
"""Code and text of the notice when a quirk is set. Other quirks change nothing that the user could notice."""

REFUSING_WORDS = re.compile(
    r"unsupported|not support|unrecogni[sz]ed|unknown|unexpected|extra[ _](?:inputs|forbidden|fields)|not permitted"
    r"|not allowed|deprecated|cannot find field|cannot both|invalid|not available|no longer|can't be"
    r"|only (?:works|enabled)",
    re.IGNORECASE,
)
"""A sentence with one of these words refuses the parameter that it names."""

_NAMES = re.compile(
    r"[`'\"]([A-Za-z_][\w.\[\]]*)[`'\"]"  # Unsupported parameter: 'stop'; `temperature` is deprecated
    r"|(?:arguments? supplied|parameters?|fields?|property):? ([A-Za-z_][\w.]*)"  # argument supplied: reasoning_effort
    r"|([A-Za-z_][\w.]*): extra inputs"  # output_config.effort: Extra inputs are not permitted
    r"|\b([a-z]+_[a-z_.]+)\b"  # thinking_config.include_thoughts is only enabled when thinking is enabled
    r"|\b(temperature)\b",
    re.IGNORECASE,
)
_PHRASES = (
    (re.compile(r"thinking level", re.IGNORECASE), "thinkingLevel"),
    (re.compile(r"thinking[ _]budget|budget \d+ is invalid|can't be disabled", re.IGNORECASE), "thinkingBudget"),
    (re.compile(r"effort parameter", re.IGNORECASE), "effort"),
    (re.compile(r"`?temperature`? and `?top_p`? cannot both", re.IGNORECASE), "top_p"),
)
"""Phrases that name a parameter."""
_CONTENT = frozenset(("messages", "input", "contents", "tools", "system"))
"""A path that begins with one of these is part of the conversation, of which only marks (`strict`, `cache_control`) are
optional."""
_MESSAGES = _CONTENT - {"tools"}
_PLACE = re.compile(r"[`'\"]?((?:messages|input|contents|tools|system)[.\[][\w.\[\]]*)")
"""Anthropic begins its sentence with the path: `messages.3.content.0.text: …`."""


def _top(*names: str) -> dict[str, tuple[str, ...]]:
    return {name: (name,) for name in names}


_SAMPLING = ("temperature", "top_p", "top_k")
_OPTIONAL: dict[str, dict[str, tuple[str, ...]]] = {
    "anthropic-messages": {
        **_top(*_SAMPLING, "stop_sequences", "thinking", "output_config", "metadata", "tool_choice", "service_tier"),
        "effort": ("output_config", "effort"),
        "display": ("thinking", "display"),
    },
    "openai-chat": _top(
        *_SAMPLING,
        "stop",
        "stream_options",
        "reasoning_effort",
        "reasoning",
        "thinking",
        "enable_thinking",
        "chat_template_kwargs",
        "parallel_tool_calls",
        "prompt_cache_key",
        "metadata",
        "store",
        "tool_choice",
        "user",
    ),
    "openai-responses": {
        **_top(*_SAMPLING, "stream_options", "reasoning", "parallel_tool_calls", "prompt_cache_key", "metadata"),
        **_top("store", "include", "tool_choice", "max_output_tokens", "text", "truncation", "service_tier"),
        "include_obfuscation": ("stream_options", "include_obfuscation"),
        "effort": ("reasoning", "effort"),
        "summary": ("reasoning", "summary"),
    },
    "google-genai": {
        "toolConfig": ("toolConfig",),
        "thinkingLevel": ("generationConfig", "thinkingConfig", "thinkingLevel"),
        "thinkingBudget": ("generationConfig", "thinkingConfig", "thinkingBudget"),
        "includeThoughts": ("generationConfig", "thinkingConfig", "includeThoughts"),
        **{name: ("generationConfig", name) for name in ("temperature", "topP", "topK", "stopSequences")},
        "thinkingConfig": ("generationConfig", "thinkingConfig"),
    },
    "ollama-chat": {
        **_top("think", "keep_alive"),
        **{name: ("options", name) for name in (*_SAMPLING, "stop", "num_ctx")},
    },
}
"""Parameters that may be left out of a body: name -> path."""
_BY_QUIRK: dict[str, dict[str, tuple[str, Any]]] = {
    "anthropic-messages": {"cache_control": ("prompt_cache", False), "stream": ("streaming", False)},
    "openai-chat": {
        "max_tokens": ("max_tokens_field", "max_completion_tokens"),
        "max_completion_tokens": ("max_tokens_field", "max_tokens"),
        "stream": ("streaming", False),
        "strict": ("strict_tools", False),
    },
    "openai-responses": {"stream": ("streaming", False), "strict": ("strict_tools", False)},
}
"""Parameters that are left out, or renamed, by setting a quirk: name -> (quirk, value)."""


class NamedParameter(Value):
    """A parameter that a refusal names: its path, or the quirk that leaves it out."""

    name: str
    path: tuple[str, ...] = ()
    quirk: tuple[str, Any] | None = None


def matching_rules(failure: Failure) -> Iterator[Rule]:
    """The rules whose sentence or status this refusal has."""
    text = f"{failure.provider_code} {failure.message}"
    for rule in RULES:
        if (rule.status and rule.status == failure.status) or re.search(rule.pattern, text, re.IGNORECASE | re.DOTALL):
            yield rule


def named_parameters(api: str, failure: Failure) -> Iterator[NamedParameter]:
    """The optional parameters that a refusal names, the most certain first."""
    at_fault = _at_fault(failure)
    yield from _named(api, at_fault)
    if _about_content(at_fault):
        return  # the rest of the sentence may quote the conversation
    if not REFUSING_WORDS.search(failure.message):
        return
    for phrase, name in _PHRASES:
        if phrase.search(failure.message):
            yield from _named(api, name)
    for found in _NAMES.finditer(failure.message):
        yield from _named(api, next(filter(None, found.groups())))


def about_conversation(failure: Failure) -> bool:
    """The refusal names a place in the messages: the rest of the sentence may quote the conversation."""
    return any(step in _MESSAGES for step in _steps(_at_fault(failure))[:1])


def _at_fault(failure: Failure) -> str:
    place = _PLACE.match(failure.message)
    return failure.param or (place.group(1) if place else "")


def allowed_efforts(message: str) -> tuple[str, ...]:
    """The effort levels that a refusal lists as supported."""
    _, _, listed = re.sub(r"supported (?:levels|values)(?: are)?", "\0", message, flags=re.IGNORECASE).partition("\0")
    return tuple(level for level in EFFORTS if re.search(rf"\b{level}\b", listed, re.IGNORECASE))


def _named(api: str, path: str) -> Iterator[NamedParameter]:
    """The parameter at a path: its last step that is one (`generation_config.thinking_config.thinking_level`). Inside
    the conversation only a mark (`tools[0].function.strict`)."""
    steps = _steps(path)
    for step in reversed(steps):
        for name, quirk in _BY_QUIRK.get(api, {}).items():
            if _plain(step) == _plain(name) and (len(steps) == 1 or name in ("strict", "cache_control")):
                yield NamedParameter(name, quirk=quirk)
                return
        for name, place in _OPTIONAL.get(api, {}).items():
            if _plain(step) == _plain(name) and not _about_content(path):
                yield NamedParameter(name, place)
                return


def _steps(path: str) -> list[str]:
    return [step for step in re.split(r"[.\[\]]+", path) if step]


def _about_content(path: str) -> bool:
    return any(step in _CONTENT for step in _steps(path)[:1])


def _plain(name: str) -> str:
    """The same for `thinking_level` and `thinkingLevel`."""
    return name.replace("_", "").lower()
