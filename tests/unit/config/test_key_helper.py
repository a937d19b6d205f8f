"""Keys from commands in real shells: expiry, failures, time limits and interrupts."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from tests.helpers.fakes import FakeClock, cancel
from tests.helpers.timing import soon, wait_until
from yume_shim.catalog.resolve import Catalog
from yume_shim.config.build import build_settings
from yume_shim.config.credentials import find_keys
from yume_shim.config.key_helper import CommandKey, ttl_seconds
from yume_shim.config.setting_sources import SettingSources
from yume_shim.types.errors import BadInvocation, Cancelled
from yume_shim.types.models import Credential

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are written for a POSIX shell")

LABEL = Credential("", "key", "apiKeyHelper", also_bearer=True)
PATH = {"PATH": "/usr/bin:/bin"}


class Helper:
    """A command that counts its runs in a file."""

    def __init__(self, folder: Path, command: str, ttl: float = 300.0, limit: float = 30.0) -> None:
        self.clock = FakeClock()
        self.learned: list[str] = []
        self.folder = folder
        self.key = CommandKey(
            command, LABEL, ttl, PATH, str(folder), self.learned.append, self.clock.monotonic, limit=limit
        )

    def get(self) -> str:
        return self.key.get(cancel()).key


COUNTING = 'echo x >> runs; echo "  key-$(wc -l < runs | tr -d " ")  "; echo "sk-on-stderr" >&2'


def test_the_command_runs_again_when_its_key_has_expired(tmp_path: Path) -> None:
    helper = Helper(tmp_path, COUNTING)
    assert helper.key.known() == LABEL
    assert [helper.get(), helper.get()] == ["key-1", "key-1"]
    helper.clock.time += 299.9
    assert helper.get() == "key-1"
    helper.clock.time += 0.1
    assert helper.key.get(cancel()) == Credential("key-2", "key", "apiKeyHelper", also_bearer=True)
    assert helper.learned == ["key-1", "key-2"]


def test_the_command_runs_again_after_a_refusal(tmp_path: Path) -> None:
    helper = Helper(tmp_path, COUNTING)
    first = helper.key.get(cancel())
    assert helper.key.renew(first, cancel())
    assert helper.key.renew(first, cancel()), "another thread's renewal counts"
    assert helper.get() == "key-2"
    same = Helper(tmp_path, "echo same")
    assert not same.key.renew(same.key.get(cancel()), cancel())


@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("echo secret-out; echo secret-err >&2; exit 3", "ended with exit code 3"),
        ("kill -9 $$", "ended with exit code -9"),
        ("true", "printed nothing"),
        ("printf 'secret\\nsecret\\n'", "printed something that is not a key"),
        ("printf '\\377'", "printed something that is not a key"),
        ("yes secret | head -c 100000", "printed far more than a key"),
        ("no-such-command-here", "ended with exit code 127"),
    ],
)
def test_the_error_names_the_place_of_the_command_and_not_its_output(tmp_path: Path, command: str, what: str) -> None:
    with pytest.raises(BadInvocation) as caught:
        Helper(tmp_path, command).get()
    assert caught.value.kind == "auth"
    assert caught.value.message == f"no key: the command of apiKeyHelper {what} (what it printed is not shown)"


def test_a_hanging_command_and_its_children_are_killed(tmp_path: Path) -> None:
    with soon(), pytest.raises(BadInvocation, match=r"did not end within 0\.3 seconds"):
        Helper(tmp_path, "sleep 60 & sleep 60; echo late", limit=0.3).get()


has_setsid = pytest.mark.skipif(shutil.which("setsid") is None, reason="no setsid on this system")


@has_setsid
def test_processes_left_running_by_a_command_do_not_block(tmp_path: Path) -> None:
    """An agent in its own session keeps the pipe open, and a signal to the process group does not reach it."""
    helper = Helper(tmp_path, "setsid sh -c 'echo $$ > agent; exec sleep 60' & echo the-key")
    agent = tmp_path / "agent"
    try:
        with soon():
            assert helper.get() == "the-key"
    finally:
        wait_until(lambda: agent.exists() and agent.read_text().strip(), "the agent")
        os.kill(int(agent.read_text()), signal.SIGKILL)


@has_setsid
@pytest.mark.parametrize("how", ["late", "interrupted"])
def test_a_hanging_command_that_started_an_agent_is_stopped(tmp_path: Path, how: str) -> None:
    stop = cancel()
    if how == "interrupted":
        threading.Timer(0.3, stop.set).start()
    helper = Helper(tmp_path, "setsid sleep 20 & sleep 60", limit=0.3 if how == "late" else 30)
    with soon(), pytest.raises(BadInvocation if how == "late" else Cancelled):
        helper.key.get(stop)


def test_an_interrupt_stops_a_running_command(tmp_path: Path) -> None:
    stop = cancel()
    threading.Timer(0.2, stop.set).start()
    with soon(), pytest.raises(Cancelled):
        Helper(tmp_path, "sleep 60").key.get(stop)


@pytest.mark.parametrize(("given", "seconds"), [("", 300.0), ("1500", 1.5), ("0", 0.0), ("soon", 300.0), ("-1", 300.0)])
def test_time_to_live(given: str, seconds: float) -> None:
    assert ttl_seconds({"CLAUDE_CODE_API_KEY_HELPER_TTL_MS": given}) == seconds


@pytest.mark.parametrize(
    ("where", "trusted", "found"),
    [("user", False, True), ("project", False, False), ("project", True, True), ("--settings", False, True)],
)
def test_only_trusted_files_may_set_a_command(tmp_path: Path, where: str, trusted: bool, found: bool) -> None:
    home, cwd = tmp_path / "home", tmp_path / "ws"
    for folder in (home / ".claude", cwd / ".claude"):
        folder.mkdir(parents=True)
    data = json.dumps({"apiKeyHelper": "echo of-helper"})
    values: dict[str, Any] = {}
    if where == "--settings":
        values["settings"] = data
    else:
        ((home if where == "user" else cwd) / ".claude" / "settings.json").write_text(data)
    if trusted:
        (home / ".claude.json").write_text(json.dumps({"projects": {str(cwd): {"hasTrustDialogAccepted": True}}}))
    env = {"HOME": str(home), **PATH}
    settings = build_settings(
        SettingSources(values, (), flat=True, env=env, cwd=str(cwd), log=lambda level, message: None)
    )
    keys = find_keys(Catalog(settings, lambda _: True).endpoint("anthropic"), settings)
    expected = [Credential("of-helper", "key", "apiKeyHelper", also_bearer=True)] if found else []
    assert [key.get(cancel()) for key in keys] == expected
    assert find_keys(Catalog(settings, lambda _: True).endpoint("openai"), settings) == ()
