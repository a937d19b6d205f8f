"""A cassette written by a test, and the program run on it in one of the print modes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.helpers import child

if TYPE_CHECKING:
    from pathlib import Path


def write_cassette(folder: Path, api: str, model: str, *wires: list[dict[str, Any]]) -> Path:
    """One wire file per request, in the format of golden/README.md."""
    (folder / "wire").mkdir(parents=True)
    (folder / "cassette.toml").write_text(f'api = "{api}"\nmodel = "{model}"\n', "utf-8")
    for number, frames in enumerate(wires, 1):
        text = "".join(json.dumps(frame) + "\n" for frame in frames)
        (folder / "wire" / f"{number:02}.jsonl").write_text(text, "utf-8")
    return folder


def run_cassette(cassette: Path, *argv: str, script: list[dict[str, Any]] | None = None, **env: str) -> child.Ended:
    """Run the program on a cassette. `script` are stdin lines and cues."""
    home, work = cassette.parent / "home", cassette.parent / "work"
    home.mkdir(exist_ok=True)
    work.mkdir(exist_ok=True)
    given = ["--provider", "replay", "--cassette", str(cassette), *argv]
    environment = child.clean_environment(home, YUME_TEST_CLOCK="1", YUME_TEST_IDS="1") | env
    return child.run(given, script or (), cwd=work, env=environment)
