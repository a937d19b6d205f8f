"""Paths in the syntax of every system, tested on any system."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from yume_shim.gate.paths import (
    MACOS,
    POSIX,
    WINDOWS,
    WSL,
    Flavour,
    components,
    contains,
    expand,
    flaw,
    links_in,
    native,
    slashed,
    tidy,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("flavour", "path", "full"),
    [
        (POSIX, "a", "/w/a"),
        (POSIX, "/a/./b//c/", "/a/b/c"),
        (POSIX, "../x", "/x"),
        (POSIX, "../../../x", "/x"),
        (POSIX, "a/../../w2/x", "/w2/x"),
        (POSIX, "~", "/home/u"),
        (POSIX, "~/x", "/home/u/x"),
        (POSIX, "a~/x", "/w/a~/x"),
        (POSIX, "", "/w"),
        (POSIX, "//a", "/a"),
        (POSIX, "C:\\x", "/w/C:\\x"),
        (WSL, "C:\\Users\\u", "/mnt/c/Users/u"),
        (WSL, "d:/x", "/mnt/d/x"),
        (WSL, "a/b", "/w/a/b"),
    ],
)
def test_absolute_posix(flavour: Flavour, path: str, full: str) -> None:
    assert tidy(expand(path, "/w", "/home/u", flavour), flavour) == full


@pytest.mark.parametrize(
    ("path", "full"),
    [
        ("a", "C:\\w\\a"),
        ("a/b\\c", "C:\\w\\a\\b\\c"),
        ("..\\..\\..\\x", "C:\\x"),
        ("d:\\x\\.\\y", "D:\\x\\y"),
        ("D:/x/../y", "D:\\y"),
        ("\\x", "C:\\x"),
        ("/x", "C:\\x"),
        ("~\\x", "C:\\Users\\u\\x"),
        ("~/x", "C:\\Users\\u\\x"),
        ("\\\\srv\\share\\a\\..\\..\\b", "\\\\srv\\share\\b"),
    ],
)
def test_absolute_windows(path: str, full: str) -> None:
    assert tidy(expand(path, "C:\\w", "C:\\Users\\u", WINDOWS), WINDOWS) == full


@pytest.mark.parametrize(
    ("flavour", "folder", "path", "inside"),
    [
        (POSIX, "/w", "/w", True),
        (POSIX, "/w", "/w/a", True),
        (POSIX, "/w", "/w2/a", False),
        (POSIX, "/w", "/W/a", False),
        (POSIX, "/w/a", "/w", False),
        (POSIX, "/", "/anything", True),
        (MACOS, "/w", "/W/a", True),
        (WSL, "/mnt/c/Job", "/mnt/c/job/x", True),
        (WINDOWS, "C:\\w", "c:\\W\\a", True),
        (WINDOWS, "C:\\w", "C:\\w2\\a", False),
        (WINDOWS, "C:\\w", "D:\\w\\a", False),
        (WINDOWS, "C:\\w", "C:\\w. \\a", True),
        (WINDOWS, "C:\\w", "\\\\C:\\w\\a", False),
        (WINDOWS, "\\\\srv\\share\\w", "\\\\SRV\\share\\w\\a", True),
        (WINDOWS, "\\\\srv\\share\\w", "\\\\srv\\other\\w\\a", False),
    ],
)
def test_containment_goes_by_components(flavour: Flavour, folder: str, path: str, inside: bool) -> None:
    assert contains(folder, tidy(path, flavour), flavour) is inside


@pytest.mark.parametrize(
    ("flavour", "path", "why"),
    [
        (POSIX, "a\0b", "it contains a NUL byte"),
        (POSIX, "~root/x", "it names another user's home"),
        (POSIX, "C:x", ""),
        (POSIX, "a:b", ""),
        (POSIX, "aux", ""),
        (POSIX, "\\\\srv\\x", ""),
        (WSL, "\\\\wsl$\\distro\\x", "it is a network or device path"),
        (WINDOWS, "a\0b", "it contains a NUL byte"),
        (WINDOWS, "\\\\srv\\share\\x", "it is a network path"),
        (WINDOWS, "//srv/share/x", "it is a network path"),
        (WINDOWS, "\\\\?\\C:\\x", ""),
        (WINDOWS, "\\\\.\\pipe\\x", "it is a device path"),
        (WINDOWS, "C:x", "it is relative to the current folder of a drive"),
        (WINDOWS, "C:", "it is relative to the current folder of a drive"),
        (WINDOWS, "x.txt:stream", "it names a stream of a file"),
        (WINDOWS, ".git::$INDEX_ALLOCATION\\config", "it names a stream of a file"),
        (WINDOWS, "sub\\NUL", "it names a device"),
        (WINDOWS, "con.txt", "it names a device"),
        (WINDOWS, "COM1", "it names a device"),
        (WINDOWS, "/c/Users/x", "a shell and a program read it differently"),
        (WINDOWS, "C:\\ok\\file.txt", ""),
        (WINDOWS, "ok/console.txt", ""),
        (WINDOWS, "backup~", ""),
        (WINDOWS, "~\\x", ""),
    ],
)
def test_paths_that_cannot_be_judged(flavour: Flavour, path: str, why: str) -> None:
    assert flaw(path, flavour) == why


def test_components_and_slashes() -> None:
    assert components("/a/B", POSIX) == ("/", "a", "B")
    assert components("/a/B", MACOS) == ("/", "a", "b")
    assert components("C:\\A\\b. ", WINDOWS) == ("c:\\", "a", "b")
    assert slashed("C:\\A\\b", WINDOWS) == "/c/A/b"
    assert slashed("/A/b", POSIX) == "/A/b"


def test_the_links_of_a_folder(tmp_path: Path) -> None:
    base = tmp_path.resolve()
    (base / "real").mkdir()
    (base / "real" / "f").write_text("x")
    for name, target in (("link", "real"), ("dangling", "nowhere"), ("loop", "loop")):
        (base / name).symlink_to(target)
    assert sorted(links_in(str(base)) or ()) == [f"{base}/{name}" for name in ("dangling", "link", "loop")]
    assert links_in(f"{base}/none") == ()
    assert links_in(f"{base}/real/f") is None


def test_the_native_flavour_knows_wsl() -> None:
    assert native({}) in (POSIX, MACOS, WINDOWS)
    if native({}) is POSIX:
        assert native({"WSL_DISTRO_NAME": "Ubuntu"}) is WSL
