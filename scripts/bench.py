"""How fast the program is, in one run and by ratio: `python3 scripts/bench.py`.

A loopback server plays the model of every API; the program and those that it is compared with are started again and
again, taking turns. Compared with is what is found on PATH of claude, codex, gemini, pi, opencode and
claude-code-router (`ccr`), or what is named: `--against claude=/path/to/claude`. Trust the ratios: milliseconds belong
to the machine. With valgrind, `--only instructions` counts instructions, which are the same on a busy machine.

    python3 scripts/bench.py --only start,events --apis anthropic,openai,google --out docs/bench
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import _venv

if TYPE_CHECKING:
    from bench_parts.figures import Figures
    from bench_parts.programs import Program

PARTS = ("start", "events", "kinds", "latency", "extensions", "sdk", "resume", "calls", "many")
ALONE = ("instructions", "imports")
"""Parts that are measured only where they are named."""
SLOWEST_IMPORTS = 15


def main() -> int:
    """Measure and print."""
    _venv.ready()
    given = arguments()
    if os.name == "nt":
        sys.stderr.write("The bench needs wait4() and so a POSIX system.\n")
        return 1
    from bench_parts import figures, programs, report
    from bench_parts.runs import PROGRESS, upstream

    compared = programs.others(given.against)
    reference = compared[0].name if compared else report.BARE
    pairs = [(api, form) for api in given.apis.split(",") for form in given.forms.split(",")]
    mine = [programs.ours(api, form) for api, form in pairs]
    with upstream(figures.SHORT, figures.MANY, figures.PACED) as url:
        for part in given.only:
            found = measured(part, given, mine, compared, url)
            single = single_figures(part, mine[0], compared, url, given.runs)
            if part == "instructions":
                single = counted(pairs, url)
            PROGRESS.clear()
            report_part(part, found, single, reference, given.out)
            if part == "imports":
                print(*import_times(url), sep="\n")
    return 0


def report_part(part: str, found: Figures, single: dict[str, float], reference: str, folder: str) -> None:
    """Print what was measured; where asked for, write it and its plot."""
    from bench_parts import report

    text = report.table(found, reference) if found else ""
    bars = report.ratios(found, reference)
    promised = report.promises(bars) if reference in ("claude", report.BARE) else []
    rows = [*promised, *(f"{what}: {value:,.2f}" for what, value in single.items())]
    text += "".join(f"\n- {row}" for row in rows)
    print(f"\n## {part}\n", text, sep="\n", flush=True)
    if not folder or not text:
        return
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    head = (
        f"# Figures: {part}\n\nWritten by `scripts/bench.py --only {part}`; in brackets the ratio to {reference}.\n\n"
    )
    (place / f"{part}.md").write_text(f"{head}{text.strip()}\n", "utf-8")
    if bars:
        (place / f"{part}.svg").write_text(report.plot(bars, f"{part}: ratio to {reference}; red: our goal"), "utf-8")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Measure the program against a loopback server.")
    parser.add_argument(
        "--against",
        action="append",
        metavar="NAME[=CMD]",
        default=[],
        help="compare with this program; may be repeated",
    )
    parser.add_argument("--runs", type=int, default=10, help="starts per figure (the smallest counts)")
    parser.add_argument("--only", default=",".join(PARTS), help=f"of {','.join((*PARTS, *ALONE))}")
    parser.add_argument("--apis", default="anthropic,openai,google", help="of anthropic,openai,google,chat,ollama")
    parser.add_argument("--forms", default="stream-json,flat")
    parser.add_argument("--out", default="", metavar="FOLDER", help="write a table and a plot of each part there")
    given = parser.parse_args()
    given.only = given.only.split(",")
    if unknown := set(given.only) - {*PARTS, *ALONE}:
        parser.error(f"--only: {', '.join(sorted(unknown))}: known are {', '.join((*PARTS, *ALONE))}")
    return given


def measured(part: str, given: argparse.Namespace, mine: list[Program], compared: list[Program], url: str) -> Figures:
    """What has a row for each program."""
    from bench_parts import figures, programs
    from bench_parts.extensions import extended

    everyone = [*mine, *compared]
    streaming = [program for program in everyone if program.streams]
    match part:
        case "start":
            return figures.start_figures([*everyone, programs.bare_python()], url, given.runs)
        case "events":
            return figures.joined([figures.event_figures(streaming, url, how, given.runs) for how in ("burst", "each")])
        case "kinds":
            return figures.joined(
                [figures.event_figures(streaming, url, how, given.runs) for how in ("thinking", "arguments")]
            )
        case "latency":
            return figures.latency_figures(streaming, url)
        case "extensions":
            plain = [*mine[: len(given.forms.split(","))], *[each for each in compared if each.name == "claude"]]
            both = [program for each in plain for program in (each, extended(each))]
            return figures.extension_figures(both, url, given.runs)
        case "sdk":
            first = given.apis.split(",")[0], given.forms.split(",")[0]
            return figures.start_figures([mine[0], with_sdk(first)], url, given.runs)
    return {}


def with_sdk(pair: tuple[str, str]) -> Program:
    """The same program over the vendor's SDK."""
    from bench_parts import programs

    return programs.ours(*pair, "--transport", "sdk")._replace(name=f"{' '.join(pair)}, SDK")


def single_figures(part: str, program: Program, compared: list[Program], url: str, runs: int) -> dict[str, float]:
    """Figures without a row for each program."""
    from bench_parts import crowds, sessions

    match part:
        case "resume":
            return sessions.resume_figures(runs)
        case "calls":
            found = sessions.call_figures(program, url, (sessions.SEVERAL, sessions.MANY))
            for other in compared:
                if other.name == "claude":
                    found |= sessions.call_figures(other, url)
            return found
        case "many":
            return crowds.idle_figures() | crowds.streaming_figures(program, url) | crowds.xargs_figures(url)
    return {}


def counted(pairs: list[tuple[str, str]], url: str) -> dict[str, float]:
    """Instructions; nothing where valgrind is missing."""
    from bench_parts import instructions

    if not instructions.available():
        sys.stderr.write("instructions: valgrind is not installed\n")
        return {}
    found = instructions.of_short_turn(url)
    return found | {
        f"instructions per event, {api} {form}": instructions.per_event(api, form, url) for api, form in pairs
    }


def import_times(url: str) -> list[str]:
    """The modules that cost most in a short turn (own milliseconds)."""
    from bench_parts import programs
    from bench_parts.runs import prompt

    with tempfile.TemporaryDirectory(prefix="yume-bench-") as folder:
        home = Path(folder)
        start = programs.ours("anthropic", "stream-json", python=("-X", "importtime")).start(prompt(20), url, home)
        env = programs.environment(home, start.env)
        done = subprocess.run(start.argv, cwd=home, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    rows = re.findall(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)", done.stderr.decode("utf-8", "replace"))
    costs = sorted(((int(own), name) for own, name in rows), reverse=True)
    lines = [f"  {own / 1000:7.2f}  {name}" for own, name in costs[:SLOWEST_IMPORTS]]
    return ["Slowest imports of a short turn (own milliseconds):", *lines, f"  {len(costs)} modules"]


if __name__ == "__main__":
    sys.exit(main())
