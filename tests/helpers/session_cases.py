"""Session goldens: the whole program on the replay provider, byte for byte.

A case is a folder `golden/sessions/NAME` (format: golden/README.md). It is played once per dialect, in a copy of its
workspace, with a fixed clock and fixed ids; the copy's path is written `{WS}` and the home folder `{HOME}`.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import sys
import tempfile
import tomllib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.helpers import child, listening_shim
from tests.helpers.windows_bash import NO_BASH, bash_for_windows
from yume_shim.gate.paths import native, slashed
from yume_shim.store.layout import session_path
from yume_shim.text import codec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).resolve().parents[2]
SESSIONS = ROOT / "golden" / "sessions"
FORMATS: dict[str, tuple[str, ...]] = {
    "flat": ("--output-format", "flat"),
    "nested": ("-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"),
}
NATIVE = native({})
FIXED = {"YUME_TEST_CLOCK": "1", "YUME_TEST_IDS": "1"}
DURATION = re.compile(rb'("durationMs":)[0-9]+')
"""What Glob measured, the one figure of a tool that no port can fix."""
PARTS = re.compile(rb'"parts":\{"system":[0-9]+,"tools":[0-9]+,"memory":[0-9]+,"messages":[0-9]+\}')
NO_PARTS = b'"parts":{"system":0,"tools":0,"memory":0,"messages":0}'
ESTIMATED = re.compile(rb'("subtype":"context_usage","used":)[0-9]+(,"window":[0-9]+,"estimated":true)')
"""Estimates that count the name of the machine's system, which is in the system prompt."""
AFTER = re.compile(rb'("(?:post_tokens|postTokens|cumulative_dropped_tokens)":)[0-9]+')
"""Estimates, too; compared on the system on which they were written."""
COMMANDS = re.compile(rb'"name":\s?"Bash"|"type":\s?"command"|!`')
"""Calls of Bash, hooks, commands in the text of a skill."""
PATH_OF_WINDOWS = re.compile(rb'\{(?:WS|HOME|CASSETTE|PROJECT)\}[^"\s]*')
DOUBLED = re.compile(rb"(?:\\\\)+")
"""The separator of Windows in JSON, and in JSON in JSON."""
LETTERS = "abcdefghijklmnopqrstuvwxyz"
INSIDE = "YUME_SESSIONS_INSIDE"
"""Set: sessions run in the process of the tests (`inside.py`), where starting one for each takes too long."""
STORED_BY = "nested"
"""The dialect whose run gives expected/session.jsonl: transcripts are the Claude CLI's, so its form is the one kept."""


@dataclass(frozen=True)
class Case:
    """One folder. `facts` is case.toml."""

    path: Path
    facts: Mapping[str, Any]

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def dialects(self) -> tuple[str, ...]:
        return tuple(self.facts.get("dialects", FORMATS))

    def argv(self, dialect: str) -> tuple[str, ...]:
        """Flags after the format: those of the case, then those for this dialect only."""
        return (*self.facts.get("argv", ()), *self.facts.get(dialect, {}).get("argv", ()))

    def exit_code(self, dialect: str) -> int:
        expected = self.facts.get("exit", 0)
        return int(expected[dialect] if isinstance(expected, dict) else expected)

    def results(self, dialect: str) -> int:
        """How many `result` lines must come: one per prompt, unless the case says `results = { nested = 0 }`."""
        prompts = sum(step.get("type") == "user" for step in self.script(dialect))
        return int(self.facts.get("results", {}).get(dialect, prompts))

    @property
    def continued(self) -> bool:
        """The answer came in parts, with our note between them: `continued = true`."""
        return bool(self.facts.get("continued", False))

    def script(self, dialect: str) -> list[dict[str, Any]]:
        """What the host says: stdin.DIALECT.jsonl, else stdin.jsonl."""
        own = self.path / f"stdin.{dialect}.jsonl"
        source = own if own.exists() else self.path / "stdin.jsonl"
        return [codec.loads(line) for line in source.read_bytes().splitlines()]

    def wire(self, dialect: str) -> Path:
        """The model's answers: wire-DIALECT/, else wire/. After a cut one dialect goes on, the other starts anew."""
        own = self.path / f"wire-{dialect}"
        return own if own.exists() else self.path / "wire"

    @property
    def expected(self) -> Path:
        return self.path / "expected"


