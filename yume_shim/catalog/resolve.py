"""A model's name -> ModelSpec and Endpoint: which provider is meant, and what is known of the model there."""

from __future__ import annotations

import json
import os

from yume_shim.types.errors import BadInvocation
from yume_shim.types.models import Backoff, Endpoint, ModelSpec, Quirks
from yume_shim.types.value import fields, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from yume_shim.types.settings import Settings

_HERE = os.path.dirname(__file__)


class Catalog:
    """The data files plus the config file's own rows; read once, at the first question."""

    def __init__(self, settings: Settings, has_key: Callable[[Endpoint], bool]) -> None:
        self._settings = settings
        self._has_key = has_key
        self._rows: dict[str, dict[str, Any]] = {**_load("endpoints.json")}
        for name, row in settings.endpoints.items():
            self._rows[name] = {**self._rows.get(name, {}), **row}
        data = _load("models.json")
        self._models: dict[str, list[Any]] = data["models"]
        self._families: list[tuple[str, list[Any]]] = data["families"]
        self._history: list[tuple[str, float, float]] = data["history"]
        self._long_context: dict[str, tuple[int, float, float]] = {
            name: (row["above"], row["input"], row["output"]) for row in data["long_context"] for name in row["models"]
        }
        self._vendor_aliases: dict[str, str] = data["aliases"]

    def names(self) -> tuple[str, ...]:
        """The providers, for messages."""
        return tuple(self._rows)

    def resolve(self, text: str, provider: str = "") -> ModelSpec:
        """The model meant by `text` ("" = the default). Raises BadInvocation with the nearest name."""
        provider = provider or self._settings.provider
        if provider:
            return self._chosen(provider, text)
        text = self._settings.aliases.get(text or "default", text)
        head, slash, tail = text.partition("/")
        if slash and (name := self._known(head)) is not None:
            return self._spec(name, tail)
        if self._settings.default_provider:
            return self._chosen(self._settings.default_provider, text)
        if slash and not self._foreign_base():
            raise BadInvocation(self._unknown(head, f"model '{text}'"))
        model = self._vendor_aliases.get(text.removesuffix("[1m]") or "default", text)
        return self._spec(self._by_shape(model), model)

    def _chosen(self, provider: str, text: str) -> ModelSpec:
        name = self._known(provider)
        if name is None:
            raise BadInvocation(self._unknown(provider))
        return self._spec(name, self._local_alias(text, name))

    def known_models(self) -> tuple[tuple[str, int, int], ...]:
        """(id, window, longest output) of every model in the data file."""
        return tuple((name, row[0], row[1]) for name, row in self._models.items())

    def model_list(self) -> tuple[dict[str, Any], ...]:
        """What hosts offer in a model menu: the aliases, and what each of them means here."""
        listed = []
        for alias in self._vendor_aliases:
            target = self._settings.aliases.get(alias, self._vendor_aliases[alias])
            listed.append(
                {"value": alias, "resolvedModel": target, "displayName": alias.capitalize(), "description": target}
            )
        return tuple(listed)

    def endpoint(self, name: str) -> Endpoint:
        """One row, with `--api`, `--api-base` and the customary base URL variables applied."""
        row = self._rows[name]
        apis = {known["api"] for known in self._rows.values()}
        if self._settings.api and self._settings.api not in apis:
            raise BadInvocation(f"unknown API '{self._settings.api}'. Known: {', '.join(sorted(apis))}.")
        settings, env = self._settings, self._settings.env
        base = settings.api_base or next((env[v] for v in row.get("base_url_vars", ()) if env.get(v)), row["base_url"])
        if row["api"] != "replay":
            base = _checked_url(base, name)
        quirks: dict[str, Any] = {
            key: tuple(given) if isinstance(given, list) else given for key, given in row.get("quirks", {}).items()
        }
        unknown = [key for key in quirks if key not in fields(Quirks)]
        if unknown:
            raise BadInvocation(f"endpoint '{name}': unknown quirk {', '.join(unknown)}")
        return Endpoint(
            name=name,
            api=settings.api or row["api"],
            base_url=base,
            key_vars=(settings.api_key_env,) if settings.api_key_env else tuple(row.get("key_vars", ())),
            base_url_vars=tuple(row.get("base_url_vars", ())),
            headers=row.get("headers", {}),
            quirks=Quirks(**quirks),
            backoff=self._backoff(row.get("backoff", {})),
            key_optional=bool(row.get("key_optional", False)),
            token_vars=() if settings.api_key_env else tuple(row.get("token_vars", ())),
            takes_custom_headers=bool(row.get("takes_custom_headers", False)),
        )

    def _spec(self, name: str, model: str) -> ModelSpec:
        return self.at(self.endpoint(name), model)

    def at(self, endpoint: Endpoint, model: str) -> ModelSpec:
        """A model at an endpoint, with what the data file knows of it."""
        bare = model.removesuffix("[1m]").rpartition("/")[2]
        _, trim_at, compact_at = next(row for row in self._history if _in_family(bare, row[0]))
        shares: dict[str, Any] = {"trim_at": trim_at, "compact_at": compact_at}
        name = bare if bare in self._models else _undated(bare)
        row = self._models.get(name)
        if row is not None:
            window, most, *prices, thinking = row
            tier = self._long_context.get(name)
            return ModelSpec(model, endpoint, window, most, tuple(prices), thinking, long_context=tier, **shares)
        for start, (window, most, thinking) in self._families:
            if _in_family(bare, start):
                return ModelSpec(model, endpoint, window, most, None, thinking, known=False, **shares)
        return ModelSpec(model, endpoint, known=False, **shares)

    def _backoff(self, row: Mapping[str, Any]) -> Backoff:
        wishes = self._settings.retry
        wanted: dict[str, Any] = dict(row)
        wanted.update((name, getattr(wishes, name)) for name in fields(wishes) if getattr(wishes, name) is not None)
        return replace(Backoff(), **wanted)

    def _known(self, name: str) -> str | None:
        lowered = name.lower()
        if lowered in self._rows:
            return lowered
        return next((row for row, data in self._rows.items() if lowered in data.get("names", ())), None)

    def _local_alias(self, text: str, provider: str) -> str:
        """With a provider chosen, a model name is taken verbatim; only what a swapped-in host passes without knowing
        (`sonnet`, nothing at all) is mapped."""
        text = self._settings.aliases.get(text or "default", text)
        head, slash, tail = text.partition("/")
        if slash and self._known(head) == provider:
            return tail
        if provider != self._by_shape("claude-") and (not text or text in self._vendor_aliases):
            if self._settings.provider_model:
                return self._settings.provider_model
            if not text and self._rows[provider]["api"] != "replay":
                raise BadInvocation(
                    f"no model named: give --model, YUME_MODEL, or `model` in the config file ({provider})"
                )
            return text
        return self._vendor_aliases.get(text.removesuffix("[1m]") or "default", text)

    def _by_shape(self, model: str) -> str:
        rows = self._rows.items()
        default = next(name for name, row in rows if "claude-" in row.get("shapes", ()))
        found = next((name for name, row in rows if any(_has_shape(model, s) for s in row.get("shapes", ()))), default)
        if found != default and self._foreign_base() and not self._has_key(self.endpoint(found)):
            return default
        return found

    def _foreign_base(self) -> bool:
        return bool(self._settings.api_base or self._settings.env.get("ANTHROPIC_BASE_URL"))

    def _unknown(self, name: str, what: str = "") -> str:
        import difflib

        near = difflib.get_close_matches(name.lower(), self._rows, n=1, cutoff=0.5)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        inside = f" in {what}" if what else ""
        return f"unknown provider '{name}'{inside}.{hint} Known providers: {', '.join(self._rows)}."


