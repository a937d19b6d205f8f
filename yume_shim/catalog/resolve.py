"""Resolves a model's name to ModelSpec and Endpoint: which provider it means, and the data of that model there."""

from __future__ import annotations

import os

from yume_shim.text.codec import loads
from yume_shim.types.errors import BadInvocation
from yume_shim.types.models import Backoff, Endpoint, ModelSpec, Quirks
from yume_shim.types.value import fields, replace, replace_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from yume_shim.types.settings import Settings

_HERE = os.path.dirname(__file__)
_ON = ("1", "true")


class Catalog:
    """The data files and the rows of the config file. Used from several threads: all state but `_flagged_provider` is
    fixed, and that one is set at startup, by the first model that is resolved."""

    def __init__(self, settings: Settings, has_key: Callable[[Endpoint], bool]) -> None:
        self._settings = settings
        self._has_key = has_key
        self._built_in: dict[str, dict[str, Any]] = _load("endpoints.json")
        self._rows = {**self._built_in}
        if settings.endpoint.rows:
            from yume_shim.catalog.rows import merge_rows

            self._rows = merge_rows(self._rows, settings.endpoint.rows)
        data = _load("models.json")
        self._models: dict[str, list[Any]] = data["models"]
        self._families: list[tuple[str, list[Any]]] = data["families"]
        self._history: list[tuple[str, float, float]] = data["history"]
        self._large_window: tuple[int, float, float] = tuple(data["large_window"])
        self._abilities: list[tuple[str, dict[str, Any]]] = data["abilities"]
        self._long_context: dict[str, tuple[int, float, float]] = {
            name: (row["above"], row["input"], row["output"]) for row in data["long_context"] for name in row["models"]
        }
        self._vendor_aliases: dict[str, str] = {
            alias: settings.env.get(f"ANTHROPIC_DEFAULT_{alias.upper()}_MODEL") or target
            for alias, target in data["aliases"].items()
        }
        self._flagged_provider = ""
        """The provider that `--api`, `--api-base`, `--api-key-env` and `--compat` apply to: the first one resolved. Any
        other, switched to or used as a fallback, keeps its own address: its key must not be sent elsewhere."""

    def configured(self) -> tuple[str, str]:
        """(the model that the settings name, why a project's choice was ignored or ""). A project that the user does
        not trust may choose a model, but never move the conversation to another provider."""
        asked = self._settings.model
        if not asked.project_name:
            return asked.name, ""
        own, theirs = self._provider_of(asked.name), self._provider_of(asked.project_name)
        if own and own == theirs:
            return asked.project_name, ""
        where = f"it is at {theirs}, not at {own or 'the chosen provider'}" if theirs else "it is not known"
        return asked.name, f"the model '{asked.project_name}' of the project's settings is ignored: {where}"

    def _provider_of(self, text: str) -> str:
        asked = self._settings.model
        try:
            return self._provider_and_model(text, asked.provider)[0]
        except BadInvocation:  # a provider without a default model, or an unknown name
            chosen = asked.provider or asked.default_provider
            return self._row_name(chosen) or "" if not text else ""

    def names(self) -> tuple[str, ...]:
        """The providers, for messages."""
        return tuple(self._rows)

    def resolve(self, text: str, provider: str = "") -> ModelSpec:
        """The model that `text` means ("" = the default). Raises BadInvocation with the nearest name."""
        name, model = self._provider_and_model(text, provider or self._settings.model.provider)
        spec = self._spec(name, model)
        self._flagged_provider = self._flagged_provider or name
        return spec

    def bind_flags(self, stored_model: str) -> None:
        """Decide which provider the address and key flags apply to, before the model of a stored session is
        resolved: the one that the flags, the environment and the config file choose. If they choose none, the stored
        session's provider, provided that it has no address of its own."""
        settings = self._settings
        chosen = settings.model.provider or settings.model.default_provider
        before = self._rows.get(self._row_name(stored_model.partition("/")[0]) or "", {})
        configured = self.configured()[0]
        if not (chosen or configured or before.get("base_url")):
            return
        try:
            name = self._provider_and_model(configured, settings.model.provider)[0]
        except BadInvocation:
            name = self._row_name(chosen) or ""
        self._flagged_provider = self._flagged_provider or name

    def fallback(self, text: str) -> ModelSpec:
        """A fallback model: `provider/model` means that provider, although another was chosen, if it has a key;
        otherwise it may just as well be a router's own name, such as `vendor/model`."""
        text = self._settings.model.aliases.get(text, text)
        head, slash, tail = text.partition("/")
        if slash and (name := self._row_name(head)) is not None and self._has_key(self.endpoint(name)):
            return self._spec(name, tail)
        return self.resolve(text)

    def _provider_and_model(self, text: str, provider: str) -> tuple[str, str]:
        """The (provider, model) that a name means."""
        if provider:
            return self._at_provider(provider, text)
        text = self._settings.model.aliases.get(text or "default", text)
        head, slash, tail = text.partition("/")
        if slash and (name := self._row_name(head)) is not None:
            return name, _named(tail, name)
        if self._settings.model.default_provider:
            return self._at_provider(self._settings.model.default_provider, text)
        if slash and not self._foreign_base():
            raise BadInvocation(self._unknown(head, f"model '{text}'"))
        if (name := self._row_name(text)) is not None and not self._foreign_base():
            raise BadInvocation(_no_model(name))
        model = self._vendor_aliases.get(text.removesuffix("[1m]") or "default", text)
        return self._provider_by_shape(model), model

    def _at_provider(self, provider: str, text: str) -> tuple[str, str]:
        name = self.provider(provider)
        return name, self._local_alias(text, name)

    def doubt(self, text: str) -> str:
        """A warning if a name probably does not mean what it is taken for: at a moved address, every unknown name is a
        model of the gateway. "" = no doubt."""
        asked = self._settings.model
        text = asked.aliases.get(text, text)
        if asked.provider or asked.default_provider or not self._foreign_base():
            return ""
        head, slash, _ = text.partition("/")
        known = self._row_name(head)
        if not slash:
            return "" if known is None else f"'{text}' is sent to the gateway as a model. {_no_model(known)}"
        if known is not None:
            return ""
        unknown = self._unknown(head, f"model '{text}'")
        return f"{unknown} The whole name is sent to the gateway as a model."

    def known_models(self) -> tuple[ModelSpec, ...]:
        """Every model of the data file, at its vendor, and those of the config file."""
        places = [(self._provider_by_shape(name), name) for name in self._models]
        places += [self._provider_and_model(name, "") for name in self._settings.model.overrides]
        endpoints = {endpoint.name: endpoint for endpoint in self.listed()[0]}
        return tuple(self.at(endpoints[name], model) for name, model in dict.fromkeys(places) if name in endpoints)

    def listed(self) -> tuple[tuple[Endpoint, ...], tuple[BadInvocation, ...]]:
        """All providers, for listings; those that are configured wrongly are left out, and what is wrong is told."""
        found: list[Endpoint] = []
        wrong: list[BadInvocation] = []
        for name in self._rows:
            try:
                found.append(self.endpoint(name, address=False))
            except BadInvocation as error:
                wrong.append(error)
        return tuple(found), tuple(wrong)

    def aliases(self) -> dict[str, str]:
        """The aliases and what they mean."""
        return {**self._vendor_aliases, **self._settings.model.aliases}

    def model_list(self) -> tuple[dict[str, Any], ...]:
        """The entries of a host's model menu: the aliases, and what each of them means here."""
        listed = []
        for alias in self._vendor_aliases:
            target = self._settings.model.aliases.get(alias, self._vendor_aliases[alias])
            listed.append(
                {"value": alias, "resolvedModel": target, "displayName": alias.capitalize(), "description": target}
            )
        return tuple(listed)

    def provider(self, name: str) -> str:
        """The name of a provider's row. Raises BadInvocation with the nearest name."""
        known = self._row_name(name)
        if known is None:
            raise BadInvocation(self._unknown(name))
        return known

    def endpoint(self, name: str, *, address: bool = True) -> Endpoint:
        """One row, with the base URL variables applied, and the flags if they apply to it. `address`: fail if it has no
        base URL; requests need one, listings do not."""
        settings = self._settings if self._flagged_provider in ("", name) else _unflagged(self._settings)
        row, env, asked = self._rows[name], settings.env, settings.endpoint
        own = row.get("base_url", "")
        variable = next((v for v in row.get("base_url_vars", ()) if env.get(v)), "")
        base = asked.api_base or env.get(variable, own)
        api = self._api(asked.api) or row["api"]
        limits = row.get("tells_limits", "") if api == row["api"] else ""
        if base != own and row.get("tells_limits_when_own"):
            limits = ""
        # key files of the vendor's programs are for the vendor's address only
        key_files = tuple(row.get("key_files", ())) if base == own else ()
        if "bare_host_port" in row or "paths" in row:
            base = _completed(base, row, api)
        if row["api"] != "replay" and (base or (address and not row.get("address_by_sign_in"))):
            base = _checked_url(base, name, "" if asked.api_base else variable)
        return Endpoint(
            name=name,
            api=api,
            base_url=base,
            key_vars=(asked.api_key_env,) if asked.api_key_env else tuple(row.get("key_vars", ())),
            base_url_vars=tuple(row.get("base_url_vars", ())),
            headers=row.get("headers", {}),
            quirks=_quirks(row.get("quirks", {}), asked.compat),
            backoff=self._backoff(row.get("backoff", {})),
            key_optional=bool(row.get("key_optional", False)),
            token_vars=() if asked.api_key_env else tuple(row.get("token_vars", ())),
            takes_custom_headers=bool(row.get("takes_custom_headers", False)),
            tells_limits=limits,
            counts_tokens=bool(row.get("counts_tokens", False)) and api == row["api"],
            hint_missing_model=row.get("hint_missing_model", ""),
            hint_unreachable=row.get("hint_unreachable", ""),
            key_files=key_files,
            takes_key_helper=bool(row.get("takes_key_helper", False)),
            env_first=bool(row.get("env_first", False)),
            sign_in=row.get("sign_in", ""),
            address_by_sign_in=bool(row.get("address_by_sign_in", False)),
            names=tuple(row.get("names", ())),
            prices=row.get("prices", ""),
            moved=_is_moved(base, self._built_in.get(name, {})),
        )

    def _api(self, name: str) -> str:
        apis = {known["api"] for known in self._rows.values()}
        if name and name not in apis:
            raise BadInvocation(f"unknown API '{name}'. Known: {', '.join(sorted(apis))}.")
        return name

    def _spec(self, name: str, model: str) -> ModelSpec:
        return _within_context(self.at(self.endpoint(name), model))

    def at(self, endpoint: Endpoint, model: str) -> ModelSpec:
        """A model at an endpoint, with its data from the data file and the config file."""
        spec, asked = self._listed(endpoint, model), self._settings.model
        if asked.price is not None and self._flagged_provider in ("", endpoint.name):
            given, taken = asked.price
            spec = replace(spec, prices=(given, taken, given, given), prices_given=True)
        if not asked.overrides and asked.temperature is asked.top_p is None and not asked.stop_sequences:
            return spec
        from yume_shim.catalog.model_overrides import with_overrides

        return with_overrides(spec, asked)

    def _listed(self, endpoint: Endpoint, model: str) -> ModelSpec:
        bare = _plain_name(model)
        _, trim_at, compact_at = next(row for row in self._history if _in_family(bare, row[0]))
        shares: dict[str, Any] = {
            "trim_at": trim_at,
            "compact_at": compact_at,
            "large_window": self._large_window,
            **self._abilities_of(bare),
        }
        name = bare if bare in self._models else _undated(bare)
        # A server whose context size we choose does not serve the vendor's model, whatever its name.
        row = None if endpoint.quirks.context_size else self._models.get(name)
        if row is not None:
            window, most, *prices, thinking = row
            tier = self._long_context.get(name)
            return ModelSpec(model, endpoint, window, most, tuple(prices), thinking, long_context=tier, **shares)
        for start, (window, most, thinking) in self._families:
            if _in_family(bare, start):
                return ModelSpec(model, endpoint, window, most, None, thinking, known=False, **shares)
        return ModelSpec(model, endpoint, known=False, **shares)

    def _abilities_of(self, model: str) -> dict[str, Any]:
        """What the model cannot do or does differently, by the data file."""
        found: dict[str, Any] = {}
        for start, row in self._abilities:
            if _in_family(model, start):
                found |= _frozen(row)
        return found

    def _backoff(self, row: Mapping[str, Any]) -> Backoff:
        retry = self._settings.network.retry
        merged: dict[str, Any] = dict(row)
        merged.update((name, getattr(retry, name)) for name in fields(retry) if getattr(retry, name) is not None)
        return replace(Backoff(), **merged)

    def _row_name(self, name: str) -> str | None:
        lowered = name.lower()
        if lowered in self._rows:
            return lowered
        return next((row for row, data in self._rows.items() if lowered in data.get("names", ())), None)

    def _local_alias(self, text: str, provider: str) -> str:
        """The model name at a chosen provider: verbatim, except for what hosts of the Claude CLI pass by default
        (`sonnet`, or nothing)."""
        text = self._settings.model.aliases.get(text or "default", text)
        head, slash, tail = text.partition("/")
        if slash and self._row_name(head) == provider:
            return _named(tail, provider)
        if provider != self._provider_by_shape("claude-") and (not text or text in self._vendor_aliases):
            if self._settings.model.provider_model:
                return self._settings.model.provider_model
            if not text and self._rows[provider]["api"] != "replay":
                raise BadInvocation(
                    f"no model named: give --model, YUME_MODEL, or `model` in the config file ({provider})"
                )
            return text
        return self._vendor_aliases.get(text.removesuffix("[1m]") or "default", text)

    def _provider_by_shape(self, model: str) -> str:
        rows = self._rows.items()
        default = next(name for name, row in rows if "claude-" in row.get("shapes", ()))
        chosen = (name for name, row in rows if any(self._settings.env.get(v) in _ON for v in row.get("wanted_by", ())))
        default = next(chosen, default)  # a cloud that serves Claude, chosen by the Claude CLI's own variable
        if model.startswith("claude-"):
            return default
        found = next((name for name, row in rows if any(has_shape(model, s) for s in row.get("shapes", ()))), default)
        if found != default and self._foreign_base() and not self._has_key(self.endpoint(found)):
            return default
        return found

    def _foreign_base(self) -> bool:
        return bool(self._settings.endpoint.api_base or self._settings.env.get("ANTHROPIC_BASE_URL"))

    def _unknown(self, name: str, what: str = "") -> str:
        from yume_shim.text.nearest import did_you_mean

        hint = did_you_mean(name, self._rows)
        inside = f" in {what}" if what else ""
        return f"unknown provider '{name}'{inside}.{hint} Known providers: {', '.join(self._rows)}."


