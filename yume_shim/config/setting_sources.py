"""Gives access to all sources of settings, and reads single values: from the flag, else the environment, else the file.

Every error message names the source of the invalid value.
"""

from __future__ import annotations

import os

from yume_shim.config.file_report import FileReport
from yume_shim.config.settings_files import MANAGED, PROJECT_LAYERS, managed_folder, read_config, read_layers
from yume_shim.types.blocks import NOTHING
from yume_shim.types.errors import BadInvocation
from yume_shim.types.folders import yume_folder
from yume_shim.types.settings import SETTING_SOURCES, LeftOut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from yume_shim.config.settings_files import Layer
    from yume_shim.config.trust import Trust

    Values = Mapping[str, str | bool | tuple[str, ...]]


def _nobody(_: int) -> bool:
    return False


_NEVER_FROM_PROJECTS = (
    *("_BASE_URL", "_API_BASE", "_HOST", "_API_KEY", "_TOKEN", "_PROXY", "_PROFILE"),
    *(
        "_ENABLE_TELEMETRY",
        "_USE_BEDROCK",
        "_USE_VERTEX",
        "_ACCESS_KEY",
        "_ACCESS_KEY_ID",
        "_CREDENTIALS",
        "_CUSTOM_HEADERS",
    ),
    *("CODEX_HOME", "GEMINI_CLI_HOME", "VIBE_HOME", "CLAUDE_CONFIG_DIR"),  # folders in which keys are looked up
)
"""Endings of variables that redirect requests or change keys: project files may not set them, trusted or not."""
_TELEMETRY = ("OTEL_", "TRACEPARENT", "TRACESTATE")
"""Beginnings of variables that say where telemetry goes, and what is in it: neither."""
GRANTED_AT_ONCE = ("permissions.allow", "env")
"""What counts as soon as the host trusts the folder; other settings count from the next start."""


MAX_LEFT_OUT = 100
"""Entries about what is not used; a hostile folder could configure any number."""


