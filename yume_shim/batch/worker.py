"""A worker: takes tasks from the coordinator, runs each in its process as a conversation of its own, reports a row.

The process is kept from task to task while flags and folder are the same (`clear` begins a new conversation), which
costs a fraction of a start. Each task is bounded: by the process, which always ends a turn, and by a limit of ours.
"""

from __future__ import annotations

import os
import time

from yume_shim.batch.copies import CopyFailed, copy_folder
from yume_shim.batch.lanes import MIN_PAUSE
from yume_shim.batch.permits import Permits
from yume_shim.batch.shim_process import ProcessEnded, ShimProcess
from yume_shim.types.exit_codes import STOP_PROBLEMS
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    from yume_shim.batch.coordinator import Order, Stop
    from yume_shim.batch.task_file import Task
    from yume_shim.types.blocks import Json

    class Desk(Protocol):
        """The coordinator as a worker sees it."""

        def next(self, worker: str, group: tuple[str, ...] | None) -> Order: ...
        def provider(self, group: tuple[str, ...], name: str) -> None: ...
        def permit(self, worker: str, ticket: str, provider: str, tokens: int, cost_usd: float) -> float: ...
        def refused(self, worker: str, seconds: float) -> None: ...
        def done(self, worker: str, row: Json, tokens: int) -> None: ...
        def stopped(self) -> Stop: ...


POLL_S = 0.5
"""How often a worker that waits for a line looks whether the run was stopped."""
STOP_GRACE_S = 10.0
"""Time that an interrupted task gets to end."""
TASKS_PER_PROCESS = 500
"""Then a fresh process: what a long-lived one may accumulate stays bounded."""
SCHEMA = "--json-schema"
NO_OUTPUT = "the model gave no answer in the form of the schema"
RATE_CODES = frozenset({"rate_limit", "overloaded"})


class WorkerSettings(Value):
    """What all workers of a run have in common."""

    flags: tuple[str, ...] = ()
    cwd: str = ""
    task_timeout_s: float = 3600.0
    isolated_home: str = ""
    """A folder that gets a home for each worker; "" = they share the user's."""
    copies: str = ""
    """A folder that gets a copy of its working folder for each task; "" = tasks work in the folder itself."""
    out: str = ""
    """OUT, which copies leave out."""