@dataclass(frozen=True)
class Played:
    """What a run gave: expected file name → bytes, the files after it, and the exit code."""

    files: Mapping[str, bytes]
    workspace: Mapping[str, bytes]
    code: int


def cases() -> list[Case]:
    """Every session case, by name."""
    return [load(path.parent) for path in sorted(SESSIONS.glob("*/case.toml"))]


def load(path: Path) -> Case:
    return Case(path, tomllib.loads((path / "case.toml").read_text("utf-8")))


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder with a name of letters only: its path is part of the system prompt, and digits at random places would
    change the number of tokens that is estimated for it. On Windows the path
    is as long as makes up for the other words that the prompt has there."""
    above = Path(os.path.realpath(tempfile.gettempdir() if os.sep == "/" else "C:\\tmp\\in-tests"))
    while True:
        made = above / f"yume-golden-{''.join(random.SystemRandom().choices(LETTERS, k=8))}"
        try:
            made.mkdir(mode=0o700, parents=os.sep == "\\")
        except FileExistsError:
            continue
        break
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def play(case: Case, dialect: str, *more: str) -> Played:
    """Run the program on a case; `more` are further flags."""
    with _folder() as scratch:
        workspace, home, cassette = scratch / "ws", scratch / "home", scratch / "cassette"
        home.mkdir()
        _copy_workspace(case, workspace)
        _copy_cassette(case, dialect, cassette, workspace)
        _copy_sessions(case, home, workspace)
        env = child.clean_environment(home, **FIXED, **bash_for_windows(), **case.facts.get("env", {}))
        argv = [*FORMATS[dialect], "--provider", "replay", "--cassette", str(cassette), *case.argv(dialect), *more]
        script = [_fill(step, workspace) for step in case.script(dialect)]
        ended = _run(argv, script, workspace, env)
        project = Path(session_path(str(home), str(workspace), "x")).parent.name
        known = {str(workspace): "{WS}", str(home): "{HOME}", str(cassette): "{CASSETTE}", project: "{PROJECT}"}
        files = {f"{dialect}.jsonl": _blank(ended.stdout, known)}
        if ended.stderr:
            files[f"{dialect}.stderr"] = _blank(ended.stderr, known)
        if dialect == STORED_BY:
            files |= {name: _blank(stored, known) for name, stored in _transcripts(home).items()}
        return Played(files, tree(workspace), ended.code)


def _run(argv: list[str], script: list[dict[str, Any]], workspace: Path, env: dict[str, str]) -> child.Ended:
    if os.environ.get(INSIDE):
        from tests.helpers import inside

        return inside.run(argv, script, cwd=workspace, env=env)
    return child.run(argv, script, cwd=workspace, env=env, program=listening_shim.order_checked())


def missing(case: Case, dialect: str) -> str:
    """Why a case cannot be played here; "" if it can."""
    signals = any("!signal" in step for step in case.script(dialect))
    if signals and (sys.platform == "win32" or os.environ.get(INSIDE)):
        return "no process of Windows gets SIGINT or SIGTERM"
    return NO_BASH if NO_BASH and _starts_commands(case) else ""


def _starts_commands(case: Case) -> bool:
    """Whether the model calls Bash, or hooks have commands."""
    files = (path for path in case.path.rglob("*") if path.is_file())
    return any(COMMANDS.search(path.read_bytes()) for path in files)


def differences(case: Case, dialect: str) -> list[str]:
    """Play a case and say what is not as expected: whole files, compared as bytes."""
    played = play(case, dialect)
    found = []
    if played.code != case.exit_code(dialect):
        found.append(f"exit code {played.code}, expected {case.exit_code(dialect)}")
    files = {path.name: path.read_bytes() for path in sorted(case.expected.glob("*")) if _belongs(path, dialect)}
    for name in sorted(files.keys() | played.files.keys()):
        found += _compare(name, files.get(name), played.files.get(name))
    after = expected_workspace(case)
    for name in sorted(after.keys() | played.workspace.keys()):
        found += _compare(f"workspace/{name}", after.get(name), played.workspace.get(name))
    return found


def update(case: Case) -> list[str]:
    """Write what the program does now as expected; returns what a person must look at besides the diff."""
    complaints = []
    shutil.rmtree(case.expected, ignore_errors=True)
    case.expected.mkdir()
    for dialect in case.dialects:
        played = play(case, dialect)
        for name, data in played.files.items():
            (case.expected / name).write_bytes(data)
        if played.code != case.exit_code(dialect):
            complaints.append(
                f"{case.name} ({dialect}): exit code {played.code}, case.toml says {case.exit_code(dialect)}"
            )
        if played.workspace != tree(case.path / "workspace"):
            _write_tree(case.expected / "workspace", played.workspace)
    return complaints


def expected_workspace(case: Case) -> dict[str, bytes]:
    """The files after the run: expected/workspace, or unchanged where there is none."""
    after = case.expected / "workspace"
    return tree(after if after.exists() else case.path / "workspace")


def tree(folder: Path) -> dict[str, bytes]:
    """Relative path → bytes of every file."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def _belongs(path: Path, dialect: str) -> bool:
    return path.is_file() and (
        path.name.startswith(f"{dialect}.") or (path.name.startswith("session") and dialect == STORED_BY)
    )


