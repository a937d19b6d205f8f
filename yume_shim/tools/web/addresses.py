"""Decides which IP addresses pages may be fetched from: public ones only, in whatever form they are written."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

NAT64 = "64:ff9b::/96"
SPECIAL = ("192.0.0.0/24", "192.88.99.0/24", "100.64.0.0/10")
"""IPv4 networks of the IANA special-purpose registry that older Pythons consider public."""
PUBLIC_V6 = "2000::/3"
"""Everything that IANA has allocated for public use."""


def why_refused(address: str) -> str:
    """The kind of address if pages may not be fetched from it; "" for a public one."""
    from ipaddress import ip_address

    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return "not an IP address"
    return next((reason for form in _forms(parsed) if (reason := _kind(form))), "")


def _forms(address: IPv4Address | IPv6Address) -> list[IPv4Address | IPv6Address]:
    """The address, and the IPv4 addresses that it embeds."""
    from ipaddress import IPv4Address, ip_network

    if isinstance(address, IPv4Address):
        return [address]
    hidden = (address.ipv4_mapped, address.sixtofour, *(address.teredo or ()))
    inside: list[IPv4Address | IPv6Address] = [form for form in hidden if form is not None]
    low = IPv4Address(int(address) & 0xFFFFFFFF)
    if address in ip_network(NAT64):
        return [low]  # the prefix itself is public
    if int(address) >> 32 == 0 and int(address) > 1:  # ::a.b.c.d, the old compatible form
        inside.append(low)
    return [*inside, address] if address.ipv4_mapped is None else inside


def _kind(address: IPv4Address | IPv6Address) -> str:
    from ipaddress import ip_network

    if address.is_loopback:
        return "a loopback address"
    if address.is_unspecified:
        return "the unspecified address"
    if address.is_link_local:
        return "a link-local address"
    if address.is_multicast:
        return "a multicast address"
    if address.is_private:
        return "a private address"
    if address.version == 6:
        special = address not in ip_network(PUBLIC_V6)
    else:
        special = any(address in ip_network(network) for network in SPECIAL)
    return "a reserved address" if special or address.is_reserved or not address.is_global else ""