def _load(name: str) -> dict[str, Any]:
    with open(os.path.join(_HERE, name), encoding="utf-8") as file:
        loaded: dict[str, Any] = json.load(file)
    return loaded


def _has_shape(model: str, shape: str) -> bool:
    """`gpt-` is a beginning; `o#` an "o" followed by a digit."""
    if shape.endswith("#"):
        start = shape[:-1]
        return model.startswith(start) and model[len(start) : len(start) + 1].isdigit()
    return model.startswith(shape)


def _in_family(model: str, start: str) -> bool:
    """`o` is the family of o3 and o4-mini, not of every name with that letter."""
    return model.startswith(start) and (start != "o" or model[1:2].isdigit())


def _undated(model: str) -> str:
    """claude-sonnet-4-5-20250929 -> claude-sonnet-4-5."""
    head, dash, tail = model.rpartition("-")
    return head if dash and len(tail) == 8 and tail.isdigit() else model


def _checked_url(url: str, name: str) -> str:
    if not url:
        raise BadInvocation(f"provider '{name}' has no address of its own: give --api-base URL")
    scheme, mark, rest = url.partition("://")
    host = rest.partition("/")[0]
    if scheme.lower() not in ("http", "https") or not mark or not host or any(c in url for c in " \t\r\n"):
        raise BadInvocation(f"bad base URL '{url}': it must look like http://host[:port]/path or https://host/path")
    port = host.rpartition("@")[2].rpartition("]")[2].partition(":")[2]
    if port and not (port.isdigit() and 0 < int(port) < 65536):
        raise BadInvocation(f"bad base URL '{url}': '{port}' is not a port number")
    return url.rstrip("/")
