"""Writes `yume_shim/host/start_modules.py`, what a plain start loads, in order: `python3 scripts/start_modules.py`.

Real turns are played over loopback, for each wire API and form, and Python tells which module was complete after which
(`-X importtime`). Run it when `tests/test_startup_budgets.py` finds that the lists are not those of the program.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import _venv

PLACE = Path(_venv.ROOT) / "yume_shim" / "host" / "start_modules.py"
APIS = {"anthropic": "anthropic-messages", "openai": "openai-responses", "google": "google-genai"}
FORMS = ("flat", "stream-json", "text")
STAGES = ("words", "ready", "program", "turn")
READY, BEGUN = "event SessionReady", "event TurnStarted"
"""The first line of the flat form; that of the Claude forms."""
CODE = """
import os, sys
from yume_shim.cli.main import main
os._exit(main(sys.argv[1:], [lambda tagged: os.write(2, f"event {type(tagged.event).__name__}\\n".encode())]))
"""
"""The program without its own finder: Python's import system, which can tell the order."""
HEAD = '''"""Which of our modules a plain start loads, each after those that it imports.

Written by `scripts/start_modules.py`. A name that is missing or does not exist costs some time and nothing else:
`host/own_modules.py:load_in_order` passes over what it does not find, and an `import` loads what is not there yet.
"""

from __future__ import annotations

'''


def main() -> int:
    """Play the turns and write the lists."""
    _venv.ready()
    _venv.compile_modules()
    PLACE.write_text(text(orders()), "utf-8")
    return 0


def orders() -> dict[tuple[str, str], dict[str, list[str]]]:
    """(API, form) → stage → modules."""
    from bench_parts.runs import upstream

    with upstream(20) as url:
        return {(api, form): stages(api, form, url) for api in APIS for form in FORMS}


def stages(api: str, form: str, url: str) -> dict[str, list[str]]:
    """The modules of one turn: until the command line is read, the session is ready, the turn begins, the turn ends."""
    from bench_parts import programs
    from bench_parts.runs import prompt

    place = programs.APIS[api]
    words = programs.FORMS.get(form, ("--output-format", form))
    with tempfile.TemporaryDirectory(prefix="yume-start-") as home:
        env = programs.environment(Path(home), {place.address: url + place.path, place.key: "not-a-key"})
        argv = [sys.executable, "-P", "-X", "importtime", "-c", CODE, "-p", prompt(20), *words, "--model", place.model]
        done = subprocess.run(argv, cwd=home, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    names = re.findall(rf"^import time:.*\| +(yume_shim\.\S+)$|^({READY}|{BEGUN})$", done.stderr.decode(), re.MULTILINE)
    order = list(dict.fromkeys(name or mark for name, mark in names))
    place_of = {name: place for place, name in enumerate(order)}
    # a package that imports its own modules is complete after them: Python loads those
    order = [name for name in order if " " in name or place_of.get(name.rpartition(".")[0], -1) < place_of[name]]
    ends = [order.index(name) for name in ("yume_shim.cli.main", "yume_shim.cli.argv", READY, BEGUN)] + [len(order)]
    parts = [order[begin + 1 : end + 1] for begin, end in pairwise(ends)]
    return {stage: [name for name in part if " " not in name] for stage, part in zip(STAGES, parts, strict=True)}


def text(found: dict[tuple[str, str], dict[str, list[str]]]) -> str:
    """The module with the lists: what all turns share, what a form adds, what an API adds."""
    shared = {stage: _shared(found, stage) for stage in STAGES}
    parts = [
        _tuple("WORDS", "Until the command line is read.", shared["words"]),
        _tuple("READY", "Until the session is ready.", shared["ready"]),
        _tuple("PROGRAM", "Until a turn begins.", shared["program"]),
        _tuple("TURN", "Until the turn has ended.", shared["turn"]),
    ]
    for stage, name, about in (
        ("ready", "READY_OF", "What a form needs besides `READY`."),
        ("program", "PROGRAM_OF", "What a form needs besides `PROGRAM`."),
        ("turn", "TURN_OF", "What a form needs besides `TURN`."),
    ):
        rows = {form: _added([found[api, form][stage] for api in APIS], shared[stage]) for form in FORMS}
        parts.append(_table(name, about, rows))
    rows = {}
    for api, wire in APIS.items():
        every = [found[api, form]["turn"] for form in FORMS]
        of_forms = {name for form in FORMS for name in _added([found[other, form]["turn"] for other in APIS], [])}
        rows[wire] = [name for name in _added(every, shared["turn"]) if name not in of_forms]
    parts.append(_table("API", "What a wire API needs besides `TURN`.", rows))
    return HEAD + "\n".join(parts)


def _shared(found: dict[tuple[str, str], dict[str, list[str]]], stage: str) -> list[str]:
    return _added([each[stage] for each in found.values()], [])


def _added(every: list[list[str]], known: list[str]) -> list[str]:
    """What all of them have, without what is known."""
    common = set.intersection(*map(set, every)) - set(known)
    return [name for name in every[0] if name in common]


def _tuple(name: str, about: str, names: list[str]) -> str:
    rows = "".join(f'    "{each}",\n' for each in names)
    return f'{name} = (\n{rows})\n"""{about}"""'


def _table(name: str, about: str, rows: dict[str, list[str]]) -> str:
    lines = []
    for key, names in rows.items():
        inner = "".join(f'        "{each}",\n' for each in names)
        whole = f"\n{inner}    " if len(names) > 1 else "".join(f'"{each}",' for each in names)
        lines.append(f'    "{key}": ({whole}),\n')
    return f'{name}: dict[str, tuple[str, ...]] = {{\n{"".join(lines)}}}\n"""{about}"""\n'


if __name__ == "__main__":
    sys.exit(main())
