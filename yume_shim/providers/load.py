"""Builds the provider of a model: the adapter by the API's name, the transport by the settings."""

from __future__ import annotations

from yume_shim.types.errors import BadInvocation
from yume_shim.types.models import TransportSettings
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from yume_shim.providers.fitting.prepare import Learn
    from yume_shim.providers.pipeline import Adapter, Exchange, Log, Note, Tap
    from yume_shim.providers.request_log import RequestLog
    from yume_shim.types.blocks import Json
    from yume_shim.types.errors import Failure
    from yume_shim.types.models import Credential, Endpoint, ModelSpec, Request
    from yume_shim.types.ports import Ids, Provider, Transport
    from yume_shim.types.settings import Settings, Timeouts


def load_provider(
    spec: ModelSpec, credential: Credential, settings: Settings, ids: Ids, log: Log, tap: Tap | None = None
) -> Provider:
    """The provider for a model and one key; tests use it. Raises BadInvocation for an API without an adapter."""
    return provider_maker(spec, settings, ids, log, tap)(credential)


def provider_maker(
    spec: ModelSpec,
    settings: Settings,
    ids: Ids,
    log: Log,
    tap: Tap | None = None,
    learn: Learn | None = None,
    keep_error: Callable[[Json], None] | None = None,
) -> Callable[[Credential], Provider]:
    """A function that builds the provider for one key. All providers of the model share adaptations, notices and the
    log of requests. `learn` is called with the limits that refusals named, once a request has succeeded with them;
    `keep_error` stores the record of a failed request."""
    from yume_shim.providers.fitting.prepare import Preparer
    from yume_shim.providers.pipeline import ApiProvider

    preparer = Preparer(log, learn)
    note = _request_notes(log if settings.log.debugs else None, keep_error)

    def make(credential: Credential) -> Provider:
        adapter = load_adapter(spec.endpoint.api)
        transport = _load_transport(adapter, spec, credential, settings, log)
        return ApiProvider(adapter, spec.endpoint, transport, ids, log, tap, preparer, note)

    return make


def _request_notes(log: Log | None, keep_error: Callable[[Json], None] | None) -> Note:
    """What the pipeline calls after each attempt. The log of requests is loaded when there is something to note."""
    made: list[RequestLog] = []

    def note(request: Request, exchange: Exchange, failure: Failure | None, change: str) -> None:
        if log is None and (failure is None or keep_error is None):
            return
        from yume_shim.providers.request_log import RequestLog

        if not made:
            made.append(RequestLog(log, keep_error))
        made[0].note(request, exchange, failure, change)

    return note


def load_adapter(api: str) -> Adapter:
    """The adapter module of an API, imported on first use: `foo-bar` is `providers/apis/foo_bar`."""
    import sys

    name = f"yume_shim.providers.apis.{api.replace('-', '_')}"
    module: Any = None
    if api.replace("-", "").isalnum():
        try:
            __import__(name)
            module = sys.modules[name]
        except ModuleNotFoundError as exc:
            if exc.name != name:  # the adapter exists, but one of its imports does not
                raise
    if getattr(module, "API", None) != api:
        raise BadInvocation(f"unknown API {api!r}; known: {', '.join(known_apis())}")
    return module  # type: ignore[no-any-return]  # a module that follows the convention is the adapter


def known_apis() -> tuple[str, ...]:
    """The APIs that have an adapter."""
    from pkgutil import iter_modules

    import yume_shim.providers.apis as room

    return tuple(sorted(module.name.replace("_", "-") for module in iter_modules(room.__path__)))


def _load_transport(
    adapter: Adapter, spec: ModelSpec, credential: Credential, settings: Settings, log: Log
) -> Transport:
    timeouts = settings.limits.timeouts
    if not (spec.streaming and spec.endpoint.quirks.streaming):  # the first byte comes when the whole answer is written
        timeouts = replace(timeouts, first_byte=timeouts.total)
    given = transport_settings(adapter, spec.endpoint, credential, settings, timeouts, log)
    if settings.network.transport == "sdk" or spec.endpoint.sign_in:
        from yume_shim.providers.sdk.transport import SdkTransport

        return SdkTransport(given)
    from yume_shim.providers.http.transport import DirectTransport

    return DirectTransport(given)


def transport_settings(
    adapter: Adapter, endpoint: Endpoint, credential: Credential, settings: Settings, timeouts: Timeouts, log: Log
) -> TransportSettings:
    """The settings of a transport, with the adapter's headers for the key."""
    return TransportSettings(
        endpoint=endpoint,
        credential=credential,
        auth_headers=adapter.auth_headers(credential),
        timeouts=timeouts,
        env=settings.env,
        extra_headers=settings.endpoint.custom_headers if endpoint.takes_custom_headers else {},
        log=log,
    )
