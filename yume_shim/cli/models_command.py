"""`yume-shim models`: providers and their state, known models, aliases, and what happens to missing features."""

from __future__ import annotations

import click

from yume_shim.catalog.degradation import degradation, degraded
from yume_shim.catalog.resolve import Catalog
from yume_shim.config.credentials import find_credential
from yume_shim.providers.load import known_apis
from yume_shim.text.codec import dumps
from yume_shim.text.redact import shown_address
from yume_shim.types.errors import BadInvocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from yume_shim.types.models import Endpoint, ModelSpec
    from yume_shim.types.settings import Settings

MARKS = {"full": "+", "simulated": "~", "silent": "-", "warning": "!", "error": "x"}
LEGEND = "+ full   ~ simulated   - silent   ! warning   x error"


def add_models(group: click.Group, settings: Callable[[], Settings], say: Callable[[str], None]) -> None:
    """Add the command to the group of all sub-commands."""
    text = "Show providers, models, aliases, and what each provider cannot do."
    params: list[click.Parameter] = [
        click.Argument(["provider"], required=False, default=""),
        click.Option(["--json", "as_json"], is_flag=True, help="Print JSON."),
        click.Option(["--live"], is_flag=True, help="Ask the provider which models it has (one request)."),
    ]
    callback = _Models(settings, say).show
    group.add_command(click.Command("models", callback=callback, params=params, help=text, short_help=text))


class _Models:
    def __init__(self, settings: Callable[[], Settings], say: Callable[[str], None]) -> None:
        self._load = settings
        self._say = say

    def show(self, provider: str, as_json: bool, live: bool) -> None:
        settings = self._load()
        catalog = Catalog(settings, lambda endpoint: find_credential(endpoint, settings) is not None)
        try:
            catalog.resolve(
                catalog.configured()[0]
            )  # address and compat flags of the environment apply to this provider
        except BadInvocation:
            pass
        if live and not provider:
            raise BadInvocation("--live asks one provider: yume-shim models PROVIDER --live")
        names = (catalog.provider(provider),) if provider else catalog.names()
        apis = known_apis()  # the replay provider is not one to choose
        endpoints = [end for end in (catalog.endpoint(name, address=False) for name in names) if end.api in apis]
        if not endpoints:
            raise BadInvocation(f"provider '{provider}' has no models of its own")
        specs = [spec for spec in catalog.known_models() if spec.endpoint in endpoints]
        live_names = self._live(catalog.endpoint(names[0]), catalog, settings) if live else None
        if as_json:
            facts = _all_facts(endpoints, specs, catalog, settings)
            self._say(dumps(facts if live_names is None else facts | {"live": list(live_names)}).decode() + "\n")
        elif provider:
            self._say("".join(_one(endpoints[0], specs, live_names, settings)))
        else:
            self._say("".join(_everything(endpoints, specs, catalog, settings)))

    def _live(self, endpoint: Endpoint, catalog: Catalog, settings: Settings) -> tuple[str, ...]:
        from yume_shim.config.credentials import find_keys, missing_key
        from yume_shim.engine.cancel import CancelSignal
        from yume_shim.host.log import Log
        from yume_shim.providers.discovery.model_lists import list_models

        keys, cancel = find_keys(endpoint, settings), CancelSignal()
        if not keys:
            raise missing_key(endpoint, settings)
        return list_models(catalog.at(endpoint, ""), keys[0].get(cancel), settings, cancel, Log(endpoint.name))


def _everything(
    endpoints: list[Endpoint], specs: list[ModelSpec], catalog: Catalog, settings: Settings
) -> Iterable[str]:
    yield "providers:\n"
    for endpoint in endpoints:
        yield f"  {endpoint.name:<13} {endpoint.api:<19} {_state(endpoint, settings)}\n"
    yield "models:\n"
    yield from (_model_row(spec, f"{spec.endpoint.name}/{spec.id}") for spec in specs)
    yield "aliases:\n"
    yield from (f"  {alias:<13} {meaning}\n" for alias, meaning in catalog.aliases().items())
    yield f"features ({LEGEND}):\n"
    yield from _grid(endpoints)