class SettingSources:
    """Flags and words of the command line, the environment, config.toml and the settings.json layers."""

    def __init__(
        self,
        values: Values,
        words: tuple[str, ...],
        *,
        flat: bool,
        env: Mapping[str, str],
        cwd: str,
        log: Callable[[str, str], None],
        managed: str = "",
        is_terminal: Callable[[int], bool] | None = None,
    ) -> None:
        """Read the files; `managed` replaces the system's folder of managed settings. `is_terminal` says it of a
        descriptor; None: nobody sits there. Raises BadInvocation."""
        self.is_terminal = is_terminal or _nobody
        self.values, self.words, self.flat, self.cwd, self.log = values, words, flat, cwd, log
        named = self.text("config") or env.get("YUME_CONFIG", "")
        self.config_path: str = named or os.path.join(yume_folder(env), "config.toml")
        self.report = FileReport(log)
        self.config: Mapping[str, Any] = read_config(self.config_path, log, required=bool(named))
        if self.config:
            from yume_shim.config.known_settings import check_config

            for warning in check_config(self.config, self.config_path):
                self.report.warn(warning)
        self.layer_names = self._layer_names()
        self._given_env, self._trust = env, None
        self.left_out: list[LeftOut] = []
        """What is configured and not used; init lines name it."""
        self.layers = read_layers(
            self.layer_names, self.text("settings"), cwd, env, self.report, lambda: self.trust.trusted
        )
        self._name_grants()
        self.layers += self._managed_layers(managed or managed_folder())
        self.env: Mapping[str, str] = merged_env(env, self.layers, self.table("env"))

    _trust: Trust | None

    @property
    def trust(self) -> Trust:
        """Is the working folder trusted? Decided when a file of the folder raises the question."""
        if self._trust is None:
            from yume_shim.config.trust import decide

            flag = self.on("trust")
            self._trust = decide(self.cwd, self._given_env, self.config, by_flag=flag, flat=self.flat)
        return self._trust

    def leave_out(self, entry: LeftOut) -> None:
        """Name something as not used."""
        if len(self.left_out) < MAX_LEFT_OUT:
            self.left_out.append(entry)

    def _name_grants(self) -> None:
        """Name what the files of an untrusted folder try to grant."""
        from yume_shim.config.settings_files import grants_of

        names: dict[str, None] = {}
        for layer in self.layers:
            if layer.name in PROJECT_LAYERS and not layer.trusted:
                for name in grants_of(layer.data):
                    names[name] = None
                    asks = name in GRANTED_AT_ONCE and self.trust.asks
                    self.leave_out(LeftOut("setting", name, layer.name, "asking" if asks else "untrusted"))
        if names:
            listed, unless = ", ".join(names), self.trust.unless
            self.report.warn(f"this folder is not trusted: {listed} of its .claude/settings files is ignored{unless}")

    def if_trusted(self) -> list[Layer]:
        """The layers of the folder that count if the host trusts it."""
        return [
            layer for layer in self.layers if layer.name in PROJECT_LAYERS and not layer.trusted and self.trust.asks
        ]

    def _managed_layers(self, folder: str) -> list[Layer]:
        given = self.text("managed-settings")
        if given is None and not os.path.isdir(folder):
            return []
        from yume_shim.config.managed_settings import managed_layers

        return managed_layers(folder, given, self.report)

    def managed(self, key: str) -> bool:
        """Do managed settings switch this on? Anything but `false` does: a policy that is written wrongly holds."""
        return any(layer.name == MANAGED and layer.data.get(key, False) is not False for layer in self.layers)

    def _layer_names(self) -> tuple[str, ...]:
        if self.on("restricted"):
            return ()
        asked = self.text("setting-sources")
        if asked is None:
            return SETTING_SOURCES
        return tuple(name.strip() for name in asked.split(",") if name.strip())

    # ------------------------------------------------------------ flags

    def text(self, flag: str) -> str | None:
        found = self.values.get(flag)
        return found if isinstance(found, str) else None

    def on(self, flag: str) -> bool:
        return flag in self.values

    def many(self, flag: str) -> tuple[str, ...]:
        found = self.values.get(flag, ())
        return found if isinstance(found, tuple) else ()

    # ------------------------------------------------------------ environment

    def is_true(self, variable: str) -> bool:
        return self.env.get(variable) in ("1", "true")

    # ------------------------------------------------------------ flags and environment

    def number(self, flag: str, variable: str, *, least: float) -> float | None:
        raw = self.text(flag) if flag in self.values else self.env.get(variable) or None
        if raw is None:
            return None
        try:
            number = float(raw)
        except ValueError:
            number = float("nan")
        if not least <= number < float("inf"):
            source = self._source(flag, variable)
            raise BadInvocation(f"{source} must be a number of at least {least:g}, not '{raw}'")
        return number

    def whole(self, flag: str, variable: str, *, least: int = 0) -> int | None:
        number = self.number(flag, variable, least=least)
        if number is not None and number != int(number):
            raise BadInvocation(f"{self._source(flag, variable)} must be a whole number, not '{number:g}'")
        return None if number is None else int(number)

    def _source(self, flag: str, variable: str) -> str:
        return f"--{flag}" if flag in self.values else f"${variable}"

    # ------------------------------------------------------------ config file

    def conf(self, key: str) -> str:
        found = self.config.get(key, "")
        if not isinstance(found, str):
            raise BadInvocation(f"{self.config_path}: `{key}` must be a string")
        return found

    def conf_texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; a single text counts as a list of one."""
        found = self.config.get(key, ())
        texts = [found] if isinstance(found, str) else found
        if not isinstance(texts, list | tuple) or not all(isinstance(text, str) and text for text in texts):
            raise BadInvocation(f"{self.config_path}: `{key}` must be a list of texts")
        return tuple(texts)

    def conf_number(self, key: str, *, least: int = 1) -> int | None:
        found = self.config.get(key)
        if found is not None and (not isinstance(found, int) or isinstance(found, bool) or found < least):
            raise BadInvocation(f"{self.config_path}: `{key}` must be a whole number of at least {least}")
        return found

    def table(self, key: str) -> Mapping[str, Any]:
        found = self.config.get(key, NOTHING)
        if not hasattr(found, "items"):
            raise BadInvocation(f"{self.config_path}: `{key}` must be a table")
        return found  # type: ignore[no-any-return]  # TOML tables are dicts

    def table_of(self, key: str, known: tuple[str, ...]) -> Mapping[str, Any]:
        """The known keys of a table; the check of the file has reported others."""
        return {name: item for name, item in self.table(key).items() if name in known}


def working_folder() -> str:
    """The folder that the process was started in. Raises BadInvocation if it no longer exists."""
    try:
        return os.getcwd()
    except OSError as error:
        raise BadInvocation(
            f"the working folder cannot be used: {error.strerror}. Start in a folder that exists."
        ) from None


def merged_env(env: Mapping[str, str], layers: list[Layer], table: Mapping[str, Any]) -> dict[str, str]:
    """The process environment, overridden by the settings files' `env` and completed by the config file's `[env]`."""
    merged = dict(env)
    for layer in layers:
        if layer.trusted:
            merged |= variables_of(layer)
    for name, given in table.items():
        merged.setdefault(name, str(given))
    return merged


def variables_of(layer: Layer) -> dict[str, str]:
    """The variables of a layer's `env`; a project's never redirect requests or change keys."""
    extra, limited = layer.data.get("env"), layer.name in PROJECT_LAYERS
    if not isinstance(extra, dict):
        return {}
    return {
        str(name): str(given) for name, given in extra.items() if not limited or not _is_users_own(str(name).upper())
    }


def _is_users_own(name: str) -> bool:
    return name == "HOME" or name.endswith(_NEVER_FROM_PROJECTS) or name.startswith(_TELEMETRY) or "_OTEL_" in name


def strings(found: Any) -> list[str]:
    """The texts of a list; [] for anything else."""
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []
