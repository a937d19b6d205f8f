"""Settings about what the model reads besides the conversation. Part of `types/settings.py`, from which other modules
import them."""

from __future__ import annotations

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    PromptSize = Literal["auto", "small", "full"]

PROMPT_SIZES: tuple[PromptSize, ...] = ("auto", "small", "full")
"""The short system prompt and few tools: for models with a small window, always, or never."""


class InstructionSettings(Value):
    """What the model is instructed to do, and the shape its answer must have."""

    system_prompt: str | None = None
    append_system_prompt: str = ""
    memory: bool = True
    """Read CLAUDE.md files (`--bare` does not)."""
    memory_names: tuple[str, ...] = ()
    """Further file names that are read like CLAUDE.md (`memory_files` in the config file)."""
    memory_excludes: tuple[str, ...] = ()
    """Patterns of files that are not read (`claudeMdExcludes`)."""
    memory_of_added: bool = False
    """Read those of additional folders, too (CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD)."""
    managed_folder: str = ""
    """The administrator's folder, whose CLAUDE.md counts for everyone."""
    output_style: str = "default"
    style_folders: tuple[tuple[str, str], ...] = ()
    """(prefix of the names, folder) of further style files, such as those of plugins."""
    exclude_dynamic: bool = False
    """Facts about the machine stand before the first prompt instead of in the system prompt
    (`--exclude-dynamic-system-prompt-sections`)."""
    prompt_size: PromptSize = "auto"
    """The short system prompt and few tools: for models with a small window, always, or never."""
    json_schema: Mapping[str, Any] | None = None
    """The answer must fit this JSON Schema (`--json-schema`)."""
