"""Commands and skills: prompts in files that a user runs with `/name`, or that the model uses."""

from __future__ import annotations

from yume_shim.types.blocks import NOTHING
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    PromptKind = Literal["command", "skill"]


SKILL_TOOL = "Skill"
"""The tool with which the model uses a skill."""


class PromptFolder(Value):
    """Where commands or skills are looked for. `path` is a folder, or one file of a plugin."""

    path: str
    kind: PromptKind
    source: Literal["user", "project", "plugin"]
    inside: str = ""
    """Files of a project or plugin must lie below this folder, links resolved; "" = anywhere."""
    plugin: str = ""
    """The name of the plugin: the names of its commands begin with it."""
    plugin_root: str = ""
    trusted: bool = True
    """It is the user's, or the folder that it comes with is trusted: it may choose a model of another vendor."""
    grants: bool = True
    """`allowed-tools` of its files counts."""


class PromptSettings(Value):
    """Where commands and skills come from."""

    prompt_folders: tuple[PromptFolder, ...] = ()
    """The first one that has a name wins."""
    prompt_shell: bool = True
    """Shell commands in files run; False: `disableSkillShellExecution`."""
    skill_overrides: Mapping[str, str] = NOTHING
    """How single skills are offered (`skillOverrides`): "on", "name-only", "user-invocable-only", "off"."""


class PromptFile(Value):
    """One command or skill."""

    name: str
    """As it is called: `shout`, `folder:shout`, `plugin:shout`."""
    body: str
    where: PromptFolder
    folder: str = ""
    """The folder of a skill; "" for a command."""
    title: str = ""
    """Another name, from its frontmatter."""
    description: str = ""
    described: bool = True
    """The description was written as such; False: it is the first line of the body."""
    hint: str = ""
    """What arguments it takes, for hosts that show it."""
    arguments: tuple[str, ...] = ()
    """Names of its arguments in order: `$name` in the body."""
    allowed_tools: tuple[str, ...] = ()
    """Permission rules that allow calls until the turn ends."""
    model: str = ""
    fork: bool = False
    """It runs as a child with its own history (`context: fork`)."""
    agent: str = ""
    """The kind of agent that it runs as then."""
    for_model: bool = True
    """The model may use it."""
    for_user: bool = True
    """A user may run it with `/name`."""

    @property
    def grants(self) -> tuple[str, ...]:
        """The rules of `allowed-tools` that count."""
        return self.allowed_tools if self.where.grants else ()
