"""Slash commands that a source of tools offers, such as the prompts of MCP servers: their text for the model."""

from __future__ import annotations

from yume_shim.types.blocks import Text
from yume_shim.types.errors import ToolFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from yume_shim.engine.services import EngineServices
    from yume_shim.types.commands import UserInput
    from yume_shim.types.ports import Cancel


def command_texts(services: EngineServices, prompts: Sequence[UserInput], cancel: Cancel) -> tuple[str, ...]:
    """What the commands in these prompts add for the model; raises ToolFailed or Cancelled."""
    found: list[str] = []
    for prompt in prompts:
        name, arguments = split_command(prompt)
        text = services.expand(name, arguments, cancel) if name and services.expand is not None else None
        if text is not None:
            found += [text, *_ask_hooks(services, name, arguments, cancel)]
    return tuple(found)


def _ask_hooks(services: EngineServices, name: str, arguments: str, cancel: Cancel) -> tuple[str, ...]:
    """What hooks add to the command; raises ToolFailed if they stop it."""
    hooks = services.hooks()
    if hooks is None:
        return ()
    verdict = hooks.expanding("mcp_prompt" if name.startswith("mcp__") else "slash_command", name, arguments, cancel)
    if verdict.blocked is not None:
        raise ToolFailed(verdict.blocked)
    return verdict.notes


def split_command(prompt: UserInput) -> tuple[str, str]:
    """Name and arguments of the command in a prompt; two empty texts if it has none."""
    first = prompt.blocks[0] if len(prompt.blocks) == 1 and prompt.should_query else None
    if not isinstance(first, Text) or not first.text.lstrip().startswith("/"):
        return "", ""
    words = first.text.strip()[1:].split(None, 1)
    return (words[0] if words else ""), (words[1] if len(words) > 1 else "")
