"""Collects what is wrong with the settings files: said on stderr at once, and shown by `doctor`."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

CONSEQUENCE = (
    "Until it is repaired, allow rules of settings files and automatic approvals (read-only commands, acceptEdits) "
    "are off: such calls are asked about"
)
MAX_SHOWN = 20
"""Warnings about one start: a file may be wrong in every line."""


class FileReport:
    """Problems of one start. `damaged`: a settings file exists that cannot be used as it is written."""

    def __init__(self, log: Callable[[str, str], None]) -> None:
        self._log = log
        self.warnings: list[str] = []
        self.damages: list[str] = []

    @property
    def damaged(self) -> bool:
        return bool(self.damages)

    def warn(self, text: str) -> None:
        """Something is ignored or probably not meant."""
        if len(self.warnings) < MAX_SHOWN:
            self.warnings.append(text)
            self._log("warning", text)

    def damage(self, path: str, line: int, problem: str) -> None:
        """A file cannot be used; `line` 0 = no line is to blame."""
        place = f"{path}, line {line}" if line else path
        if len(self.damages) < MAX_SHOWN:
            self.damages.append(f"{place}: {problem}")
            self._log("warning", f"settings file {place}: {problem}. {CONSEQUENCE}")

    def check(self, path: str, raw: bytes, data: dict[str, Any]) -> None:
        """Look at the content of a settings file."""
        from yume_shim.config.settings_check import line_of, unknown_words, wrong_types

        for key, problem in wrong_types(data):
            self.damage(path, line_of(raw, key), problem)
        for key, problem in unknown_words(data):
            self.warn(f"{path}, line {line_of(raw, key)}: {problem}")
