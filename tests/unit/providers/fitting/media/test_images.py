"""One image: its type, its conversion, and that the result is always the same."""

from __future__ import annotations

import base64
import random
import struct
import zlib

import pytest

from tests.helpers.media_files import animated, b64, image, noise, opened, picture, saved, slow_jpeg_file
from yume_shim.providers.fitting.media import images
from yume_shim.providers.fitting.media.convert_image import MAX_SCANS, convert_image
from yume_shim.providers.fitting.media.images import Limits, MediaRefused
from yume_shim.text.image_head import dimensions, image_kind
from yume_shim.types.blocks import Image

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:PIL")
"""The worker process runs with -W ignore."""
COMMON = ("image/png", "image/jpeg", "image/gif", "image/webp")
ANY = Limits(COMMON, 0, 0)


def fit_image(image: Image, limits: Limits) -> Image:
    return images.fit_image(image, limits, convert_image)


@pytest.mark.parametrize(
    ("form", "kind"),
    [
        ("PNG", "image/png"),
        ("JPEG", "image/jpeg"),
        ("GIF", "image/gif"),
        ("WEBP", "image/webp"),
        ("BMP", "image/bmp"),
        ("TIFF", "image/tiff"),
        ("AVIF", "image/avif"),
    ],
)
def test_kind_and_extent_are_read_from_the_bytes(form: str, kind: str) -> None:
    data = saved(picture(40, 30), form)
    assert image_kind(data) == kind
    if kind in COMMON:
        assert dimensions(kind, data) == (40, 30)


def test_other_kinds() -> None:
    assert image_kind(b"\x00\x00\x00\x18ftypheic\x00\x00") == "image/heic"
    assert image_kind(b"\x00\x00\x00\x18ftypmp42\x00\x00") == ""
    assert image_kind(b"<svg xmlns='x'/>") == ""
    assert image_kind(b"") == ""
    assert dimensions("image/webp", saved(picture(40, 30), "WEBP", lossless=True)) == (40, 30)
    assert dimensions("image/webp", saved(picture(40, 30, (1, 2, 3, 4), "RGBA"), "WEBP")) == (40, 30)


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP"])
def test_an_image_that_the_endpoint_takes_is_not_changed(form: str) -> None:
    block = image(form)
    assert fit_image(block, ANY) is block
    assert fit_image(block, Limits(COMMON, len(base64.b64decode(block.data)), 4)) is block


def test_a_wrong_media_type_is_corrected() -> None:
    jpeg = image("JPEG")
    assert fit_image(Image("image/png", jpeg.data), ANY) == jpeg
    assert fit_image(Image("image/jpg", jpeg.data), ANY) == jpeg
    assert fit_image(Image("", jpeg.data), ANY) == jpeg


def test_base64_is_made_canonical() -> None:
    png = image("PNG")
    broken = "\r\n".join(png.data[at : at + 20] for at in range(0, len(png.data), 20)).rstrip("=")
    assert fit_image(Image("image/png", broken), ANY) == png
    assert fit_image(Image("image/png", png.data.replace("+", "-").replace("/", "_")), ANY) == png


@pytest.mark.parametrize("form", ["BMP", "TIFF", "AVIF", "ICO"])
def test_other_formats_become_png(form: str) -> None:
    made = fit_image(Image("image/any", b64(saved(picture(32, 32), form))), ANY)
    assert made.media_type == "image/png"
    assert opened(made).size == (32, 32)
    if form != "AVIF":
        assert opened(made).convert("RGB").getpixel((3, 3)) == (255, 0, 0)


def test_a_format_that_only_some_take_is_sent_to_them() -> None:
    heic = Image("image/heic", b64(b"\x00\x00\x00\x18ftypheic\x00\x00 and more"))
    assert fit_image(heic, Limits((*COMMON, "image/heic"), 0, 2000)) is heic
    with pytest.raises(MediaRefused, match="its image format is not supported"):
        fit_image(heic, ANY)


def test_long_sides_are_scaled() -> None:
    made = fit_image(image("PNG", 3000, 500), Limits(COMMON, 0, 2000))
    assert made.media_type == "image/png"
    assert opened(made).size == (2000, 333)
    photograph = fit_image(image("JPEG", 500, 3000), Limits(COMMON, 0, 2000))
    assert photograph.media_type == "image/jpeg"
    assert opened(photograph).size == (333, 2000)


def test_large_files_are_made_smaller() -> None:
    limit = 100_000
    made = fit_image(Image("image/png", b64(saved(noise(600, 400), "PNG"))), Limits(COMMON, limit, 0))
    assert made.media_type == "image/jpeg"
    assert len(base64.b64decode(made.data)) <= limit
    only_png = fit_image(Image("image/png", b64(saved(noise(600, 400), "PNG"))), Limits(("image/png",), limit, 0))
    assert only_png.media_type == "image/png"
    assert len(base64.b64decode(only_png.data)) <= limit


