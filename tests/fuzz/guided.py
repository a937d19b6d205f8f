"""One target under the coverage-guided fuzzer atheris, in a process that it ends.

    python -m tests.fuzz.guided TARGET REPORT INPUTS SECONDS SEED FINDINGS

Findings do not end the run: they are written like those of the other engine, and counted in REPORT.
"""

from __future__ import annotations

import importlib
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

atheris: Any = importlib.import_module("atheris")
"""It has no types, and is not installed everywhere."""

with atheris.instrument_imports(include=["yume_shim"]):
    from tests.fuzz.harness import COLLECT_EVERY, Finding, open_target, time_limit, try_input

MAX_BYTES = 4_096


def main() -> None:
    """Fuzz until the count or the time is reached."""
    name, told, inputs, seconds, seed, findings = sys.argv[1:]
    folder = Path(tempfile.mkdtemp(prefix="yume-fuzz-"))
    with atheris.instrument_imports(include=["yume_shim"]):
        target = open_target(name, folder)
    corpus = folder / "corpus"
    corpus.mkdir()
    for number, data in enumerate(target.seeds):
        (corpus / f"{number:04}").write_bytes(data)
    words = "".join(f'"{_quoted(word)}"\n' for word in target.words if 0 < len(word) < 60)
    (folder / "words").write_text(words, "ascii")
    seen: dict[str, Finding] = {}
    began, count = time.monotonic(), 0

    def write() -> None:
        facts = {"inputs": count, "seconds": time.monotonic() - began, "findings": list(seen)}
        Path(told).write_text(json.dumps(facts), "utf-8")

    def one(data: bytes) -> None:
        nonlocal count
        count += 1
        finding = try_input(target, data)
        if finding is not None and finding.what not in seen:
            seen[finding.what] = finding
            place = Path(findings)
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{name}-guided-{len(seen)}").write_bytes(data)
            (place / f"{name}-guided-{len(seen)}.txt").write_text(finding.report, "utf-8", errors="replace")
        if count % 500 == 0 or count >= int(inputs):
            write()
        if count % COLLECT_EVERY == 0:
            import gc

            gc.unfreeze()
            gc.collect()

    limits = [f"-runs={inputs}", f"-seed={seed}", f"-max_len={MAX_BYTES}", "-rss_limit_mb=2048"]
    if words:  # an empty dictionary is refused
        limits.append(f"-dict={folder / 'words'}")
    if float(seconds):
        limits.append(f"-max_total_time={int(float(seconds))}")
    write()
    with time_limit():
        atheris.Setup([sys.argv[0], *limits, str(corpus)], one)
        try:
            atheris.Fuzz()
        finally:
            write()
            shutil.rmtree(folder, ignore_errors=True)


def _quoted(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)


if __name__ == "__main__":
    main()
