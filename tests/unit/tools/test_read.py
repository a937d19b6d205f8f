"""Read: what goldens do not show (sizes, big files, picture headers)."""

from __future__ import annotations

import struct
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from tests.helpers.fakes import cancel
from tests.helpers.timing import soon
from tests.helpers.tool_cases import call, toolbox
from yume_shim.text.image_head import dimensions
from yume_shim.tools.files import media, text_files
from yume_shim.tools.read import MAX_LARGE_BYTES
from yume_shim.types.errors import Cancelled, ToolFailed

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.tools.dispatch.builtin import BuiltinTools


@pytest.fixture
def tools(tmp_path: Path) -> BuiltinTools:
    return toolbox(tmp_path, tmp_path / "scratch")


def test_allow_large(tools: BuiltinTools, tmp_path: Path) -> None:
    (tmp_path / "big.txt").write_text("0123456789\n" * 40_000, newline="")
    with pytest.raises(ToolFailed, match=r"^File content \(429\.7KB\) exceeds maximum allowed size \(256KB\)"):
        call(tools, "Read", {"file_path": "big.txt"})
    output = call(tools, "Read", {"file_path": "big.txt", "allow_large": True})
    assert output.structured["file"]["totalLines"] == 40_001
    (tmp_path / "big.txt").write_text("x" * (MAX_LARGE_BYTES + 1))
    with pytest.raises(ToolFailed, match=r"exceeds maximum allowed size \(2MB\)"):
        call(tools, "Read", {"file_path": "big.txt", "allow_large": True})


def test_a_range_can_be_too_large_too(tools: BuiltinTools, tmp_path: Path) -> None:
    (tmp_path / "big.txt").write_text("0123456789\n" * 40_000)
    with pytest.raises(ToolFailed, match="exceeds maximum"):
        call(tools, "Read", {"file_path": "big.txt", "offset": 2})


def huge(path: Path) -> None:
    """A file bigger than what is taken into memory: numbered lines, no newline at the end."""
    with open(path, "wb") as file:
        file.write(b"\r\n".join(b"line %d %s" % (n, b"x" * 90) for n in range(1, 170_001)))
    assert path.stat().st_size > text_files.MAX_TEXT_BYTES


@pytest.mark.parametrize(("offset", "limit"), [(1, 2), (9_999, 3), (169_999, 5), (170_000, 1), (100_000, 2_000)])
def test_lines_of_a_huge_file(tools: BuiltinTools, tmp_path: Path, offset: int, limit: int) -> None:
    huge(tmp_path / "huge.log")
    output = call(tools, "Read", {"file_path": "huge.log", "offset": offset, "limit": limit})
    picked = [f"line {n} {'x' * 90}" for n in range(offset, min(offset + limit, 170_001))]
    assert output.structured["file"] == {
        "filePath": "huge.log",
        "content": "\n".join(picked),
        "numLines": len(picked),
        "startLine": offset,
        "totalLines": 170_000,
    }


def test_past_the_end_of_a_huge_file(tools: BuiltinTools, tmp_path: Path) -> None:
    huge(tmp_path / "huge.log")
    output = call(tools, "Read", {"file_path": "huge.log", "offset": 170_001})
    assert isinstance(output.content, str)
    assert "It has 170000 lines." in output.content
    with pytest.raises(ToolFailed, match="exceeds maximum"):
        call(tools, "Read", {"file_path": "huge.log", "offset": 5})


def test_reading_a_huge_file_can_be_cancelled(tools: BuiltinTools, tmp_path: Path) -> None:
    with open(tmp_path / "sparse", "wb") as file:
        file.write(b"text\n" * 2_000)
        file.truncate(1 << 36)  # 64 GB that take no room
    stop = cancel()
    threading.Timer(0.2, stop.set).start()
    with soon(), pytest.raises(Cancelled):
        call(tools, "Read", {"file_path": "sparse", "offset": 1, "limit": 1}, "1", stop=stop)


@pytest.mark.skipif(sys.platform == "win32", reason="no /proc there")
def test_a_file_that_reports_no_size(tools: BuiltinTools) -> None:
    try:
        with open("/proc/self/status", encoding="ascii") as file:
            first = file.readline().rstrip("\n")
    except OSError:
        pytest.skip("no /proc here")
    output = call(tools, "Read", {"file_path": "/proc/self/status", "limit": 1})
    assert output.content == f"1\t{first}"


def test_limit_must_be_positive(tools: BuiltinTools, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    with pytest.raises(ToolFailed, match="at least 1"):
        call(tools, "Read", {"file_path": "a", "limit": 0})
    assert call(tools, "Read", {"file_path": "a", "offset": 0}).content == "1\tx"


GIF = b"GIF89a" + struct.pack("<HH", 300, 200)
JPEG = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xff\xc2\x00\x11\x08" + struct.pack(">HH", 480, 640) + bytes(12)
VP8X = b"RIFF\0\0\0\0WEBPVP8X" + bytes(8) + (1023).to_bytes(3, "little") + (767).to_bytes(3, "little")
VP8L = b"RIFF\0\0\0\0WEBPVP8L" + bytes(4) + b"\x2f" + (99 | 49 << 14).to_bytes(4, "little") + bytes(8)
VP8 = b"RIFF\0\0\0\0WEBPVP8 " + bytes(10) + struct.pack("<HH", 320, 240)


@pytest.mark.parametrize(
    ("data", "kind", "extent"),
    [
        (GIF, "image/gif", (300, 200)),
        (JPEG, "image/jpeg", (640, 480)),
        (VP8X, "image/webp", (1024, 768)),
        (VP8L, "image/webp", (100, 50)),
        (VP8, "image/webp", (320, 240)),
        (b"\x89PNG\r\n\x1a\n", "image/png", None),
        (b"\xff\xd8\xff", "image/jpeg", None),
        (b"\xff\xd8\xff\xe0\x00\x00" * 9, "image/jpeg", None),
        (b"GIF89a", "image/gif", None),
        (b"RIFF\0\0\0\0WEBPnone" + bytes(20), "image/webp", None),
        (b"BM" + bytes(16) + struct.pack("<ii", 40, -30), "image/bmp", (40, 30)),
        (b"BM" + bytes(8), "image/bmp", None),
        (b"II*\0" + bytes(9), "image/tiff", None),
        (b"BMW and others", "", None),
    ],
)
def test_dimensions(data: bytes, kind: str, extent: tuple[int, int] | None) -> None:
    assert (media.kind_of(data), dimensions(kind, data)) == (kind, extent)


def test_an_image_too_big_to_send(tools: BuiltinTools, tmp_path: Path) -> None:
    (tmp_path / "i.gif").write_bytes(GIF + bytes(media.MAX_IMAGE_BYTES))
    with pytest.raises(ToolFailed, match=r"^Image is too large \(20MB, at most 20MB\): i\.gif$"):
        call(tools, "Read", {"file_path": "i.gif"})
