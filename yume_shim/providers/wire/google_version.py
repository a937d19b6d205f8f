"""The version in addresses of the Gemini API: one rule for chat, model list and limits."""

from __future__ import annotations

from yume_shim.text.late_pattern import late_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.models import Endpoint

DEFAULT_VERSION = "v1"
_VERSION = late_pattern(r"v\d+((alpha|beta)\d*)?")


def is_version(text: object) -> bool:
    """Is this a version as it may stand in an address?"""
    return isinstance(text, str) and _VERSION.fullmatch(text) is not None


def versioned(endpoint: Endpoint, path: str) -> tuple[str, str]:
    """(base URL to use instead of the endpoint's, or ""; path). A version in the base URL is kept, unless the quirk
    `api_version` names another; without either it is v1."""
    wanted = endpoint.quirks.api_version
    address, mark, query = endpoint.base_url.partition("?")
    scheme, slashes, rest = address.partition("://")
    steps = rest.split("/")
    place = next((place for place, step in enumerate(steps) if place and is_version(step)), 0)
    if not place:
        return "", f"/{wanted or DEFAULT_VERSION}{path}"
    if not wanted or steps[place] == wanted:
        return "", path
    steps[place] = wanted
    return scheme + slashes + "/".join(steps) + mark + query, path
