"""Parts of requests and answers that the OpenAI APIs and Ollama share: key header, effort, extra fields, counts."""

from __future__ import annotations

from yume_shim.providers.wire.thinking import least_effort, requested_effort, switched_off

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from yume_shim.types.blocks import Json
    from yume_shim.types.models import Credential, Request


def bearer(credential: Credential) -> dict[str, str]:
    """Keys and tokens both use Authorization: Bearer; local servers need neither."""
    return {} if credential.kind == "none" else {"Authorization": f"Bearer {credential.key}"}


def thinks(request: Request) -> bool:
    """Does the model reason, with an effort that can be set?"""
    return request.model.thinking == "effort" and request.model.endpoint.quirks.thinking


def effort_of(request: Request) -> str | None:
    """The effort to send; None = the model's default."""
    if not thinks(request):
        return None
    return least_effort(request) if switched_off(request) else requested_effort(request)


def with_extra(body: Json, extra: Mapping[str, Any]) -> Json:
    """The body with the endpoint's `extra_body`; null removes a field."""
    merged = {**body, **extra}
    return {key: item for key, item in merged.items() if item is not None or key not in extra}


def count(fields: Any, *names: str) -> int:
    """The first of these token counts that is present."""
    if isinstance(fields, dict):
        for name in names:
            if type(found := fields.get(name)) is int:
                return found
    return 0
