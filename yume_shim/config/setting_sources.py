"""Reading single values: flags first, then the environment, then the config file; each refusal names its source."""

from __future__ import annotations

from yume_shim.types.blocks import NOTHING
from yume_shim.types.errors import BadInvocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Values = Mapping[str, str | bool | tuple[str, ...]]

SAMPLING = ("temperature", "top_p", "stop_sequences", "models")


class Wishes:
    """The three sources side by side."""

    values: Values
    env: Mapping[str, str]
    config: Mapping[str, Any]
    config_path: str

    def text(self, key: str) -> str | None:
        found = self.values.get(key)
        return found if isinstance(found, str) else None

    def on(self, key: str) -> bool:
        return key in self.values

    def many(self, key: str) -> tuple[str, ...]:
        found = self.values.get(key, ())
        return found if isinstance(found, tuple) else ()

    def conf(self, key: str) -> str:
        found = self.config.get(key, "")
        if not isinstance(found, str):
            raise BadInvocation(f"{self.config_path}: `{key}` must be a string")
        return found

    def conf_texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; one text alone will do."""
        found = self.config.get(key, ())
        texts = [found] if isinstance(found, str) else found
        if not isinstance(texts, list | tuple) or not all(isinstance(text, str) and text for text in texts):
            raise BadInvocation(f"{self.config_path}: `{key}` must be a list of texts")
        return tuple(texts)

    def table(self, key: str) -> Mapping[str, Any]:
        found = self.config.get(key, NOTHING)
        if not hasattr(found, "items"):
            raise BadInvocation(f"{self.config_path}: `{key}` must be a table")
        return found  # type: ignore[no-any-return]  # TOML tables are dicts

    def sampling(self) -> dict[str, Any]:
        """What was said about sampling and about single models."""
        if not self.env.get("YUME_TEMPERATURE") and not any(key in self.config for key in SAMPLING):
            return {}
        from yume_shim.config.models import sampling_settings

        return sampling_settings(self)

    def number(self, flag: str, variable: str, *, least: float) -> float | None:
        raw = self.text(flag) if flag in self.values else self.env.get(variable) or None
        if raw is None:
            return None
        try:
            number = float(raw)
        except ValueError:
            number = float("nan")
        if not least <= number < float("inf"):
            name = f"--{flag}" if flag in self.values else f"${variable}"
            raise BadInvocation(f"{name} must be a number of at least {least:g}, not '{raw}'")
        return number

    def whole(self, flag: str, variable: str, *, least: int = 0) -> int | None:
        number = self.number(flag, variable, least=least)
        if number is not None and number != int(number):
            raise BadInvocation(f"--{flag} must be a whole number, not '{number:g}'")
        return None if number is None else int(number)

    def conf_number(self, key: str) -> int | None:
        found = self.config.get(key)
        if found is not None and (not isinstance(found, int) or isinstance(found, bool) or found < 1):
            raise BadInvocation(f"{self.config_path}: `{key}` must be a whole number of at least 1")
        return found
