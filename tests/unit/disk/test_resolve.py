"""Paths are resolved as the kernel resolves them, and what was resolved is opened without following links."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from yume_shim.disk.exact import open_exact, stat_exact
from yume_shim.disk.resolve import absolute, resolve
from yume_shim.system.folders import Folder

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")


@pytest.fixture
def base(tmp_path: Path) -> Path:
    base = tmp_path.resolve()
    (base / "real" / "deep").mkdir(parents=True)
    (base / "real" / "f").write_text("real")
    (base / "f").write_text("top")
    (base / "away").symlink_to("real/deep")
    (base / "link").symlink_to("real")
    (base / "dangling").symlink_to("nowhere/x")
    (base / "loop").symlink_to("loop")
    return base


@pytest.mark.parametrize(
    ("path", "real", "is_link", "is_folder", "exists"),
    [
        ("link/f", "real/f", False, False, True),
        ("link", "real", True, True, True),
        ("link/", "real", True, True, True),
        ("link/.", "real", True, True, True),
        ("link/new/deep", "real/new/deep", False, False, False),
        ("away/../f", "real/f", False, False, True),
        ("away/..", "real", False, True, True),
        ("real/../f", "f", False, False, True),
        ("missing/../f", "f", False, False, True),
        ("f/../f", "f", False, False, True),
        ("dangling", "nowhere/x", True, False, True),
        ("./real//deep/../../f", "f", False, False, True),
    ],
)
def test_where_a_path_leads(base: Path, path: str, real: str, is_link: bool, is_folder: bool, exists: bool) -> None:
    found = resolve(f"{base}/{path}")
    assert (found.real, found.is_link, found.is_folder, found.exists, found.flaw) == (
        f"{base}/{real}",
        is_link,
        is_folder,
        exists,
        "",
    )


def test_the_root_has_no_parent() -> None:
    assert resolve("/" + "../" * 3).real == "/"


@pytest.mark.parametrize(
    ("path", "why"), [("loop", "too many links"), ("a\0b", "not a path"), ("\ud800", "not a path")]
)
def test_what_cannot_be_resolved_says_so(base: Path, path: str, why: str) -> None:
    found = resolve(f"{base}/{path}")
    assert (found.real, found.flaw) == (f"{base}/{path}", f"it cannot be resolved ({why})")


def test_links_below_a_path_that_gets_too_long_are_not_overlooked(base: Path) -> None:
    """The kernel follows `short` and then `escape`; the resolved path is longer than a system call takes."""
    name = "d" * 250
    here = os.open(base, os.O_RDONLY)
    for _ in range(18):
        os.mkdir(name, dir_fd=here)
        inside = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inside
    os.symlink(base / "real", "escape", dir_fd=here)
    os.close(here)
    (base / "short1").symlink_to("/".join([name] * 9))
    (base / "short").symlink_to("short1/" + "/".join([name] * 9))
    path = f"{base}/short/escape/f"
    with open(path) as file:
        assert file.read() == "real"
    assert "cannot be resolved" in resolve(path).flaw


def test_a_home_folder_and_relative_paths() -> None:
    assert absolute("~", "/w", "/h") == "/h"
    assert absolute("~/a/../b", "/w", "/h") == "/h/a/../b"
    assert absolute("~root/a", "/w", "/h") == "/w/~root/a"
    assert absolute("x/../y", "/w", "/h") == "/w/x/../y"
    assert absolute("/x", "/w", "/h") == "/x"


def test_a_file_with_other_hard_links(base: Path) -> None:
    assert not resolve(f"{base}/f").has_other_names
    os.link(base / "f", base / "g")
    assert resolve(f"{base}/f").has_other_names
    assert not resolve(f"{base}/real").has_other_names


@pytest.mark.parametrize("path", ["link/f", "away/../f", "loop", "dangling", "link/deep/x"])
def test_exact_opening_follows_no_link(base: Path, path: str) -> None:
    with pytest.raises(OSError, match=r"."):
        os.close(open_exact(f"{base}/{path}", os.O_RDONLY))


def test_exact_opening_opens_what_was_resolved(base: Path) -> None:
    handle = open_exact(resolve(f"{base}/away/../f").real, os.O_RDONLY)
    try:
        assert os.read(handle, 9) == b"real"
    finally:
        os.close(handle)
    facts = stat_exact(f"{base}/f")
    assert facts is not None
    assert facts.st_size == 3
    assert stat_exact(f"{base}/none/x") is None
    with pytest.raises(OSError, match=r"."):
        stat_exact(f"{base}/link/f")


def test_folders_are_made_inside_verified_ones(base: Path) -> None:
    Folder(f"{base}/n1/n2").close()
    assert (base / "n1" / "n2").is_dir()
    with pytest.raises(OSError, match=r"."):
        Folder(f"{base}/link/n1")
    assert not (base / "real" / "n1").exists()
