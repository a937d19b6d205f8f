"""The control request `list_models`: every model of every provider that has a key, from the catalogue and from the
lists that endpoints gave."""

from __future__ import annotations

import os
import threading
import time

from yume_shim.app.pages import page, whole
from yume_shim.engine.cancel import CancelSignal
from yume_shim.host.control import Later
from yume_shim.providers.facts.fact_file import FactFile
from yume_shim.providers.load import known_apis
from yume_shim.types.answer_records import ModelInfo, ModelPrices, ModelsAnswer
from yume_shim.types.effort import EFFORTS
from yume_shim.types.errors import BadInvocation, BadLine, Cancelled
from yume_shim.types.folders import yume_folder
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from yume_shim.app.models import EndpointKeys
    from yume_shim.catalog.resolve import Catalog
    from yume_shim.types.blocks import Json
    from yume_shim.types.models import Endpoint, ModelSpec
    from yume_shim.types.settings import Settings

REFRESH_SECONDS = 10.0
"""How long all endpoints together may take for their lists."""
MAX_ASKED = 8
"""Endpoints that are asked at the same time."""
MAX_LISTED = 1_000
"""Models of one endpoint that are kept."""
KEPT_SECONDS = 7 * 86_400
MAX_LIST_BYTES = 64_000
PER_ANSWER = 500
MAX_OFFSET = 1_000_000


class ModelParts(Value):
    """What the request needs."""

    catalog: Catalog
    keys: EndpointKeys
    settings: Settings
    current: Callable[[], ModelSpec]
    now: Callable[[], float]
    log: Callable[[str, str], None]


def list_models(body: Json, parts: ModelParts) -> Later:
    """The answer; raises BadLine."""
    offset = whole(body, "offset", 0, least=0, most=MAX_OFFSET)
    wanted = body.get("provider")
    if wanted is not None and not isinstance(wanted, str):
        raise BadLine("provider must be a name", code="invalid_value")
    return Later(lambda: _answer(parts, wanted or "", offset, refresh=body.get("refresh") is True))


def _answer(parts: ModelParts, wanted: str, offset: int, *, refresh: bool) -> Json:
    endpoints = _endpoints(parts, wanted)
    lists = FactFile(
        os.path.join(yume_folder(parts.settings.env), "models.json"), parts.now, parts.log, max_bytes=MAX_LIST_BYTES
    )
    refreshed, errors = _refresh(parts, endpoints, lists) if refresh else (None, None)
    models, following = page(_models(parts, endpoints, lists, wanted), offset, PER_ANSWER, parts.settings)
    return ModelsAnswer(
        models=models,  # type: ignore[arg-type]  # ModelInfo makes them
        next_offset=following,
        refreshed=refreshed,
        errors=errors,
    )


def _endpoints(parts: ModelParts, wanted: str) -> list[Endpoint]:
    """The providers that can be used: those with an address and a key, or that need none."""
    apis, found = known_apis(), []
    try:
        name = parts.catalog.provider(wanted) if wanted else ""
    except BadInvocation as error:
        raise BadLine(error.message, code="not_found") from None
    for endpoint in (parts.catalog.endpoint(name, address=False),) if name else parts.catalog.listed()[0]:
        usable = endpoint.api in apis and (endpoint.base_url or endpoint.address_by_sign_in)
        if usable and parts.keys.at(endpoint):
            found.append(endpoint)
    return found


def _models(parts: ModelParts, endpoints: list[Endpoint], lists: FactFile, wanted: str) -> Iterator[Json]:
    """The aliases, then each model once; the session's own model is always among them."""
    names = {endpoint.name for endpoint in endpoints}
    current, shown = parts.current(), set[str]()
    if not wanted:
        yield from _aliases(parts, names)
    if not wanted or _is_of(current, names):
        shown.add(_name(current))
        yield _entry(current, current=True)
    for spec in _specs(parts, endpoints, lists):
        if _is_of(spec, names) and _name(spec) not in shown:
            shown.add(_name(spec))
            yield _entry(spec)


def _is_of(spec: ModelSpec, providers: set[str]) -> bool:
    return bool({spec.endpoint.name} & providers)


def _name(spec: ModelSpec) -> str:
    return f"{spec.endpoint.name}/{spec.id}"


