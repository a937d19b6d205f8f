"""An image decoded and written again within an endpoint's limits, by Pillow. Runs in the worker process.

The same image always becomes the same bytes: otherwise prompt caches would not find their prefix.
"""

from __future__ import annotations

from yume_shim.providers.fitting.media.images import JPEG, PNG, MediaRefused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.providers.fitting.media.images import Limits

MAX_PIXELS = 80_000_000
"""Images with more are not decoded: a few kilobytes can unpack to gigabytes, and 80 million pixels take 320 MB."""
READERS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "ICO", "PPM", "AVIF")
"""The file formats that are opened. Some others would start programs (EPS runs Ghostscript)."""
MAX_SCANS = 100
"""Scans of a progressive JPEG that are decoded. Encoders write about ten; each further one takes a hundred bytes of the
file and up to a tenth of a second."""
QUALITIES = (90, 75, 60)
"""JPEG qualities that are tried before an image is scaled down."""
PNG_LEVEL = 3
"""zlib's compression level. The usual 6 takes twice the time for a scaled screenshot and saves nothing (measured)."""
SCALE_STEP = 0.75
"""Each further step keeps this part of both sides."""
MAX_STEPS = 12
"""0.75 to the power of 12 is 3 %: an image that is still too large then is left out."""


def convert_image(data: bytes, kind: str, limits: Limits) -> tuple[str, bytes]:
    """(media type, bytes) of the image within the limits: its first frame, upright. Raises MediaRefused."""
    import PIL.Image
    import PIL.ImageOps

    if kind == JPEG and data.count(b"\xff\xda") > MAX_SCANS:
        raise MediaRefused("it has too many scans")
    PIL.Image.MAX_IMAGE_PIXELS = MAX_PIXELS // 2  # Pillow refuses twice as many, also for an image inside another
    try:
        picture: Any = _opened(data, limits.side)
        picture.load()
        picture = PIL.ImageOps.exif_transpose(picture)
    except PIL.Image.DecompressionBombError:
        raise MediaRefused("it has too many pixels") from None
    except PIL.UnidentifiedImageError:
        raise MediaRefused("its image format is not supported") from None
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
        # JPEG only: decode at a half, a quarter or an eighth, while neither side becomes too short
        picture.draft(None, (wide * side // longest, high * side // longest))
    return picture


def _resized(picture: Any, factor: float) -> Any:
    import PIL.Image

    wide, high = (max(1, int(length * factor)) for length in picture.size)
    return _plain(picture).resize((wide, high), PIL.Image.Resampling.LANCZOS)


def _plain(picture: Any) -> Any:
    """The image in a mode that can be scaled, and saved in both formats."""
    if picture.mode in ("RGB", "RGBA", "L", "LA"):
        return picture
    if picture.mode.startswith("I;16"):  # `convert` alone cuts values off at 255
        return picture.convert("I").point(lambda level: level / 256).convert("L")
    clear = "A" in picture.getbands() or "a" in picture.getbands() or "transparency" in picture.info
    return picture.convert("RGBA" if clear else "RGB")


def _written(picture: Any, kind: str, limits: Limits) -> tuple[str, bytes]:
    """As PNG, which is lossless, if that is small enough; photographs, and what is too large, as JPEG."""
    picture = _plain(picture)
    for step in range(MAX_STEPS):
        # What did not fit as a low-quality JPEG does not fit as a smaller PNG either, which takes ten times as long.
        if PNG in limits.formats and (JPEG not in limits.formats or (step == 0 and kind != JPEG)):
            data = _saved(picture, "PNG", compress_level=PNG_LEVEL)
            if not limits.bytes or len(data) <= limits.bytes:
                return PNG, data
        if JPEG in limits.formats:
            for quality in QUALITIES:
                data = _saved(_on_white(picture), "JPEG", quality=quality)
                if not limits.bytes or len(data) <= limits.bytes:
                    return JPEG, data
        picture = _resized(picture, SCALE_STEP)
    raise MediaRefused("it cannot be made small enough")


def _on_white(picture: Any) -> Any:
    """JPEG has no transparency."""
    import PIL.Image

    if picture.mode not in ("RGBA", "LA"):
        return picture
    ground = PIL.Image.new("RGB", picture.size, "white")
    ground.paste(picture.convert("RGB"), mask=picture.getchannel("A"))
    return ground


def _saved(picture: Any, form: str, **options: Any) -> bytes:
    """The encoded file, without colour profiles, EXIF data and comments of the original."""
    from io import BytesIO

    picture.info = {}
    out = BytesIO()
    picture.save(out, form, **options)
    return out.getvalue()
