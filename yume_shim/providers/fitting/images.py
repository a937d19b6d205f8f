"""One image as an endpoint takes it: told by its first bytes, scaled or converted where it must be, or refused with a
reason. Pure, and the same image always becomes the same bytes: a prompt cache would not find its prefix otherwise."""

from __future__ import annotations

from yume_shim.text.image_head import MEASURED, dimensions, image_kind
from yume_shim.types.blocks import Image
from yume_shim.types.value import value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.types.models import Quirks

MAX_PIXELS = 80_000_000
"""More are not decoded: a few kilobytes can unpack to gigabytes, and four bytes a pixel are 320 MB already."""
READERS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "ICO", "PPM", "AVIF")
"""The file formats that are opened. Some others would start programs (EPS runs Ghostscript)."""
QUALITIES = (90, 75, 60)
"""JPEG qualities that are tried before an image is made smaller."""
PNG_LEVEL = 3
"""zlib's. Its usual 6 takes twice the time for a scaled screenshot and does not make it smaller (measured)."""
SHRINK = 0.75
"""Each further step keeps this part of both sides."""
MAX_STEPS = 12
"""0.75 to the 12th is 3 %: what is still too large then is left out."""

TAIL = 4_096
"""The end mark of a file is looked for in so many bytes: cameras and editors write things behind it."""

MAX_SCANS = 100
"""Passes over a progressive JPEG that are decoded. Encoders write about ten; each further one takes a hundred bytes of
the file and up to a tenth of a second."""

PNG, JPEG = "image/png", "image/jpeg"


@value
class Limits:
    """What an endpoint takes; 0 = no limit."""

    formats: tuple[str, ...]
    bytes: int
    side: int


class MediaRefused(Exception):
    """It cannot be sent; the text says why, as the end of "an image is left out: …"."""


def limits_of(quirks: Quirks) -> Limits:
    """The limits that an endpoint's quirks tell."""
    return Limits(quirks.image_formats, quirks.image_bytes, quirks.image_side)


def fit_image(image: Image, limits: Limits) -> Image:
    """The image itself if it may go as it is, else another one that may. Raises MediaRefused."""
    data = decoded(image.data)
    kind = image_kind(data)
    if not _may_go(kind, data, limits):
        kind, data = _remade(data, kind, limits)
        return Image(kind, _encoded(data))
    packed = _encoded(data)
    if kind == image.media_type and packed == image.data:
        return image
    return Image(kind, packed)


def _may_go(kind: str, data: bytes, limits: Limits) -> bool:
    if kind not in limits.formats or not is_whole(kind, data) or (limits.bytes and len(data) > limits.bytes):
        return False
    if kind not in MEASURED:  # a format that only some take (HEIC) is not looked into
        return True
    extent = dimensions(kind, data)
    return extent is not None and not (limits.side and max(extent) > limits.side)


def decoded(text: str) -> bytes:
    """The bytes behind base64, also when it has line breaks, no padding or the URL alphabet. Raises MediaRefused."""
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
    """Does it end as such a file ends? A cut one is refused by every API ("Could not process image"), in every request
    of the conversation from then on."""
    match kind:
        case "image/png":
            return b"IEND\xaeB`\x82" in data[-TAIL:]
        case "image/jpeg":
            return b"\xff\xd9" in data[-TAIL:]
        case "image/gif":
            return data.rstrip(b"\0").endswith(b";")  # one byte, which any 4,096 others hold too
        case "image/webp":
            return len(data) + 1 >= 8 + int.from_bytes(data[4:8], "little")  # the last byte may be padding
        case _:
            return True


# ---------------------------------------------------------------- making another one


