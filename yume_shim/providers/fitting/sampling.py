"""Temperature, top_p and stop sequences: what an endpoint takes of them, and a notice about the rest."""

from __future__ import annotations

from yume_shim.providers.wire.thinking import thinks_now
from yume_shim.types.events import Notice
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json
    from yume_shim.types.models import Request


class ApiLimits(Value):
    """What a wire API allows, at every endpoint that has it."""

    temperature_max: float = 2.0
    stops: bool = True
    """It has a field for stop sequences."""
    stops_always: bool = False
    """Models that take no temperature still take stop sequences."""
    thinking_or_sampling: bool = False
    """"`temperature` may only be set to 1 when thinking is enabled"."""
    one_of_two: bool = False
    """"`temperature` and `top_p` cannot both be specified for this model"."""


LIMITS = {
    "anthropic-messages": ApiLimits(temperature_max=1.0, stops_always=True, thinking_or_sampling=True, one_of_two=True),
    "openai-responses": ApiLimits(stops=False),
}


def sampling(request: Request) -> tuple[Json, tuple[Notice, ...]]:
    """`temperature`, `top_p` and `stop_sequences` as they are sent, and one notice about those that are not."""
    if request.temperature is None and request.top_p is None and not request.stop_sequences:
        return {}, ()
    model, quirks = request.model, request.model.endpoint.quirks
    limits = LIMITS.get(model.endpoint.api, ApiLimits())
    free = model.sampling and not (limits.thinking_or_sampling and thinks_now(request))
    fields: Json = {}
    omitted: list[str] = []
    if request.temperature is not None:
        if free and quirks.temperature:
            fields["temperature"] = min(request.temperature, quirks.temperature_max, limits.temperature_max)
        else:
            omitted.append("temperature")
    if request.top_p is not None:
        if free and quirks.top_p and not (limits.one_of_two and "temperature" in fields):
            fields["top_p"] = request.top_p
        else:
            omitted.append("top_p")
    if stops := list(request.stop_sequences):
        most = quirks.stop_sequences_max or len(stops)
        if not (limits.stops and quirks.stop_sequences and (model.sampling or limits.stops_always)):
            omitted.append("stop_sequences")
        else:
            fields["stop_sequences"] = stops[:most]
            omitted += [f"stop_sequences after the first {most}"] if len(stops) > most else []
    return fields, _notices(request, omitted)


def _notices(request: Request, omitted: list[str]) -> tuple[Notice, ...]:
    if not omitted:
        return ()
    model = request.model
    text = f"{', '.join(omitted)} not sent: {model.id} at {model.endpoint.name} does not take it"
    return (Notice("parameter_left_out", text),)
