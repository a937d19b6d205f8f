"""Every check that is not a test: `python3 scripts/check.py`. Prints a table; exit code 1 if anything failed."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator

import _venv

MAX_FILE_LINES = 450
MAX_FUNCTION_LINES = 60
MAX_TABLE_LINES = 80
"""A function that ends in one `match` is a table: it is looked up, not read, and splitting it hides what is missing."""
SHOWN = 60
"""Lines of a failed check's output that are shown."""
KEY_SHAPES = re.compile(
    r"(?<![A-Za-z0-9])sk-(?:ant-|proj-)?[A-Za-z0-9_-]{24,}|AIza[0-9A-Za-z_-]{35}|gh[pousr]_[A-Za-z0-9]{36}|AKIA[0-9A-Z]{16}"
    r"|xox[abpr]-[0-9A-Za-z-]{20,}|-----BEGIN [A-Z ]*PRIVATE KEY-----\s+[A-Za-z0-9+/]{40}"
)
MADE_UP = re.compile(r"example|fake|test|secret|dummy|not-a|0123|1234|abcd|xxxx|aaaa", re.IGNORECASE)
"""A key in a test says that it is none."""
FOREIGN = re.compile(
    r"/wor[k]/(?:main|shared)|/roo[t]/|/tm[p]/(?:brief|bash_jobs)|files\.pythonhosted\.or[g]|pypi\.or[g]/simple"
)
"""Paths and addresses of one machine have no place in the project (written so that this line does not match itself)."""

Outcome = tuple[bool, str]


def main() -> int:
    """Run all checks, show what failed, then the table."""
    _venv.ready()
    checks: dict[str, Callable[[], Outcome]] = {
        "ruff check": lambda: tool("ruff", "check", "."),
        "ruff format": lambda: tool("ruff", "format", "--check", "--quiet", "."),
        "mypy": lambda: tool("mypy"),
        "pyright": lambda: tool("pyright"),
        "import contracts": lambda: command([script("lint-imports")]),
        "sizes": sizes,
        "tables in documents": lambda: command([sys.executable, os.path.join("scripts", "doc_tables.py"), "--check"]),
        "nothing private": nothing_private,
    }
    table = []
    for name, check in checks.items():
        started = time.monotonic()
        passed, output = check()
        table.append((name, passed, time.monotonic() - started))
        if not passed:
            print(f"--- {name}\n" + "\n".join(output.strip().splitlines()[-SHOWN:]) + "\n")
    for name, passed, seconds in table:
        print(f"{name:<18} {'ok' if passed else 'FAILED':<8} {seconds:6.1f} s")
    failed = sum(not passed for _, passed, _ in table)
    print(f"{len(table) - failed} of {len(table)} checks passed")
    return 1 if failed else 0


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


def python_files(folder: str) -> Iterator[str]:
    """Every Python file below a folder."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        yield from (os.path.join(place, name) for name in sorted(files) if name.endswith(".py"))


def nothing_private() -> Outcome:
    """No key and no path of a machine in any file that is or would be tracked."""
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


def private_parts(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """(line number, what) for each line that must not be there."""
    for number, line in enumerate(lines, 1):
        if FOREIGN.search(line):
            yield number, "a path or address of one machine"
        found = KEY_SHAPES.search(line)
        if found and not MADE_UP.search(found.group()):
            yield number, "looks like a key"


if __name__ == "__main__":
    sys.exit(main())
