"""A session of an ACP server that a signal overtakes."""

from __future__ import annotations

import os

from yume_shim.app.acp.client import Client
from yume_shim.app.acp.params import open_params
from yume_shim.app.acp.session import AcpSession, Registry
from yume_shim.host.writer import LineWriter


def test_a_session_that_has_not_begun_is_not_waited_for() -> None:
    """The signal comes while the reader's thread is about to start it."""
    out = os.open(os.devnull, os.O_WRONLY)
    asked = open_params("new", {"cwd": os.getcwd(), "mcpServers": []})
    AcpSession(1, asked, {}, {}, Client(LineWriter(out, 0, wide_escapes=False)), Registry()).wait(30)
    os.close(out)
