"""A session of an ACP server that a signal overtakes, or that does not end in time."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from yume_shim.app.acp.client import Client
from yume_shim.app.acp.params import open_params
from yume_shim.app.acp.session import AcpSession, Registry
from yume_shim.host.writer import LineWriter
from yume_shim.text.codec import loads

if TYPE_CHECKING:
    from pathlib import Path


def test_a_session_that_has_not_begun_is_not_waited_for() -> None:
    """The signal comes while the reader's thread is about to start it."""
    out = os.open(os.devnull, os.O_WRONLY)
    asked = open_params("new", {"cwd": os.getcwd(), "mcpServers": []})
    AcpSession(1, asked, {}, {}, Client(LineWriter(out, 0, wide_escapes=False)), Registry()).wait(30)
    os.close(out)


def test_the_requests_of_a_session_that_does_not_end_are_answered_once(tmp_path: Path) -> None:
    out = os.open(tmp_path / "out", os.O_WRONLY | os.O_CREAT)
    asked = open_params("new", {"cwd": os.getcwd(), "mcpServers": []})
    session = AcpSession(1, asked, {}, {}, Client(LineWriter(out, 10_000, wide_escapes=False)), Registry())
    session.answer_rest()
    session.answer_rest()
    os.close(out)
    [line] = (tmp_path / "out").read_bytes().splitlines()
    assert loads(line)["id"] == 1
