"""Finds this program's own modules where they are known to be: one read, one look at the source, no search.

Python's import system asks every finder on `sys.meta_path`, lists folders, tries the endings of extension modules and
looks at the file three times: 400,000 instructions for a module of three lines, and a short turn imports 190 of ours.
This finder comes first and answers for modules of this package only. It reads the file in `__pycache__` that Python
itself has written and takes it under Python's own rule: the time and the size of the source must be those that the file
names, or the file is one that is not compared. In every other case (no such file, another kind of it, a changed source,
a package in an archive) it answers nothing, and Python imports as ever, which also writes the file for the next start.

`load_in_order` goes without Python's import system altogether. It loads the modules of a list
(`start_modules.py`), in which each comes after those that it imports; their `import` statements find them loaded.
"""

from __future__ import annotations

import os
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import MAGIC_NUMBER, SourceFileLoader
from _imp import _fix_co_filename, check_hash_based_pycs  # type: ignore[attr-defined]
from _stat import ST_MTIME, ST_SIZE
from _thread import _count
from marshal import loads
from os import O_RDONLY, close, read, sep, stat
from os import open as open_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import CodeType, ModuleType
    from typing import Any

PACKAGE = "yume_shim."
HEAD_BYTES = 16
"""Of a file in `__pycache__`: Python's number, flags (0: compared by time and size), time and size of the source."""
PLAIN = MAGIC_NUMBER + bytes(4)
UNCHECKED = MAGIC_NUMBER + b"\1\0\0\0"
"""The beginning of a file that is never compared with its source: those of the bundle, which are made once."""
LOW_32_BITS = 0xFFFFFFFF
READ = O_RDONLY | getattr(os, "O_BINARY", 0)
MOST_BYTES = 1 << 16
"""Python loads what is larger."""
_ENDING = f".{sys.implementation.cache_tag}.pyc"
_CACHE = f"{sep}__pycache__{sep}"


class Module(type(sys)):  # type: ignore[misc]  # that is `types.ModuleType`
    """A module that says quickly what it does not have. Each `from x import y` asks `x` for its `__path__`; before
    Python 3.12 a plain module without one makes an exception with a message, which is thrown away: 900 times in a
    turn, a twentieth of its instructions. (Our modules have no `__getattr__`.)"""

    __slots__ = ()
    __getattribute__ = object.__getattribute__


class OwnModules:
    """A finder for `sys.meta_path`."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, _target: ModuleType | None = None) -> ModuleSpec | None:
        """The module, with its code already read; None for all that others shall find."""
        if not path or not name.startswith(PACKAGE):
            return None
        folder = path[0]
        above, _, last = name.rpartition(".")
        source = f"{folder}{sep}{last}.py"
        cached = f"{folder}{_CACHE}{last}{_ENDING}"
        code = _code(source, cached)
        if code is not None:
            return _spec(name, source, cached, code, above)
        folder = f"{folder}{sep}{last}"
        source = f"{folder}{sep}__init__.py"
        cached = f"{folder}{_CACHE}__init__{_ENDING}"
        code = _code(source, cached)
        if code is None:
            return None
        spec = _spec(name, source, cached, code, name)
        spec.submodule_search_locations = [folder]
        return spec


class Loader(SourceFileLoader):
    """Python's own loader of source files, which has the code already when it is first asked."""

    code: CodeType | None = None
    facts: Mapping[str, object] = {}
    """The attributes that Python would look for in vain and then set: each miss is an exception."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """An empty module with these attributes."""
        module = Module(spec.name)
        module.__dict__.update(self.facts)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Run the module. A second time is a reload: the source may have changed."""
        code, self.code = self.code, None
        if code is None:
            super().exec_module(module)
        else:
            exec(code, module.__dict__)


def find_own_modules() -> None:
    """Put the finder before the others, unless Python was told to keep its files elsewhere, to optimise them, to
    compare them all, or to report imports."""
    usual = sys.pycache_prefix is None and not sys.flags.optimize and sys.implementation.cache_tag
    told = "importtime" in sys._xoptions or "PYTHONPROFILEIMPORTTIME" in os.environ
    told = told or check_hash_based_pycs == "always"
    if usual and not told and OwnModules not in sys.meta_path:
        sys.meta_path.insert(0, OwnModules)  # pyright: ignore[reportArgumentType]
        sys.modules["__future__"].__class__ = Module  # each of our modules begins with an import from it


def load_words() -> None:
    """What reads a command line."""
    from yume_shim.host.start_modules import WORDS

    load_in_order(WORDS)


def load_ready(form: str) -> None:
    """What a session in this form needs until it is ready."""
    from yume_shim.host.start_modules import READY, READY_OF

    load_in_order((*READY, *READY_OF.get(form, ())))


def load_program(form: str) -> None:
    """What it needs until a turn begins."""
    from yume_shim.host.start_modules import PROGRAM, PROGRAM_OF

    load_in_order((*PROGRAM, *PROGRAM_OF.get(form, ())), threads=1)  # that of signals imports nothing


def load_turn(form: str, api: str) -> None:
    """What a turn needs with a model of this wire API."""
    from yume_shim.host.start_modules import API, TURN, TURN_OF

    load_in_order((*TURN, *TURN_OF.get(form, ()), *API.get(api, ())), threads=1)


def load_in_order(names: Sequence[str], threads: int = 0) -> None:
    """Load these modules of ours, unless they are there or Python must find them. Nothing is done without the finder,
    or if more `threads` run than are known to import nothing: there is no lock."""
    if OwnModules not in sys.meta_path or _count() > threads:
        return
    modules = sys.modules
    for name in names:
        above, _, last = name.rpartition(".")
        parent = modules.get(above)
        if parent is None or name in modules:
            continue
        spec = OwnModules.find_spec(name, parent.__path__)
        if spec is None:
            continue
        loader: Any = spec.loader
        module = modules[name] = loader.create_module(spec)
        module.__spec__ = spec
        if spec.submodule_search_locations is not None:
            module.__path__ = spec.submodule_search_locations
        try:
            loader.exec_module(module)
        except BaseException:
            del modules[name]
            raise
        setattr(parent, last, module)


def _code(source: str, cached: str) -> CodeType | None:
    """The code in `cached`, if it is that of `source` as it is now."""
    try:
        file = open_file(cached, READ)
        try:
            data = read(file, MOST_BYTES)
        finally:
            close(file)
        now: Any = stat(source)
    except OSError:
        return None
    named = (now[ST_MTIME] & LOW_32_BITS) | (now[ST_SIZE] & LOW_32_BITS) << 32
    valid = data.startswith((PLAIN + named.to_bytes(8, "little"), UNCHECKED))
    if not valid or len(data) == MOST_BYTES:
        return None
    try:
        code: CodeType = loads(memoryview(data)[HEAD_BYTES:])
    except (EOFError, ValueError, TypeError):  # not all of it was read
        return None
    _fix_co_filename(code, source)  # the folder may have been moved since
    return code


def _spec(name: str, source: str, cached: str, code: CodeType, package: str) -> ModuleSpec:
    loader = Loader(name, source)
    loader.code = code
    loader.facts = {"__file__": source, "__cached__": cached, "__loader__": loader, "__package__": package}
    spec: Any = ModuleSpec(name, loader, origin=source)
    spec.has_location = True
    spec._initializing = False  # each `import` of a loaded module asks for it: a miss is an exception
    return spec  # type: ignore[no-any-return]