def _named(model: str, provider: str) -> str:
    if not model:
        raise BadInvocation(_no_model(provider))
    return model


def _no_model(provider: str) -> str:
    return f"'{provider}' is a provider: name one of its models, --model {provider}/MODEL (yume-shim models {provider})"


def _load(name: str) -> dict[str, Any]:
    with open(os.path.join(_HERE, name), "rb") as file:
        loaded: dict[str, Any] = loads(file.read())
    return loaded


def _unflagged(settings: Settings) -> Settings:
    return replace_in(settings, "endpoint", api="", api_base="", api_key_env="", compat=())


def _quirks(row: Mapping[str, Any], compat: tuple[str, ...]) -> Quirks:
    if compat:
        from yume_shim.catalog.rows import compat_quirks

        row = {**row, **compat_quirks(compat)}
    return Quirks(**_frozen(row))


def _frozen(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(given) if isinstance(given, list) else given for key, given in row.items()}


def _within_context(spec: ModelSpec) -> ModelSpec:
    """Limits the window to the context size that we request from the server, whatever the model's family allows."""
    size = spec.endpoint.quirks.context_size
    if spec.known or not 0 < size < spec.window:
        return spec
    return spec.with_window(size)


def _completed(base: str, row: Mapping[str, Any], api: str) -> str:
    from yume_shim.catalog.addresses import full_address, with_path

    if "bare_host_port" in row:
        base = full_address(base, row["bare_host_port"])
    return with_path(base, row.get("paths", {}), api)


