"""Compaction, the pure part: where to cut the history, how to ask for a summary, how to rejoin the two.

The model gets the messages before the cut and is asked to summarise them. Afterwards the history is that summary, as a
user message, and the messages after the cut. The text of the first request and the names of the files touched are
copied by this program, not left to the model, because a summary must not lose them. `engine/compaction.py` calls this.
"""

from __future__ import annotations

import re

from yume_shim.context.estimate import size_of
from yume_shim.context.trim_plan import TrimPlan, apply_trim
from yume_shim.text.clip import clip_middle
from yume_shim.types.blocks import Message, Text, ToolCall, ToolResult
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from yume_shim.types.models import ToolSpec

NOTE_TOKENS = 40
"""An upper bound for the note that replaces messages that were left out."""
MIN_HEAD = 2
"""Messages that must be before a cut: a prompt and its answer. Less is not worth a summary."""
MAX_SUMMARY = 40_000
"""Characters; a longer summary loses its middle."""
MAX_TASK = 4_000
"""Characters of the first request that are copied."""
MAX_FILES = 40
"""Files that are named: the ones touched last."""
RESULT_CAPS = (8_000, 2_000, 500)
"""Caps for each tool result in characters, tried in this order until the text to summarise fits into one request."""

OPENING = "The conversation so far has been summarised to make room. This message replaces everything before it."
CLOSING = "Continue from where the summary ends, without commenting on it."

_ASK = """\
The conversation above is about to be replaced by a summary that you write now. The work continues from this summary \
alone, so include everything that it needs. Answer with text only and call no tool.

Cover, under short headings:
- what the user wants, in all its parts, with later corrections and requests, in the user's own words where they matter
- what was done and found, with decisions and their reasons
- files read, created or changed, with the names, signatures, lines and figures that will be needed again
- commands that work here, errors that came up and how they were solved
- what is unfinished, and the very next step

Leave out greetings, repetitions and whatever turned out not to matter. Put the whole summary between <summary> and \
</summary>."""

_SUMMARY_TAGS = re.compile(r"<summary>(.*?)(?:</summary>|\Z)", re.DOTALL)
_DRAFT_TAGS = re.compile(r"<analysis>.*?</analysis>", re.DOTALL)
_TASK = re.compile(r"<first-request>\n(.*?)\n</first-request>", re.DOTALL)
_FILES = re.compile(r"<files-touched>\n(.*?)\n</files-touched>", re.DOTALL)


# ---------------------------------------------------------------- where to cut


def legal_cuts(messages: Sequence[Message]) -> list[int]:
    """The positions before which a history may be cut, so that no result after the cut has its call before it. From 1
    to the length of the history, in order."""
    cuts: list[int] = []
    needed: dict[str, int] = {}
    """Going backwards: the calls of the results seen so far, and how many results need each."""
    called = {block.id for message in messages for block in message.blocks if isinstance(block, ToolCall)}
    for place in range(len(messages), 0, -1):
        if not needed:
            cuts.append(place)
        for block in reversed(messages[place - 1].blocks):
            if isinstance(block, ToolResult) and block.call_id in called:
                needed[block.call_id] = needed.get(block.call_id, 0) + 1
            elif isinstance(block, ToolCall):
                needed.pop(block.id, None)
    return cuts[::-1]


