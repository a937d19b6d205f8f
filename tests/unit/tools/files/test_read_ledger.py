"""What the model has seen of a file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from yume_shim.tools.files.read_ledger import ReadLedger

if TYPE_CHECKING:
    from pathlib import Path


def test_ledger(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"one")
    (tmp_path / "link").symlink_to(path)
    ledger = ReadLedger()
    assert not ledger.changed(str(path), path.stat(), b"one")
    ledger.note(str(tmp_path / "link"), path.stat(), b"one")
    os.utime(path, (1, 1))
    assert ledger.knows(str(path))
    assert not ledger.changed(str(path), path.stat(), b"one")
    assert ledger.changed(str(path), path.stat(), b"two")
    ledger.note(str(path), path.stat(), None)
    assert not ledger.changed(str(path), path.stat(), b"one")
    os.utime(path, (2, 2))
    assert ledger.changed(str(path), path.stat(), b"one")
