"""Searches file contents in a separate process: with ripgrep if it is installed, else with `fallback.py`."""

from __future__ import annotations

import os

from yume_shim.text.clean import clean_output
from yume_shim.text.codec import loads
from yume_shim.tools.search import fallback
from yume_shim.tools.search.walk import FOLDS, VCS_FOLDERS
from yume_shim.tools.shell.processes import ProcessGroup, find_program, run_to_end
from yume_shim.types.errors import ToolFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.tools.dispatch.session_state import ToolState
    from yume_shim.types.blocks import Json
    from yume_shim.types.outputs import ToolContext

MAX_SECONDS = 20.0
MAX_GATHERED = 16 << 20
"""Bytes read from the searching process; then it is ended."""


def ripgrep_argv(program: str, job: Json) -> list[str]:
    """The job as ripgrep's arguments. `--no-config`: a user's config file could name a program to run (`--pre`)."""
    argv = [program, "--no-config", "--hidden", "--no-require-git", "--no-messages", "--color=never", "--crlf"]
    argv.append("--sort=path")
    argv += {"content": ["--json"], "count": ["--count", "--null", "--with-filename"]}.get(
        job["mode"], ["--files-with-matches", "--null"]
    )
    argv += ["--glob-case-insensitive"] if FOLDS else []
    argv += [f"--glob=!{name}" for name in sorted(VCS_FOLDERS)]
    for rule in job["globs"]:
        bare = rule.removeprefix("!").lstrip("/")
        bare = bare if bare.startswith("**/") else f"**/{bare}"
        argv.append(f"--glob=!{bare}" if rule.startswith("!") else f"--glob={bare}")
    if job["type"]:
        argv.append(f"--type={job['type']}")
    if job["ignore_case"]:
        argv.append("--ignore-case")
    if job["multiline"]:
        argv += ["--multiline", "--multiline-dotall"]
    argv += [f"--before-context={job['before']}", f"--after-context={job['after']}"] if job["mode"] == "content" else []
    return [*argv, f"--regexp={job['pattern']}", "--", job["top"]]


class _Gather:
    """Keeps what the process prints, up to a limit; then ends it. The thread that reads the pipe feeds it; the caller's
    thread sets `process`, and reads the rest after the process has ended."""

    def __init__(self) -> None:
        self.path = self.lost = ""
        self.total = 0
        self.capped = False
        self.full = False
        self.process: ProcessGroup | None = None
        self._data = bytearray()

    def feed(self, data: bytes) -> None:
        self.total += len(data)
        if self.total <= MAX_GATHERED:
            self._data += data
        elif not self.full:
            self.full = True
            if self.process is not None:
                self.process.signal_group("SIGKILL")

    def finish(self) -> bytes:
        return bytes(self._data)

    def newest(self, since: int = 0) -> tuple[bytes, int]:
        return b"", self.total - since


def run_search(job: Json, state: ToolState, context: ToolContext) -> tuple[bytes, bool]:
    """Run a job (the keys are those of `matching_lines`). Returns what the process printed, and whether it was ended
    early."""
    if "\0" in job["pattern"]:
        raise ToolFailed("The pattern contains a NUL character.", before_run=True)
    program = find_program("rg", state.env.get("PATH", os.defpath), owned=state.roots)
    gather = _Gather()
    try:
        argv = ripgrep_argv(program, job) if program else fallback.argv_for(job)
        running = ProcessGroup(argv, state.cwd, state.env, gather, state.orphan_watcher)
    except (OSError, UnicodeEncodeError) as error:
        raise ToolFailed(f"The search could not be started: {error}") from None
    gather.process = running
    if gather.full:  # it printed too much before we knew its process
        running.signal_group("SIGKILL")
    ended = run_to_end(running, MAX_SECONDS, context.cancel)
    stopped = ended.timed_out or gather.full
    if ended.timed_out and not ended.output:
        raise ToolFailed(f"The search took more than {MAX_SECONDS:g}s. Narrow the path, the glob or the pattern.")
    if not stopped and ended.code > 1 and not ended.output.startswith(b"{") and b"\0" not in ended.output:
        text = clean_output(ended.output).strip()
        if text or ended.code > 2:
            raise ToolFailed(text.removeprefix("rg: ") or f"The search failed (exit code {ended.code}).")
    return ended.output, stopped


def matching_lines(path: str, pattern: str, state: ToolState, context: ToolContext) -> list[str]:
    """The lines of one file that match, for tools that filter a text."""
    job: Json = {
        "pattern": pattern,
        "top": path,
        "mode": "content",
        "globs": [],
        "type": "",
        "ignore_case": False,
        "multiline": False,
        "before": 0,
        "after": 0,
    }
    found, _ = run_search(job, state, context)
    events = (read_event(raw) for raw in found.split(b"\n"))
    return [event[3].rstrip("\r\n") for event in events if event is not None and event[0] == "match"]


def read_event(raw: bytes) -> tuple[str, str, int, str, list[str]] | None:
    """One line of the JSON stream: (match or context, path, line number, text, matched parts)."""
    if not raw.startswith((b'{"type":"match"', b'{"type":"context"')):
        return None
    try:
        event = loads(raw)
    except ValueError:  # the last line of a process that was ended
        return None
    data = event["data"]
    parts = [_text(part["match"]) for part in data.get("submatches", ())]
    return event["type"], _text(data["path"]), data.get("line_number") or 0, _text(data["lines"]), parts


def _text(part: Any) -> str:
    """ripgrep gives text, or base64 bytes where it is not UTF-8."""
    if "text" in part:
        return str(part["text"])
    from base64 import b64decode

    return clean_output(b64decode(part["bytes"]))