def _specs(parts: ModelParts, endpoints: list[Endpoint], lists: FactFile) -> Iterator[ModelSpec]:
    yield from parts.catalog.known_models()
    for endpoint in endpoints:
        kept = lists.get(_place(endpoint), "models")
        names = kept.get("names") if kept is not None else None
        for name in names if isinstance(names, list) else ():
            if isinstance(name, str) and name.isprintable():
                yield parts.catalog.at(endpoint, name)


def _aliases(parts: ModelParts, names: set[str]) -> Iterator[Json]:
    for row in parts.catalog.model_list():
        try:
            spec = parts.catalog.resolve(row["value"])
        except BadInvocation:
            continue
        if _is_of(spec, names):
            yield {**_entry(spec), **row}


def _entry(spec: ModelSpec, *, current: bool = False) -> Json:
    prices = None
    if spec.prices is not None:
        read, written, cached, kept = spec.prices
        prices = ModelPrices(input=read, output=written, cacheRead=cached, cacheWrite=kept)
    efforts: list[str] = [level for level in EFFORTS if not spec.efforts or level in spec.efforts]
    return ModelInfo(
        value=_name(spec),
        resolvedModel=spec.id,
        displayName=spec.id,
        description=_description(spec),
        supportsEffort=True if spec.thinking else None,
        supportedEffortLevels=efforts if spec.thinking else None,
        provider=spec.endpoint.name,
        contextWindow=spec.window,
        maxOutputTokens=spec.max_output,
        prices=prices,
        inputModalities=["text", "image"] if spec.images else ["text"],
        tools=spec.tools,
        known=spec.known,
        current=True if current else None,
    )


def _description(spec: ModelSpec) -> str:
    if spec.prices is None:
        return spec.endpoint.name
    return f"{spec.endpoint.name} · ${spec.prices[0]:g}/${spec.prices[1]:g} per Mtok"


# ---------------------------------------------------------------- asking endpoints


def _place(endpoint: Endpoint) -> str:
    from yume_shim.text.redact import shown_address

    return f"{endpoint.name} {shown_address(endpoint.base_url)}"


def _refresh(parts: ModelParts, endpoints: list[Endpoint], lists: FactFile) -> tuple[list[str], dict[str, str]]:
    """Ask all endpoints for their lists, side by side and within the limit. An endpoint that does not answer keeps the
    list of before. A local server that needs no key and does not run is no error."""
    endpoints = [endpoint for endpoint in endpoints if not endpoint.sign_in]  # clouds have no list
    done: dict[str, str] = {}
    cancel, slots = CancelSignal(), threading.Semaphore(MAX_ASKED)

    def ask(endpoint: Endpoint) -> None:
        with slots:
            done[endpoint.name] = _ask(parts, endpoint, lists, cancel)

    threads = [threading.Thread(target=ask, args=(endpoint,), daemon=True) for endpoint in endpoints]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + REFRESH_SECONDS
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    cancel.set()
    late = f"no answer within {REFRESH_SECONDS:g} seconds"
    reasons = {endpoint.name: done.get(endpoint.name, late) for endpoint in endpoints}
    local = {endpoint.name for endpoint in endpoints if _needs_no_key(parts, endpoint)}
    return (
        [name for name, reason in reasons.items() if not reason],
        {name: reason for name, reason in reasons.items() if reason and name not in local},
    )


def _needs_no_key(parts: ModelParts, endpoint: Endpoint) -> bool:
    known = parts.keys.known(endpoint)
    return known is not None and known.kind == "none"


def _ask(parts: ModelParts, endpoint: Endpoint, lists: FactFile, cancel: CancelSignal) -> str:
    """Ask one endpoint and keep its list; returns why there is none ("" = there is one)."""
    from yume_shim.providers.discovery.model_lists import list_models as ask_for_list

    try:
        cancel.check()
        credential = parts.keys.get(endpoint, cancel)
        if credential is None:
            return "its key cannot be read"
        names = ask_for_list(parts.catalog.at(endpoint, ""), credential, parts.settings, cancel, parts.log)
    except BadInvocation as error:
        return error.message
    except Cancelled:
        return f"no answer within {REFRESH_SECONDS:g} seconds"
    lists.put(_place(endpoint), "models", {"names": list(names[:MAX_LISTED])}, KEPT_SECONDS)
    return ""
