"""The type and size of an image from its first bytes, also of hostile files."""

from __future__ import annotations

from tests.helpers.timing import cheap
from yume_shim.text.image_head import MAX_SEGMENTS, dimensions, image_kind

FRAME = b"\xff\xc0\x00\x11\x08" + (20).to_bytes(2, "big") + (30).to_bytes(2, "big") + bytes(12)


def test_some_filler_is_skipped() -> None:
    few = b"\xff\xd8" + b"\xff" * (MAX_SEGMENTS - 1) + FRAME[1:]
    assert (image_kind(few), dimensions("image/jpeg", few)) == ("image/jpeg", (30, 20))


def test_a_file_of_only_filler_has_no_size() -> None:
    with cheap(0.5):  # byte by byte it takes five seconds
        assert dimensions("image/jpeg", b"\xff\xd8" + b"\xff" * 20_000_000) is None
