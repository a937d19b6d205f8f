"""Checks an output against a schema that has regular expressions, in a process of its own.

Some expressions never end on some texts (`^(a+)+$`). Python cannot stop one, and while it runs no other thread does: no
interrupt, no signal would reach the program. A process can be killed.
"""

from __future__ import annotations

import os
import sys

from yume_shim.text import codec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.types.ports import Cancel

SECONDS = 10.0
"""Time for one check. Starting the process takes 0.2 s of it."""
MEMORY = 1 << 30
PROCESSOR_SECONDS = 30
"""A limit of its own, for the case that the parent dies."""
_BOOT = "import sys; sys.path[:] = sys.argv[1:]; from yume_shim.engine.schema_process import main; main()"
_WITH_PATTERNS = ("pattern", "patternProperties")


def has_patterns(schema: Any) -> bool:
    """Is there a place in the schema that may hold a regular expression?"""
    left = [schema]
    while left:
        part = left.pop()
        if isinstance(part, dict):
            if any(name in part for name in _WITH_PATTERNS):
                return True
            left += part.values()
        elif isinstance(part, list):
            left += part
    return False


def problems_by_process(schema: Any, value: Any, cancel: Cancel) -> list[str]:
    """What is wrong with the value, as `schema_problems` says it. Raises Cancelled."""
    import subprocess

    from yume_shim.system.processes import start

    argv = [sys.executable, "-I", "-S", "-W", "ignore", "-c", _BOOT, *(path for path in sys.path if path)]
    env = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
    try:
        process = start(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env)
    except OSError as error:
        return [f"root: it could not be checked ({error.strerror})"]
    with cancel.guard(process.kill):
        try:
            made, _ = process.communicate(codec.dumps({"schema": schema, "value": value}), SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return [f"root: the regular expressions of the schema took more than {SECONDS:g} s for it"]
    cancel.check()
    problems = codec.loads_object(made)
    return ["root: it could not be checked"] if problems is None else problems["problems"]


def main() -> None:
    """Check one value: `{"schema", "value"}` from stdin, `{"problems"}` to stdout."""
    from yume_shim.system import limit_memory
    from yume_shim.text.json_schema import schema_problems

    limit_memory(MEMORY, PROCESSOR_SECONDS)
    given = codec.loads(sys.stdin.buffer.read())
    try:
        problems = schema_problems(given["schema"], given["value"], trusted=True)
    except ImportError as error:  # a lean install
        from yume_shim.types.packages import missing_package

        problems = [missing_package(error) or str(error)]
    with open(1, "wb", closefd=False) as output:
        output.write(codec.dumps({"problems": problems}))
