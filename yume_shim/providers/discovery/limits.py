"""Asks endpoints about the limits of a model: one short request per model, one pure reader per form of answer.

The form is the endpoint's `tells_limits`. The answer is a plain dict (`limits_cache` keeps it on disk); `with_limits`
applies it to a ModelSpec. A request has a few seconds, and a missing answer is not an error: it must never cost a turn.
"""

from __future__ import annotations

from yume_shim.providers.wire.google_version import versioned
from yume_shim.types.effort import EFFORTS
from yume_shim.types.errors import Cancelled, ProviderFailed
from yume_shim.types.models import ANTHROPIC_VERSION, THINKING_STYLES, WireRequest
from yume_shim.types.settings import Timeouts
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from yume_shim.types.blocks import Json
    from yume_shim.types.models import Credential, ModelSpec
    from yume_shim.types.ports import Cancel, Transport
    from yume_shim.types.settings import Settings

    Log = Callable[[str, str], None]

ASK_SECONDS = 3.0
MAX_ANSWER_BYTES = 4_194_304
"""A list of 400 models takes one megabyte. Parsing 30 MB takes a gigabyte of memory and a second in which a cancel
has no effect."""
TIMEOUTS = Timeouts(connect=ASK_SECONDS, first_byte=ASK_SECONDS, idle=ASK_SECONDS, total=ASK_SECONDS)
MIN_LIMITS = {"window": 1_024, "max_output": 1}
"""Smaller numbers are not limits and are ignored."""
MAX_LIMIT = 1_000_000_000
"""Larger numbers are ignored too."""


def load_asker(spec: ModelSpec, credential: Credential, settings: Settings, log: Log) -> Transport:
    """A transport for the question: the direct one, with the adapter's headers and short timeouts."""
    from yume_shim.providers.http.transport import DirectTransport
    from yume_shim.providers.load import load_adapter, transport_settings

    adapter = load_adapter(spec.endpoint.api)
    given = transport_settings(adapter, spec.endpoint, credential, settings, TIMEOUTS, log)
    return DirectTransport(given, MAX_ANSWER_BYTES)


def ask_limits(spec: ModelSpec, transport: Transport, cancel: Cancel, log: Log) -> Json | None:
    """What the endpoint reports about the model; None if it did not answer or has no such model. Never raises."""
    form = _FORMS.get(spec.endpoint.tells_limits)
    if form is None:
        return None
    question, read = form
    try:
        frames = transport.open(question(spec), cancel)
        try:
            body = next(iter(frames), None)
        finally:
            frames.close()
    except (ProviderFailed, Cancelled, OSError) as error:
        log("debug", f"{spec.endpoint.name} reports nothing about {spec.id}: {error}")
        return None
    try:
        limits = read(body or {}, spec)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        log("debug", f"{spec.endpoint.name}: its answer about {spec.id} cannot be read: {error!r}")
        return None
    return limits or None


def with_limits(spec: ModelSpec, limits: Json) -> ModelSpec:
    """The model with these limits; its window is no larger than the context size that is requested."""
    given = {name: tuple(item) if isinstance(item, list) else item for name, item in valid_limits(limits).items()}
    known = replace(spec, **given, known="window" in given or spec.known)
    size = spec.endpoint.quirks.context_size
    if not size:
        return known
    return known.with_window(min(known.window, size))


def valid_limits(limits: Json) -> Json:
    """The entries with valid values: the dict may come from a file that anyone can write."""
    return {name: item for name, item in limits.items() if _is_valid(name, item)}


def _is_valid(name: str, item: Any) -> bool:
    match name:
        case "window" | "max_output":
            return type(item) is int and MIN_LIMITS[name] <= item <= MAX_LIMIT
        case "tools" | "images" | "sampling":
            return isinstance(item, bool)
        case "thinking":
            return item in THINKING_STYLES
        case "efforts":
            return isinstance(item, list) and all(isinstance(level, str) for level in item)
        case _:
            return False


# ---------------------------------------------------------------- forms


def _ask_ollama(spec: ModelSpec) -> WireRequest:
    return WireRequest("/api/show", {"model": spec.id})


