"""The models of an endpoint: one GET, and the ids from its answer. Every API that has an adapter has such a list."""

from __future__ import annotations

from yume_shim.providers.discovery.limits import load_asker
from yume_shim.providers.wire.google_version import versioned
from yume_shim.text.redact import redact
from yume_shim.types.errors import BadInvocation, ProviderFailed
from yume_shim.types.models import ANTHROPIC_VERSION, WireRequest
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from yume_shim.types.blocks import Json
    from yume_shim.types.models import Credential, ModelSpec
    from yume_shim.types.ports import Cancel
    from yume_shim.types.settings import Settings

    Log = Callable[[str, str], None]

_QUESTIONS: Mapping[str, WireRequest] = {
    "anthropic-messages": WireRequest(
        "/v1/models?limit=1000", {}, {"anthropic-version": ANTHROPIC_VERSION}, method="GET"
    ),
    "google-genai": WireRequest("/models?pageSize=1000", {}, method="GET"),
    "ollama-chat": WireRequest("/api/tags", {}, method="GET"),
    "openai-chat": WireRequest("/models", {}, method="GET"),
    "openai-responses": WireRequest("/models", {}, method="GET"),
}
_VERSIONED = ("google-genai",)
"""APIs whose version is a part of the address."""


def list_models(
    spec: ModelSpec, credential: Credential, settings: Settings, cancel: Cancel, log: Log
) -> tuple[str, ...]:
    """The ids, sorted. Raises BadInvocation if the endpoint has no list or does not answer."""
    endpoint = spec.endpoint
    question = _QUESTIONS.get(endpoint.api)
    if question is None or endpoint.sign_in:
        raise BadInvocation(f"provider '{endpoint.name}' has no list of its models")
    if endpoint.api in _VERSIONED:
        base, path = versioned(endpoint, question.path)
        question = replace(question, path=path, base_url=base)
    transport = load_asker(spec, credential, settings, log)
    try:
        frames = transport.open(question, cancel)
        try:
            body = list(frames)
        finally:
            frames.close()
    except ProviderFailed as failed:
        failure = failed.failure
        why = redact(failure.message, (credential.key,))
        status = f" ({failure.status})" if failure.status else ""
        raise BadInvocation(
            f"provider '{endpoint.name}' did not list its models{status}: {why}", failure.kind
        ) from None
    finally:
        transport.close()
    if any("!bad" in frame for frame in body):
        raise BadInvocation(f"provider '{endpoint.name}' did not list its models: its answer is not JSON", "protocol")
    return read_ids(body)


def read_ids(frames: Iterable[Json]) -> tuple[str, ...]:
    """`{"data": [{"id"}]}` (Anthropic, OpenAI), `{"models": [{"name"}]}` (Gemini: `models/…`, Ollama), or a bare list
    (Together), of which every element is a frame."""
    rows: list[Any] = []
    for frame in frames:
        listed = frame.get("data", frame.get("models"))
        rows += listed if isinstance(listed, list) else [frame]
    names = (row.get("id") or row.get("name") for row in rows if isinstance(row, dict))
    # names are printed on a terminal: control characters are not allowed
    good = {name.removeprefix("models/") for name in names if isinstance(name, str) and name.isprintable()}
    return tuple(sorted(good - {""}))
