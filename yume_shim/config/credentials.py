"""Which key an endpoint gets, and where it was found. Names of places are told, keys never are."""

from __future__ import annotations

from yume_shim.types.errors import BadInvocation
from yume_shim.types.models import Credential

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.models import Endpoint
    from yume_shim.types.settings import Settings


def find_credential(endpoint: Endpoint, settings: Settings) -> Credential | None:
    """The first key there is: a named variable, the config file, the endpoint's customary variables, its token
    variables. None if there is none and the endpoint needs one."""
    env = settings.env
    configured = settings.keys.get(endpoint.name, "")
    if configured and not settings.api_key_env:
        return Credential(configured, "key", f"config file [keys] {endpoint.name}")
    for name in endpoint.key_vars:
        if env.get(name):
            return Credential(env[name].strip(), "key", name)
    for name in endpoint.token_vars:
        if env.get(name):
            return Credential(env[name].strip(), "token", name)
    if endpoint.key_optional and not settings.api_key_env:
        return Credential("", "none", "none")
    return None


def missing_key(endpoint: Endpoint, settings: Settings) -> BadInvocation:
    """What to tell when there is no key: everything that was looked at."""
    looked = [f"${name}" for name in (*endpoint.key_vars, *endpoint.token_vars)]
    if not settings.api_key_env:
        looked.append(f"[keys] {endpoint.name} in {settings.config_file or 'the config file'}")
    return BadInvocation(
        f"no key for provider '{endpoint.name}': looked at {', '.join(looked)}. "
        "Set one of them, or choose another provider with --provider.",
        kind="auth",
    )


def secrets_of(settings: Settings, credential: Credential | None) -> tuple[str, ...]:
    """Every secret in reach, for redaction."""
    found = [value for name, value in settings.env.items() if is_secret_name(name) and len(value) >= 8]
    found.extend(settings.keys.values())
    if credential is not None and credential.key:
        found.append(credential.key)
    return tuple(dict.fromkeys(found))


SECRET_MARKS = ("_API_KEY", "_AUTH_TOKEN", "_OAUTH_TOKEN", "_ACCESS_TOKEN", "_SECRET_KEY", "_SECRET_ACCESS_KEY")
"""Endings of the variables that hold model providers' keys."""
SECRET_NAMES = (
    "ANTHROPIC_CUSTOM_HEADERS",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "AWS_SESSION_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
)


def is_secret_name(name: str) -> bool:
    """Does a variable of this name hold a provider's key? Such variables never reach a tool's environment."""
    upper = name.upper()
    return upper.endswith(SECRET_MARKS) or upper in SECRET_NAMES


def tool_environment(settings: Settings) -> dict[str, str]:
    """The environment for tool processes: everything but the keys, unless the config file wants them there."""
    if settings.keys_for_tools:
        return dict(settings.env)
    kept = {name: value for name, value in settings.env.items() if not is_secret_name(name)}
    kept.pop(settings.api_key_env, None)
    return kept