def read_ollama(body: Json, spec: ModelSpec) -> Json:
    """`/api/show`: the context length has the architecture's name as prefix, e.g. `qwen3.context_length`."""
    info = body.get("model_info") or {}
    lengths = [item for name, item in info.items() if name.endswith(".context_length")]
    limits = _numbers(window=min(lengths, default=None))
    able = body.get("capabilities")
    if isinstance(able, list):  # older servers do not list them
        limits |= {"tools": "tools" in able, "images": "vision" in able}
        limits["thinking"] = (spec.thinking or "adaptive") if "thinking" in able else ""
        levels = [item for item in (body.get("thinking") or {}).get("values") or () if isinstance(item, str)]
        if levels:
            limits |= {"thinking": "level", "efforts": levels}
    return limits


def _ask_list(spec: ModelSpec) -> WireRequest:
    return WireRequest("/models", {}, method="GET")


def read_openrouter(body: Json, spec: ModelSpec) -> Json:
    """`/models`: uses the limits of the first provider, which answers by default."""
    row = _row_of(body, spec.id) or _row_of(body, spec.id.partition(":")[0])
    if row is None:
        return {}
    top = row.get("top_provider") or {}
    limits = _numbers(
        window=top.get("context_length") or row.get("context_length"), max_output=top.get("max_completion_tokens")
    )
    takes = row.get("supported_parameters")
    if isinstance(takes, list):
        limits |= {"tools": "tools" in takes, "sampling": "temperature" in takes}
        limits["thinking"] = "effort" if "reasoning" in takes else ""
    seen = (row.get("architecture") or {}).get("input_modalities")
    if isinstance(seen, list):
        limits["images"] = "image" in seen
    return limits


def read_vllm(body: Json, spec: ModelSpec) -> Json:
    """`/models`: `max_model_len` is prompt and answer together."""
    row = _row_of(body, spec.id) or {}
    return _numbers(window=row.get("max_model_len"))


def _ask_google(spec: ModelSpec) -> WireRequest:
    base, path = versioned(spec.endpoint, f"/models/{spec.id}")
    return WireRequest(path, {}, method="GET", base_url=base)


def read_google(body: Json, spec: ModelSpec) -> Json:
    """`/models/M`. The style of thinking is known by the model's family."""
    limits = _numbers(window=body.get("inputTokenLimit"), max_output=body.get("outputTokenLimit"))
    if body.get("thinking") is False:
        limits["thinking"] = ""
    return limits


def _ask_anthropic(spec: ModelSpec) -> WireRequest:
    return WireRequest(
        f"/v1/models/{spec.id.removesuffix('[1m]')}", {}, {"anthropic-version": ANTHROPIC_VERSION}, method="GET"
    )


def read_anthropic(body: Json, spec: ModelSpec) -> Json:
    """`/v1/models/M`: limits, styles of thinking, efforts."""
    limits = _numbers(window=body.get("max_input_tokens"), max_output=body.get("max_tokens"))
    able = body.get("capabilities") or {}
    thinking = able.get("thinking") or {}
    if "supported" in thinking:
        ways = thinking.get("types") or {}
        limits["thinking"] = next(
            (ours for theirs, ours in (("adaptive", "adaptive"), ("enabled", "budget")) if _supports(ways, theirs)), ""
        )
    if _supports(able, "effort"):
        limits["efforts"] = [level for level in EFFORTS if _supports(able["effort"], level)]
    if "image_input" in able:
        limits["images"] = _supports(able, "image_input")
    return limits


_FORMS: dict[str, tuple[Callable[[ModelSpec], WireRequest], Callable[[Json, ModelSpec], Json]]] = {
    "ollama-show": (_ask_ollama, read_ollama),
    "openrouter-models": (_ask_list, read_openrouter),
    "vllm-models": (_ask_list, read_vllm),
    "gemini-model": (_ask_google, read_google),
    "anthropic-model": (_ask_anthropic, read_anthropic),
}


def _row_of(body: Json, model: str) -> Json | None:
    return next((row for row in body.get("data") or () if row.get("id") == model), None)


def _supports(able: Json, name: str) -> bool:
    return bool((able.get(name) or {}).get("supported"))


def _numbers(**figures: Any) -> Json:
    """The numbers that are present and valid."""
    return {
        name: int(item)
        for name, item in figures.items()
        if isinstance(item, int | float) and not isinstance(item, bool) and MIN_LIMITS[name] <= item <= MAX_LIMIT
    }
