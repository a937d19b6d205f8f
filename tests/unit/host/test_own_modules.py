"""The finder of our own modules: the same modules as Python's own finders give, and none where it must not answer."""

from __future__ import annotations

import importlib
import inspect
import os
import shutil
import sys
import threading
import types
from _thread import _count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from yume_shim.host import own_modules
from yume_shim.host.own_modules import Loader, OwnModules, find_own_modules, load_in_order

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "placed_package"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with a module and a package in it, all of which Python has compiled before."""
    folder = tmp_path / NAME
    (folder / "room").mkdir(parents=True)
    for place in (folder / "__init__.py", folder / "room" / "__init__.py", folder / "room" / "part.py"):
        place.write_text(f"WHERE = {place.name!r}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(own_modules, "PACKAGE", f"{NAME}.")
    importlib.import_module(f"{NAME}.room.part")
    forget()
    monkeypatch.setattr(sys, "meta_path", [OwnModules, *sys.meta_path])
    yield folder
    forget()


def forget() -> None:
    """Import all of it again next time."""
    for name in [name for name in sys.modules if name.partition(".")[0] == NAME]:
        del sys.modules[name]


def test_a_module_is_as_python_makes_it(package: Path) -> None:
    found = importlib.import_module(f"{NAME}.room.part")
    assert isinstance(found.__spec__ and found.__spec__.loader, Loader)
    ours = {name: getattr(found, name) for name in ("__name__", "__package__", "__file__", "__cached__", "WHERE")}
    assert inspect.getsource(found) == "WHERE = 'part.py'\n"
    forget()
    sys.meta_path.remove(OwnModules)  # pyright: ignore[reportArgumentType]
    plain = importlib.import_module(f"{NAME}.room.part")
    assert not isinstance(plain.__spec__ and plain.__spec__.loader, Loader)
    assert {name: getattr(plain, name) for name in ours} == ours
    assert set(vars(plain)) == set(vars(found))


def test_a_package_has_its_place(package: Path) -> None:
    room = importlib.import_module(f"{NAME}.room")
    assert isinstance(room.__spec__ and room.__spec__.loader, Loader)
    assert list(room.__path__) == [str(package / "room")]
    assert room.__package__ == f"{NAME}.room"


def test_a_module_loaded_in_order_is_as_python_makes_it(package: Path) -> None:
    names = ("room", "room.part", "absent", "absent.part")
    load_in_order([f"{NAME}.{name}" for name in ("room", "room.part")])
    assert f"{NAME}.room" not in sys.modules  # its package is not loaded
    importlib.import_module(NAME)
    load_in_order([f"{NAME}.{name}" for name in names], threads=_count())
    room, part = sys.modules[f"{NAME}.room"], sys.modules[f"{NAME}.room.part"]
    assert sys.modules[NAME].room is room
    assert room.part is part
    loaded = {name: vars(module) for name, module in (("room", room), ("room.part", part))}
    forget()
    sys.meta_path.remove(OwnModules)  # pyright: ignore[reportArgumentType]
    importlib.import_module(f"{NAME}.room.part")
    for name, found in loaded.items():
        plain = vars(sys.modules[f"{NAME}.{name}"])
        assert set(found) == set(plain)
        unlike = {"__builtins__", "__loader__", "__spec__", "part"}
        assert {key: found[key] for key in found if key not in unlike} == {
            key: plain[key] for key in plain if key not in unlike
        }


def test_a_module_that_fails_is_not_kept(package: Path) -> None:
    place = package / "room" / "part.py"
    place.write_text("assert False, 'not now'\n")
    with pytest.raises(AssertionError):
        importlib.import_module(f"{NAME}.room.part")  # writes the bytecode
    for _ in range(2):
        with pytest.raises(AssertionError, match="not now"):
            load_in_order([f"{NAME}.room.part"], threads=_count())
        assert f"{NAME}.room.part" not in sys.modules


def test_nothing_is_loaded_in_order_beside_other_threads(package: Path) -> None:
    importlib.import_module(NAME)
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    running = _count()  # those of the test runner
    other.start()
    load_in_order([f"{NAME}.room"], threads=running)
    assert f"{NAME}.room" not in sys.modules
    load_in_order([f"{NAME}.room"], threads=running + 1)
    assert f"{NAME}.room" in sys.modules
    done.set()
    other.join()


def test_a_changed_source_is_compiled_again(package: Path) -> None:
    (package / "room" / "part.py").write_text("WHERE = 'another place'\n")
    assert importlib.import_module(f"{NAME}.room.part").WHERE == "another place"


def test_a_source_of_the_same_size_with_another_time_is_compiled_again(package: Path) -> None:
    place = package / "room" / "part.py"
    place.write_text("WHERE = 'trap.py'\n")
    os.utime(place, (1, 1))
    assert importlib.import_module(f"{NAME}.room.part").WHERE == "trap.py"


def test_a_reload_reads_the_source(package: Path) -> None:
    found = importlib.import_module(f"{NAME}.room.part")
    (package / "room" / "part.py").write_text("WHERE = 'somewhere else'\n")
    assert importlib.reload(found).WHERE == "somewhere else"


@pytest.mark.parametrize("rest", [b"", b"\0" * 8, b"\xff" * 64], ids=["empty", "cut", "another Python's"])
def test_a_file_that_is_not_ours_to_read_is_left_to_python(package: Path, rest: bytes) -> None:
    cached = next((package / "room" / "__pycache__").glob("part.*"))
    cached.write_bytes(rest)
    assert importlib.import_module(f"{NAME}.room.part").WHERE == "part.py"


@pytest.mark.parametrize(("flags", "taken"), [(1, True), (3, False)], ids=["never compared", "compared"])
def test_files_compared_by_content_are_left_to_python(package: Path, flags: int, taken: bool) -> None:
    cached = next((package / "room" / "__pycache__").glob("part.*"))
    whole = bytearray(cached.read_bytes())
    whole[4] = flags
    whole[8:16] = bytes(8)
    cached.write_bytes(whole)
    found = OwnModules.find_spec(f"{NAME}.room.part", [str(package / "room")])
    assert (found is not None) == taken


def test_code_names_the_place_where_it_is_now(package: Path, tmp_path: Path) -> None:
    moved = Path(shutil.copytree(package, tmp_path / "moved"))  # with the times of the files, as a copied environment
    spec = OwnModules.find_spec(f"{NAME}.room.part", [str(moved / "room")])
    assert spec is not None
    assert isinstance(spec.loader, Loader)
    assert spec.loader.code is not None
    assert spec.loader.code.co_filename == str(moved / "room" / "part.py") == spec.origin


def test_what_a_module_lacks_is_an_error_as_ever(package: Path) -> None:
    part = importlib.import_module(f"{NAME}.room.part")
    assert isinstance(part, types.ModuleType)
    assert not hasattr(part, "absent")
    with pytest.raises(ImportError, match="cannot import name 'absent'"):
        exec(f"from {NAME}.room.part import absent")
    part.absent = 1  # type: ignore[attr-defined]
    exec(f"from {NAME}.room.part import absent")


def test_a_missing_module_is_missing(package: Path) -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module(f"{NAME}.room.absent")


def test_other_packages_are_not_looked_at(package: Path) -> None:
    assert OwnModules.find_spec("json.decoder", [str(package)]) is None
    assert OwnModules.find_spec(NAME, None) is None


def test_the_finder_is_installed_once_and_only_in_an_ordinary_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", [])
    monkeypatch.setattr(sys, "pycache_prefix", "/elsewhere")
    find_own_modules()
    assert sys.meta_path == []
    monkeypatch.setattr(sys, "pycache_prefix", None)
    monkeypatch.setitem(sys._xoptions, "importtime", True)  # it reports what Python's import system loads
    find_own_modules()
    assert sys.meta_path == []
    monkeypatch.delitem(sys._xoptions, "importtime")
    find_own_modules()
    find_own_modules()
    assert sys.meta_path == [OwnModules]
