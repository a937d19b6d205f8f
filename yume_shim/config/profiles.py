"""`[profiles.NAME]` of the config file: credentials with a name, of which one can be chosen."""

from __future__ import annotations

from yume_shim.config.key_places import FixedKey, Look
from yume_shim.types.errors import BadInvocation
from yume_shim.types.models import Credential
from yume_shim.types.value import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    from yume_shim.config.key_places import Learn
    from yume_shim.types.models import Endpoint
    from yume_shim.types.settings import Settings

_WAYS = ("key", "keys", "key_env", "key_file", "key_command")
_KINDS = ("key", "token")


@value
class Profile:
    """One table. `way` says which of the five ways to a key is taken, `given` what is written there."""

    name: str
    provider: str
    way: str
    given: tuple[str, ...]
    kind: Literal["key", "token"] = "key"
    ttl: float | None = None


def read_profile(name: str, table: Any, file: str) -> Profile:
    """Check one table; raises BadInvocation that says what is wrong, without quoting values."""
    what = f"{file}: [profiles.{name}]"
    if not hasattr(table, "items"):
        raise BadInvocation(f"{what} must be a table")
    unknown = [key for key in table if key not in (*_WAYS, "provider", "kind", "ttl")]
    if unknown:
        raise BadInvocation(f"{what} does not know {', '.join(unknown)}")
    provider, kind, ttl = table.get("provider"), table.get("kind", "key"), table.get("ttl")
    if not isinstance(provider, str) or not provider:
        raise BadInvocation(f"{what} needs a `provider`")
    if kind not in _KINDS:
        raise BadInvocation(f"{what}: `kind` is not one of {', '.join(_KINDS)}")
    if ttl is not None and (not isinstance(ttl, int | float) or isinstance(ttl, bool) or ttl < 0):
        raise BadInvocation(f"{what}: `ttl` must be a number of seconds")
    ways = [way for way in _WAYS if way in table]
    if len(ways) != 1:
        raise BadInvocation(f"{what} needs exactly one of {', '.join(_WAYS)}")
    return Profile(name, provider, ways[0], texts(table[ways[0]], f"{what}: `{ways[0]}`"), kind, ttl)


def texts(given: Any, what: str) -> tuple[str, ...]:
    """One text or a list of texts, none empty."""
    found = (given,) if isinstance(given, str) else given
    if not isinstance(found, list | tuple) or not found or not all(isinstance(t, str) and t.strip() for t in found):
        raise BadInvocation(f"{what} must be a text or a list of texts")
    return tuple(text.strip() for text in found)


def means(name: str, endpoint: Endpoint) -> bool:
    """Is this provider meant by a name in the config file? As people write it, or by its other names."""
    return name.lower() in (endpoint.name, *endpoint.names)


def profiles_of(endpoint: Endpoint, settings: Settings) -> list[Profile]:
    """The profiles of a provider, in the order of the file."""
    read = (read_profile(name, table, settings.config_file) for name, table in settings.credentials.profiles.items())
    return [profile for profile in read if means(profile.provider, endpoint)]


def written_keys(profiles: Mapping[str, Any], file: str) -> list[str]:
    """The keys that stand in the tables themselves."""
    read = (read_profile(name, table, file) for name, table in profiles.items())
    return [key for profile in read if profile.way in ("key", "keys") for key in profile.given]


def key_variables(profiles: Mapping[str, Any], file: str) -> list[str]:
    """The variables that profiles take keys from."""
    read = (read_profile(name, table, file) for name, table in profiles.items())
    return [name for profile in read if profile.way == "key_env" for name in profile.given]


def look_at_profile(profile: Profile, settings: Settings, learn: Learn) -> Look:
    """The key or keys that a profile leads to."""
    place = f"profile '{profile.name}'"
    first, env = profile.given[0], settings.env
    match profile.way:
        case "key_env":
            key = env.get(first, "").strip()
            if not key:
                return Look(place, note=f"${first} is not set", warning=f"{place}: ${first} is not set")
            learn(key)
            return Look(place, (FixedKey(Credential(key, profile.kind, f"{place} (${first})")),))
        case "key_file":
            from yume_shim.config.key_files import at_home, look_at_file

            look = look_at_file(at_home(first, env), "text", "", f"{place} ({first})", profile.kind, learn)
            # a file that a profile names is meant to be there, unlike those of vendors' programs
            told = look.warning or ("" if look.sources else f"{look.place}: {look.note}")
            return Look(place, look.sources, look.note, told)
        case "key_command":
            from yume_shim.config.key_helper import CommandKey, ttl_seconds

            label = Credential("", profile.kind, f"{place} (key_command)")
            ttl = ttl_seconds(env) if profile.ttl is None else profile.ttl
            return Look(place, (CommandKey(first, label, ttl, env, settings.cwd, learn),), "a command")
        case _:
            return Look(place, fixed_keys(profile.given, place, profile.kind, learn))


def fixed_keys(keys: tuple[str, ...], place: str, kind: Literal["key", "token"], learn: Learn) -> tuple[FixedKey, ...]:
    """Keys of one place; several are told apart by their number."""
    for key in keys:
        learn(key)
    if len(keys) == 1:
        return (FixedKey(Credential(keys[0], kind, place)),)
    return tuple(FixedKey(Credential(key, kind, f"{place} #{n}")) for n, key in enumerate(keys, 1))
