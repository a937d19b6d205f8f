"""Completes the addresses that users write for their own servers: a bare host, a listening address, with or without the
path of an API. Only for rows that have `bare_host_port` or `paths`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

LISTEN_ADDRESSES = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]", "": "127.0.0.1"}
"""Addresses that a server listens on but a client cannot connect to -> the address to connect to."""


def full_address(text: str, port: int) -> str:
    """`host`, `host:port`, `:port`, `0.0.0.0`, `[::1]:port` or a whole URL -> a URL. The port is added only
    without a scheme; `http://host` means port 80, as in the server's own client."""
    text = text.strip().strip("\"'")
    scheme, mark, rest = text.partition("://")
    if not mark:
        scheme, rest = "http", text
    where, slash, path = rest.partition("/")
    login, at, where = where.rpartition("@")
    if where.count(":") > 1 and not where.startswith("["):
        where = f"[{where}]"  # an IPv6 address without its brackets
    host, given = (where, "") if where.endswith("]") else _cut_port(where)
    host = LISTEN_ADDRESSES.get(host, host)
    if not mark and not given:
        given = str(port)
    return f"{scheme}://{login}{at}{host}{':' if given else ''}{given}{slash}{path}"


def with_path(base: str, paths: Mapping[str, str], api: str) -> str:
    """The server's address for that API: the path of another API is removed, its own added."""
    base = base.rstrip("/")
    for path in paths.values():
        if path and base.endswith(path):
            base = base.removesuffix(path)
            break
    return base + paths.get(api, "")


def _cut_port(where: str) -> tuple[str, str]:
    host, colon, port = where.rpartition(":")
    return (host, port) if colon else (where, "")
