"""Joins commands and skills of files with the rest of the program: lists for the host, the Skill tool, the list that
the model reads. Loaded only if the settings name a folder with some."""

from __future__ import annotations

from yume_shim.extensions.commands.library import PromptLibrary
from yume_shim.types.prompt_files import SKILL_TOOL
from yume_shim.types.settings import LeftOut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.extensions.skills.skill_tool import SkillTool
    from yume_shim.types.models import ModelSpec
    from yume_shim.types.prompt_files import PromptFile
    from yume_shim.types.settings import Settings

BUDGET_VARIABLE = "SLASH_COMMAND_TOOL_CHAR_BUDGET"
"""The Claude CLI's variable for the length of the list."""


def open_library(settings: Settings, log: Callable[[str, str], None]) -> PromptLibrary:
    """The commands and skills of the settings' folders. Files that a rule hides from reading are left out."""
    prompts = settings.prompts
    return PromptLibrary(prompts.prompt_folders, _hidden(settings, log), log, prompts.skill_overrides)


def ungranted(library: PromptLibrary, log: Callable[[str, str], None]) -> tuple[LeftOut, ...]:
    """What files of an untrusted folder try to grant, for init lines."""
    if not any(file.allowed_tools and not file.where.grants for file in library.all()):
        return ()
    log("warning", "this folder is not trusted: `allowed-tools` of its commands and skills is ignored")
    return (LeftOut("setting", "allowed-tools", "project", "untrusted"),)


def _hidden(settings: Settings, log: Callable[[str, str], None]) -> Callable[[str], bool]:
    if not any(rule.lstrip().startswith("Read") for rule in settings.permissions.rules.deny):
        return lambda path: False
    from yume_shim.gate.permissions import Permissions
    from yume_shim.types.folders import home_folder
    from yume_shim.types.value import replace_in

    # the session's own gate does not exist before the first line; the rules are the same
    gate = Permissions(
        replace_in(settings, "permissions", mode="default"), settings.cwd, home_folder(settings.env), False, log
    )
    return gate.hides


def offers_tool(settings: Settings, library: PromptLibrary) -> bool:
    """Whether the model gets the Skill tool."""
    names = settings.tools.names
    allowed = names is None or SKILL_TOOL in names
    return (
        allowed and SKILL_TOOL not in settings.permissions.rules.deny and any(file.for_model for file in library.all())
    )


def skill_tool(library: PromptLibrary, model_of: Callable[[PromptFile], ModelSpec | None]) -> SkillTool:
    """The source of the tool."""
    from yume_shim.extensions.skills.skill_tool import SkillTool

    return SkillTool(library, model_of)


def skill_list(settings: Settings, library: PromptLibrary, window: int) -> str:
    """The list of skills for a model with this window."""
    from yume_shim.extensions.skills.listing import budget, listing

    return listing(library.all(), budget(window, settings.env.get(BUDGET_VARIABLE, "")))
