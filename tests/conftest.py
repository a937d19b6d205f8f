"""For all tests: the network is closed except for loopback, and nothing of the person who runs them leaks in."""

from __future__ import annotations

import ipaddress
import os
import socket
from typing import Any

import pytest

PRIVATE = (
    "ANTHROPIC_",
    "AZURE_",
    "CLAUDE",
    "GEMINI_",
    "GOOGLE_",
    "GROQ_",
    "MISTRAL_",
    "OPENAI_",
    "OPENROUTER_",
    "XAI_",
)
OURS_TO_KEEP = ("YUME_RECORDED", "YUME_PARITY", "YUME_TEST_NODE")

_connect = socket.socket.connect
_connect_ex = socket.socket.connect_ex


def _is_local(family: int, address: Any) -> bool:
    if family not in (socket.AF_INET, socket.AF_INET6):
        return True
    host = str(address[0]).split("%")[0]
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _guarded_connect(self: socket.socket, address: Any) -> None:
    if not _is_local(self.family, address):
        raise AssertionError(f"a test tried to reach {address}: only loopback is open")
    _connect(self, address)


def _guarded_connect_ex(self: socket.socket, address: Any) -> int:
    if not _is_local(self.family, address):
        raise AssertionError(f"a test tried to reach {address}: only loopback is open")
    return _connect_ex(self, address)


def pytest_configure() -> None:
    """Close the network and forget keys, proxies and settings before anything is imported."""
    socket.socket.connect = _guarded_connect  # type: ignore[assignment,method-assign]
    socket.socket.connect_ex = _guarded_connect_ex  # type: ignore[assignment,method-assign]
    for name in list(os.environ):
        ours = name.startswith("YUME_") and name not in OURS_TO_KEEP
        if ours or name.startswith(PRIVATE) or name.lower().endswith("_proxy"):
            del os.environ[name]


@pytest.fixture(autouse=True)
def _home_of_its_own(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the real home folder."""
    home = str(tmp_path_factory.getbasetemp() / "home")
    os.makedirs(home, exist_ok=True)
    monkeypatch.setenv("HOME", home)
    monkeypatch.setenv("USERPROFILE", home)
