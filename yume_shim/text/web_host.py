"""The host that a URL names, in one form: permission rules compare it, and WebFetch connects to it.

Programs disagree about hosts in odd notations: `http://ｌocalhost/`, `0x7f.1`, `a\\@b`, `%6cocalhost`, trailing dots.
Here each notation means one host or none: what cannot be read with certainty is refused, not guessed.
"""

from __future__ import annotations

import re

MAX_HOST = 1_000
"""Characters of a host as written; a name has at most 253."""
MAX_NAME = 253

_AUTHORITY = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)")
_NAME = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
_PORT = re.compile(r":[0-9]{1,5}")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_IPV4_PARTS = 4


def host_of(url: str) -> str:
    """The host of an absolute http or https URL: lower-case ASCII, numbers as dotted quads, IPv6 without brackets.
    Raises ValueError if there is none, or if programs may read it differently."""
    if any(char.isspace() or ord(char) < 0x20 or ord(char) == 0x7F for char in url):
        raise ValueError("spaces or control characters")
    found = _AUTHORITY.match(url)
    if found is None or found[1].lower() not in ("http", "https"):
        raise ValueError("not an http or https URL")
    authority = found[2]
    if "@" in authority or "\\" in authority:
        raise ValueError("a user name, or a backslash")
    end = authority.find("]") + 1 if authority.startswith("[") else len(authority.partition(":")[0])
    host, port = authority[:end], authority[end:]
    if port and not _PORT.fullmatch(port):
        raise ValueError("not a port")
    return plain_host(host)


def plain_host(text: str) -> str:
    """A host as written, in the one form. Raises ValueError."""
    if text.startswith("["):
        return _ipv6(text)
    if not text or len(text) > MAX_HOST or "%" in text:
        raise ValueError("not a host")
    # UnicodeError is a ValueError: labels that are empty or too long, characters that no name may have
    name = text.encode("idna").decode("ascii").lower().removesuffix(".")
    if len(name) > MAX_NAME or not _NAME.fullmatch(name):
        raise ValueError("not a host")
    return _ipv4(name) if _NUMBER.fullmatch(name.rpartition(".")[2]) else name


def host_matches(pattern: str, host: str) -> bool:
    """Whether the host of a rule (`x.org`, or `*.x.org` for all below it) covers a host in the one form."""
    pattern = pattern.strip()
    known = written_host(pattern.removeprefix("*."))
    if not known:
        return False
    return host.endswith(f".{known}") if pattern.startswith("*.") else host == known


def written_host(text: str) -> str:
    """A host as people write it in settings, in the one form; IPv6 without brackets too. "" if it is none."""
    try:
        return plain_host(f"[{text}]" if ":" in text and not text.startswith("[") else text)
    except ValueError:
        return ""


def _ipv6(text: str) -> str:
    from ipaddress import IPv6Address

    if not text.endswith("]") or "%" in text:
        raise ValueError("not an address, or one with a zone")
    address = IPv6Address(text[1:-1])
    return str(address.ipv4_mapped or address)


def _ipv4(name: str) -> str:
    """A name whose last part is a number is an address, in any notation that `inet_aton` takes: 127.1, 0x7f000001."""
    parts = name.split(".")
    if len(parts) > _IPV4_PARTS or not all(_NUMBER.fullmatch(part) for part in parts):
        raise ValueError("not an address")
    numbers = [_number(part) for part in parts]
    if any(number > 255 for number in numbers[:-1]) or numbers[-1] >= 256 ** (_IPV4_PARTS + 1 - len(numbers)):
        raise ValueError("not an address")
    whole = numbers[-1] + sum(number << 8 * (3 - place) for place, number in enumerate(numbers[:-1]))
    return ".".join(str(whole >> shift & 255) for shift in (24, 16, 8, 0))


def _number(part: str) -> int:
    if part.startswith("0x"):
        return int(part[2:] or "0", 16)
    return int(part, 8 if len(part) > 1 and part.startswith("0") else 10)
