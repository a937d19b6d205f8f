"""What a transcript holds when its session is resumed."""

from __future__ import annotations

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from yume_shim.types.blocks import Json, Message
    from yume_shim.types.events import ModelUsage


class StoredSession(Value):
    """A transcript as it was read. `leaf` is the uuid of the line that the next one will follow."""

    session_id: str
    history: tuple[Message, ...]
    leaf: str | None
    model: str = ""
    """The model last asked, as "provider/model"; "" if another program wrote the file."""
    foreign_model: str = ""
    """The model that the last answer names, if `model` is not known."""
    used: tuple[ModelUsage, ...] = ()
    """Tokens and cost of the session so far, by model."""
    title: str = ""
    last_prompt: str = ""
    cwd: str = ""
    chain: tuple[str, ...] = ()
    """The uuids of the lines that `history` was read from, in order."""
    skipped: int = 0
    """Lines that could not be read."""
    reader: Json | None = None
    """What a reader of later lines must know; None if a checkpoint cannot be made."""
    counted: tuple[int, int, str] = (0, 0, "")
    """(tokens, messages, origin): what the provider of the last answer counted, and how many messages of `history` that
    covers."""


def title_of(facts: Mapping[str, str]) -> str:
    """The title of a session: the user's, or the best other one."""
    return facts.get("customTitle") or facts.get("aiTitle") or facts.get("summary") or ""
