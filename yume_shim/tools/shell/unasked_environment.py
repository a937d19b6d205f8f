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
    *((f"gpg.{kind}program", "false") for kind in ("", "openpgp.", "x509.", "ssh.")),
    ("core.sshCommand", "false"),
    ("core.alternateRefsCommand", "false"),
    ("diff.submodule", "short"),
    ("status.submoduleSummary", "false"),
    ("safe.bareRepository", "explicit"),
)
"""Settings by which a repository could name programs to run, and one by which git does not take any folder with the
right files for a repository. Filters, textconv and included files cannot be switched off: the gate asks about them."""
GIT_VARIABLES = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
}
"""git neither writes its index nor asks another host for missing objects."""
GIT_REMOVED = ("GIT_EXTERNAL_DIFF", "GIT_TRACE2_EVENT", "GIT_TRACE2_PERF", "GIT_TRACE2")
"""Variables by which git runs a program or writes a file."""


def is_secret(name: str, keep: tuple[str, ...] = ()) -> bool:
    """Does a variable of this name hold a secret that an unasked command has no use for?"""
    upper = name.upper()
    if name in keep or upper.startswith(PUBLIC_PREFIXES):
        return False
    return upper in SECRET_NAMES or upper.endswith(SECRET_ENDINGS)


def unasked_environment(env: Mapping[str, str], folder: str, keep: tuple[str, ...] = ()) -> dict[str, str]:
    """The environment without secrets; temporary files go to `folder`."""
    made = {name: text for name, text in env.items() if not is_secret(name, keep) and name not in GIT_REMOVED}
    made.update(GIT_VARIABLES, TMPDIR=folder, TMP=folder, TEMP=folder)
    count = made.get("GIT_CONFIG_COUNT", "0")
    first = int(count) if count.isascii() and count.isdigit() and len(count) < 4 else 0
    for place, (key, text) in enumerate(GIT_SETTINGS, first):
        made[f"GIT_CONFIG_KEY_{place}"], made[f"GIT_CONFIG_VALUE_{place}"] = key, text
    made["GIT_CONFIG_COUNT"] = str(first + len(GIT_SETTINGS))
    return made
