"""Which key an endpoint gets, and where it was found. Names of places are told, keys never are.

Strongest first: the variable that a flag names; the chosen profile; the config file's keys and profiles; then the
helper command and the files of the vendor's own programs before the environment, or after it where the endpoint's row
says that its vendor has it so. All keys of the first place that has any are used in turn; weaker places are not
touched.
"""

from __future__ import annotations

from yume_shim.config.key_places import FixedKey, Look, learn_nothing
from yume_shim.text.redact import LEAST_SECRET
from yume_shim.types.errors import BadInvocation
from yume_shim.types.models import Credential

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from yume_shim.config.key_places import Learn
    from yume_shim.types.models import Endpoint
    from yume_shim.types.ports import KeySource
    from yume_shim.types.settings import Settings


def find_keys(
    endpoint: Endpoint,
    settings: Settings,
    warn: Callable[[str], None] = learn_nothing,
    learn: Learn = learn_nothing,
    *,
    profile: str | None = None,
) -> tuple[KeySource, ...]:
    """The keys to use, best first; () if there is none and the endpoint needs one. `profile` replaces the chosen
    profile of the settings."""
    for looked in look(endpoint, settings, learn, profile=profile):
        if looked.warning:
            warn(looked.warning)
        if looked.sources:
            return looked.sources
    return ()


def find_credential(endpoint: Endpoint, settings: Settings) -> Credential | None:
    """The first key as far as it is known without running a command. None if there is none and one is needed."""
    found = find_keys(endpoint, settings)
    return found[0].known() if found else None


def look(
    endpoint: Endpoint, settings: Settings, learn: Learn = learn_nothing, *, profile: str | None = None
) -> Iterator[Look]:
    """Every place, strongest first, each looked at when it is asked for."""
    if settings.endpoint.api_key_env and endpoint.key_vars == (settings.endpoint.api_key_env,):
        yield from _variables(endpoint, settings, learn)  # the flag names the only place
        return
    chosen = _chosen_profile(endpoint, settings, learn, settings.credentials.profile if profile is None else profile)
    if chosen is not None:
        yield chosen  # whoever chose one does not want another account's key instead
        return
    yield _config_file(endpoint, settings, learn)
    if endpoint.env_first:
        yield from _variables(endpoint, settings, learn)
        yield from _vendors_own(endpoint, settings, learn)
    else:
        yield from _vendors_own(endpoint, settings, learn)
        yield from _variables(endpoint, settings, learn)
    if endpoint.sign_in:
        yield Look(f"the sign-in of {endpoint.sign_in}", (FixedKey(Credential("", "none", "none")),))
    elif endpoint.key_optional:
        yield Look("no key", (FixedKey(Credential("", "none", "none")),), "the endpoint needs none")


def missing_key(endpoint: Endpoint, settings: Settings, *, profile: str | None = None) -> BadInvocation:
    """What to tell when there is no key: everything that was looked at."""
    looked = [f"{at.place} ({at.note})" if at.warning else at.place for at in look(endpoint, settings, profile=profile)]
    return BadInvocation(
        f"no key for provider '{endpoint.name}': looked at {', '.join(looked)}. "
        "Set one of them, or choose another provider with --provider.",
        kind="auth",
    )


def secrets_of(settings: Settings, credential: Credential | None) -> tuple[str, ...]:
    """Every secret in reach, for redaction."""
    found = [value for name, value in settings.env.items() if is_secret_name(name) and len(value) >= LEAST_SECRET]
    rows = (row.get("headers") for row in settings.endpoint.rows.values() if isinstance(row, dict))
    for headers in (settings.endpoint.custom_headers, *rows):
        found.extend(_written_in(headers) if isinstance(headers, dict) else ())
    if settings.credentials.keys or settings.credentials.profiles:
        from yume_shim.config.profiles import texts, written_keys

        found.extend(key for given in settings.credentials.keys.values() for key in texts(given, "[keys]"))
        found.extend(written_keys(settings.credentials.profiles, settings.config_file))
    if credential is not None and credential.key:
        found.append(credential.key)
    return tuple(dict.fromkeys(found))


SECRET_MARKS = (
    *("_API_KEY", "_AUTH_TOKEN", "_OAUTH_TOKEN", "_ACCESS_TOKEN", "_SECRET_KEY", "_SECRET_ACCESS_KEY"),
    *("_CLIENT_SECRET", "_CERTIFICATE_PASSWORD"),
)
"""Endings of the variables that hold model providers' keys, and of those that clouds sign in with."""
SECRET_NAMES = (
    "ANTHROPIC_CUSTOM_HEADERS",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "AWS_SESSION_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AZURE_PASSWORD",
)
SECRET_HEADERS = ("key", "token", "secret", "auth", "cookie")
"""What is in the name of a header that holds a key."""


