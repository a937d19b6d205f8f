"""Finds the keys of an endpoint. Messages name the places that were checked and never contain a key.

Places, strongest first: the variable that a flag names; the chosen profile; keys and profiles of the config file; the
helper command and the key files of the vendor's own programs; the environment. Endpoints with `env_first` check the
environment before helper and files, as their vendor's program does. All keys of the first place that has any are used
in turn; weaker places are not checked.
"""

from __future__ import annotations

from yume_shim.config.key_places import CheckedPlace, FixedKey, ignore
from yume_shim.text.redact import MIN_SECRET_LENGTH
from yume_shim.types.errors import BadInvocation
from yume_shim.types.models import Credential

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from yume_shim.config.key_places import Learn
    from yume_shim.types.models import Endpoint
    from yume_shim.types.ports import KeySource
    from yume_shim.types.settings import EndpointSettings, Settings


def find_keys(
    endpoint: Endpoint,
    settings: Settings,
    warn: Callable[[str], None] = ignore,
    learn: Learn = ignore,
    *,
    profile: str | None = None,
) -> tuple[KeySource, ...]:
    """The keys to use, best first; () if the endpoint needs a key and there is none. `profile` overrides the profile of
    the settings."""
    for place in check_places(endpoint, settings, learn, profile=profile):
        if place.warning:
            warn(place.warning)
        if place.sources:
            return place.sources
    return ()


def find_credential(endpoint: Endpoint, settings: Settings) -> Credential | None:
    """The first key, without running a command to get it. None if the endpoint needs a key and there is none."""
    found = find_keys(endpoint, settings)
    return found[0].known() if found else None


def check_places(
    endpoint: Endpoint, settings: Settings, learn: Learn = ignore, *, profile: str | None = None
) -> Iterator[CheckedPlace]:
    """Every place, strongest first; each is checked when the iteration reaches it."""
    if settings.endpoint.api_key_env and endpoint.key_vars == (settings.endpoint.api_key_env,):
        yield from _variables(endpoint, settings, learn)  # the flag names the only place
        return
    chosen = _chosen_profile(endpoint, settings, learn, settings.credentials.profile if profile is None else profile)
    if chosen is not None:
        yield chosen  # never replaced by the key of another account
        return
    yield _config_file(endpoint, settings, learn)
    if endpoint.env_first:
        yield from _variables(endpoint, settings, learn)
        yield from _vendor_places(endpoint, settings, learn)
    else:
        yield from _vendor_places(endpoint, settings, learn)
        yield from _variables(endpoint, settings, learn)
    if endpoint.sign_in:
        yield CheckedPlace(f"the sign-in of {endpoint.sign_in}", (FixedKey(Credential("", "none", "none")),))
    elif endpoint.key_optional:
        yield CheckedPlace("no key", (FixedKey(Credential("", "none", "none")),), "the endpoint needs none")


def missing_key(endpoint: Endpoint, settings: Settings, *, profile: str | None = None) -> BadInvocation:
    """The error for an endpoint without a key; it lists all places that were checked."""
    from yume_shim.config.key_doubts import near_variables

    places = check_places(endpoint, settings, profile=profile)
    checked = [f"{place.name} ({place.note})" if place.warning else place.name for place in places]
    return BadInvocation(
        f"no key for provider '{endpoint.name}': looked at {', '.join(checked)}"
        f"{near_variables(endpoint, settings.env)}. "
        "Set one of them (`yume-shim init` asks for it), or choose another provider with --provider.",
        kind="auth",
        provider=endpoint.name,
    )


def secrets_of(settings: Settings, credential: Credential | None) -> tuple[str, ...]:
    """Every secret in environment, headers and config file, for redaction."""
    found = [value for name, value in settings.env.items() if is_secret_name(name) and len(value) >= MIN_SECRET_LENGTH]
    rows = (row.get("headers") for row in settings.endpoint.rows.values() if isinstance(row, dict))
    for headers in (settings.endpoint.custom_headers, *rows):
        found.extend(_keys_in_headers(headers) if isinstance(headers, dict) else ())
    if settings.credentials.keys or settings.credentials.profiles:
        from yume_shim.config.profiles import literal_keys, text_list

        found.extend(key for given in settings.credentials.keys.values() for key in text_list(given, "[keys]"))
        found.extend(literal_keys(settings.credentials.profiles, settings.config_file))
    if credential is not None and credential.key:
        found.append(credential.key)
    return tuple(dict.fromkeys(found))


SECRET_ENDINGS = (
    *("_API_KEY", "_AUTH_TOKEN", "_OAUTH_TOKEN", "_ACCESS_TOKEN", "_SECRET_KEY", "_SECRET_ACCESS_KEY"),
    *("_CLIENT_SECRET", "_CERTIFICATE_PASSWORD"),
)
"""Endings of variables that hold keys of model providers or sign-in secrets of clouds."""
SECRET_NAMES = (
    "ANTHROPIC_CUSTOM_HEADERS",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "AWS_SESSION_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AZURE_PASSWORD",
)
SECRET_HEADERS = ("key", "token", "secret", "auth", "cookie")
"""A header whose name contains one of these holds a key."""


