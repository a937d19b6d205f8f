"""The environment of commands that run unasked: without secrets of tools, and so that git neither locks nor runs
programs that a repository names."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SECRET_ENDINGS = (
    *("_TOKEN", "_SECRET", "_API_KEY", "_APIKEY", "_PASSWORD", "_PASSWD", "_PASSPHRASE", "_PRIVATE_KEY"),
    *("_ACCESS_KEY", "_ACCESS_KEY_ID", "_SECRET_KEY", "_CREDENTIALS", "_PAT", "_DSN", "_CONNECTION_STRING"),
)
"""Endings of variables that hold secrets of tools; a whole name such as TOKEN or PGPASSWORD counts as well."""
_NAMES = (
    "TOKEN SECRET API_KEY APIKEY PASSWORD PASSPHRASE CREDENTIALS PGPASSWORD MYSQL_PWD DATABASE_URL REDIS_URL "
    "MONGODB_URI SSH_AUTH_SOCK GPG_AGENT_INFO DBUS_SESSION_BUS_ADDRESS"
)
"""The last three name sockets of agents that hold keys."""
SECRET_NAMES = frozenset(_NAMES.split())
PUBLIC_PREFIXES = ("NEXT_PUBLIC_", "VITE_", "REACT_APP_", "PUBLIC_", "EXPO_PUBLIC_", "NUXT_PUBLIC_")
"""Variables that build tools put into pages for everyone: they stay."""
GIT_SETTINGS = (
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("log.showSignature", "false"),
)
"""Settings by which a repository could name programs to run."""


def is_secret(name: str, keep: tuple[str, ...] = ()) -> bool:
    """Does a variable of this name hold a secret that an unasked command has no use for?"""
    upper = name.upper()
    if name in keep or upper.startswith(PUBLIC_PREFIXES):
        return False
    return upper in SECRET_NAMES or upper.endswith(SECRET_ENDINGS)


def unasked_environment(env: Mapping[str, str], folder: str, keep: tuple[str, ...] = ()) -> dict[str, str]:
    """The environment without secrets; temporary files go to `folder`."""
    made = {name: text for name, text in env.items() if not is_secret(name, keep)}
    made.update(TMPDIR=folder, TMP=folder, TEMP=folder, GIT_OPTIONAL_LOCKS="0")
    count = made.get("GIT_CONFIG_COUNT", "0")
    first = int(count) if count.isascii() and count.isdigit() and len(count) < 4 else 0
    for place, (key, text) in enumerate(GIT_SETTINGS, first):
        made[f"GIT_CONFIG_KEY_{place}"], made[f"GIT_CONFIG_VALUE_{place}"] = key, text
    made["GIT_CONFIG_COUNT"] = str(first + len(GIT_SETTINGS))
    return made