def is_secret_name(name: str) -> bool:
    """Does a variable of this name hold a provider's key? Such variables never reach a tool's environment."""
    upper = name.upper()
    return upper.endswith(SECRET_MARKS) or upper in SECRET_NAMES


def _written_in(headers: Mapping[str, Any]) -> Iterator[str]:
    """The keys in headers that people wrote; of `Bearer x` also the `x` alone."""
    for name, text in headers.items():
        if isinstance(text, str) and any(mark in name.lower() for mark in SECRET_HEADERS):
            yield from (part for part in {text, text.rpartition(" ")[2]} if len(part) >= LEAST_SECRET)


def tool_environment(settings: Settings) -> dict[str, str]:
    """The environment for tool processes: everything but the keys, unless the config file wants them there."""
    if settings.credentials.keys_for_tools:
        return dict(settings.env)
    kept = {name: value for name, value in settings.env.items() if not is_secret_name(name)}
    kept.pop(settings.endpoint.api_key_env, None)
    for row in settings.endpoint.rows.values():
        for name in (*row.get("key_vars", ()), *row.get("token_vars", ())):
            kept.pop(name, None)
    if settings.credentials.profiles:
        from yume_shim.config.profiles import key_variables

        for name in key_variables(settings.credentials.profiles, settings.config_file):
            kept.pop(name, None)
    return kept


# ---------------------------------------------------------------- the places


def _chosen_profile(endpoint: Endpoint, settings: Settings, learn: Learn, chosen: str) -> Look | None:
    """The profile that was picked, if it is one of this provider's."""
    if not chosen:
        return None
    from yume_shim.config.profiles import look_at_profile, profiles_of

    for profile in profiles_of(endpoint, settings):
        if profile.name == chosen:
            return look_at_profile(profile, settings, learn)
    return None


def _config_file(endpoint: Endpoint, settings: Settings, learn: Learn) -> Look:
    """`[keys]`, then the profiles of this provider in the order of the file: they are used in turn."""
    place = f"[keys] {endpoint.name} in {settings.config_file or 'the config file'}"
    if not settings.credentials.keys and not settings.credentials.profiles:
        return Look(place)
    from yume_shim.config.profiles import fixed_keys, look_at_profile, means, profiles_of, texts

    sources: list[KeySource] = []
    for name, written in settings.credentials.keys.items():
        if means(name, endpoint):
            sources += fixed_keys(texts(written, "[keys]"), f"config file [keys] {name}", "key", learn)
    looks = [look_at_profile(profile, settings, learn) for profile in profiles_of(endpoint, settings)]
    for looked in looks:
        sources += looked.sources
    warning = "; ".join(looked.warning for looked in looks if looked.warning)
    return Look(", ".join([place, *(looked.place for looked in looks)]), tuple(sources), warning=warning)


def _variables(endpoint: Endpoint, settings: Settings, learn: Learn) -> Iterator[Look]:
    for kind, names in (("key", endpoint.key_vars), ("token", endpoint.token_vars)):
        for name in names:
            found = settings.env.get(name, "").strip()
            if not found:
                yield Look(f"${name}", note="not set")
                continue
            learn(found)
            credential = Credential(found, kind, name)  # type: ignore[arg-type]  # the two words above
            yield Look(f"${name}", (FixedKey(credential),))


def _vendors_own(endpoint: Endpoint, settings: Settings, learn: Learn) -> Iterator[Look]:
    """The helper command, and the files in which the vendor's programs keep API keys."""
    if endpoint.takes_key_helper and settings.credentials.key_helper:
        from yume_shim.config.key_helper import CommandKey, ttl_seconds

        # the Claude CLI sends such a key in both ways: gateways read either
        label = Credential("", "key", "apiKeyHelper", also_bearer=True)
        ttl = ttl_seconds(settings.env)
        command = CommandKey(settings.credentials.key_helper, label, ttl, settings.env, settings.cwd, learn)
        yield Look("apiKeyHelper", (command,), "a command")
    elif endpoint.takes_key_helper:
        yield Look("apiKeyHelper of the settings files", note="not set")
    if endpoint.key_files:
        from yume_shim.config.key_files import look_at_vendor_files

        yield from look_at_vendor_files(endpoint, settings.env, learn)