def _remade(data: bytes, kind: str, limits: Limits) -> tuple[str, bytes]:
    """The image decoded and written again within the limits: its first frame, upright."""
    import warnings

    import PIL.Image
    import PIL.ImageOps

    if kind == JPEG and data.count(b"\xff\xda") > MAX_SCANS:
        raise MediaRefused("it has too many scans")
    # Odd metadata is told on stderr otherwise. (`catch_warnings` is for one thread only.)
    warnings.filterwarnings("ignore", module=r"PIL\.")
    PIL.Image.MAX_IMAGE_PIXELS = MAX_PIXELS // 2  # twice as many are refused, also those of an image inside another
    try:
        picture: Any = _opened(data, limits.side)
        picture.load()
        picture = PIL.ImageOps.exif_transpose(picture)
    except PIL.Image.DecompressionBombError:
        raise MediaRefused("it has too many pixels") from None
    except PIL.UnidentifiedImageError:
        raise MediaRefused("it is in no image format that can be read") from None
    except (OSError, ValueError, SyntaxError, EOFError, IndexError, KeyError, TypeError, MemoryError) as error:
        # Pillow's readers raise all of these on broken files.
        raise MediaRefused(f"it cannot be read ({type(error).__name__})") from None
    if limits.side and max(picture.size) > limits.side:
        picture = _resized(picture, limits.side / max(picture.size))
    return _written(picture, kind, limits)


def _opened(data: bytes, side: int) -> Any:
    from io import BytesIO

    import PIL.Image

    picture: Any = PIL.Image.open(BytesIO(data), formats=READERS)
    wide, high = picture.size
    longest = max(wide, high)
    if side and longest > side:
        # JPEG only: decoded at a half, a quarter or an eighth, as long as neither side becomes too short
        picture.draft(None, (wide * side // longest, high * side // longest))
    return picture


def _resized(picture: Any, factor: float) -> Any:
    import PIL.Image

    wide, high = (max(1, int(length * factor)) for length in picture.size)
    return _plain(picture).resize((wide, high), PIL.Image.Resampling.LANCZOS)


def _plain(picture: Any) -> Any:
    """In a mode that can be scaled and saved in both formats."""
    if picture.mode in ("RGB", "RGBA", "L", "LA"):
        return picture
    if picture.mode.startswith("I;16"):  # converting clips at 255 instead of scaling
        return picture.convert("I").point(lambda level: level / 256).convert("L")
    clear = "A" in picture.getbands() or "a" in picture.getbands() or "transparency" in picture.info
    return picture.convert("RGBA" if clear else "RGB")


def _written(picture: Any, kind: str, limits: Limits) -> tuple[str, bytes]:
    """As PNG, which loses nothing, if that is small enough; photographs, and what is too large, as JPEG."""
    picture = _plain(picture)
    for step in range(MAX_STEPS):
        # What did not fit as a poorer JPEG will not fit as a PNG of three quarters, which takes ten times as long.
        if PNG in limits.formats and (JPEG not in limits.formats or (step == 0 and kind != JPEG)):
            data = _saved(picture, "PNG", compress_level=PNG_LEVEL)
            if not limits.bytes or len(data) <= limits.bytes:
                return PNG, data
        if JPEG in limits.formats:
            for quality in QUALITIES:
                data = _saved(_on_white(picture), "JPEG", quality=quality)
                if not limits.bytes or len(data) <= limits.bytes:
                    return JPEG, data
        picture = _resized(picture, SHRINK)
    raise MediaRefused("it cannot be made small enough")


def _on_white(picture: Any) -> Any:
    """JPEG knows no transparency."""
    import PIL.Image

    if picture.mode not in ("RGBA", "LA"):
        return picture
    ground = PIL.Image.new("RGB", picture.size, "white")
    ground.paste(picture.convert("RGB"), mask=picture.getchannel("A"))
    return ground


def _saved(picture: Any, form: str, **options: Any) -> bytes:
    """Without what would be carried along from the file it came from (colour profiles, EXIF, comments)."""
    from io import BytesIO

    picture.info = {}
    out = BytesIO()
    picture.save(out, form, **options)
    return out.getvalue()
