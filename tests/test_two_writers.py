"""Several processes that write the same small files at once: no line is mixed, and no file is half of one."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from tests.helpers import child
from yume_shim.config.saved_rules import read_saved_rules
from yume_shim.providers.facts.fact_file import FactFile
from yume_shim.store.error_records import MAX_RECORDS, errors_path, read_errors
from yume_shim.types.folders import yume_folder

if TYPE_CHECKING:
    from pathlib import Path

WRITERS, ROUNDS = 3, 30
WRITER = """
import os, sys
from yume_shim.config.saved_rules import save_rules
from yume_shim.providers.facts.fact_file import FactFile
from yume_shim.store.error_records import add_error, errors_path
from yume_shim.types.folders import yume_folder
me, rounds = sys.argv[1], int(sys.argv[2])
facts = FactFile(os.path.join(yume_folder(os.environ), "facts.json"), lambda: 1_000.0, lambda level, text: None)
for number in range(rounds):
    add_error(errors_path(os.environ), {"who": me, "number": number, "text": me * 700})
    facts.put(f"{me}/{number % 10}", "asked", {"by": me, "text": me * 200}, 60)
    save_rules(os.environ, os.getcwd(), "user", (f"Bash({me} {number})",))
"""


def test_several_processes_write_the_same_files(tmp_path: Path) -> None:
    env = child.clean_environment(tmp_path)
    words = [sys.executable, "-c", WRITER]
    writers = [
        subprocess.Popen([*words, name, str(ROUNDS)], cwd=tmp_path, env=env) for name in ("a", "b", "c")[:WRITERS]
    ]
    assert [writer.wait(120) for writer in writers] == [0] * WRITERS

    raw = (tmp_path / ".yume" / "errors.jsonl").read_bytes().splitlines()
    records = read_errors(errors_path(env))
    assert len(records) == len(raw)  # each line is one record
    assert 0 < len(records) <= MAX_RECORDS + WRITERS
    assert all(record["text"] == record["who"] * 700 for record in records)

    facts = FactFile(f"{yume_folder(env)}/facts.json", lambda: 1_001.0, lambda level, text: None)
    for name in ("a", "b", "c")[:WRITERS]:
        for number in range(10):
            assert facts.get(f"{name}/{number}", "asked") == {"by": name, "text": name * 200}

    rules = read_saved_rules(env, str(tmp_path), lambda level, text: None)
    assert sorted(rules) == sorted(f"Bash({name} {number})" for name in "abc"[:WRITERS] for number in range(ROUNDS))
