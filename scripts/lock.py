"""Write requirements.lock anew: every package of the project and of its `dev` group, pinned, with the hashes of all
files of each release, for all platforms, and without the address of any registry.

`python3 scripts/lock.py` keeps the versions that still fit; `--upgrade` takes the newest. The resolver (uv) is
installed into a scratch environment, because nothing else in the project needs it.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile

import _venv

FROM_SOURCE = "claude-agent-sdk"
"""Its wheels carry a program of more than 200 MB that the tests must not use."""


def main() -> int:
    """Resolve, check, write."""
    _venv.refuse_old_python()
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--upgrade", action="store_true", help="take the newest versions that fit pyproject.toml")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        made = os.path.join(scratch, "requirements.lock")
        if not given.upgrade and os.path.exists(_venv.LOCK):
            with open(_venv.LOCK, encoding="utf-8") as old, open(made, "w", encoding="utf-8") as new:
                new.write(old.read())
        resolve(scratch, made, upgrade=given.upgrade)
        with open(made, encoding="utf-8") as file:
            text = file.read()
    problem = complaint(text)
    if problem:
        print(f"requirements.lock was not written: {problem}", file=sys.stderr)
        return 1
    with open(_venv.LOCK, "w", encoding="utf-8", newline="\n") as file:
        file.write("# Made by scripts/lock.py; do not edit.\n" + text)
    print(f"{sum('==' in line for line in text.splitlines())} packages pinned in requirements.lock")
    return 0


def resolve(scratch: str, made: str, *, upgrade: bool) -> None:
    """Let uv write the pins into `made`."""
    tool = os.path.join(scratch, "tool")
    subprocess.run([sys.executable, "-m", "venv", tool], check=True)
    interpreter = os.path.join(tool, "Scripts" if os.name == "nt" else "bin", "python")
    subprocess.run([interpreter, "-m", "pip", "install", "--quiet", "uv"], check=True)
    command = [interpreter, "-m", "uv", "pip", "compile", "pyproject.toml", "--group", "dev", "--output-file", made]
    command += ["--universal", "--python-version", "3.11", "--generate-hashes", "--no-header", "--no-annotate"]
    command += ["--no-binary", FROM_SOURCE, "--emit-build-options", "--quiet"]
    subprocess.run([*command, *(["--upgrade"] if upgrade else [])], check=True, cwd=_venv.ROOT)


def complaint(text: str) -> str:
    """What is wrong with a lock file; "" if nothing is."""
    if "://" in text:
        return "it names an address"
    if f"--no-binary {FROM_SOURCE}" not in text:
        return f"it does not ask for the sdist of {FROM_SOURCE}"
    pins = re.split(r"\n(?=\S)", text)
    bare = [pin.split()[0] for pin in pins if "==" in pin and "--hash=" not in pin]
    return f"no hashes for {', '.join(bare)}" if bare else ""


if __name__ == "__main__":
    sys.exit(main())
