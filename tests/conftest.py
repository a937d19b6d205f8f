"""For all tests: only loopback can be reached, the developer's own settings are invisible, skips are counted."""

from __future__ import annotations

import gc
import ipaddress
import os
import signal
import socket
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from tests.helpers.entry_tests import PLACES, expected_of, place_of
from tests.helpers.requirements import missing

if TYPE_CHECKING:
    from collections.abc import Generator

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
OURS_TO_KEEP = (
    *("YUME_RECORDED", "YUME_PARITY", "YUME_TEST_NODE"),
    *("YUME_ALL_FAULTS", "YUME_EVERY_BYTE", "YUME_HISTORIES", "YUME_BREAK_MESSAGES"),
    "YUME_SESSIONS_INSIDE",
)

# Examples are the same in every run (`--hypothesis-profile=explore` draws new ones). How long one takes says more about
# the machine than about the code: no deadline, and no complaint about slow generation.
settings.register_profile("suite", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "explore", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=1_000, print_blob=True
)
settings.load_profile("suite")

NO_RIGHT = 1314
"""What Windows answers to a person who may not make links."""
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


_symlink = os.symlink


class NoLinksError(OSError):
    """Wine makes no links and says nothing; Windows asks for a right."""


def _checked_symlink(target: Any, link: Any, *args: Any, **more: Any) -> None:
    try:
        _symlink(target, link, *args, **more)
    except OSError as error:
        if getattr(error, "winerror", 0) == NO_RIGHT:
            raise NoLinksError from error
        raise
    if not os.path.islink(link):
        raise NoLinksError


def pytest_configure() -> None:
    """Close the network; remove keys, proxies and settings from the environment before anything is imported. The
    programs of the virtual environment (ripgrep, yume-shim) are found whether it is activated or not."""
    socket.socket.connect = _guarded_connect  # type: ignore[assignment,method-assign]
    socket.socket.connect_ex = _guarded_connect_ex  # type: ignore[assignment,method-assign]
    if sys.platform == "win32":
        os.symlink = _checked_symlink
    for name in list(os.environ):
        ours = name.startswith("YUME_") and name not in OURS_TO_KEEP
        if ours or name.startswith(PRIVATE) or name.lower().endswith("_proxy"):
            del os.environ[name]
    for name in (
        "SIGINT",
        "SIGHUP",
    ):  # ignored in a script's background job, or under nohup: our programs would inherit that
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL)
    os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)])


def pytest_collection_finish() -> None:
    """What was collected stays: the collector need not scan it again and again. A pause of it in the middle of a test
    counts as processor time of whatever is measured there, such as the gate's limit for a command."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests whose markers name something that this machine does not have."""
    for item in items:
        for mark in item.iter_markers():
            reason = missing(mark.name)
            if reason:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_pyfunc_call() -> Generator[None, object, object]:
    """Skip a test that makes a link where there are none."""
    try:
        return (yield)
    except NoLinksError:
        pytest.skip("no symbolic links here")


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup() -> Generator[None, object, object]:
    """The same for fixtures."""
    try:
        return (yield)
    except NoLinksError:
        pytest.skip("no symbolic links here")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """A test that is said to reach entries of the catalogue of errors must reach them (`entry_tests.py`)."""
    place = place_of(item.nodeid)
    if place not in PLACES:
        return (yield)
    from tests.helpers.reached_entries import reaching

    with reaching(expected_of(place)):
        return (yield)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count skips by reason: a suite that skips what it should prove must not look green."""
    line = skip_summary([report.longrepr for report in terminalreporter.getreports("skipped")])
    if line:
        terminalreporter.write_line(line)


def skip_summary(reasons: list[Any]) -> str:
    """`skipped: 3 (node or npm not found: 2, root only: 1)`; "" if nothing was."""
    counted: Counter[str] = Counter()
    for entry in reasons:  # (file, line, "Skipped: reason")
        text = entry[2] if isinstance(entry, tuple) else str(entry)
        reason = text.removeprefix("Skipped: ").partition("\n")[0]
        counted["no cases to run" if reason.startswith("got empty parameter set") else reason] += 1
    listed = ", ".join(f"{reason}: {count}" for reason, count in counted.most_common())
    return f"skipped: {counted.total()} ({listed})" if counted else ""


@pytest.fixture(autouse=True)
def _empty_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the real home folder."""
    home = str(tmp_path_factory.getbasetemp() / "home")
    os.makedirs(home, exist_ok=True)
    monkeypatch.setenv("HOME", home)
    monkeypatch.setenv("USERPROFILE", home)
