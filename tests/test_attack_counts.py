"""How many attack cases run in each mode. `python -m tests.test_attack_counts` prints the table; the test compares.

cause                      default  acceptEdits  plan  dontAsk  bypassPermissions
prefixes and reading           231            0   231      231                  0
denied commands                 70           70    70       70                 70
state of the shell             339          339   339      339                138
flags and operands             351          351   351      351                351
hostile repositories            64           64    64       64                 64
paths, by every tool           549          559   549      549                559
protected names                 71           71    71       71                  5
hosts                           79           79    79       79                 79
all                           1754         1533  1754     1754               1266
second wall, below the gate: 100 reading, 25 editing
"""

from __future__ import annotations

import sys

from tests import test_attacks_paths
from tests.helpers.attack_world import CAREFUL, EVERY
from tests.helpers.hostile_repositories import RUNNING, SHOWING
from tests.unit.gate import test_attacks, test_attacks_flags, test_attacks_shell_state, test_hosts
from tests.unit.tools.shell import test_wall_attacks
from yume_shim.types.protected_names import PROTECTED

MODES = ("default", "acceptEdits", "plan", "dontAsk", "bypassPermissions")
ROW = "{:<24}{:>10}{:>13}{:>6}{:>9}{:>19}"
LEAST = 300


def counts() -> dict[str, dict[str, int]]:
    """Cases (one row of a table in one mode) by group; in bypassPermissions those with rules that deny."""
    paths, flags, plain = test_attacks_paths, test_attacks_flags, test_attacks
    groups = {
        "prefixes and reading": _same((*plain.BEHIND_AN_ALLOWED_PREFIX, *plain.NOT_READ_ONLY), CAREFUL),
        "denied commands": _same((*plain.PLAIN_DENIED, *plain.HARD), EVERY),
        "state of the shell": {
            mode: sum(len(rows) for rows, _, modes in test_attacks_shell_state.TABLES.values() if mode in modes)
            for mode in MODES
        },
        "flags and operands": _same((*flags.WRITING, *flags.LEAKING, *flags.ASKED, *flags.MERGING), EVERY),
        "hostile repositories": _same((*RUNNING, *SHOWING), EVERY),
        "paths, by every tool": {
            mode: sum(_calls(rows, tools) for rows, tools in PATHS)
            + len(paths.HARD_LINK_COMMANDS)
            + 2 * sum(1 for row in paths.SWAPPED_BY_MODE if row[0] == mode)
            for mode in MODES
        },
        "protected names": {
            mode: sum(1 for row in PROTECTED if row.bypass or mode != "bypassPermissions") for mode in MODES
        },
        "hosts": _same((*test_hosts.SAME, *test_hosts.REFUSED), test_hosts.MODES),
    }
    return {**groups, "all": {mode: sum(group[mode] for group in groups.values()) for mode in MODES}}


PATHS = (
    (test_attacks_paths.OUT, 6),
    (test_attacks_paths.HIDDEN, 5),
    (test_attacks_paths.NEW, 3),
    (test_attacks_paths.DECOY, 6),
)
"""Tables, and how many tools are called with each row."""


def _calls(rows: list[str], tools: int) -> int:
    return len(rows) * tools


def _same(rows: tuple[object, ...], modes: tuple[str, ...]) -> dict[str, int]:
    return {mode: len(rows) if mode in modes else 0 for mode in MODES}


def table() -> str:
    """The counts as text; the wall's rows have no mode: they run below the gate."""
    lines = [ROW.format("cause", *MODES)]
    lines += [ROW.format(name, *(group[mode] for mode in MODES)) for name, group in counts().items()]
    walls = {kind: len(rows) for kind, rows in test_wall_attacks.TABLES.items()}
    return "\n".join([*lines, f"second wall, below the gate: {walls['read']} reading, {walls['edit']} editing"])


def test_the_table_above_is_true_and_every_mode_has_its_cases() -> None:
    assert table() in (__doc__ or "")
    assert all(number >= LEAST for number in counts()["all"].values())


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