def _is_moved(base: str, row: Mapping[str, Any]) -> bool:
    """Is this address not the one of the vendor whose prices the catalogue lists? `row` is the built-in row."""
    if row.get("prices", "none") == "none":
        return "://" in base
    own = row["base_url"]
    return bool(own) and base.split("/")[2:3] != own.split("/")[2:3]


def has_shape(model: str, shape: str) -> bool:
    """`gpt-` is a prefix; `o#` means "o" and a digit."""
    if shape.endswith("#"):
        start = shape[:-1]
        return model.startswith(start) and model[len(start) : len(start) + 1].isdigit()
    return model.startswith(shape)


def _in_family(model: str, start: str) -> bool:
    """Whether the name starts with the family's; `o` is the family of o3 and o4-mini, not of every name with an o."""
    return model.startswith(start) and (start != "o" or model[1:2].isdigit())


def _plain_name(model: str) -> str:
    """The name without what clouds and routers add: `us.anthropic.claude-x-v1:0`, `claude-x@20250929`,
    `vendor/claude-x`."""
    bare = model.removesuffix("[1m]").rpartition("/")[2].replace("@", "-")
    if "anthropic." in bare:
        bare = bare.rpartition("anthropic.")[2].partition(":")[0]
        head, mark, number = bare.rpartition("-v")
        bare = head if mark and number.isdigit() else bare
    return bare


