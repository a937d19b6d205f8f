"""One image: identified by its first bytes, sent as it is where the endpoint takes it, otherwise converted. Pure."""

from __future__ import annotations

from yume_shim.text.image_head import MEASURED, dimensions, image_kind
from yume_shim.types.blocks import Image
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.types.models import Quirks

    Convert = Callable[[bytes, str, "Limits"], tuple[str, bytes]]
    """(file, its media type, limits) -> media type and bytes within the limits. Raises MediaRefused."""

TAIL_BYTES = 4_096
"""The end mark is searched in the last bytes of a file, this many: cameras and editors append data after it."""
PNG, JPEG = "image/png", "image/jpeg"


class Limits(Value):
    """What an endpoint takes; 0 = no limit."""

    formats: tuple[str, ...]
    bytes: int
    side: int


class MediaRefused(Exception):
    """It cannot be sent; the text says why, as the end of "an image is left out: …"."""


def limits_of(quirks: Quirks) -> Limits:
    """The limits of an endpoint, from its quirks."""
    return Limits(quirks.image_formats, quirks.image_bytes, quirks.image_side)


def fit_image(image: Image, limits: Limits, convert: Convert) -> Image:
    """The image itself if the endpoint takes it, else a converted one. Raises MediaRefused."""
    data = decode_base64(image.data)
    kind = image_kind(data)
    if not _is_taken(kind, data, limits):
        kind, data = convert(data, kind, limits)
        return Image(kind, _encoded(data))
    packed = _encoded(data)
    if kind == image.media_type and packed == image.data:
        return image
    return Image(kind, packed)


def _is_taken(kind: str, data: bytes, limits: Limits) -> bool:
    if kind not in limits.formats or not is_whole(kind, data) or (limits.bytes and len(data) > limits.bytes):
        return False
    if kind not in MEASURED:  # the size of a format that only some endpoints take (HEIC) is not read
        return True
    extent = dimensions(kind, data)
    return extent is not None and not (limits.side and max(extent) > limits.side)


def decode_base64(text: str) -> bytes:
    """The bytes of base64 text, also if it has line breaks, no padding or the URL alphabet. Raises MediaRefused."""
    from base64 import b64decode
    from binascii import Error

    try:
        return b64decode(text, validate=True)
    except (Error, ValueError):
        pass
    plain = "".join(text.split()).rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (Error, ValueError):
        raise MediaRefused("its data is not base64") from None


def _encoded(data: bytes) -> str:
    from base64 import b64encode

    return b64encode(data).decode("ascii")


def is_whole(kind: str, data: bytes) -> bool:
    """Does the file end as such a file must? Every API refuses a truncated one ("Could not process image"), and with it
    every later request of the conversation."""
    match kind:
        case "image/png":
            return b"IEND\xaeB`\x82" in data[-TAIL_BYTES:]
        case "image/jpeg":
            return b"\xff\xd9" in data[-TAIL_BYTES:]
        case "image/gif":
            return data.rstrip(b"\0").endswith(b";")  # one byte: any 4,096 bytes may contain it
        case "image/webp":
            return len(data) + 1 >= 8 + int.from_bytes(data[4:8], "little")  # the last byte may be padding
        case _:
            return True