TELEMETRY = "OTEL_"


def is_secret_name(name: str) -> bool:
    """Does a variable of this name hold a provider's key? Such variables never reach a tool's environment."""
    upper = name.upper()
    return upper.endswith(SECRET_ENDINGS) or upper in SECRET_NAMES


def _keys_in_headers(headers: Mapping[str, Any]) -> Iterator[str]:
    """The keys in configured headers; of `Bearer x` also the `x` alone."""
    for name, text in headers.items():
        if isinstance(text, str) and any(mark in name.lower() for mark in SECRET_HEADERS):
            yield from (part for part in {text, text.rpartition(" ")[2]} if len(part) >= MIN_SECRET_LENGTH)


def tool_environment(settings: Settings) -> dict[str, str]:
    """The environment for tool processes: without keys, unless the config file allows them (`keys_for_tools`)."""
    if settings.credentials.keys_for_tools:
        return dict(settings.env)
    return without_keys(settings.env, settings.endpoint, settings.credentials.profiles, settings.config_file)


def without_keys(
    env: Mapping[str, str], endpoint: EndpointSettings, profiles: Mapping[str, Any], config_file: str
) -> dict[str, str]:
    """The environment without the variables that hold keys of providers, and without those of telemetry: headers for
    the collector are secrets, and a command's own telemetry is not ours (the Claude CLI leaves them out, too)."""
    kept = {name: value for name, value in env.items() if not is_secret_name(name) and not name.startswith(TELEMETRY)}
    kept.pop(endpoint.api_key_env, None)
    tables = [row for row in endpoint.rows.values() if isinstance(row, dict)]  # they may not have been checked yet
    for names in (row.get(field) for row in tables for field in ("key_vars", "token_vars")):
        for name in names if isinstance(names, list | tuple) else ():
            kept.pop(str(name), None)
    if profiles:
        from yume_shim.config.profiles import key_variables

        for name in key_variables(profiles, config_file):
            kept.pop(name, None)
    return kept


# ---------------------------------------------------------------- the places


def _chosen_profile(endpoint: Endpoint, settings: Settings, learn: Learn, chosen: str) -> CheckedPlace | None:
    """The chosen profile, if it belongs to this provider."""
    if not chosen:
        return None
    from yume_shim.config.profiles import check_profile, profiles_of

    for profile in profiles_of(endpoint, settings):
        if profile.name == chosen:
            return check_profile(profile, settings, learn)
    return None


def _config_file(endpoint: Endpoint, settings: Settings, learn: Learn) -> CheckedPlace:
    """The keys of `[keys]`, then of this provider's profiles in the order of the file."""
    name = f"[keys] {endpoint.name} in {settings.config_file or 'the config file'}"
    if not settings.credentials.keys and not settings.credentials.profiles:
        return CheckedPlace(name)
    from yume_shim.config.profiles import check_profile, fixed_keys, names_endpoint, profiles_of, text_list

    sources: list[KeySource] = []
    for provider, written in settings.credentials.keys.items():
        if names_endpoint(provider, endpoint):
            sources += fixed_keys(text_list(written, "[keys]"), f"config file [keys] {provider}", "key", learn)
    checked = [check_profile(profile, settings, learn) for profile in profiles_of(endpoint, settings)]
    for place in checked:
        sources += place.sources
    warning = "; ".join(place.warning for place in checked if place.warning)
    return CheckedPlace(", ".join([name, *(place.name for place in checked)]), tuple(sources), warning=warning)


def _variables(endpoint: Endpoint, settings: Settings, learn: Learn) -> Iterator[CheckedPlace]:
    for kind, names in (("key", endpoint.key_vars), ("token", endpoint.token_vars)):
        for name in names:
            found = settings.env.get(name, "").strip()
            if not found:
                yield CheckedPlace(f"${name}", note="not set")
                continue
            learn(found)
            credential = Credential(found, kind, name)  # type: ignore[arg-type]  # one of the two above
            yield CheckedPlace(f"${name}", (FixedKey(credential),))


def _vendor_places(endpoint: Endpoint, settings: Settings, learn: Learn) -> Iterator[CheckedPlace]:
    """The helper command, and the files in which the vendor's programs store API keys."""
    if endpoint.takes_key_helper and settings.credentials.key_helper:
        from yume_shim.config.key_helper import CommandKey, ttl_seconds

        # as the Claude CLI does: some gateways read x-api-key, others the bearer token
        label = Credential("", "key", "apiKeyHelper", also_bearer=True)
        ttl = ttl_seconds(settings.env)
        command = CommandKey(settings.credentials.key_helper, label, ttl, settings.env, settings.cwd, learn)
        yield CheckedPlace("apiKeyHelper", (command,), "a command")
    elif endpoint.takes_key_helper:
        yield CheckedPlace("apiKeyHelper of the settings files", note="not set")
    if endpoint.key_files:
        from yume_shim.config.key_files import check_vendor_files

        yield from check_vendor_files(endpoint, settings.env, learn)
