"""`yume-shim batch`: many prompts in one run."""

from __future__ import annotations

import os
import signal
import sys
import time

import click

from yume_shim.batch.coordinator import Limits
from yume_shim.batch.progress import Progress, to_stderr
from yume_shim.batch.run_plan import Plan
from yume_shim.batch.task_file import read_tasks, tasks_of_files
from yume_shim.batch.worker import WorkerSettings
from yume_shim.host.signals import EXIT_CODES, SAME_SIGNAL
from yume_shim.types.errors import BadInvocation
from yume_shim.types.exit_codes import CODES, FAIL_ON, cause_of_kinds, read_fail_on

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from yume_shim.batch.coordinator import Counts
    from yume_shim.batch.run_plan import Engine
    from yume_shim.batch.task_file import Task
    from yume_shim.types.exit_codes import Cause

MAX_WORKERS = 256
_LINES, _OWN_SESSION = "they talk in lines with the batch", "each task is a conversation of its own"
_NOBODY = "nobody could answer their questions; allow what the tasks need (--allowedTools, --permission-mode)"
_OF_BATCH = "give it before `--`, for the whole run"
NOT_FOR_WORKERS = {
    **dict.fromkeys(
        ("await-initialize", "help", "input-format", "no-stdin", "output-format", "print", "version"), _LINES
    ),
    **dict.fromkeys(("continue", "fork-session", "resume", "resume-session-at", "session-id"), _OWN_SESSION),
    **dict.fromkeys(("permission-prompt-tool", "permission-prompts"), _NOBODY),
    **dict.fromkeys(("deadline", "exit-codes", "fail-on"), _OF_BATCH),
}
"""Flags that `--` must not bring, and why: a worker would wait for ever, or answer with another conversation."""
HELP = """Run many prompts: IN is a file of JSON lines (`prompt` or `messages`, with `id`, `model`, `system`, `tools`,
`schema`, `cwd`, `settings`; `-` = stdin), or, with --prompt, any number of files that get the same prompt. OUT gets one
JSON line per task. What follows `--` are flags for every start of the program (`-- --permission-mode acceptEdits`)."""


