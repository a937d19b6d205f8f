"""Prompts on their way into the history: announced, without repeated ones, with the texts that are added to them."""

from __future__ import annotations

from yume_shim.types.blocks import Message, Text
from yume_shim.types.events import NoteAdded, PromptTaken
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from yume_shim.engine.conversation import Conversation
    from yume_shim.engine.services import EngineServices
    from yume_shim.types.blocks import Block
    from yume_shim.types.commands import UserInput
    from yume_shim.types.ports import Cancel

MAX_KNOWN_UUIDS = 10_000
"""How many prompt uuids are remembered to recognise a repeated one."""


class PromptIntake:
    """Used by the session's thread only."""

    def __init__(self, services: EngineServices, conversation: Conversation) -> None:
        self._services, self._conversation = services, conversation
        self._known_uuids: dict[str, None] = {}

    def register(self, prompt: UserInput) -> bool:
        """Remember the prompt's uuid. False if it was seen before: then the prompt is echoed (if echoing is on) and
        must not run again."""
        if not prompt.uuid:
            return True
        if prompt.uuid in self._known_uuids:
            self._taken(prompt, repeated=True)
            return False
        self._known_uuids[prompt.uuid] = None
        if len(self._known_uuids) > MAX_KNOWN_UUIDS:
            self._known_uuids.pop(next(iter(self._known_uuids)))
        return True

    def announce(self, prompts: Sequence[UserInput]) -> Message:
        """Announce each prompt under its own uuid; returns all of them joined into one message."""
        blocks: list[Block] = []
        for prompt in prompts:
            _append_blocks(blocks, prompt.blocks)
            uuid = self._taken(prompt)
            if self._services.checkpoints is not None:
                self._services.checkpoints.begin(uuid)
        return Message("user", tuple(blocks))

    def announce_injected(self, prompts: Sequence[UserInput], *, joined: bool = False) -> None:
        """Announce prompts that are sent with results of tools. `joined`: the host sent them for that."""
        for prompt in prompts:
            self._taken(prompt, joined=joined)

    def _taken(self, prompt: UserInput, *, repeated: bool = False, joined: bool = False) -> str:
        replay = self._services.settings.host.replay_user_messages and prompt.origin is None
        message = Message("user", prompt.blocks)
        return self._services.emit(
            PromptTaken(
                message, prompt.content, prompt.uuid, replay, joined=joined, repeated=repeated, origin=prompt.origin
            )
        )

    def attach(self, prompts: Sequence[UserInput], cancel: Cancel, body: str = "") -> None:
        """Add the files that the prompts, or the body of a command, mention with `@` to the message for the model."""
        blocks = [Text(body), *(block for prompt in prompts if prompt.expand for block in prompt.blocks)]
        if not any(isinstance(block, Text) and "@" in block.text for block in blocks):
            return
        from yume_shim.engine.attach import attachments
        from yume_shim.engine.turn_preparation import READ_LIMIT_S, attempt

        def read() -> list[str]:
            return attachments(self._services, blocks, cancel)

        self.add_notes(
            attempt(self._services, cancel, "Reading the files that the prompt mentions", read, READ_LIMIT_S) or ()
        )

    def add_notes(self, notes: Iterable[str], *, hidden: bool = False) -> None:
        """Add texts for the model to the prompt. `hidden`: they belong to a command that the host sent."""
        for note in notes:
            self._services.emit(NoteAdded(note, counts=False, hidden=hidden))
            prompt = self._conversation.history[-1]
            self._conversation.history[-1] = replace(prompt, blocks=(*prompt.blocks, Text(note)))


def _append_blocks(blocks: list[Block], more: tuple[Block, ...]) -> None:
    """Append `more`; two texts that meet are joined by a newline."""
    if blocks and more and isinstance(blocks[-1], Text) and isinstance(more[0], Text):
        blocks[-1] = Text(blocks[-1].text + "\n" + more[0].text)
        more = more[1:]
    blocks += more
