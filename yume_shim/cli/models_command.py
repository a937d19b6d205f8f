"""`yume-shim models`: known models by provider, aliases, and on request what each provider cannot do."""

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
ABILITIES = ("images", "streaming", "thinking", "tools")
LEGEND = "+ full   ~ simulated   - silent   ! warning   x error"


def add_models(
    group: click.Group, settings: Callable[[], Settings], say: Callable[[str], None], complain: Callable[[str], None]
) -> None:
    """Add the command to the group of all sub-commands."""
    text = "Show known models by provider, with window, prices and state of the key."
    params: list[click.Parameter] = [
        click.Argument(["provider"], required=False, default=""),
        click.Option(["--search"], default="", help="Only models whose name contains this text."),
        click.Option(
            ["--with", "needed"],
            multiple=True,
            type=click.Choice(ABILITIES),
            help="Only models that can do this; may be repeated.",
        ),
        click.Option(["--usable"], is_flag=True, help="Only providers that have a key, or need none."),
        click.Option(["--matrix"], is_flag=True, help="Show what happens to each feature at each provider."),
        click.Option(["--json", "as_json"], is_flag=True, help="Print JSON."),
        click.Option(["--live"], is_flag=True, help="Ask the provider which models it has (one request)."),
    ]
    callback = _Models(settings, say, complain).show
    group.add_command(click.Command("models", callback=callback, params=params, help=text, short_help=text))


class _Models:
    def __init__(
        self, settings: Callable[[], Settings], say: Callable[[str], None], complain: Callable[[str], None]
    ) -> None:
        self._load = settings
        self._say, self._complain = say, complain

    def show(
        self,
        provider: str,
        search: str,
        needed: tuple[str, ...],
        usable: bool,
        matrix: bool,
        as_json: bool,
        live: bool,
    ) -> int:
        """The exit code: 1 if providers are left out, because they are configured wrongly."""
        settings = self._load()
        catalog = Catalog(settings, lambda endpoint: find_credential(endpoint, settings) is not None)
        try:  # address and compat flags of the environment apply to this provider
            catalog.resolve(catalog.configured()[0])
        except BadInvocation:
            pass
        if live and not provider:
            raise BadInvocation("--live asks one provider: yume-shim models PROVIDER --live")
        endpoints, wrong = _endpoints(provider, catalog)
        if usable:
            endpoints = [end for end in endpoints if _is_usable(end, settings)]
        specs = [spec for spec in catalog.known_models() if spec.endpoint in endpoints and _fits(spec, search, needed)]
        live_names = self._live(catalog.endpoint(catalog.provider(provider)), catalog, settings) if live else None
        if live_names is not None:
            live_names = tuple(name for name in live_names if search.lower() in name.lower())
        if as_json:
            facts = _all_facts(endpoints, specs, catalog, settings)
            self._say(dumps(facts if live_names is None else facts | {"live": list(live_names)}).decode() + "\n")
        elif matrix:
            self._say(f"features ({LEGEND}):\n" + "".join(_grid(endpoints)))
        elif provider:
            self._say("".join(_one(endpoints[0], specs, live_names, settings) if endpoints else ()))
        else:
            filtered = bool(search or needed)
            self._say("".join(_everything(endpoints, specs, catalog, settings, filtered=filtered)))
        for error in wrong:
            self._complain(error.message)
        return 1 if wrong else 0

    def _live(self, endpoint: Endpoint, catalog: Catalog, settings: Settings) -> tuple[str, ...]:
        from yume_shim.config.credentials import find_keys, missing_key
        from yume_shim.engine.cancel import CancelSignal
        from yume_shim.host.log import Log
        from yume_shim.providers.discovery.model_lists import list_models

        keys, cancel = find_keys(endpoint, settings), CancelSignal()
        if not keys:
            raise missing_key(endpoint, settings)
        return list_models(catalog.at(endpoint, ""), keys[0].get(cancel), settings, cancel, Log(endpoint.name))


def _endpoints(provider: str, catalog: Catalog) -> tuple[list[Endpoint], tuple[BadInvocation, ...]]:
    """(the providers to show, what is wrong with those that cannot be). Raises BadInvocation if there are none."""
    apis = known_apis()  # the replay provider is not one to choose
    wrong: tuple[BadInvocation, ...] = ()
    if provider:
        listed: tuple[Endpoint, ...] = (catalog.endpoint(catalog.provider(provider), address=False),)
    else:
        listed, wrong = catalog.listed()
    found = [endpoint for endpoint in listed if endpoint.api in apis]
    if not found:
        raise wrong[0] if wrong else BadInvocation(f"provider '{listed[0].name}' has no models of its own")
    return found, wrong


def _is_usable(endpoint: Endpoint, settings: Settings) -> bool:
    has_address = bool(endpoint.base_url or endpoint.address_by_sign_in)
    return has_address and find_credential(endpoint, settings) is not None


def _fits(spec: ModelSpec, search: str, needed: tuple[str, ...]) -> bool:
    able = {"images": spec.images, "streaming": spec.streaming, "thinking": spec.thinking, "tools": spec.tools}
    return search.lower() in f"{spec.endpoint.name}/{spec.id}".lower() and all(able[name] for name in needed)


def _everything(
    endpoints: list[Endpoint], specs: list[ModelSpec], catalog: Catalog, settings: Settings, *, filtered: bool
) -> Iterable[str]:
    """Models first, grouped by provider; then providers whose models are not listed, and aliases."""
    others = []
    for endpoint in endpoints:
        rows = [_model_row(spec, f"{spec.endpoint.name}/{spec.id}") for spec in specs if spec.endpoint == endpoint]
        if rows:
            yield f"{endpoint.name}: {_state(endpoint, settings)}\n"
            yield from rows
        else:
            others.append(endpoint)
    if filtered:
        if not specs:
            yield "No known model fits.\n"
        return
    if others:
        yield "providers without listed models (any model of theirs works as PROVIDER/MODEL):\n"
        yield from (f"  {endpoint.name:<13} {endpoint.api:<19} {_state(endpoint, settings)}\n" for endpoint in others)
    yield "aliases:\n"
    yield from (f"  {alias:<13} {meaning}\n" for alias, meaning in catalog.aliases().items())
    yield "Prices are USD per million tokens. What each provider cannot do: yume-shim models --matrix\n"


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
