"""WSL: detection by facts, where the drives are, and paths of Windows in the gate and the tools alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.helpers.gates import bash, decide
from tests.helpers.settings import settings_with
from yume_shim.disk.foreign_paths import ForeignPath, local_path
from yume_shim.disk.wsl import Wsl, WslFacts, detect, mount_root, this_wsl
from yume_shim.gate.paths import WSL, Flavour, alias_below_mounts, contains, folds
from yume_shim.gate.permissions import Permissions
from yume_shim.types.settings import Rules

if TYPE_CHECKING:
    from pathlib import Path

WSL2 = "5.15.90.1-microsoft-standard-WSL2"


@pytest.mark.parametrize(
    ("facts", "found"),
    [
        (WslFacts(), None),
        (WslFacts(release="6.1.0-18-amd64"), None),
        (WslFacts(release="6.1.0-18-amd64", interop=True), None),
        (WslFacts("Ubuntu", WSL2, True), Wsl("Ubuntu")),
        (WslFacts("Ubuntu", "4.4.0-19041-Microsoft"), Wsl("Ubuntu")),
        (WslFacts("Ubuntu"), Wsl("Ubuntu")),
        (WslFacts("", WSL2, True), Wsl("")),  # after sudo or ssh the variable is gone
        (WslFacts("", WSL2, False), None),  # a container
        (WslFacts("Debian", WSL2, True, "[automount]\nroot = /\n"), Wsl("Debian", "")),
        (WslFacts("Debian", WSL2, True, "[automount]\nroot=/win/\n"), Wsl("Debian", "/win")),
    ],
)
def test_detection(facts: WslFacts, found: Wsl | None) -> None:
    assert detect(facts) == found


@pytest.mark.parametrize(
    ("config", "root"),
    [
        ("", "/mnt"),
        ("[automount]\nenabled = true\n", "/mnt"),
        ("[user]\nroot = /x\n", "/mnt"),
        ('[automount]\nroot = "/drives/"  # mine\n', "/drives"),
        ("# [automount]\nroot=/x\n", "/mnt"),
        ("[automount]\nROOT=/\n", ""),
        ("[automount]\nroot=relative\n", "/mnt"),
        ("[automount\nroot", "/mnt"),
    ],
)
def test_the_folder_of_the_drives(config: str, root: str) -> None:
    assert mount_root(config) == root


def test_this_machine_is_asked_only_for_what_it_has() -> None:
    found = this_wsl({"WSL_DISTRO_NAME": "Ubuntu"}, WSL2)
    assert found is None or found.distro == "Ubuntu"


@pytest.mark.parametrize(
    ("given", "root", "local"),
    [
        ("C:\\x\\y", "/mnt", "/mnt/c/x/y"),
        ("c:/x", "", "/c/x"),
        ("D:\\", "/win", "/win/d/"),
        ("\\\\?\\C:\\x", "/mnt", "/mnt/c/x"),
        ("\\\\.\\C:\\x", "/mnt", "/mnt/c/x"),
        ("C:\\x\\..\\y", "/mnt", "/mnt/c/x/../y"),
        ("a:b", "/mnt", "a:b"),
        ("/mnt/c/X", "/mnt", "/mnt/c/X"),
    ],
)
def test_translation(given: str, root: str, local: str) -> None:
    assert local_path(given, "wsl", "Ubuntu", root) == local


@pytest.mark.parametrize(
    "given",
    [
        "C:\\x.",
        "C:\\x \\y",
        "C:x\\y",
        "\\\\srv\\share",
        "\\\\?\\UNC\\s\\h",
        "\\\\wsl$\\Other\\x",
        "\\\\wsl$",
        "\\\\.\\pipe\\x",
    ],
)
def test_paths_that_have_no_place_here(given: str) -> None:
    with pytest.raises(ForeignPath):
        local_path(given, "wsl", "Ubuntu")
    with pytest.raises(ForeignPath):
        local_path("\\\\wsl$\\\\x", "wsl", "")


def test_only_names_on_the_drives_are_folded() -> None:
    assert contains("/mnt/c/Job", "/mnt/C/job/x", WSL)
    assert not contains("/home/u/work", "/home/u/Work/x", WSL)
    assert not contains("/mnt/data/work", "/mnt/data/Work/x", WSL)
    assert folds("/win/c/x", Flavour("wsl", fold=True, mounts=True, mount_root="/win"))
    assert folds("/c/x", Flavour("wsl", fold=True, mounts=True, mount_root=""))
    assert not folds("/mnt/c/x", Flavour("wsl", fold=True, mounts=True, mount_root="/win"))


def guard(cwd: str, mode: str, *deny: str, flavour: Flavour = WSL) -> Permissions:
    settings = settings_with(permission_mode=mode, rules=Rules((), (), deny))
    return Permissions(settings, cwd, "/home/u", False, lambda *_: None, flavour=flavour)


@pytest.mark.parametrize("rule", ["C:\\w\\secret.txt", "c:/w/secret.txt", "//mnt/c/w/secret.txt", "./secret.txt"])
def test_rules_in_either_spelling(rule: str) -> None:
    gate = guard("/mnt/c/w", "bypassPermissions", f"Read({rule})")
    for path in (
        "secret.txt",
        "SECRET.TXT",
        "/mnt/c/w/secret.txt",
        "/mnt/c/W/Secret.txt",
        "C:\\w\\secret.txt",
        "c:/W/secret.txt",
    ):
        assert decide(gate, "Read", file_path=path).verdict == "deny", path
    for command in ("cat SECRET.txt", "cat /mnt/c/W/secret.txt", "cat 'C:\\w\\secret.txt'", "cat C:/w/secret.txt"):
        assert bash(gate, command).verdict == "deny", command
    assert decide(gate, "Read", file_path="other.txt").verdict == "allow"
    assert decide(gate, "Read", file_path="\\\\server\\share\\x").verdict == "deny"


def test_another_folder_of_linux_is_not_the_workspace() -> None:
    assert (
        decide(guard("/home/u/work", "acceptEdits"), "Write", file_path="/home/u/WORK/x", content="").verdict == "ask"
    )
    assert bash(guard("/home/u/work", "default"), "cat /home/u/WORK/x").verdict == "ask"


def test_short_names_below_the_drives(tmp_path: Path) -> None:
    """Windows finds a file by its short name, which the folder does not list. A disk that ignores names shows the same:
    here a name that exists and is not listed is made by listing another folder."""
    flavour = Flavour("wsl", fold=True, mounts=True, mount_root=str(tmp_path))
    drive = tmp_path / "c"
    drive.mkdir()
    (drive / "PLAIN~1.TXT").write_text("x")
    assert alias_below_mounts(f"{drive}/PLAIN~1.TXT", flavour) == ""
    assert alias_below_mounts(f"{drive}/MISSIN~1.TXT", flavour) == ""
    assert alias_below_mounts(f"{drive}/plain.txt", flavour) == ""
