"""Builds the provider of a model: the adapter by the API's name, the transport by the settings."""

from __future__ import annotations

from yume_shim.types.errors import BadInvocation
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from yume_shim.providers.pipeline import Adapter, Log, Tap
    from yume_shim.types.models import Credential, ModelSpec
    from yume_shim.types.ports import Ids, Provider, Transport
    from yume_shim.types.settings import Settings


def load_provider(
    spec: ModelSpec, credential: Credential, settings: Settings, ids: Ids, log: Log, tap: Tap | None = None
) -> Provider:
    """The provider for a model and one key; tests use it. Raises BadInvocation for an API without an adapter."""
    return provider_maker(spec, settings, ids, log, tap)(credential)


def provider_maker(
    spec: ModelSpec, settings: Settings, ids: Ids, log: Log, tap: Tap | None = None
) -> Callable[[Credential], Provider]:
    """A function that builds the provider for one key. All providers of the model share adaptations and notices."""
    from yume_shim.providers.fitting.prepare import Preparer
    from yume_shim.providers.pipeline import ApiProvider

    preparer = Preparer(log)

    def make(credential: Credential) -> Provider:
        adapter = load_adapter(spec.endpoint.api)
        transport = _load_transport(adapter, spec, credential, settings, log)
        return ApiProvider(adapter, spec.endpoint, transport, ids, log, tap, preparer)

    return make


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
    auth = adapter.auth_headers(credential)
    endpoint = spec.endpoint
    headers = settings.endpoint.custom_headers if endpoint.takes_custom_headers else {}
    timeouts = settings.limits.timeouts
    if not (spec.streaming and endpoint.quirks.streaming):  # the first byte comes when the whole answer is written
        timeouts = replace(timeouts, first_byte=timeouts.total)
    if settings.network.transport == "sdk" or endpoint.sign_in:
        from yume_shim.providers.sdk.transport import SdkTransport

        return SdkTransport(endpoint, credential, auth, timeouts, settings.env, headers, log)
    from yume_shim.providers.http.transport import DirectTransport

    return DirectTransport(endpoint, credential, auth, timeouts, settings.env, headers, log)