def test_an_image_that_stays_too_large_is_refused() -> None:
    with pytest.raises(MediaRefused, match="cannot be made small enough"):
        fit_image(image("PNG"), Limits(COMMON, 10, 0))


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "CMYK", "I;16", "F"])
def test_every_colour_mode_can_be_scaled(mode: str) -> None:
    form = "TIFF" if mode in ("CMYK", "F") else "PNG"
    made = fit_image(
        Image("", b64(saved(picture(30, 20, 0 if mode != "CMYK" else "red", mode), form))), Limits(COMMON, 0, 10)
    )
    assert opened(made).size == (10, 6)


def test_sixteen_bits_are_scaled_not_clipped() -> None:
    made = fit_image(Image("", b64(saved(picture(20, 20, 32768, "I;16"), "PNG"))), Limits(COMMON, 0, 10))
    assert opened(made).convert("L").getpixel((5, 5)) == 128


def test_transparent_images_get_a_white_background_as_jpeg() -> None:
    clear = Image("", b64(saved(picture(8, 8, (0, 0, 0, 0), "RGBA"), "PNG")))
    made = fit_image(clear, Limits(("image/jpeg",), 0, 0))
    assert made.media_type == "image/jpeg"
    assert opened(made).getpixel((4, 4)) == (255, 255, 255)


def test_the_first_frame_of_an_animation() -> None:
    data = b64(animated())
    assert fit_image(Image("image/gif", data), ANY).data == data
    made = fit_image(Image("image/gif", data), Limits(("image/png",), 0, 0))
    assert opened(made).convert("RGB").getpixel((4, 4)) == (255, 0, 0)
    assert getattr(opened(made), "n_frames", 1) == 1


def test_photographs_are_turned_upright_and_lose_their_metadata() -> None:
    lying = picture(40, 20)
    exif = lying.getexif()
    exif[274] = 6  # "rotate 90 degrees clockwise to show"
    exif[315] = "a name"
    made = fit_image(Image("", b64(saved(lying, "JPEG", exif=exif))), Limits(COMMON, 0, 30))
    assert opened(made).size == (15, 30)
    assert dict(opened(made).getexif()) == {}
    assert b"a name" not in base64.b64decode(made.data)


def test_the_same_image_always_gives_the_same_bytes() -> None:
    large = Image("", b64(saved(noise(300, 200), "BMP")))
    limits = Limits(COMMON, 50_000, 250)
    assert fit_image(large, limits) == fit_image(large, limits)


def bomb(wide: int, high: int) -> bytes:
    """A tiny PNG whose header claims a huge size."""

    def part(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", wide, high, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", zlib.compress(b"\0" * 99)) + part(b"IEND", b"")


@pytest.mark.parametrize("side", [10_000, 13_000, 60_000, 2**31 - 1])
def test_decompression_bombs_are_not_unpacked(side: int, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(MediaRefused, match="too many pixels"):
        fit_image(Image("image/png", b64(bomb(side, side))), Limits(COMMON, 0, 2000))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"])
@pytest.mark.parametrize("seed", range(12))
def test_broken_files_are_refused_and_never_raise_anything_else(
    form: str, seed: int, capfd: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(seed)
    data = bytearray(saved(noise(30, 20), form))
    for _ in range(chance.choice((0, 1, 20))):
        data[chance.randrange(4, len(data))] = chance.randrange(256)
    del data[chance.randrange(4, len(data)) :]
    try:
        made = fit_image(Image("image/png", b64(bytes(data))), Limits(COMMON, 0, 25))
    except MediaRefused:
        pass
    else:
        assert max(opened(made).size) <= 25
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP"])
def test_a_truncated_file_is_never_sent(form: str) -> None:
    """Every API refuses it, and with it every later request of the conversation."""
    data = saved(noise(60, 60), form)
    cut = Image(f"image/{form.lower()}", b64(data[: len(data) // 2]))
    try:
        assert fit_image(cut, ANY) != cut
    except MediaRefused:
        pass


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP"])
def test_data_after_the_end_is_ignored(form: str) -> None:
    followed = Image(f"image/{form.lower()}", b64(saved(picture(40, 30), form) + b"written by a camera"))
    assert fit_image(followed, ANY) is followed


def test_a_jpeg_with_too_many_scans_is_refused() -> None:
    with pytest.raises(MediaRefused, match="too many scans"):
        fit_image(Image("image/jpeg", b64(slow_jpeg_file(MAX_SCANS, 3000))), Limits(COMMON, 0, 2000))
    few = Image("image/jpeg", b64(slow_jpeg_file(3, 3000)))
    assert opened(fit_image(few, Limits(COMMON, 0, 2000))).size == (2000, 2000)


def test_reasons_for_files_that_are_not_images() -> None:
    with pytest.raises(MediaRefused, match="not base64"):
        fit_image(Image("image/png", "%%%"), ANY)
    with pytest.raises(MediaRefused, match="its image format is not supported"):
        fit_image(Image("image/svg+xml", b64(b"<svg/>")), ANY)
    with pytest.raises(MediaRefused):
        fit_image(Image("image/png", ""), ANY)
