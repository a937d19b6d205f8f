"""Slash commands in prompts: which one is meant, and what it becomes for the model.

A file's command wins over a built-in one of the same name, as in the Claude CLI.
"""

from __future__ import annotations

import os
import re

from yume_shim.engine.command_table import LISTED, UNAVAILABLE, local_name, prompt_name
from yume_shim.types.blocks import Text
from yume_shim.types.errors import BadInvocation, ToolFailed
from yume_shim.types.prompt_files import PromptFile, PromptFolder
from yume_shim.types.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from yume_shim.engine.conversation import Conversation
    from yume_shim.engine.services import EngineServices
    from yume_shim.types.commands import UserInput
    from yume_shim.types.models import ModelSpec
    from yume_shim.types.ports import Cancel

MAX_NAMED = 20
"""Commands that the note about an unknown one names."""
BUILT_IN = PromptFolder("", "command", "user")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9:_.-]*")
ONLY_FOR_MODEL = 'This skill is for the model only. Ask it to use the skill "{name}".'

UNKNOWN = """\
<system-reminder>
The message begins like a command, but this session has no command /{name}, so nothing was run.{similar}
Its commands are: {names}.
Take the message as a plain request. If it cannot be met without that command, tell the user that the command does not \
exist here.
</system-reminder>"""


class LocalCommand(Value):
    """A command that is not sent to the model."""

    name: str
    arguments: str = ""
    kind: Literal["compact", "clear", "answer", "fork"] = "answer"
    file: PromptFile | None = None


class Expansion(Value):
    """A prompt that runs in place of a command, with texts that the model reads after it."""

    prompt: UserInput
    notes: tuple[str, ...] = ()
    model: ModelSpec | None = None
    mentions: str = ""
    """Text whose `@file` mentions count: the body of the command."""


def ask_hooks(services: EngineServices, kind: str, name: str, arguments: str, cancel: Cancel) -> tuple[str, ...]:
    """What hooks add to a command before it becomes a prompt; raises ToolFailed if they stop it."""
    hooks = services.hooks()
    if hooks is None:
        return ()
    verdict = hooks.expanding(kind, name, arguments, cancel)
    if verdict.blocked is not None:
        raise ToolFailed(verdict.blocked)
    return verdict.notes


class SlashCommands:
    """For one session, on the session's thread."""

    def __init__(
        self, services: EngineServices, conversation: Conversation, resolve: Callable[[str], ModelSpec]
    ) -> None:
        self._services, self._conversation, self._resolve = services, conversation, resolve

    def local(self, prompt: UserInput) -> LocalCommand | None:
        """The command, if it is answered here; None if the prompt goes to the model in some form."""
        name, arguments = split_command(prompt)
        file = self._file(name)
        if file is not None:
            if not file.for_user:
                return LocalCommand(file.name, arguments, "answer", file)
            return LocalCommand(file.name, arguments, "fork", file) if file.fork else None
        own = local_name(name) or (name if name in UNAVAILABLE else "")
        if not own:
            return None
        return LocalCommand(own, arguments, own if own in ("compact", "clear") else "answer")  # type: ignore[arg-type]

    def knows(self, prompt: UserInput) -> bool:
        """Whether the prompt is a command at all, and not a text that begins with a slash."""
        name, _ = split_command(prompt)
        return (
            name.startswith("mcp__")
            or self.local(prompt) is not None
            or self._file(name) is not None
            or bool(prompt_name(name))
        )

    def expand(self, prompt: UserInput, cancel: Cancel) -> Expansion | None:
        """What the prompt becomes; None if it stays as it is. Raises ToolFailed or Cancelled."""
        name, arguments = split_command(prompt)
        if name.startswith("mcp__") and self._services.expand is not None:
            try:
                text = self._services.expand(name, arguments, cancel)
            except ToolFailed as failed:
                raise ToolFailed(f"Error: {failed.message}") from None
            if text is None:
                return None
            return Expansion(prompt, (text, *ask_hooks(self._services, "mcp_prompt", name, arguments, cancel)))
        file = self._file(name) or _built_in(name)
        if file is None:
            note = self._unknown(name)
            return Expansion(prompt, (note,)) if note else None
        from yume_shim.engine.command_expansion import expand

        notes = ask_hooks(self._services, "slash_command", file.name, arguments, cancel)
        text = expand(self._services, file, arguments, cancel)
        return Expansion(_announced(prompt, file.name, arguments), (text, *notes), self.model_of(file), file.body)

    def model_of(self, file: PromptFile) -> ModelSpec | None:
        """The model that a file names; None = the session's. A file of an untrusted folder chooses no other vendor."""
        if not file.model:
            return None
        try:
            spec = self._resolve(file.model)
        except BadInvocation as error:
            self._services.log("warning", f"/{file.name}: its model is not used: {error.message}")
            return None
        current = self._conversation.models.current()
        if not file.where.trusted and spec.endpoint != current.endpoint:
            text = f"/{file.name}: its model is not used: this folder is not trusted to choose another provider"
            self._services.log("warning", text)
            return None
        return spec

    def _file(self, name: str) -> PromptFile | None:
        files = self._services.prompt_files
        return files.find(name) if files is not None and name else None

    def _unknown(self, name: str) -> str:
        """A note for the model about a command that does not exist; "" if the text is no command."""
        if not _NAME.fullmatch(name) or os.path.lexists(f"/{name}"):
            return ""
        from yume_shim.text.nearest import nearest

        files = self._services.prompt_files
        names = [file.name for file in files.all() if file.for_user] if files is not None else []
        names = list(dict.fromkeys((*names, *(each.name for each in LISTED))))
        near = nearest(name, names)
        more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
        similar = f" The most similar one is /{near}." if near else ""
        return UNKNOWN.format(
            name=name, similar=similar, names=", ".join(f"/{each}" for each in names[:MAX_NAMED]) + more
        )


def split_command(prompt: UserInput) -> tuple[str, str]:
    """Name and arguments of the command in the last text of a prompt; two empty texts if it has none."""
    last = prompt.blocks[-1] if prompt.blocks and prompt.should_query else None
    if not isinstance(last, Text) or not last.text.startswith("/"):
        return "", ""
    words = last.text[1:].split(None, 1)
    if not words or last.text[1:2].isspace():
        return "", ""
    return words[0], (words[1].rstrip() if len(words) > 1 else "")


def _built_in(name: str) -> PromptFile | None:
    own = prompt_name(name)
    if not own:
        return None
    from yume_shim.engine.builtin_prompts import TEXTS

    return PromptFile(own, TEXTS[own], BUILT_IN)


def _announced(prompt: UserInput, name: str, arguments: str) -> UserInput:
    """The prompt as transcripts and hosts of the Claude CLI know a command."""
    tags = f"<command-message>{name}</command-message>\n<command-name>/{name}</command-name>"
    tags += f"\n<command-args>{arguments}</command-args>" if arguments else ""
    others = prompt.blocks[:-1]
    content = prompt.content
    shown = tags if isinstance(content, str) or not others else ({"type": "text", "text": tags}, *content[:-1])
    return replace(prompt, blocks=(Text(tags), *others), content=shown)