class _Command(click.Command):
    """Keeps what follows `--` apart from the files."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own, flags = (args[: args.index("--")], args[args.index("--") + 1 :]) if "--" in args else (args, [])
        ctx.meta["flags"] = tuple(flags)
        return super().parse_args(ctx, own)


def add_batch(group: click.Group) -> None:
    """Add the command to the group of all sub-commands."""
    number, positive = click.FloatRange(min=0), click.FloatRange(min=0, min_open=True)
    group.add_command(
        _Command(
            "batch",
            help=HELP,
            callback=_run,
            params=[
                click.Argument(["inputs"], nargs=-1, required=True, metavar="IN..."),
                click.Option(["-o", "--out"], required=True, help="The file for the results."),
                click.Option(["-j", "--workers"], type=click.IntRange(1, MAX_WORKERS), default=4, show_default=True,
                             help="Prompts at a time."),
                click.Option(["--engine"], type=click.Choice(["local", "ray"]), default="local", show_default=True,
                             help="Where workers run: on this machine, or on the Ray cluster of RAY_ADDRESS."),
                click.Option(["--worker-resources"], default="", metavar="NAME=AMOUNT,...",
                             help="What each worker reserves of the cluster (CPU=1)."),
                click.Option(["--send-env"], multiple=True, metavar="NAME,...",
                             help="Variables that workers on a cluster get from this machine (none)."),
                click.Option(["--cwd"], default=".", metavar="FOLDER",
                             help="Folder of tasks that name none (the current one)."),
                click.Option(["--prompt"], default="", help="The prompt for each file of IN."),
                click.Option(["--model"], default="", help="Model of tasks that name none."),
                click.Option(["--order"], type=click.Choice(["input", "done"]), default="input", show_default=True,
                             help="Order of the finished OUT."),
                click.Option(["--resume"], is_flag=True, help="Continue: ids that OUT has are not asked again."),
                click.Option(["--retry-errors"], is_flag=True, help="With --resume: ask failed ids again."),
                click.Option(["--rps"], type=number, default=0, help="Requests per second and provider (0: no limit)."),
                click.Option(["--tpm"], type=number, default=0, help="Tokens per minute and provider (0: no limit)."),
                click.Option(["--max-budget-usd"], type=number, default=0, help="Start nothing more beyond this cost."),
                click.Option(["--deadline"], type=number, default=0, help="Seconds for the whole run."),
                click.Option(["--task-timeout"], type=positive, default=3600, show_default=True,
                             help="Seconds for one task."),
                click.Option(["--tries"], type=click.IntRange(1, 20), default=3, show_default=True,
                             help="Runs of a task whose process died or that was refused for its rate."),
                click.Option(["--isolate-homes"], is_flag=True,
                             help="Each worker has a home of its own (OUT.homes)."),
                click.Option(["--isolate-copies"], is_flag=True,
                             help="Each task works in a copy of its folder (OUT.copies)."),
                click.Option(["--fail-on"], default="", metavar="LIST",
                             help=f"Also fail if an answer was {', '.join(FAIL_ON)}."),
                click.Option(["--exit-codes"], type=click.Choice(["plain", "detailed"]), default="plain",
                             help="detailed tells the cause, as without `batch`."),
            ],
        )
    )  # fmt: skip


def _run(inputs: tuple[str, ...], out: str, **given: Any) -> int:
    """The exit code: 0 all tasks succeeded, 1 some failed or are left (or the code of the cause), after a signal 128 +
    its number."""
    fail_on = read_fail_on(given["fail_on"])
    if given["retry_errors"] and not given["resume"]:
        raise BadInvocation("--retry-errors needs --resume")
    if out == "-":
        raise BadInvocation("--out must be a file: --resume reads it")
    engine = _engine(_plan(inputs, os.path.abspath(out), given), given)
    stops = _Stops(engine)
    stops.install()
    failures = _drive(engine)
    for message in dict.fromkeys(_message(failure) for failure in failures):
        to_stderr(f"Error: {message}\n")
    cause = cause_of_run(engine.counts(), fail_on, failed=bool(failures))
    if cause == "interrupted":
        return stops.exit_code
    return CODES[cause] if given["exit_codes"] == "detailed" or not cause else 1


class _Stops:
    """The first signal ends the run in order, a further one at once."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._at = 0.0
        self.exit_code = 0

    def install(self) -> None:
        """Handle the signals that are not ignored: `nohup`, and shells for what runs in the background, mean it."""
        for name in EXIT_CODES:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._take)

    def _take(self, number: int, _frame: object) -> None:
        code = EXIT_CODES[signal.Signals(number).name]
        if self.exit_code and time.monotonic() > self._at + SAME_SIGNAL:
            from yume_shim.cli.main import end_now

            end_now(code)  # processes end by themselves when we are gone
        if not self.exit_code:
            self._at, self.exit_code = time.monotonic(), code
            self._engine.stop("interrupted")


def _plan(inputs: tuple[str, ...], out: str, given: dict[str, Any]) -> Plan:
    """What the options say. Raises BadInvocation."""
    flags = click.get_current_context().meta["flags"]
    from yume_shim.cli.argv import parse

    start = parse(flags)
    for error in (*start.errors, *(f"'{word}' is no flag" for word in start.words)):
        raise BadInvocation(f"after `--`: {error.removeprefix('error: ')}")
    for name in sorted(NOT_FOR_WORKERS.keys() & start.values.keys()):
        raise BadInvocation(f"after `--`: --{name} is not for workers: {NOT_FOR_WORKERS[name]}")
    for path in inputs:
        if os.path.exists(out) and os.path.exists(path) and os.path.samefile(path, out):
            raise BadInvocation(f"{path} is IN and OUT")
    return Plan(
        tasks=tuple(_tasks(inputs, given["prompt"], here=given["engine"] == "local")),
        out=out,
        limits=Limits(
            workers=given["workers"],
            rps=given["rps"],
            tpm=given["tpm"],
            budget_usd=given["max_budget_usd"],
            deadline_s=given["deadline"],
            tries=given["tries"],
        ),
        settings=WorkerSettings(
            flags=("--model", given["model"], *flags) if given["model"] else flags,
            cwd=os.path.abspath(given["cwd"]),
            task_timeout_s=given["task_timeout"],
            isolated_home=f"{out}.homes" if given["isolate_homes"] else "",
            copies=f"{out}.copies" if given["isolate_copies"] else "",
            out=out,
        ),
        resume=given["resume"],
        retry_errors=given["retry_errors"],
        input_order=given["order"] == "input",
    )


