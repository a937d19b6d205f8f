"""What about a key, or about the variables that may be meant for one, makes a refusal likely. Never shows any of it."""

from __future__ import annotations

from yume_shim.config.key_places import clean_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from yume_shim.types.models import Endpoint

QUOTES = "\"'`"
ENDINGS = ("KEY", "TOKEN")
MAX_NAMED = 3


def key_doubt(key: str) -> str:
    """Why no vendor takes this key; "" if nothing is to be seen."""
    if key[:1] in QUOTES or key[-1:] in QUOTES:
        return "it is in quotation marks, which are sent with it"
    try:
        clean_key(key)
    except ValueError:
        return "it has blanks, line breaks or letters outside ASCII"
    return ""


def near_variables(endpoint: Endpoint, env: Mapping[str, str]) -> str:
    """`; $OPENAI_KEY is set, but not read`: variables whose names look like those that would be read."""
    read = {*endpoint.key_vars, *endpoint.token_vars}
    vendors = tuple({name.partition("_")[0] for name in read} | {endpoint.name.upper()})
    near = [
        name
        for name in sorted(env)
        if name not in read
        and name.upper().startswith(vendors)
        and name.upper().endswith(ENDINGS)
        and env[name].strip()
    ]
    return "".join(f"; ${name} is set, but not read" for name in near[:MAX_NAMED])
