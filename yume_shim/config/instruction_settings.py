"""Builds InstructionSettings: system prompt, memory files, and the schema of the answer."""

from __future__ import annotations

import os

from yume_shim.config.setting_sources import strings
from yume_shim.config.settings_files import managed_folder
from yume_shim.types.errors import BadInvocation
from yume_shim.types.settings import PROMPT_SIZES, InstructionSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from yume_shim.config.setting_sources import SettingSources
    from yume_shim.types.instruction_settings import PromptSize

MAX_PROMPT_BYTES = 4 << 20


def instruction_settings(sources: SettingSources) -> InstructionSettings:
    """Raises BadInvocation."""
    return InstructionSettings(
        system_prompt=_text_or_file(sources, "system-prompt", "System prompt"),
        append_system_prompt=_text_or_file(sources, "append-system-prompt", "Append system prompt") or "",
        memory=not sources.on("bare"),
        memory_names=_memory_names(sources),
        memory_excludes=_excludes(sources),
        memory_of_added=sources.is_true("CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD"),
        managed_folder=managed_folder(),
        output_style=_output_style(sources),
        exclude_dynamic=sources.on("exclude-dynamic-system-prompt-sections"),
        prompt_size=_prompt_size(sources),
        json_schema=_json_schema(sources),
    )


def _memory_names(sources: SettingSources) -> tuple[str, ...]:
    names = sources.conf_texts("memory_files")
    for name in names:
        if os.path.basename(name) != name or name in (".", ".."):
            raise BadInvocation(f"{sources.config_path}: `memory_files` are names of files, not '{name}'")
    return names


def _excludes(sources: SettingSources) -> tuple[str, ...]:
    """Not from untrusted folders: they could switch off the user's own instructions."""
    found: list[str] = []
    for layer in sources.layers:
        if layer.trusted:
            found += strings(layer.data.get("claudeMdExcludes"))
    return tuple(found)


def _output_style(sources: SettingSources) -> str:
    names = (layer.data.get("outputStyle") for layer in reversed(sources.layers))
    return next((name for name in names if isinstance(name, str) and name), "default")


def _prompt_size(sources: SettingSources) -> PromptSize:
    asked = sources.text("prompt-size") or sources.conf("prompt_size") or "auto"
    for size in PROMPT_SIZES:
        if size == asked:
            return size
    raise BadInvocation(f"prompt_size '{asked}' is not one of {', '.join(PROMPT_SIZES)}")


def _text_or_file(sources: SettingSources, flag: str, what: str) -> str | None:
    """`--FLAG-file` overrides `--FLAG`."""
    path = sources.text(flag + "-file")
    if path is None:
        return sources.text(flag)
    try:
        return _text_file(os.path.join(sources.cwd, path))
    except (OSError, ValueError):
        raise BadInvocation(f"Error: {what} file not found: {path}") from None


def _text_file(path: str) -> str:
    from yume_shim.disk.bounded import read_text

    return read_text(path, MAX_PROMPT_BYTES, pipes=True).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


def _json_schema(sources: SettingSources) -> Mapping[str, Any] | None:
    raw = sources.text("json-schema")
    if raw is None:
        return None
    from yume_shim.text import codec

    try:
        schema = codec.loads(raw)
    except ValueError as error:
        raise BadInvocation(f"Error: --json-schema is not valid JSON: {error}") from None
    if not isinstance(schema, dict):
        raise BadInvocation("Error: --json-schema must be a JSON object")
    try:
        from jsonschema.exceptions import SchemaError
        from jsonschema.validators import validator_for
    except ImportError as error:
        from yume_shim.types.packages import missing_package

        raise BadInvocation(f"Error: --json-schema: {missing_package(error) or error}") from None

    try:
        validator_for(schema).check_schema(schema)
    except SchemaError as error:
        raise BadInvocation(f"Error: --json-schema is not a valid JSON Schema: {error.message}") from None
    return schema
