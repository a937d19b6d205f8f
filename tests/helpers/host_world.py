"""Everything a host test needs: a home, a workspace, a provider's settings as a user writes them, a scripted model."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.helpers import child
from tests.helpers.scripted_model import ModelServer
from tests.helpers.seen_request import read_request

if TYPE_CHECKING:
    from tests.helpers.scripted_model import Answer
    from tests.helpers.seen_request import SeenRequest

STRAY_WAIT = 30.0
"""Seconds that processes may take to end after their host has."""


class Vendor(NamedTuple):
    """How a user points the program at a provider."""

    name: str
    model: str
    other_model: str
    base_url_var: str
    base_path: str
    key_var: str


ANTHROPIC = Vendor("anthropic", "claude-sonnet-5-5", "claude-haiku-4-5", "ANTHROPIC_BASE_URL", "", "ANTHROPIC_API_KEY")
GOOGLE = Vendor("google", "gemini-3.5-flash", "gemini-3.1-pro", "GOOGLE_GEMINI_BASE_URL", "", "GEMINI_API_KEY")
OPENAI = Vendor("openai", "gpt-5.4", "gpt-5.4-mini", "OPENAI_BASE_URL", "/v1", "OPENAI_API_KEY")
VENDORS = (ANTHROPIC, GOOGLE, OPENAI)


class HostWorld:
    """One test's surroundings. Only the aliases of the configuration file name the provider: the host asks for `sonnet`
    or for nothing, like a host that knows no other vendor."""

    def __init__(self, folder: Path, vendor: Vendor) -> None:
        self.vendor = vendor
        self.home = folder / "home"
        self.cwd = folder / "work"
        self.home.mkdir()
        self.cwd.mkdir()
        self._servers: list[ModelServer] = []
        self.env = child.clean_environment(self.home)
        self.configure()

    def configure(self, more: str = "") -> None:
        """Write ~/.yume/config.toml: the model for each name that the host uses, and short waits between retries."""
        config = self.home / ".yume" / "config.toml"
        config.parent.mkdir(exist_ok=True)
        name, model, other = self.vendor.name, self.vendor.model, self.vendor.other_model
        aliases = f'default = "{name}/{model}"\nsonnet = "{name}/{model}"\nhaiku = "{name}/{other}"\n'
        config.write_text(f"[aliases]\n{aliases}\n[retry]\ninitial = 0.05\nretries = 2\n{more}", "utf-8")

    def serve(self, *answers: Answer) -> ModelServer:
        """Start the model and point the environment to it."""
        server = ModelServer(*answers)
        self._servers.append(server)
        self.env |= {self.vendor.base_url_var: server.url + self.vendor.base_path, self.vendor.key_var: "sk-scripted"}
        return server

    def settle_in_file(self) -> None:
        """Move address and key of the provider into the configuration file, for hosts that pass on no environment."""
        address, key = self.env.pop(self.vendor.base_url_var), self.env.pop(self.vendor.key_var)
        name = self.vendor.name
        self.configure(f'\n[keys]\n{name} = "{key}"\n\n[endpoints.{name}]\nbase_url = "{address}"\n')

    def requests(self) -> list[SeenRequest]:
        """The requests that the models received, in order."""
        return [read_request(request) for server in self._servers for request in server.requests]

    def close(self) -> None:
        """End the servers."""
        for server in self._servers:
            server.close()

    def processes(self) -> list[int]:
        """The processes of this world (Linux only: elsewhere none is found)."""
        return [process for process, _ in processes_of(self.home)]

    def strays(self) -> list[str]:
        """Processes of this test that still run after a fair wait; they are killed."""
        deadline = time.monotonic() + STRAY_WAIT
        while (found := processes_of(self.home)) and time.monotonic() < deadline:
            time.sleep(0.05)
        for process, _ in found:
            os.kill(process, signal.SIGKILL)
        return [f"{process}: {words}" for process, words in found]


def program() -> str:
    """The installed program, as a host names it."""
    found = shutil.which("yume-shim", path=str(Path(sys.executable).parent))
    assert found is not None, "yume-shim is not installed beside this Python"
    return found


def processes_of(home: Path) -> list[tuple[int, str]]:
    """Processes whose environment names this home."""
    mark = b"HOME=" + os.fsencode(home)
    found: list[tuple[int, str]] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found.append((int(folder.name), words))
        except OSError:
            continue
    return [entry for entry in found if entry[0] != os.getpid() and entry[1]]
