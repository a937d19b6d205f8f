"""What a start may cost: modules at three moments, and instructions as a multiple of bare Python's.

Instructions are counted by valgrind, so a busy machine changes nothing; both counts of a ratio come from one run. A
budget is the measured figure and a twentieth more. If a change makes a start cheaper, lower the
budget in the same commit.
"""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest
import start_modules

from tests.helpers import child, listening_shim
from tests.helpers.fake_server import FakeServer
from tests.helpers.wire_writers import AnthropicWriter, GeminiWriter, ResponsesWriter, Say

if TYPE_CHECKING:
    from pathlib import Path

    from tests.helpers.wire_writers import Writer
    from yume_shim.types.blocks import Json


class Api(NamedTuple):
    """One wire API and how the program reaches it."""

    wire: str
    writer: Writer
    model: str
    address: str
    path: str
    key: str


APIS = {
    "anthropic": Api(
        "anthropic-messages",
        AnthropicWriter(1),
        "anthropic/claude-sonnet-4-5",
        "ANTHROPIC_BASE_URL",
        "",
        "ANTHROPIC_API_KEY",
    ),
    "openai": Api("openai-responses", ResponsesWriter(1), "openai/gpt-5.4", "OPENAI_BASE_URL", "/v1", "OPENAI_API_KEY"),
    "google": Api(
        "google-genai", GeminiWriter(1), "google/gemini-3.5-flash", "GOOGLE_GEMINI_BASE_URL", "", "GEMINI_API_KEY"
    ),
}
FORMS = {
    "flat": ("-p", "Hello", "--output-format", "flat"),
    "nested": ("-p", "Hello", "--output-format", "stream-json", "--verbose", "--include-partial-messages"),
}
EVERY_TURN = [(api, form) for api in APIS for form in FORMS]
OWN_MODULES = {
    ("flat", "first"): 83,
    ("flat", "request"): 201,
    ("flat", "delta"): 201,
    ("nested", "first"): 89,
    ("nested", "request"): 199,
    ("nested", "delta"): 199,
}
"""The most modules of this package, at each moment, whatever the API."""
OUT_OF_STEP = 6
"""The most modules that `host/start_modules.py` may name in vain, or not name."""
OTHER_MODULES = 21
"""The most modules of the standard library at the first delta, besides those of a bare Python; no other is there."""
NOT_IN_A_PLAIN_TURN = {
    "contextlib",
    "dataclasses",
    "datetime",
    "enum",
    "inspect",
    "json",
    "orjson",
    "re",
    "selectors",
    "signal",
    "socket",
    "typing",
    "uuid",
}
"""What `threading` does not load anyway, and a turn without tools, TLS and long answers does not need."""
FIRST_LINE = {"flat": ("SessionReady", 2.5), "nested": ("TurnStarted", 3.25)}
"""The event that is the first line, and instructions up to it as a multiple of bare Python's."""
SHORT_TURN = {"anthropic": 4.05, "openai": 4.05, "google": 4.05}
"""The same for a whole turn with an answer of a few words, in both forms."""
TRIES = 3
COUNT = re.compile(rb"Collected : (\d+)")


def answer(api: Api) -> list[Json]:
    """A short answer in the words of the API."""
    grow, close = api.writer.content(0, Say("Hello there, how are you?", 5))
    return [*api.writer.start(), *grow, *close, *api.writer.end(called=False)]


def environment(home: Path, server: FakeServer, api: Api) -> dict[str, str]:
    more = {api.address: server.url + api.path, api.key: "not-a-key", "PYTHONDONTWRITEBYTECODE": ""}
    return child.clean_environment(home, **more)


def turn(api: Api, form: str, tmp_path: Path, program: tuple[str, ...], prefix: tuple[str, ...] = ()) -> bytes:
    """One turn of the program; its stderr."""
    with FakeServer(api.wire, [answer(api)]) as server:
        argv = [*prefix, *program, *FORMS[form], "--model", api.model]
        env = environment(tmp_path, server, api)
        done = subprocess.run(
            argv,
            cwd=tmp_path,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=child.DEADLINE,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    return done.stderr


def instructions(tmp_path: Path, argv: tuple[str, ...], api: Api | None = None, form: str = "") -> int:
    """Of one run, in user space, all threads. Run before: the bytecode is there."""
    prefix = ("valgrind", "--tool=callgrind", f"--callgrind-out-file={tmp_path / 'counts'}")
    if api is None:
        done = subprocess.run([*prefix, *argv], cwd=tmp_path, capture_output=True, timeout=child.DEADLINE, check=True)
        errors = done.stderr
    else:
        errors = turn(api, form, tmp_path, argv, prefix)
    found = COUNT.search(errors)
    assert found, errors
    return int(found[1])


def ratio(budget: float, tmp_path: Path, argv: tuple[str, ...], api: Api, form: str) -> float:
    """To bare Python. A run interrupted in a bad moment takes slower ways: the best of three counts."""
    turn(api, form, tmp_path, argv)  # writes the bytecode
    floor, found = bare(tmp_path), 0.0
    for _ in range(TRIES):
        found = instructions(tmp_path, argv, api, form) / floor
        if found <= budget:
            break
    return found


def bare(tmp_path: Path) -> int:
    """The interpreter alone."""
    return instructions(tmp_path, (sys.executable, "-I", "-c", "print(1)"))


@pytest.mark.parametrize(("api", "form"), EVERY_TURN)
def test_modules(api: str, form: str, tmp_path: Path) -> None:
    report = tmp_path / "modules"
    turn(APIS[api], form, tmp_path, listening_shim.modules_reported(report))
    lines = [line.split(" ") for line in report.read_text("utf-8").splitlines()]
    loaded = {moment: set(names) for moment, *names in lines}
    assert set(loaded) == {"first", "request", "delta"}
    for moment, names in loaded.items():
        own = sorted(name for name in names if name.partition(".")[0] == "yume_shim")
        assert len(own) <= OWN_MODULES[form, moment], f"{moment}: {own}"
    code = "import sys; print(*sys.modules)"
    plain = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    others = {name for name in loaded["delta"] if name.partition(".")[0] != "yume_shim"} - set(plain)
    assert others & NOT_IN_A_PLAIN_TURN == set()
    assert len(others) <= OTHER_MODULES, sorted(others)


@pytest.mark.slow
def test_the_lists_of_modules_are_those_of_the_program() -> None:
    """If they are not: `python3 scripts/start_modules.py`. A few names too many or too few cost next to nothing."""
    found = set(start_modules.text(start_modules.orders()).split("\n"))
    known = set(start_modules.PLACE.read_text("utf-8").split("\n"))
    assert len(found ^ known) <= OUT_OF_STEP, sorted(found ^ known)


@pytest.mark.slow
@pytest.mark.valgrind
@pytest.mark.parametrize("form", FORMS)
def test_instructions_of_a_first_line(form: str, tmp_path: Path) -> None:
    event, budget = FIRST_LINE[form]
    until = listening_shim.ended_at(event)
    assert ratio(budget, tmp_path, until, APIS["anthropic"], form) <= budget


@pytest.mark.slow
@pytest.mark.valgrind
@pytest.mark.parametrize(("api", "form"), EVERY_TURN)
def test_instructions_of_a_short_turn(api: str, form: str, tmp_path: Path) -> None:
    program = (sys.executable, "-c", "from yume_shim.cli.main import entry; entry()")  # the console script
    assert ratio(SHORT_TURN[api], tmp_path, program, APIS[api], form) <= SHORT_TURN[api]
