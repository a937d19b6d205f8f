"""What endpoints tell about their models: one short question per model, one pure reader per form of answer.

A form is named by a row's `tells_limits`. What was told is a plain table (kept on disk by whoever asks); `with_limits`
lays it over a ModelSpec. Nothing here may cost a turn: a question has a few seconds, and no answer is an answer too.
"""

from __future__ import annotations

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
"""A list of 400 models takes one of them; parsing 30 takes a second in which no stop is heard, and a gigabyte."""
TIMEOUTS = Timeouts(connect=ASK_SECONDS, first_byte=ASK_SECONDS, idle=ASK_SECONDS, total=ASK_SECONDS)
LEAST = {"window": 1_024, "max_output": 1}
"""Smaller figures are believed to be something else …"""
MOST_TOKENS = 1_000_000_000
"""… and larger ones too."""


def load_asker(spec: ModelSpec, credential: Credential, settings: Settings, log: Log) -> Transport:
    """The connection to ask over: always the direct one, with the adapter's own headers, and impatient."""
    from yume_shim.providers.http.transport import DirectTransport
    from yume_shim.providers.load import load_adapter

    endpoint = spec.endpoint
    auth = load_adapter(endpoint.api).auth_headers(credential)
    headers = settings.endpoint.custom_headers if endpoint.takes_custom_headers else {}
    return DirectTransport(endpoint, credential, auth, TIMEOUTS, settings.env, headers, log, MAX_ANSWER_BYTES)


def ask_limits(spec: ModelSpec, transport: Transport, cancel: Cancel, log: Log) -> Json | None:
    """What the endpoint tells about the model; None if it did not answer or does not know the model. Never raises."""
    form = _FORMS.get(spec.endpoint.tells_limits)
    if form is None:
        return None
    question, read = form
    try:
        frames = transport.open(question(spec.id), cancel)
        try:
            body = next(iter(frames), None)
        finally:
            frames.close()
    except (ProviderFailed, Cancelled, OSError) as error:
        log("debug", f"{spec.endpoint.name} does not tell about {spec.id}: {error}")
        return None
    try:
        told = read(body or {}, spec)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        log("debug", f"{spec.endpoint.name}: what it tells about {spec.id} cannot be read: {error!r}")
        return None
    return told or None


def with_limits(spec: ModelSpec, told: Json) -> ModelSpec:
    """The model as its endpoint describes it; its window no larger than the context that is asked for."""
    given = {name: tuple(item) if isinstance(item, list) else item for name, item in sane(told).items()}
    known = replace(spec, **given, known="window" in given or spec.known)
    size = spec.endpoint.quirks.context_size
    if not size:
        return known
    return known.with_window(min(known.window, size))


def sane(told: Json) -> Json:
    """What of it a model can have: it may come from a file that anybody wrote."""
    return {name: item for name, item in told.items() if _is_sane(name, item)}


def _is_sane(name: str, item: Any) -> bool:
    match name:
        case "window" | "max_output":
            return type(item) is int and LEAST[name] <= item <= MOST_TOKENS
        case "tools" | "images" | "sampling":
            return isinstance(item, bool)
        case "thinking":
            return item in THINKING_STYLES
        case "efforts":
            return isinstance(item, list) and all(isinstance(level, str) for level in item)
        case _:
            return False


# ---------------------------------------------------------------- forms


def _ask_ollama(model: str) -> WireRequest:
    return WireRequest("/api/show", {"model": model})


def read_ollama(body: Json, spec: ModelSpec) -> Json:
    """`/api/show`: the context length stands under the architecture's name, e.g. `qwen3.context_length`."""
    info = body.get("model_info") or {}
    lengths = [item for name, item in info.items() if name.endswith(".context_length")]
    told = _numbers(window=min(lengths, default=None))
    able = body.get("capabilities")
    if isinstance(able, list):  # older servers do not list them
        told |= {"tools": "tools" in able, "images": "vision" in able}
        told["thinking"] = (spec.thinking or "adaptive") if "thinking" in able else ""
        levels = [item for item in (body.get("thinking") or {}).get("values") or () if isinstance(item, str)]
        if levels:
            told |= {"thinking": "level", "efforts": levels}
    return told


def _ask_list(model: str) -> WireRequest:
    return WireRequest("/models", {}, method="GET")


def read_openrouter(body: Json, spec: ModelSpec) -> Json:
    """`/models`: the first provider's output limit counts, it is the one that answers by default."""
    row = _row_of(body, spec.id) or _row_of(body, spec.id.partition(":")[0])
    if row is None:
        return {}
    top = row.get("top_provider") or {}
    told = _numbers(
        window=top.get("context_length") or row.get("context_length"), max_output=top.get("max_completion_tokens")
    )
    takes = row.get("supported_parameters")
    if isinstance(takes, list):
        told |= {"tools": "tools" in takes, "sampling": "temperature" in takes}
        told["thinking"] = "effort" if "reasoning" in takes else ""
    seen = (row.get("architecture") or {}).get("input_modalities")
    if isinstance(seen, list):
        told["images"] = "image" in seen
    return told


def read_vllm(body: Json, spec: ModelSpec) -> Json:
    """`/models`: `max_model_len` is prompt and answer together."""
    row = _row_of(body, spec.id) or {}
    return _numbers(window=row.get("max_model_len"))


def _ask_google(model: str) -> WireRequest:
    return WireRequest(f"/v1/models/{model}", {}, method="GET")


def read_google(body: Json, spec: ModelSpec) -> Json:
    """`/models/M`. How a model that thinks is asked to is known by its family."""
    told = _numbers(window=body.get("inputTokenLimit"), max_output=body.get("outputTokenLimit"))
    if body.get("thinking") is False:
        told["thinking"] = ""
    return told


def _ask_anthropic(model: str) -> WireRequest:
    return WireRequest(
        f"/v1/models/{model.removesuffix('[1m]')}", {}, {"anthropic-version": ANTHROPIC_VERSION}, method="GET"
    )


def read_anthropic(body: Json, spec: ModelSpec) -> Json:
    """`/v1/models/M`: limits, and which ways of thinking and which efforts it takes."""
    told = _numbers(window=body.get("max_input_tokens"), max_output=body.get("max_tokens"))
    able = body.get("capabilities") or {}
    thinking = able.get("thinking") or {}
    if "supported" in thinking:
        ways = thinking.get("types") or {}
        told["thinking"] = next(
            (ours for theirs, ours in (("adaptive", "adaptive"), ("enabled", "budget")) if _supports(ways, theirs)), ""
        )
    if _supports(able, "effort"):
        told["efforts"] = [level for level in EFFORTS if _supports(able["effort"], level)]
    if "image_input" in able:
        told["images"] = _supports(able, "image_input")
    return told


_FORMS: dict[str, tuple[Callable[[str], WireRequest], Callable[[Json, ModelSpec], Json]]] = {
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
    """Those that are there and make sense."""
    return {
        name: int(item)
        for name, item in figures.items()
        if isinstance(item, int | float) and not isinstance(item, bool) and LEAST[name] <= item <= MOST_TOKENS
    }
