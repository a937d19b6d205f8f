"""Lists the slash commands of a session: names for init lines, with descriptions for hosts that show them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from yume_shim.engine.command_table import BuiltinCommand
    from yume_shim.extensions.commands.library import PromptLibrary
    from yume_shim.types.blocks import Json

BUILTIN_NAMES = (
    *("agents", "clear", "code-review", "compact", "context", "debug", "help", "init", "mcp", "model", "recap"),
    *("reload-skills", "run", "security-review", "simplify", "team-onboarding", "usage", "verify"),
)
"""The names of `engine/command_table.py`, which a start need not load."""


def command_names(library: PromptLibrary | None) -> tuple[str, ...]:
    """Names of files first; they replace built-in ones."""
    if library is None:
        return BUILTIN_NAMES
    files = [file.name for file in library.all() if file.for_user]
    taken = {file.name for file in library.all()}
    return (*files, *(name for name in BUILTIN_NAMES if name not in taken))


def skill_names(library: PromptLibrary | None) -> tuple[str, ...]:
    """Skills with a description that a user may run."""
    files = () if library is None else library.all()
    return tuple(file.name for file in files if file.folder and file.described and file.for_user)


def described_commands(library: PromptLibrary | None, others: Iterable[Json] = ()) -> tuple[Json, ...]:
    """All commands with descriptions and hints; `others` are those of MCP servers."""
    from yume_shim.engine.command_table import LISTED

    files = () if library is None else library.listed()
    taken = set() if library is None else {file.name for file in library.all()}
    built_in = [_described(each) for each in LISTED if each.name not in taken]
    return (*files, *built_in, *others)


def _described(command: BuiltinCommand) -> Json:
    entry: Json = {"name": command.name, "description": command.description, "argumentHint": command.hint}
    return {**entry, **({"aliases": list(command.aliases)} if command.aliases else {}), "builtin": True}