def choose_cut(messages: Sequence[Message], keep_tokens: int, most_tokens: int) -> int | None:
    """Where to cut so that about `keep_tokens` of the newest messages stay, but never more than half of the history.
    The last message stays (it needs an answer), with the calls that it answers. Results of calls are summarised with
    all the rest if nothing else is left to summarise, or if they alone have more than `most_tokens`: the tool chain
    then goes on from the summary. None if too little would be left to summarise. `most_tokens` is what the window has
    for messages; without any, no summary helps."""
    whole = len(messages) if most_tokens > 0 and len(messages) > MIN_HEAD and _has_results(messages[-1]) else None
    cuts = [cut for cut in legal_cuts(messages) if MIN_HEAD <= cut < len(messages)]
    if not cuts:
        return whole
    sizes = [size_of((message,)) for message in messages]
    keep = min(keep_tokens, sum(sizes) // 2)
    best = cuts[-1]
    kept, end = 0, len(messages)
    for cut in reversed(cuts):
        kept += sum(sizes[cut:end])
        end = cut
        if kept > keep:
            break
        best = cut
    return whole if whole is not None and sum(sizes[best:]) > most_tokens else best


def _has_results(message: Message) -> bool:
    return any(isinstance(block, ToolResult) for block in message.blocks)


# ---------------------------------------------------------------- how to ask


def ask_for_summary(head: Sequence[Message], instructions: str = "") -> tuple[Message, ...]:
    """The messages of the request: those to summarise, then the instruction."""
    ask = _ASK
    if instructions:
        ask += f"\n\nThe user gave these instructions for the summary:\n{instructions}"
    return (*head, Message("user", (Text(ask),)))


def fit_head(head: Sequence[Message], tokens: int) -> tuple[Message, ...]:
    """The messages to summarise, made smaller until they have about `tokens`: first trim tool results, then leave out
    the oldest messages, last clip the longest texts."""
    fitted = tuple(head)
    for cap in RESULT_CAPS:
        if size_of(fitted) <= tokens:
            return fitted
        fitted = apply_trim(fitted, TrimPlan((cap,) * len(fitted)))
    fitted = _newest(fitted, tokens)
    if size_of(fitted) > tokens:
        each = max(tokens * 3 // len(fitted), RESULT_CAPS[-1])
        fitted = tuple(_clip_texts(message, each) for message in fitted)
    return fitted


def _newest(messages: tuple[Message, ...], tokens: int) -> tuple[Message, ...]:
    """The last messages that fit, but at least two, with a note in place of the others."""
    left = size_of(messages)
    place = 0
    for cut in legal_cuts(messages):
        if left <= (tokens - NOTE_TOKENS if place else tokens) or cut > len(messages) - MIN_HEAD:
            break
        left -= size_of(messages[place:cut])
        place = cut
    if not place:
        return messages
    note = f"[{place} earlier messages do not fit here and are left out.]"
    return (Message("user", (Text(note),)), *messages[place:])


def _clip_texts(message: Message, limit: int) -> Message:
    blocks = tuple(
        Text(clip_middle(block.text, limit)) if isinstance(block, Text) and len(block.text) > limit else block
        for block in message.blocks
    )
    return replace(message, blocks=blocks)


# ---------------------------------------------------------------- how to rejoin


def summary_of(answer: str, longest: int = MAX_SUMMARY) -> str:
    """The summary in an answer, without its tags and without a draft before it; clipped if it is too long."""
    text = _DRAFT_TAGS.sub("", answer)
    found = _SUMMARY_TAGS.search(text)
    return clip_middle((found.group(1) if found else text).strip(), longest)


def rejoin(summary: str, head: Sequence[Message], tools: Iterable[ToolSpec] = ()) -> Message:
    """The message that replaces `head`."""
    parts = [OPENING]
    task = _task(head)
    if task:
        parts.append(f"The first request was:\n<first-request>\n{task}\n</first-request>")
    parts.append(summary)
    files = touched_files(head, tools)
    if files:
        parts.append("Files touched so far:\n<files-touched>\n" + "\n".join(files) + "\n</files-touched>")
    parts.append(CLOSING)
    return Message("user", (Text("\n\n".join(parts)),))


def _task(head: Sequence[Message]) -> str:
    """The text of the first request; taken from an earlier summary if there is one."""
    for message in head:
        texts = [block.text for block in message.blocks if isinstance(block, Text) and block.text.strip()]
        if message.role == "user" and texts:
            if texts[0].startswith(OPENING):
                found = _TASK.search(texts[0])
                return found.group(1) if found else ""
            return clip_middle("\n".join(texts).strip(), MAX_TASK)
    return ""


def touched_files(messages: Sequence[Message], tools: Iterable[ToolSpec]) -> tuple[str, ...]:
    """`path` or `path (changed)` of the files that calls named, in the order of their last use; the files of an earlier
    summary come first."""
    fields = {tool.name: (tool.path_field, tool.kind) for tool in tools if tool.kind in ("read", "edit")}
    found: dict[str, bool] = {}
    for message in messages:
        for block in message.blocks:
            match block:
                case Text(text) if message.role == "user" and text.startswith(OPENING):
                    listed = _FILES.search(text)
                    for line in listed.group(1).splitlines() if listed else ():
                        found[line.removesuffix(" (changed)")] = line.endswith(" (changed)")
                case ToolCall() if block.name in fields:
                    field, kind = fields[block.name]
                    path = block.input.get(field)
                    if isinstance(path, str) and path and "\n" not in path:
                        found[path] = found.pop(path, False) or kind == "edit"
                case _:
                    pass
    newest = list(found.items())[-MAX_FILES:]
    return tuple(f"{path} (changed)" if changed else path for path, changed in newest)
