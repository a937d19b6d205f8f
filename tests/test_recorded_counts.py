"""No recorded body is forgotten: each is decoded by one of the other modules, or stands here with a reason.

The counts are printed (`pytest -s`). `YUME_RECORDED` names the folder of recordings.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests import test_recorded, test_recorded_errors, test_recorded_google, test_recorded_ollama, test_recorded_openai

if TYPE_CHECKING:
    from types import ModuleType

FOLDER = test_recorded_errors.FOLDER
MODULES = (test_recorded, test_recorded_errors, test_recorded_google, test_recorded_ollama, test_recorded_openai)
OUT_OF_SCOPE = {
    "others/cohere_v2_tool_call.sse": "Cohere's own API, which no adapter speaks; Cohere offers Chat Completions too",
}


def all_bodies() -> dict[str, str]:
    """File -> API of everything that was recorded."""
    index = FOLDER / "INDEX.tsv"
    if not index.exists():
        return {}
    with index.open(encoding="utf-8", newline="") as rows:
        return {row["file"]: row["api"] for row in csv.DictReader(rows, delimiter="\t")}


def shown_by(module: ModuleType) -> set[str]:
    """The files that a module's tests are run on."""
    tests = [item for name, item in vars(module).items() if name.startswith("test_")]
    marks = [mark for test in tests for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize"]
    rows = [row if isinstance(row, tuple) else (row,) for mark in marks for row in mark.args[1]]
    return {value for row in rows for value in row if isinstance(value, str) and "/" in value}


@pytest.mark.recordings
def test_every_body_is_decoded_or_listed() -> None:
    bodies = all_bodies()
    decoded = set[str]().union(*map(shown_by, MODULES))
    counts = Counter((bodies[file], "decoded" if file in decoded else "listed") for file in bodies)
    for (api, what), count in sorted(counts.items()):
        sys.stdout.write(f"{api:>20} {what:>8} {count:4}\n")
    errors = len(test_recorded_errors.error_bodies())
    sys.stdout.write(f"{len(bodies)} bodies, {len(decoded)} decoded, {errors} of them errors\n")
    assert decoded | set(OUT_OF_SCOPE) == set(bodies)
    assert not decoded & set(OUT_OF_SCOPE)
