"""What the model reads besides the conversation: system prompt, standing instructions, output style.

Built once, before the first request; after that it stays as it is, so that the provider's prompt cache holds. Only a
model of another size gets another system prompt.
"""

from __future__ import annotations

import os

from yume_shim.types.folders import claude_folder
from yume_shim.types.prompt_files import SKILL_TOOL
from yume_shim.types.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.context.environment import Facts
    from yume_shim.context.memory import Memory
    from yume_shim.context.output_styles import Style, StyleFolder
    from yume_shim.engine.host_options import Options
    from yume_shim.engine.services import EngineServices
    from yume_shim.types.models import ModelSpec, ToolSpec

MEMORY_SHARE = 4
"""Instructions take at most this part of the window: one quarter."""
DEFAULT_STYLE = "default"


class Instructions(Value):
    """All of it. `preamble` comes before the first message of the history."""

    system: tuple[str, ...] = ()
    preamble: str = ""
    memory: Memory | None = None
    small: bool = False
    """The short prompt and few tools, for a model with a small window."""
    coding: bool = True
    """Our rules for work and answers are in the system prompt."""


def build_instructions(
    services: EngineServices, options: Options, spec: ModelSpec, *, files: bool = True
) -> Instructions:
    """Read files and settings; never raises because of a file. `files`: False reads none."""
    from yume_shim.context.system_prompt import surroundings

    around = _facts(services, files=files)
    style = _chosen_style(services, options.output_style) if files else None
    memory = _memory(services, spec.window) if files and services.settings.instructions.memory else None
    notes = [memory.note if memory is not None else ""]
    if options.exclude_dynamic and options.system_prompt is None:
        notes.append(f"<system-reminder>\n{surroundings(around)}\n</system-reminder>")
    if style is not None:
        from yume_shim.context.output_styles import style_note

        notes.append(style_note(style))
    small, coding = wants_small(services, spec), style is None or style.keeps_coding
    if files and services.skill_list is not None and services.toolbox.find(SKILL_TOOL) is not None:
        notes.append(services.skill_list(spec.window))
    system = _system(services, options, around, small=small, coding=coding)
    return Instructions(system, "\n\n".join(filter(None, notes)), memory, small, coding)


def resized(now: Instructions, services: EngineServices, options: Options, *, small: bool) -> Instructions:
    """The same with the system prompt for a model of another size."""
    system = _system(services, options, _facts(services), small=small, coding=now.coding)
    return replace(now, system=system, small=small)


def _facts(services: EngineServices, *, files: bool = True) -> Facts:
    from yume_shim.context.environment import facts

    def warn(text: str) -> None:
        services.log("warning", text)

    return facts(services.settings.cwd, services.clock.now(), services.settings.env, warn, files=files)


def _system(services: EngineServices, options: Options, around: Facts, *, small: bool, coding: bool) -> tuple[str, ...]:
    from yume_shim.context.system_prompt import build_system

    return build_system(
        around,
        offered(services, services.toolbox.specs(), small=small),
        options.system_prompt,
        options.append_system_prompt,
        small=small,
        coding=coding,
        dynamic=not options.exclude_dynamic,
        with_facts=options.keeps_facts,
    )


def wants_small(services: EngineServices, spec: ModelSpec) -> bool:
    """Does this model get the short prompt and few tools?"""
    from yume_shim.context.system_prompt import is_small

    return is_small(spec.window, services.settings.instructions.prompt_size)


def offered(services: EngineServices, tools: tuple[ToolSpec, ...], *, small: bool) -> tuple[ToolSpec, ...]:
    """The tools for a request: all, or those for a small model unless tools were chosen by name."""
    if not small or services.settings.tools.names is not None:
        return tools
    from yume_shim.context.system_prompt import small_set

    return small_set(tools)


def _memory(services: EngineServices, window: int) -> Memory:
    from yume_shim.context.memory import Memory, MemoryPlaces

    settings = services.settings
    wanted = settings.instructions
    places = MemoryPlaces(
        settings.cwd,
        claude_folder(settings.env),
        settings.setting_sources,
        managed_folder=wanted.managed_folder,
        more_folders=services.gate.directories() if wanted.memory_of_added else (),
        more_names=wanted.memory_names,
        excludes=wanted.memory_excludes,
    )

    def warn(text: str) -> None:
        services.log("warning", text)

    return Memory(places, hidden=services.gate.hides, warn=warn, max_tokens=window // MEMORY_SHARE)


# ---------------------------------------------------------------- output styles


def style_names(services: EngineServices) -> list[str]:
    """The styles that a user can choose."""
    return [DEFAULT_STYLE, *_styles(services)]


def _chosen_style(services: EngineServices, name: str) -> Style | None:
    if name == DEFAULT_STYLE:
        return None
    style = _styles(services).get(name)
    if style is None:
        services.log("warning", f"there is no output style '{name}': the default one is used")
    return style


def _styles(services: EngineServices) -> dict[str, Style]:
    from yume_shim.context.output_styles import find_styles

    def warn(text: str) -> None:
        services.log("warning", text)

    return find_styles(_style_folders(services), services.gate.hides, warn)


def _style_folders(services: EngineServices) -> list[StyleFolder]:
    from yume_shim.context.output_styles import StyleFolder
    from yume_shim.disk.resolve import resolve

    settings = services.settings
    folders = [StyleFolder(path, prefix=prefix) for prefix, path in settings.instructions.style_folders]
    if "user" in settings.setting_sources:
        folders.append(StyleFolder(os.path.join(claude_folder(settings.env), "output-styles")))
    if "project" in settings.setting_sources:
        inside = resolve(settings.cwd).real
        folders.append(StyleFolder(os.path.join(settings.cwd, ".claude", "output-styles"), inside))
    return folders
