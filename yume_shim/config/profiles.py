"""`[profiles.NAME]` of the config file: named credentials, one of which can be chosen."""

from __future__ import annotations

from yume_shim.config.key_places import CheckedPlace, FixedKey
from yume_shim.types.errors import BadInvocation
from yume_shim.types.models import Credential
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    from yume_shim.config.key_places import Learn
    from yume_shim.types.models import Endpoint
    from yume_shim.types.settings import Settings

KEY_FIELDS = ("key", "keys", "key_env", "key_file", "key_command")
KINDS = ("key", "token")


class Profile(Value):
    """One table. `source` is the field that names the key (one of KEY_FIELDS), `given` its value."""

    name: str
    provider: str
    source: str
    given: tuple[str, ...]
    kind: Literal["key", "token"] = "key"
    ttl: float | None = None


def read_profile(name: str, table: Any, file: str) -> Profile:
    """Check one table. Raises BadInvocation, whose message never quotes a value."""
    what = f"{file}: [profiles.{name}]"
    if not hasattr(table, "items"):
        raise BadInvocation(f"{what} must be a table")
    provider, kind, ttl = table.get("provider"), table.get("kind", "key"), table.get("ttl")
    if not isinstance(provider, str) or not provider:
        raise BadInvocation(f"{what} needs a `provider`")
    if kind not in KINDS:
        raise BadInvocation(f"{what}: `kind` is not one of {', '.join(KINDS)}")
    if ttl is not None and (not isinstance(ttl, int | float) or isinstance(ttl, bool) or ttl < 0):
        raise BadInvocation(f"{what}: `ttl` must be a number of seconds")
    used = [field for field in KEY_FIELDS if field in table]
    if len(used) != 1:
        raise BadInvocation(f"{what} needs exactly one of {', '.join(KEY_FIELDS)}")
    return Profile(name, provider, used[0], text_list(table[used[0]], f"{what}: `{used[0]}`"), kind, ttl)


def text_list(given: Any, what: str) -> tuple[str, ...]:
    """The texts of a value that is one text or a list of texts, none empty. Raises BadInvocation."""
    found = (given,) if isinstance(given, str) else given
    if not isinstance(found, list | tuple) or not found or not all(isinstance(t, str) and t.strip() for t in found):
        raise BadInvocation(f"{what} must be a text or a list of texts")
    return tuple(text.strip() for text in found)


def names_endpoint(name: str, endpoint: Endpoint) -> bool:
    """Does a name in the config file mean this provider? Case is ignored; other names of the provider count."""
    return name.lower() in (endpoint.name, *endpoint.names)


def profiles_of(endpoint: Endpoint, settings: Settings) -> list[Profile]:
    """The provider's profiles, in the order of the file."""
    read = (read_profile(name, table, settings.config_file) for name, table in settings.credentials.profiles.items())
    return [profile for profile in read if names_endpoint(profile.provider, endpoint)]


def literal_keys(profiles: Mapping[str, Any], file: str) -> list[str]:
    """The keys that are written in the tables themselves."""
    read = (read_profile(name, table, file) for name, table in profiles.items())
    return [key for profile in read if profile.source in ("key", "keys") for key in profile.given]


def key_variables(profiles: Mapping[str, Any], file: str) -> list[str]:
    """The environment variables that profiles read keys from."""
    read = (read_profile(name, table, file) for name, table in profiles.items())
    return [name for profile in read if profile.source == "key_env" for name in profile.given]


def check_profile(profile: Profile, settings: Settings, learn: Learn) -> CheckedPlace:
    """The key or keys of a profile."""
    place = f"profile '{profile.name}'"
    first, env = profile.given[0], settings.env
    match profile.source:
        case "key_env":
            key = env.get(first, "").strip()
            if not key:
                return CheckedPlace(place, note=f"${first} is not set", warning=f"{place}: ${first} is not set")
            learn(key)
            return CheckedPlace(place, (FixedKey(Credential(key, profile.kind, f"{place} (${first})")),))
        case "key_file":
            from yume_shim.config.key_files import check_file, expand_home

            file = check_file(expand_home(first, env), "text", "", f"{place} ({first})", profile.kind, learn)
            # a file that a profile names should exist, unlike those of vendors' programs
            warning = file.warning or ("" if file.sources else f"{file.name}: {file.note}")
            return CheckedPlace(place, file.sources, file.note, warning)
        case "key_command":
            from yume_shim.config.key_helper import CommandKey, ttl_seconds

            label = Credential("", profile.kind, f"{place} (key_command)")
            ttl = ttl_seconds(env) if profile.ttl is None else profile.ttl
            return CheckedPlace(place, (CommandKey(first, label, ttl, env, settings.cwd, learn),), "a command")
        case _:
            return CheckedPlace(place, fixed_keys(profile.given, place, profile.kind, learn))


def fixed_keys(keys: tuple[str, ...], place: str, kind: Literal["key", "token"], learn: Learn) -> tuple[FixedKey, ...]:
    """The keys of one place; if there are several, their names are numbered."""
    for key in keys:
        learn(key)
    if len(keys) == 1:
        return (FixedKey(Credential(keys[0], kind, place)),)
    return tuple(FixedKey(Credential(key, kind, f"{place} #{n}")) for n, key in enumerate(keys, 1))