def _undated(model: str) -> str:
    """claude-sonnet-4-5-20250929 -> claude-sonnet-4-5."""
    head, dash, tail = model.rpartition("-")
    return head if dash and len(tail) == 8 and tail.isdigit() else model


def _without_login(url: str) -> str:
    from yume_shim.text.redact import shown_address

    return shown_address(url)


def _checked_url(url: str, name: str, variable: str) -> str:
    if not url:
        raise BadInvocation(f"provider '{name}' has no default address: give --api-base URL", provider=name)
    scheme, mark, rest = url.partition("://")
    host = rest.partition("/")[0]
    if scheme.lower() not in ("http", "https") or not mark or not host or any(c in url for c in " \t\r\n"):
        problem = "it must look like http://host[:port]/path or https://host/path"
        raise _bad_url(url, name, variable, problem)
    port = host.rpartition("@")[2].rpartition("]")[2].partition(":")[2]
    if port and not (port.isdigit() and 0 < int(port) < 65536):
        raise _bad_url(url, name, variable, f"'{port}' is not a port number")
    return url.rstrip("/")


def _bad_url(url: str, name: str, variable: str, problem: str) -> BadInvocation:
    place = f" in ${variable}" if variable else f" of provider '{name}'"
    return BadInvocation(f"bad base URL '{_without_login(url)}'{place}: {problem}", provider=name)
