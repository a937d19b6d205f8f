"""Decides whether the working folder is trusted, and keeps the host's answers to that question.

A folder is trusted by `--trust`, by `trust = "always"` for it or a parent in config.toml, by `hasTrustDialogAccepted`
for it or a parent in ~/.claude.json, or, in the mode "ask", by an earlier answer of the host.
"""

from __future__ import annotations

import os

from yume_shim.disk.bounded import read_text
from yume_shim.text import codec
from yume_shim.types.errors import BadInvocation
from yume_shim.types.folders import claude_state_file, home_folder, yume_folder
from yume_shim.types.settings import TRUST_MODES
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

ALWAYS = "always"
TRUST_CHOICE = "strict, as-claude or ask"
FOLDER_MODES = (ALWAYS, *TRUST_MODES)
MAX_STATE_BYTES = 64 << 20
"""The Claude CLI's own file has data of all projects."""
MAX_RECORD_BYTES = 1 << 20
MAX_RECORDED = 1_000
"""Folders in the record; the oldest answers are dropped first."""


class Trust(Value):
    """The decision for the working folder. `mode` says what an untrusted folder may start."""

    trusted: bool
    mode: str
    answered: bool = False
    """The host has answered before (mode "ask"): it is not asked again."""

    @property
    def starts(self) -> bool:
        """Hooks and servers of the folder's files start."""
        return self.trusted or self.mode == "as-claude"

    @property
    def asks(self) -> bool:
        """The host is asked before they start."""
        return not self.trusted and self.mode == "ask" and not self.answered

    @property
    def unless(self) -> str:
        """The end of a warning about what does not start."""
        return ", unless the host trusts it" if self.asks else ""


def decide(cwd: str, env: Mapping[str, str], config: Mapping[str, Any], *, by_flag: bool, flat: bool) -> Trust:
    """The one place that decides. `config` is config.toml, whose values were checked. Raises BadInvocation."""
    variable = env.get("YUME_TRUST", "")
    if variable and variable not in TRUST_MODES:
        raise BadInvocation(f"$YUME_TRUST must be {TRUST_CHOICE}, not '{variable}'")
    found = _of_folder(cwd, env, config) or variable or config.get("trust", "")
    mode = found if found in TRUST_MODES else "strict" if flat or found else "as-claude"
    if by_flag or found == ALWAYS or _accepted(cwd, env):
        return Trust(True, mode)
    if mode != "ask":
        return Trust(False, mode)
    answer = _recorded(cwd, env)
    return Trust(answer is True, mode, answer is not None)


def remember(cwd: str, env: Mapping[str, str], trusted: bool) -> None:
    """Keep the host's answer. Raises OSError."""
    path = record_path(env)
    if _inside(path, cwd):
        raise OSError(f"{path} is inside the folder that the answer is about")
    answers = {**_read_record(env)}
    answers.pop(cwd, None)  # the newest is the last
    answers[cwd] = trusted
    kept = dict(list(answers.items())[-MAX_RECORDED:])
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    from yume_shim.disk.json_edit import replace_file

    replace_file(path, codec.dumps({"folders": kept}), 0o600)


def record_path(env: Mapping[str, str]) -> str:
    """Where the host's answers are kept."""
    return os.path.join(yume_folder(env), "trust.json")


def _of_folder(cwd: str, env: Mapping[str, str], config: Mapping[str, Any]) -> str:
    """The `trust` of the nearest folder in config.toml; "" if it has none."""
    tables = config.get("folders")
    if not isinstance(tables, dict):
        return ""
    known = {_absolute(path, env): table.get("trust", "") for path, table in tables.items() if isinstance(table, dict)}
    return next((known[folder] for folder in _with_parents(cwd) if known.get(folder)), "")


def _absolute(path: str, env: Mapping[str, str]) -> str:
    home = home_folder(env)
    full = home if path == "~" else os.path.join(home, path[2:]) if path.startswith("~/") else path
    return os.path.realpath(full) if os.path.isabs(full) else ""


def _accepted(cwd: str, env: Mapping[str, str]) -> bool:
    """Has the user accepted this folder, or one above it, in the Claude CLI?"""
    try:
        projects = codec.loads(read_text(claude_state_file(env), MAX_STATE_BYTES))["projects"]
        entries = [projects.get(folder) for folder in _with_parents(cwd)]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
    return any(isinstance(entry, dict) and entry.get("hasTrustDialogAccepted") is True for entry in entries)


def _recorded(cwd: str, env: Mapping[str, str]) -> bool | None:
    """The host's answer for this folder, or a yes for one above it; None = it was not asked."""
    answers = {} if _inside(record_path(env), cwd) else _read_record(env)
    if any(answers.get(folder) is True for folder in _with_parents(cwd)):
        return answers.get(cwd) is not False
    return answers.get(cwd)


def _read_record(env: Mapping[str, str]) -> dict[str, bool]:
    try:
        data = codec.loads(read_text(record_path(env), MAX_RECORD_BYTES))["folders"]
        return {folder: answer for folder, answer in data.items() if isinstance(answer, bool)}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _inside(path: str, folder: str) -> bool:
    """A record that the workspace holds could be written by the workspace's own programs: it does not count."""
    return os.path.realpath(path).startswith(os.path.join(os.path.realpath(folder), ""))


def _with_parents(folder: str) -> Iterator[str]:
    while True:
        yield folder
        above = os.path.dirname(folder)
        if above == folder:
            return
        folder = above
