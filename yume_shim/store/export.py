"""Exports a conversation as Markdown. Pure."""

from __future__ import annotations

from yume_shim.text.codec import dumps
from yume_shim.types.blocks import Document, Image, Other, Text, Thinking, ToolCall, ToolResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Block
    from yume_shim.types.stored_session import StoredSession

MAX_RESULT = 20_000
"""Characters of a tool result that are shown; the transcript has all of them."""


def heading(session: StoredSession) -> str:
    """The title of the conversation."""
    return session.title or session.last_prompt.partition("\n")[0] or session.session_id


def markdown(session: StoredSession) -> str:
    """The whole conversation as Markdown."""
    parts = [
        f"# {heading(session)}\n",
        f"Session `{session.session_id}`" + (f" in `{session.cwd}`" if session.cwd else "") + "\n",
    ]
    for message in session.history:
        shown = [piece for block in message.blocks if (piece := _markdown(block))]
        if shown:
            speaker = "Tool" if _only_results(message.blocks) else _speaker(message.role, message.origin)
            parts += [f"## {speaker}\n", *shown]
    return "\n".join(parts).rstrip("\n") + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Text():
            return f"{block.text}\n" if block.text.strip() else ""
        case Thinking():
            quoted = "\n".join(f"> {line}" for line in block.text.splitlines())
            return f"{quoted}\n" if quoted else ""
        case ToolCall():
            return f"**{block.name}**\n\n{_fenced(_arguments(block), 'json')}"
        case ToolResult():
            return ("Error:\n\n" if block.is_error else "") + _fenced(_result_text(block))
        case Image() | Document() | Other():
            return f"*[{_named(block)}]*\n"


def _fenced(text: str, kind: str = "") -> str:
    """A code block whose fence is longer than any in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{kind}\n{text}\n{fence}\n"


def plain(block: Block) -> str:
    """The text of a block, for searching."""
    match block:
        case Text() | Thinking():
            return block.text
        case ToolCall():
            return f"{block.name} {_arguments(block)}"
        case ToolResult():
            return _result_text(block)
        case Image() | Document() | Other():
            return ""


def _only_results(blocks: tuple[Block, ...]) -> bool:
    return all(isinstance(block, ToolResult) for block in blocks)


def _speaker(role: str, origin: str) -> str:
    if role == "user":
        return "User"
    model = origin.partition("/")[2]
    return f"Assistant ({model})" if model else "Assistant"


def _arguments(call: ToolCall) -> str:
    return call.broken if call.broken is not None else dumps(call.input).decode("utf-8")


def _result_text(result: ToolResult) -> str:
    if isinstance(result.content, str):
        text = result.content
    else:
        text = "\n".join(part.text if isinstance(part, Text) else f"[{_named(part)}]" for part in result.content)
    if len(text) <= MAX_RESULT:
        return text
    return f"{text[:MAX_RESULT]}\n… [{len(text) - MAX_RESULT} more characters]"


def _named(block: Image | Document | Other) -> str:
    match block:
        case Image():
            return f"image {block.url or block.media_type}".strip()
        case Document():
            return f"document {block.title or block.media_type}".strip()
        case Other():
            return str(block.data.get("type", "block"))