def _one(
    endpoint: Endpoint, specs: list[ModelSpec], live_names: tuple[str, ...] | None, settings: Settings
) -> Iterable[str]:
    yield f"{endpoint.name}: {endpoint.api}, {_state(endpoint, settings)}\n"
    if specs:
        yield "models:\n"
        yield from (_model_row(spec, spec.id) for spec in specs)
    if live_names is not None:
        yield f"models available now ({len(live_names)}):\n"
        yield from (f"  {name}\n" for name in live_names)
    yield "limitations:\n"
    for cell in degraded(endpoint):
        yield f"  {cell.feature:<24} {cell.level:<10} {cell.text}\n"


def _state(endpoint: Endpoint, settings: Settings) -> str:
    if not endpoint.base_url and not endpoint.address_by_sign_in:
        named = " or ".join(("--api-base", *(f"${name}" for name in endpoint.base_url_vars)))
        return f"no address: give {named}"
    if endpoint.sign_in:
        return (
            f"{shown_address(endpoint.base_url) or 'address by region and project'}, signs in with {endpoint.sign_in}"
        )
    credential, address = find_credential(endpoint, settings), shown_address(endpoint.base_url)
    if credential is None:
        return f"{address}, no key: ${endpoint.key_vars[0] if endpoint.key_vars else '?'}"
    key = "needs no key" if credential.kind == "none" else f"key from {credential.source}"
    return f"{address}, {key}"


def _model_row(spec: ModelSpec, name: str) -> str:
    price = "price unknown" if spec.prices is None else f"${spec.prices[0]:g} in, ${spec.prices[1]:g} out"
    can = ["thinks"] if spec.thinking else []
    abilities = (("no tools", spec.tools), ("no streaming", spec.streaming), ("no images", spec.images))
    can += [word for word, able in abilities if not able]
    facts = f"window {spec.window:>9,}  output {spec.max_output:>7,}  {price:<24}  {', '.join(can)}"
    return f"  {name:<34} {facts}".rstrip() + "\n"


def _grid(endpoints: list[Endpoint]) -> Iterable[str]:
    """One column per provider, marked by lines from its name: names would not fit into a row."""
    for place, endpoint in enumerate(endpoints):
        yield f"  {'':<24} {'|  ' * place}{endpoint.name}\n"
    columns = [degradation(endpoint) for endpoint in endpoints]
    for cells in zip(*columns, strict=True):
        yield f"  {cells[0].feature:<24} {'  '.join(MARKS[cell.level] for cell in cells)}\n"


def _all_facts(
    endpoints: list[Endpoint], specs: list[ModelSpec], catalog: Catalog, settings: Settings
) -> dict[str, Any]:
    return {
        "providers": [
            {
                "name": endpoint.name,
                "api": endpoint.api,
                "baseUrl": shown_address(endpoint.base_url),
                "hasKey": find_credential(endpoint, settings) is not None,
                "features": {
                    cell.feature: {"level": cell.level} | ({"text": cell.text} if cell.text else {})
                    for cell in degradation(endpoint)
                },
            }
            for endpoint in endpoints
        ],
        "models": [
            {
                "id": spec.id,
                "provider": spec.endpoint.name,
                "contextWindow": spec.window,
                "maxOutputTokens": spec.max_output,
                "pricesPerMillion": None
                if spec.prices is None
                else dict(zip(("input", "output", "cacheRead", "cacheWrite"), spec.prices, strict=True)),
                "thinking": spec.thinking,
                "tools": spec.tools,
                "streaming": spec.streaming,
                "images": spec.images,
            }
            for spec in specs
        ],
        "aliases": catalog.aliases(),
    }
