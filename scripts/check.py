"""Every check that is not a test: `python3 scripts/check.py`. Prints a table; exit code 1 if anything failed."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import _venv
from privacy import private_parts
from seam import foreign_calls

MAX_FILE_LINES = 450
MAX_FUNCTION_LINES = 60
MAX_TABLE_LINES = 80
"""A function that ends in one `match` is a table: it is looked up, not read, and splitting it hides what is missing."""
AT_ONCE = 2
"""Checks that run side by side: mypy and pyright use one core each."""
SHOWN = 60
"""Lines of a failed check's output that are shown."""
Outcome = tuple[bool, str]


def main() -> int:
    """Run all checks, show what failed, then the table."""
    if sys.argv[1:]:  # there are none: asking for help must not start minutes of work
        print((__doc__ or "").strip())
        return 0 if sys.argv[1] in ("-h", "--help") else 2
    _venv.ready()
    checks: dict[str, Callable[[], Outcome]] = {
        "pyright": lambda: tool("pyright"),  # the longest ones first: the others run beside them
        "mypy": lambda: tool("mypy"),
        "ruff check": lambda: tool("ruff", "check", "."),
        "ruff format": lambda: tool("ruff", "format", "--check", "--quiet", "."),
        "import contracts": lambda: command([script("lint-imports")]),
        "sizes": sizes,
        "module names": module_names,
        "systems": systems,
        "tables in documents": lambda: command([sys.executable, os.path.join("scripts", "doc_tables.py"), "--check"]),
        "protocol schemas": lambda: command(
            [sys.executable, os.path.join("scripts", "protocol_schemas.py"), "--check"]
        ),
        "price table": lambda: command([sys.executable, os.path.join("scripts", "price_table.py"), "--check"]),
        "licence list": lambda: command([sys.executable, os.path.join("scripts", "licences.py"), "--check"]),
        "nothing private": nothing_private,
    }
    table = []
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        for name, (passed, output, seconds) in zip(checks, pool.map(timed, checks.values()), strict=True):
            table.append((name, passed, seconds))
            if not passed:
                print(f"--- {name}\n" + "\n".join(output.strip().splitlines()[-SHOWN:]) + "\n", flush=True)
    for name, passed, seconds in table:
        print(f"{name:<18} {'ok' if passed else 'FAILED':<8} {seconds:6.1f} s")
    failed = sum(not passed for _, passed, _ in table)
    print(f"{len(table) - failed} of {len(table)} checks passed")
    return 1 if failed else 0


def timed(check: Callable[[], Outcome]) -> tuple[bool, str, float]:
    """What a check says, and how many seconds it took."""
    started = time.monotonic()
    passed, output = check()
    return passed, output, time.monotonic() - started


def tool(module: str, *words: str) -> Outcome:
    """Run a tool of the environment."""
    return command([sys.executable, "-m", module, *words])


def script(name: str) -> str:
    """A console script of the environment."""
    folder = os.path.dirname(sys.executable)
    return shutil.which(name, path=folder) or os.path.join(folder, name)


def command(words: list[str]) -> Outcome:
    """Run a command in the checkout."""
    done = subprocess.run(words, cwd=_venv.ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.returncode == 0, done.stdout.decode("utf-8", "replace")


def sizes() -> Outcome:
    """No file and no function of the program or the scripts may outgrow what can be read in one go."""
    problems = []
    for folder in ("yume_shim", "scripts"):
        for path in python_files(os.path.join(_venv.ROOT, folder)):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            name = os.path.relpath(path, _venv.ROOT)
            count = text.count("\n")
            if count > MAX_FILE_LINES:
                problems.append(f"{name}: {count} lines (at most {MAX_FILE_LINES})")
            problems += [f"{name}:{place}" for place in long_functions(text)]
    return not problems, "\n".join(problems)


def long_functions(text: str) -> Iterator[str]:
    """`line: name has N lines` for each function over the limit."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
            count = node.end_lineno - node.lineno + 1
            limit = MAX_TABLE_LINES if isinstance(node.body[-1], ast.Match) else MAX_FUNCTION_LINES
            if count > limit:
                yield f"{node.lineno}: {node.name} has {count} lines (at most {limit})"


def module_names() -> Outcome:
    """No module of the program begins with an underscore: what is private to a room is said by the import contracts."""
    package = os.path.join(_venv.ROOT, "yume_shim")
    problems = [
        f"{os.path.relpath(path, _venv.ROOT)}: a module's name does not begin with an underscore"
        for path in python_files(package)
        if has_underscore(os.path.relpath(path, package))
    ]
    return not problems, "\n".join(problems)


def systems() -> Outcome:
    """What not every system has is used in the rooms of the systems only."""
    found = list(foreign_calls(os.path.join(_venv.ROOT, "yume_shim")))
    return not found, "\n".join(found)


def has_underscore(path: str) -> bool:
    """Whether a file or one of its folders begins with an underscore (`__init__.py` and `__main__.py` may)."""
    *folders, file = path.split(os.sep)
    return any(name.startswith("_") for name in folders) or (
        file.startswith("_") and file not in ("__init__.py", "__main__.py")
    )


def python_files(folder: str) -> Iterator[str]:
    """Every Python file below a folder."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        yield from (os.path.join(place, name) for name in sorted(files) if name.endswith(".py"))


def nothing_private() -> Outcome:
    """No key, no path of a machine and no registry in any file that is or would be tracked."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=_venv.ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    names = [name for name in listed.stdout.decode("utf-8", "surrogateescape").split("\0") if name]
    if listed.returncode != 0:
        return True, "not a git checkout: nothing to look at"
    problems = []
    for name in names:
        try:
            with open(os.path.join(_venv.ROOT, name), encoding="utf-8", errors="replace") as file:
                problems += [f"{name}:{number}: {what}" for number, what in private_parts(file)]
        except OSError:  # deleted, or a link to nowhere
            continue
    return not problems, "\n".join(problems)


if __name__ == "__main__":
    sys.exit(main())
