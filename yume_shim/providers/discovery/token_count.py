"""Asks the provider how many tokens a request has, where its API has an endpoint for that. One short request; a missing
answer is not an error."""

from __future__ import annotations

from yume_shim.providers.discovery.limits import MAX_LIMIT, load_asker
from yume_shim.types.errors import Cancelled, ProviderFailed
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.types.blocks import Json
    from yume_shim.types.models import Credential, Request, WireRequest
    from yume_shim.types.ports import Cancel
    from yume_shim.types.settings import Settings

    Log = Callable[[str, str], None]

_ANTHROPIC_FIELDS = ("model", "messages", "system", "tools", "tool_choice", "thinking")
_RESPONSES_FIELDS = ("model", "input", "instructions", "tools", "tool_choice", "reasoning", "text", "truncation")


def count_tokens(request: Request, credential: Credential, settings: Settings, cancel: Cancel, log: Log) -> int | None:
    """The provider's count of a request; None if it did not answer or has no such endpoint. Never raises."""
    from yume_shim.providers.fitting.prepare import Preparer
    from yume_shim.providers.load import load_adapter

    spec = request.model
    form = _FORMS.get(spec.endpoint.api)
    if form is None or not spec.endpoint.counts_tokens:
        return None
    question, field = form
    try:
        ready = Preparer(log).prepare(request, cancel)
        transport = load_asker(spec, credential, settings, log)
        try:
            frames = transport.open(question(load_adapter(spec.endpoint.api).encode_request(ready.request)), cancel)
            try:
                body: Json = next(iter(frames), {})
            finally:
                frames.close()
        finally:
            transport.close()
    except (ProviderFailed, Cancelled, OSError) as error:
        log("debug", f"{spec.endpoint.name} does not count tokens: {error}")
        return None
    found = body.get(field)
    return found if type(found) is int and 0 < found <= MAX_LIMIT else None


def _ask_anthropic(wire: WireRequest) -> WireRequest:
    """`POST /v1/messages/count_tokens`."""
    return replace(wire, path=f"{wire.path}/count_tokens", body=_only(wire.body, _ANTHROPIC_FIELDS))


def _ask_responses(wire: WireRequest) -> WireRequest:
    """`POST /responses/input_tokens`."""
    return replace(wire, path=f"{wire.path}/input_tokens", body=_only(wire.body, _RESPONSES_FIELDS))


def _ask_google(wire: WireRequest) -> WireRequest:
    """`POST /v1beta/models/M:countTokens`; only the whole request counts system prompt and tools, too."""
    place = wire.path.rpartition(":")[0]
    model = place.partition("/models/")[2] or place.rpartition("/")[2]
    body = {key: item for key, item in wire.body.items() if key != "generationConfig"}
    return replace(
        wire, path=f"{place}:countTokens", body={"generateContentRequest": {"model": f"models/{model}", **body}}
    )


def _only(body: Json, fields: tuple[str, ...]) -> Json:
    return {name: body[name] for name in fields if name in body}


_FORMS: dict[str, tuple[Callable[[WireRequest], WireRequest], str]] = {
    "anthropic-messages": (_ask_anthropic, "input_tokens"),
    "google-genai": (_ask_google, "totalTokens"),
    "openai-responses": (_ask_responses, "input_tokens"),
}
"""For each API that has such an endpoint: how to ask, and the field of the answer."""
