"""Which proxy the environment names for an address, and the request for a tunnel through it.

The variables are read as curl reads them: HTTPS_PROXY or HTTP_PROXY by the scheme of the address, else ALL_PROXY, lower
case first. NO_PROXY is a comma list of names (with their subdomains), addresses, networks, `host:port` and `*`.
"""

from __future__ import annotations

from yume_shim.net.url import parse_url, unquote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from yume_shim.net.url import Url


def choose_proxy(url: Url, env: Mapping[str, str]) -> Url | None:
    """The proxy for this address, None = connect directly. Raises ValueError for a proxy we cannot use."""
    for name in (f"{url.scheme}_proxy", f"{url.scheme.upper()}_PROXY", "all_proxy", "ALL_PROXY"):
        text = env.get(name, "").strip()
        if not text:
            continue
        if _excepted(url, env.get("no_proxy") or env.get("NO_PROXY") or ""):
            return None
        return _proxy_url(text, name)
    return None


def proxy_auth(proxy: Url) -> dict[str, str]:
    """`Proxy-Authorization` from the name and password in the proxy's address."""
    return {"Proxy-Authorization": basic_auth(proxy.userinfo)} if proxy.userinfo else {}


def basic_auth(userinfo: str) -> str:
    """The value of an Authorization header for the `user:password` part of an address."""
    from binascii import b2a_base64

    user, _, password = userinfo.partition(":")
    return "Basic " + b2a_base64(f"{unquote(user)}:{unquote(password)}".encode(), newline=False).decode("ascii")


def connect_request(target: Url, proxy: Url) -> bytes:
    """The CONNECT that turns a proxy into a tunnel."""
    lines = [f"CONNECT {target.place} HTTP/1.1", f"Host: {target.place}"]
    lines += [f"{name}: {text}" for name, text in proxy_auth(proxy).items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _proxy_url(text: str, name: str) -> Url:
    if "://" not in text:
        text = f"http://{text}"
    scheme = text.partition("://")[0].lower()
    if scheme != "http":
        raise ValueError(f"{name} names a {scheme} proxy; only http:// proxies can be used")
    try:
        return parse_url(text)
    except ValueError:
        raise ValueError(f"{name} is not an address of a proxy") from None  # the text may hold a password


def _excepted(url: Url, no_proxy: str) -> bool:
    for entry in no_proxy.replace(" ", ",").split(","):
        entry = entry.strip().lower()
        if not entry:
            continue
        if entry == "*" or _names(url, entry):
            return True
    return False


def _names(url: Url, entry: str) -> bool:
    if "/" in entry:
        return _in_network(url.host, entry)
    host, _, port = entry.rpartition(":") if entry.count(":") == 1 or "]:" in entry else (entry, "", "")
    if port and port != str(url.port):
        return False
    host = host.strip("[]").removeprefix("*").strip(".")
    return url.host == host or url.host.endswith("." + host)


def _in_network(host: str, network: str) -> bool:
    from ipaddress import ip_address, ip_network

    try:
        return ip_address(host) in ip_network(network, strict=False)
    except ValueError:
        return False
