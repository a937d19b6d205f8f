"""What the copy of a folder holds, and what is said when there can be none."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from yume_shim.batch.copies import CopyFailed, copy_folder


def test_a_folder_that_is_in_use(tmp_path: Path) -> None:
    folder, out = tmp_path / "work", tmp_path / "work" / "out"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("x")
    out.write_text("rows")
    copies = Path(f"{out}.copies")
    (copies / "old").mkdir(parents=True)
    expected = {"src"}
    if sys.platform != "win32":
        os.mkfifo(folder / "pipe")
        (folder / "link").symlink_to("nowhere")
        expected.add("link")
    for _ in range(2):  # the second time: of an earlier try
        copy_folder(str(folder), str(copies / "new"), (str(out), str(copies), ""))
    assert {path.name for path in (copies / "new").iterdir()} == expected
    assert (copies / "new" / "src" / "a.py").read_text() == "x"


def test_a_folder_that_cannot_be_copied(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for source, target in (("none", "copy"), (".", "file/copy")):
        with pytest.raises(CopyFailed, match="cannot copy "):
            copy_folder(str(tmp_path / source), str(tmp_path / target), ())