def _engine(plan: Plan, given: dict[str, Any]) -> Engine:
    """The engine that was chosen, with OUT open. Raises BadInvocation."""
    if given["engine"] == "local":
        for option in ("worker_resources", "send_env"):
            if given[option]:
                raise BadInvocation(f"--{option.replace('_', '-')} needs --engine ray")
        if not os.path.isdir(plan.settings.cwd):
            raise BadInvocation(f"--cwd is no folder: {plan.settings.cwd}")
        from yume_shim.batch.local_engine import LocalEngine

        return LocalEngine(plan)
    from yume_shim.batch.ray_engine import Cluster, RayEngine

    cluster = Cluster(read_resources(given["worker_resources"]), sent_variables(given["send_env"], os.environ))
    names = ", ".join(cluster.sent) or "no variables"
    to_stderr(f"Workers get {names} of this machine's environment (--send-env), and the flags after `--`.\n")
    return RayEngine(plan, cluster, lambda text: to_stderr(f"\n{text}\n" if sys.stderr.isatty() else f"{text}\n"))


def _drive(engine: Engine) -> list[BaseException]:
    """Run the workers, with progress, and finish OUT."""
    progress = Progress(to_stderr, terminal=sys.stderr.isatty())
    failures = engine.run(lambda: progress.show(engine.counts()))
    progress.finish(engine.counts())
    try:
        engine.finish()
    except OSError as error:
        failures.append(RuntimeError(f"OUT stays in the order in which tasks ended: {error.strerror}"))
    return failures


def _message(failure: BaseException) -> str:
    return f"cannot write OUT: {failure.strerror}" if isinstance(failure, OSError) else str(failure)


def cause_of_run(counts: Counts, fail_on: tuple[str, ...], *, failed: bool) -> Cause:
    """Why the run counts as failed; "" if it does not. `failed`: a worker did."""
    left = counts.total - counts.resumed - counts.done
    match counts.stopped:
        case "interrupted":
            return "interrupted"
        case "deadline" if left:
            return "limit"
        case "budget" if left:
            return "budget"
        case _ if failed or left:
            return "other"
    if counts.failed:
        return cause_of_kinds(counts.failed)
    problems: list[Cause] = [name for name in FAIL_ON if name in fail_on and name in counts.problems]
    return problems[0] if problems else ""


def _tasks(inputs: tuple[str, ...], prompt: str, *, here: bool) -> list[Task]:
    if prompt:
        return tasks_of_files(inputs, prompt)
    if len(inputs) != 1:
        raise BadInvocation("several files need --prompt: what to do with each of them")
    return read_tasks(inputs[0], folders_here=here)


def read_resources(text: str) -> dict[str, float]:
    """`CPU=0.5,memory=2G` as amounts; CPU is 1 if it is not named. Raises BadInvocation."""
    found = {"CPU": 1.0}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, amount = part.partition("=")
        digits = amount.rstrip("KMG")
        factor = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(amount[len(digits) :], 0)
        try:
            found[name] = float(digits) * factor
        except ValueError:
            factor = 0
        if not name or not factor or not 0 <= found[name] < float("inf"):
            raise BadInvocation(f"--worker-resources takes NAME=AMOUNT, with commas (CPU=0.5,memory=2G), not {part!r}")
    return found


def sent_variables(names: tuple[str, ...], env: Mapping[str, str]) -> dict[str, str]:
    """The variables that `--send-env` names. Raises BadInvocation."""
    wanted = [name for text in names for name in text.replace(",", " ").split()]
    for name in wanted:
        if name not in env:
            raise BadInvocation(f"--send-env {name}: there is no such variable")
    return {name: env[name] for name in wanted}