def _compare(name: str, expected: bytes | None, got: bytes | None) -> list[str]:
    if os.sep == "\\":
        expected, got = (data and AFTER.sub(rb"\g<1>0", data) for data in (expected, got))
    if expected == got:
        return []
    if expected is None:
        return [f"{name} is new:\n{_text(got)}"]
    if got is None:
        return [f"{name} is missing"]
    import difflib

    lines = difflib.unified_diff(
        _text(expected).splitlines(), _text(got).splitlines(), "expected", "got", lineterm="", n=1
    )
    return [f"{name} differs:\n" + "\n".join(lines)]


def _text(data: bytes | None) -> str:
    return (data or b"").decode("utf-8", "backslashreplace")


def _copy_workspace(case: Case, target: Path) -> None:
    source = case.path / "workspace"
    if source.exists():
        shutil.copytree(source, target, symlinks=True)
    else:
        target.mkdir()
    for path in sorted(target.rglob("*")):  # newest-first listings must not depend on the checkout
        os.utime(path, (1_700_000_000, 1_700_000_000))


def _copy_cassette(case: Case, dialect: str, target: Path, workspace: Path) -> None:
    shutil.copytree(case.wire(dialect), target / "wire")
    shutil.copy(case.path / "case.toml", target / "case.toml")
    if (case.path / "mcp").exists():
        shutil.copytree(case.path / "mcp", target / "mcp")
    inside = codec.dumps(str(workspace))[1:-1]
    for path in (target / "wire").iterdir():
        path.write_bytes(path.read_bytes().replace(b"{WS}", inside))


def _copy_sessions(case: Case, home: Path, workspace: Path) -> None:
    """Earlier transcripts, as if they were written in this workspace; the last by name is the newest."""
    inside = codec.dumps(str(workspace))[1:-1]
    for place, source in enumerate(sorted((case.path / "sessions").glob("*.jsonl"))):
        target = Path(session_path(str(home / ".claude" / "projects"), str(workspace), source.stem))
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes().replace(b"{WS}", inside))
        os.utime(target, (1_700_000_000 + place, 1_700_000_000 + place))


def _fill(step: dict[str, Any], workspace: Path) -> dict[str, Any]:
    filled: dict[str, Any] = codec.loads(codec.dumps(step).replace(b"{WS}", codec.dumps(str(workspace))[1:-1]))
    return filled


def _blank(data: bytes, known: Mapping[str, str]) -> bytes:
    data = DURATION.sub(rb"\g<1>0", data)
    data = ESTIMATED.sub(rb"\g<1>0\g<2>", PARTS.sub(NO_PARTS, data))
    for path, name in known.items():
        for form in {codec.dumps(path)[1:-1], path.encode(), slashed(path, NATIVE).encode()}:
            data = data.replace(form, name.encode())
    if os.sep == "\\":
        data = PATH_OF_WINDOWS.sub(lambda found: DOUBLED.sub(b"/", found[0]), data)
    return data


def _transcripts(home: Path) -> dict[str, bytes]:
    """session.jsonl, then session-2.jsonl … where one process wrote several; session-agent-1.jsonl … of its agents."""
    projects = home / ".claude" / "projects"
    found = sorted(projects.glob("*/*.jsonl"))
    agents = sorted(projects.glob("*/*/subagents/agent-*.jsonl"))
    return {
        f"session{f'-{place}' if place > 1 else ''}.jsonl": path.read_bytes() for place, path in enumerate(found, 1)
    } | {f"session-agent-{place}.jsonl": path.read_bytes() for place, path in enumerate(agents, 1)}


def _write_tree(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
