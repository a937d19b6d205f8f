"""The program under every other promised version of Python that is installed here: it uses layers of the standard
library that may differ (docs/decisions/0038). The whole suite runs with each version in hosted CI."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.helpers import child
from tests.helpers.scripted_model import ModelServer, call, say

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
VERSION = "Programming Language :: Python :: "
ASK = "import sys; print(sys.implementation.name, *sys.version_info[:2])"
FORMS = {
    "flat": (),
    "stream-json": ("-p", "--output-format", "stream-json", "--input-format", "stream-json", "--verbose"),
}
PROMPT = {"type": "user", "message": {"role": "user", "content": "What is in it?"}}


def promised() -> list[str]:
    """3.11, …: those that the package's description names."""
    rows = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["classifiers"]
    return [row.removeprefix(VERSION) for row in rows if row.startswith(VERSION + "3.")]


def interpreter(version: str) -> str | None:
    """A CPython of this version, on the search path or beside the one that runs the tests."""
    beside = Path(sys.base_prefix).parent
    found = [shutil.which(f"python{version}"), *glob(f"{beside}/{version}*/bin/python{version}")]
    for program in filter(None, found):
        told = subprocess.run([program, "-c", ASK], capture_output=True, text=True, check=False)
        if told.stdout.split() == ["cpython", *version.split(".")]:
            return program
    return None


@pytest.fixture
def server() -> Iterator[ModelServer]:
    made = ModelServer(*[[say("Let me look."), call("Read", file_path="a.txt")], [say("It says ünïcode 😀.")]] * 6)
    yield made
    made.close()


@pytest.mark.parametrize("version", [name for name in promised() if name != "{}.{}".format(*sys.version_info[:2])])
def test_a_turn_is_the_same_with_every_version(version: str, tmp_path: Path, server: ModelServer) -> None:
    other = interpreter(version)
    if other is None:
        pytest.skip("another promised version of Python is not installed")
    (tmp_path / "a.txt").write_text("alpha\n", "utf-8")
    env = child.clean_environment(tmp_path, ANTHROPIC_BASE_URL=server.url, ANTHROPIC_API_KEY="k")
    env["PYTHONPATH"] = os.fspath(ROOT)
    del env["PYTHONDONTWRITEBYTECODE"]
    for form, flags in FORMS.items():
        told = []
        for python in (sys.executable, other, other):  # the second time, modules come from the bytecode of the first
            words = ["-m", "yume_shim", *flags, "--model", "claude-x", "--no-session-persistence"]
            ended = child.run(words, (PROMPT,), cwd=tmp_path, env=env, program=(python,))
            assert (ended.code, ended.stderr) == (0, b""), (form, python)
            told.append([(line["type"], line.get("subtype"), line.get("result")) for line in ended.lines])
        assert told[0][-1 if form != "flat" else -2][2] == "It says ünïcode 😀."
        assert told[1] == told[2] == told[0]
