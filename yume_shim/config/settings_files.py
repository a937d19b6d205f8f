"""Reads the settings files: this program's config.toml and the Claude CLI's settings.json layers."""

from __future__ import annotations

import errno
import os
import sys

from yume_shim.disk.bounded import is_absent, read_text
from yume_shim.text import codec
from yume_shim.types.errors import BadInvocation
from yume_shim.types.folders import claude_folder
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from yume_shim.config.file_report import FileReport

MAX_SETTINGS_BYTES = 4 << 20
MAX_CONFIG_BYTES = 128 << 10
"""Of config.toml: Python's parser takes quadratic time for a long dotted key, about a second at this length."""
FLAG_LAYER = "--settings"
"""The layer that is given by flag."""
MANAGED = "managed"
"""The name of the layers that an administrator wrote; no other layer, flag or answer lifts what they forbid."""
HOST_MANAGED = "--managed-settings"
"""What the host passed where an administrator's file exists: it may forbid, but it is not the administrator's word."""
PROJECT_LAYERS = ("project", "local")
GRANTS = ("env", "apiKeyHelper", "effortLevel", "disableAllHooks")
PERMISSION_GRANTS = ("allow", "defaultMode", "additionalDirectories")
"""Keys of a project's files that count only in a trusted folder."""
USERS_OWN = ("provider", "fallback", "fallbackModel", "endpoints", "aliases", "api_base", "apiBase")
"""Keys that would choose another vendor or address; no settings file of a project is asked for them."""


class Layer(Value):
    """One parsed settings file. `trusted` = it may allow tool calls and set environment variables."""

    name: str
    data: dict[str, Any]
    trusted: bool


def read_config(path: str, log: Callable[[str, str], None], *, required: bool) -> dict[str, Any]:
    """config.toml; {} if it does not exist. An unreadable file is reported, because it may hold keys."""
    try:
        raw = read_text(path, MAX_CONFIG_BYTES, pipes=required)
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise BadInvocation(f"the config file {path} is {error.strerror}: make it shorter") from None
        if required:
            raise BadInvocation(f"cannot read the config file {path}: {error.strerror}") from None
        if not is_absent(error):
            log("warning", f"the config file {path} is ignored: it cannot be read ({error.strerror})")
        return {}
    import tomllib

    try:
        return tomllib.loads(raw.decode("utf-8"))
    except RecursionError:
        raise BadInvocation(f"the config file {path} is not valid TOML: it is nested too deep") from None
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise BadInvocation(f"the config file {path} is not valid TOML: line {line} is not UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise BadInvocation(f"the config file {path} is not valid TOML: {error}") from None


def read_layers(
    sources: tuple[str, ...],
    extra: str | None,
    cwd: str,
    env: Mapping[str, str],
    report: FileReport,
    is_trusted: Callable[[], bool],
) -> list[Layer]:
    """The settings.json layers below the managed ones, weakest first: user, project, local, then `--settings`.

    Project files come with the code that is being worked on. Unless the folder is trusted they may deny but not allow
    tool calls, and may not set environment variables.
    """
    layers: list[Layer] = []
    users, folders = os.path.join(claude_folder(env), "settings.json"), os.path.join(cwd, ".claude", "settings.json")
    if "user" in sources:
        layers += _file_layer("user", users, report, trusted=True)
    project: list[Layer] = []
    if "project" in sources and not ("user" in sources and os.path.abspath(users) == os.path.abspath(folders)):
        # in the home folder both are one file, and it is the user's
        project += _file_layer("project", folders, report, trusted=False)
    if "local" in sources:
        project += _file_layer("local", os.path.join(cwd, ".claude", "settings.local.json"), report, trusted=False)
    if project:
        trusted = is_trusted()
        for layer in project:
            ignored = ", ".join(name for name in USERS_OWN if name in layer.data)
            if ignored:
                report.warn(f"{ignored} in the {layer.name} settings is ignored: only the user chooses that")
        layers += [Layer(layer.name, layer.data, trusted) for layer in project]
    if extra is not None:
        layers.append(Layer(FLAG_LAYER, _extra_settings(extra, report), True))
    return layers


def _file_layer(name: str, path: str, report: FileReport, *, trusted: bool) -> list[Layer]:
    data = settings_file(path, report)
    return [] if data is None else [Layer(name, data, trusted)]


def settings_file(path: str, report: FileReport) -> dict[str, Any] | None:
    """What can be used of a file, None if nothing; what cannot is reported."""
    try:
        raw = read_text(path, MAX_SETTINGS_BYTES)
    except OSError as error:
        if not is_absent(error):
            report.damage(path, 0, f"it cannot be read ({error.strerror})")
        return None
    try:
        data = codec.loads(raw)
    except ValueError as error:
        report.damage(path, getattr(error, "lineno", 0), f"it is not valid JSON ({getattr(error, 'msg', error)})")
        return None
    if not isinstance(data, dict):
        report.damage(path, 1, "it is not a JSON object")
        return None
    report.check(path, raw, data)
    return data


def _extra_settings(text: str, report: FileReport) -> dict[str, Any]:
    """`--settings`: JSON, or the path of a file if it is not JSON."""
    if text.lstrip().startswith("{"):
        data = codec.loads_object(text)
        if data is not None:
            report.check("--settings", text.encode("utf-8", "replace"), data)
            return data
    try:
        raw = read_text(text, MAX_SETTINGS_BYTES, pipes=True)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.strerror and not is_absent(error):
            raise BadInvocation(f"Settings file cannot be read ({error.strerror}): {text}") from None
        raise BadInvocation(f"Settings file not found: {text}") from None
    data = codec.loads_object(raw)
    if data is None:
        raise BadInvocation(f"Settings file is not a JSON object: {text}")
    report.check(text, raw, data)
    return data


def grants_of(data: Mapping[str, Any]) -> list[str]:
    """The keys of a project's file that have no effect in a folder that is not trusted."""
    permissions = data.get("permissions")
    permissions = permissions if isinstance(permissions, dict) else {}
    return [f"permissions.{key}" for key in PERMISSION_GRANTS if permissions.get(key)] + [
        key for key in GRANTS if data.get(key)
    ]


def managed_folder() -> str:
    """Where an administrator puts settings for everyone on this machine, as for the Claude CLI."""
    if sys.platform == "darwin":
        return "/Library/Application Support/ClaudeCode"
    return r"C:\Program Files\ClaudeCode" if sys.platform == "win32" else "/etc/claude-code"