class Worker:
    """One worker. `run` returns when the run is over."""

    def __init__(
        self, name: str, desk: Desk, settings: WorkerSettings, env: Mapping[str, str], node: str = "this machine"
    ) -> None:
        self._name, self._desk, self._settings, self._node = name, desk, settings, node
        self._env = dict(env)
        if settings.isolated_home:
            self._env |= _own_home(os.path.join(settings.isolated_home, name), env)
        self._process: ShimProcess | None = None
        self._permits: Permits | None = None
        """Of the process: what a task left running in the background may ask during the next one."""
        self._turn = Turn()
        self._group: tuple[str, ...] | None = None
        self._tasks = 0

    def run(self) -> None:
        """Work until there is nothing left. Raises OSError if OUT cannot be written."""
        try:
            while True:
                order = self._desk.next(self._name, self._group)
                if order.task is not None:
                    self._desk.done(self._name, *self._row(order.task))
                elif order.wait_s:
                    time.sleep(order.wait_s)
                else:
                    return
        finally:
            self._end_process()

    def _row(self, task: Task) -> tuple[Json, int]:
        """(row, tokens) of one task."""
        turn = self._turn = Turn(
            fits_schema=any(flag.partition("=")[0] == SCHEMA for flag in (*self._settings.flags, *task.flags))
        )
        started = time.monotonic()
        folder = task.cwd or self._settings.cwd
        try:
            if folder and not os.path.isdir(folder):
                turn.error = {"kind": "start", "message": f"{self._node} has no folder {folder}"}
            else:
                self._ask(task, turn, started)
        except CopyFailed as error:
            turn.error = {"kind": "start", "message": str(error)}
        except (ProcessEnded, OSError) as error:
            turn.error = turn.error or {"kind": "worker", "message": str(error)}
            self._end_process()
        row = {
            "id": task.id,
            "index": task.index,
            **turn.row(),
            "duration_ms": round(1000 * (time.monotonic() - started)),
        }
        return row, turn.tokens

    def _ask(self, task: Task, turn: Turn, started: float) -> None:
        """Run the task to its end. Raises ProcessEnded, OSError."""
        process = self._process_for(task)
        try:
            for line in _with_id(task.lines, turn.prompt):
                process.send(line)
        except ProcessEnded:
            self._listen(process, task, turn, started)  # it may have said why it does not start
            raise
        self._listen(process, task, turn, started)
        if turn.left_running or _is_command(task):  # a command such as /model counts for what follows
            self._process = self._group = None
            process.kill()

    def _process_for(self, task: Task) -> ShimProcess:
        """A process with an empty conversation and the task's flags and folder. Raises ProcessEnded, OSError."""
        folder = self._folder(task)
        fits = self._group == task.group and not self._settings.copies and self._tasks < TASKS_PER_PROCESS
        if self._process is not None and fits:
            self._tasks += 1
            self._process.send({"type": "clear"})
            return self._process
        self._end_process()
        self._process = ShimProcess((*self._settings.flags, *task.flags), folder, self._env)
        self._permits = Permits(self._process, self._permit)
        self._group, self._tasks = task.group, 1
        return self._process

    def _folder(self, task: Task) -> str:
        folder = task.cwd or self._settings.cwd
        if not self._settings.copies:
            return folder
        copy = os.path.join(self._settings.copies, _file_name(task))
        settings = self._settings
        copy_folder(folder or os.curdir, copy, (settings.out, settings.copies, settings.isolated_home))
        return copy

    def _listen(self, process: ShimProcess, task: Task, turn: Turn, started: float) -> None:
        """Read lines until the turn has ended. Raises ProcessEnded."""
        end = started + self._settings.task_timeout_s
        look, interrupted = started + POLL_S, 0.0
        permits = self._permits
        assert permits is not None
        while not turn.ended:
            line = process.read(permits.pause(POLL_S))
            if line is not None:
                permits.take(line)
                self._take(line, task, turn, process)
            now = time.monotonic()
            if interrupted:
                if now > interrupted + STOP_GRACE_S:
                    process.kill()
                    raise ProcessEnded("it did not stop in time")
            elif turn.refused:
                kind = "budget" if turn.cost else "interrupted"  # what has cost nothing yet may be asked again
                turn.error = {"kind": kind, "message": "the budget of the run is used up"}
                process.send({"type": "interrupt"})
                interrupted = now
            elif now > end:
                turn.error = {"kind": "timeout", "message": f"no result after {self._settings.task_timeout_s:g} s"}
                process.send({"type": "interrupt"})
                interrupted = now
            elif now >= look:
                look = now + POLL_S
                if self._desk.stopped() not in ("", "budget"):
                    turn.error = {"kind": "interrupted", "message": "the run was stopped"}
                    process.send({"type": "interrupt"})
                    interrupted = now

    def _permit(self, ticket: str, about: Json) -> float:
        turn = self._turn
        turn.spend(float(about.get("spent_usd", 0)))
        seconds = self._desk.permit(self._name, ticket, about["provider"], turn.tokens, turn.cost)
        turn.refused = turn.refused or seconds < 0
        return seconds

    def _take(self, line: Json, task: Task, turn: Turn, process: ShimProcess) -> None:
        turn.take(line)
        kind = line.get("type"), line.get("subtype")
        if kind[0] == "error" and line.get("code") == "bad_input":  # of a line that the process refused comes no result
            turn.error = {"kind": "bad_input", "message": line["message"]}
            process.kill()
            raise ProcessEnded(line["message"])
        if kind == ("system", "init") and isinstance(line.get("provider"), str):
            self._desk.provider(task.group, line["provider"])
        elif kind == ("system", "retry") and line.get("code") in RATE_CODES:
            self._desk.refused(self._name, float(line.get("delay_ms", 0)) / 1000)
        elif kind[0] == "error" and line.get("code") in RATE_CODES:
            self._desk.refused(self._name, float(line.get("retry_after_ms", 1000 * MIN_PAUSE)) / 1000)

    def _end_process(self) -> None:
        process, self._process, self._group = self._process, None, None
        if process is not None:
            process.close()


class Turn:
    """What the lines of one turn say."""

    def __init__(self, *, fits_schema: bool = False) -> None:
        """`fits_schema`: an answer without structured output is a failure."""
        self.prompt = new_uuid()
        self.ended = False
        self.error: Json = {}
        self.tokens = 0
        self.cost = 0.0
        """What it has cost so far, its agents included."""
        self.refused = False
        """A request of it was not permitted."""
        self.left_running: set[str] = set()
        """Background commands and agents that have not ended."""
        self._spent_before: float | None = None
        self._fits_schema = fits_schema
        self._result: Json = {}
        self._said: Json = {}
        """The last `error` line."""

    def take(self, line: Json) -> None:
        """Keep what matters of a line."""
        match line.get("type"), line.get("subtype"):
            case "usage", _:
                self.tokens += sum(line.get(name, 0) for name in USAGE)  # reasoning is a part of the output
            case "error", _:
                self._said = line
            case "system", "task_started":
                self.left_running.add(str(line.get("task_id")))
            case "system", "task_notification":
                self.left_running.discard(str(line.get("task_id")))
            case "system", "error":
                self.error = {"kind": "start", "message": str(line.get("message", ""))}
            case "result", _ if line.get("prompt_id") == self.prompt:
                self._result = line
                self.ended = True

    def spend(self, spent_usd: float) -> None:
        """The process has spent so much by now, on the tasks before this one too."""
        if self._spent_before is None:
            self._spent_before = spent_usd
        self.cost = spent_usd - self._spent_before

    def row(self) -> Json:
        """The task's part of a row of OUT."""
        result = self._result
        error = self.error or self._failure()
        row: Json = {"result": result.get("result", ""), "is_error": bool(error)}
        if error:
            row["error"] = error
        if "structured_output" in result:
            row["structured_output"] = result["structured_output"]
        row |= {"usage": _usage(result), "cost_usd": result.get("total_cost_usd", 0)}
        for flag in ("cost_unknown", "cost_estimated"):
            if flag in result:
                row[flag] = True
        problems = self._problems()
        if problems:
            row["problems"] = problems
        row |= {"num_turns": result.get("num_turns", 0), "model": next(iter(result.get("modelUsage", {})), "")}
        return row | {"stop_reason": result.get("stop_reason"), "session_id": result.get("session_id", "")}

    def _failure(self) -> Json:
        result, said = self._result, self._said
        if not result.get("is_error"):
            missing = self._fits_schema and "structured_output" not in result
            return {"kind": "schema", "message": NO_OUTPUT} if missing else {}
        kind = SUBTYPE_KINDS.get(result.get("subtype", ""), "") or said.get("code") or "internal"
        message = said.get("message") or "; ".join(result.get("errors", ())) or str(result.get("subtype"))
        error: Json = {"kind": kind, "message": message}
        if isinstance(said.get("status"), int):
            error["status"] = said["status"]
        return error

    def _problems(self) -> list[str]:
        found: list[str] = []
        reason = STOP_PROBLEMS.get(str(self._result.get("stop_reason")))
        if reason:
            found.append(reason)
        if self._result.get("permission_denials"):
            found.append("denied")
        return found


USAGE = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "cache_creation_input_tokens": "cacheCreationInputTokens",
    "cache_read_input_tokens": "cacheReadInputTokens",
}
"""Tokens of a row, and their names in `modelUsage`."""
SUBTYPE_KINDS = {
    "error_auth": "auth",
    "error_max_turns": "turns",
    "error_max_budget_usd": "budget",
    "error_max_structured_output_retries": "schema",
    "cancelled": "interrupted",
}
"""Results whose subtype says more than an `error` line could."""


def _usage(result: Json) -> Json:
    """Tokens of all models that the task has asked: those of its agents are in its cost, too."""
    models = result.get("modelUsage", {}).values()
    return {name: sum(model.get(field, 0) for model in models) for name, field in USAGE.items()} if result else {}


def new_uuid() -> str:
    """A random UUID; `import uuid` would cost more than all of this module."""
    digits = os.urandom(16).hex()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}-{digits[20:]}"


def _is_command(task: Task) -> bool:
    content = task.lines[-1].get("content")
    texts = [content] if isinstance(content, str) else [block.get("text") for block in content or ()]
    return any(isinstance(text, str) and text.lstrip().startswith("/") for text in texts)


def _with_id(lines: tuple[Json, ...], prompt: str) -> tuple[Json, ...]:
    return (*lines[:-1], {**lines[-1], "uuid": prompt})


def _own_home(home: str, env: Mapping[str, str]) -> dict[str, str]:
    """Variables that give a worker a home of its own; the user's configuration (keys, endpoints) still counts."""
    os.makedirs(home, mode=0o700, exist_ok=True)
    config = env.get("YUME_CONFIG") or os.path.join(os.path.expanduser("~"), ".yume", "config.toml")
    own = {"HOME": home, "USERPROFILE": home, "CLAUDE_CONFIG_DIR": os.path.join(home, ".claude")}
    return own | ({"YUME_CONFIG": config} if os.path.exists(config) else {})


def _file_name(task: Task) -> str:
    """A folder name for the task: its place, and what of its id can stand in a name."""
    plain = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in task.id)[:80]
    return f"{task.index:06d}-{plain}"
