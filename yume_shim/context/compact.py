"""A history summed up: where to cut, what to ask, how to rejoin. Pure; `engine/compaction.py` does it.

What stands before the cut is given to the model with the wish for a summary; then the history is that summary, as a
message of the user, and what stands behind the cut. The words of the first request and the files that were touched are
carried over by us, not left to the model: they are what a summary must not lose.
"""

from __future__ import annotations

import re

from yume_shim.context.estimate import size_of
from yume_shim.context.result_trimming import TrimPlan, apply_trim
from yume_shim.text.clip import clip_middle
from yume_shim.types.blocks import Message, Text, ToolCall, ToolResult
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from yume_shim.types.models import ToolSpec

NOTE_TOKENS = 40
"""What the note in place of left out messages takes, generously."""
LEAST_HEAD = 2
"""Messages that must stand before a cut: a prompt and an answer to it. Less is not worth a summary."""
LONGEST_SUMMARY = 40_000
"""Characters; a longer summary loses its middle."""
LONGEST_TASK = 4_000
"""Characters of the first request that are carried over."""
MOST_FILES = 40
"""Files that are named, the last ones touched."""
RESULT_CAPS = (8_000, 2_000, 500)
"""Characters left of each tool result, tried in this order until what is to be summed up fits into one request."""

OPENING = "The conversation so far has been summed up to make room. This message stands in for all that came before it."
CLOSING = "Go on from where the summary ends, without commenting on it."

_ASK = """\
The conversation above is about to be replaced by a summary that you write now. Whoever goes on from it will see \
nothing else of it, so put in all that the work needs. Answer with text only and call no tool.

Cover, under short headings:
- what the user wants, in all its parts, with later corrections and wishes, in the user's own words where they matter
- what was done and what was found, with decisions and the reasons for them
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
    """The places before which a history may be cut: every result behind them has its call behind them too. From 1 to
    the length of the history, in order."""
    cuts: list[int] = []
    needed: dict[str, int] = {}
    """Calls of the results seen so far, walking backwards, and how many results wait for each."""
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


def choose_cut(messages: Sequence[Message], keep_tokens: int) -> int | None:
    """Where to cut so that about `keep_tokens` of the newest messages stay, but never more than half of all. The last
    message always stays (it waits for an answer), with the calls it answers. None if too little is left to sum up."""
    cuts = [cut for cut in legal_cuts(messages) if LEAST_HEAD <= cut < len(messages)]
    if not cuts:
        return None
    sizes = [size_of((message,)) for message in messages]
    keep = min(keep_tokens, sum(sizes) // 2)
    best = cuts[-1]
    kept, behind = 0, len(messages)
    for cut in reversed(cuts):
        kept += sum(sizes[cut:behind])
        behind = cut
        if kept > keep:
            break
        best = cut
    return best


# ---------------------------------------------------------------- what to ask


def ask_for_summary(head: Sequence[Message], instructions: str = "") -> tuple[Message, ...]:
    """The messages of the request: what is to be summed up, then the wish."""
    wish = _ASK
    if instructions:
        wish += f"\n\nThe user asks that the summary heed this:\n{instructions}"
    return (*head, Message("user", (Text(wish),)))


def fit_head(head: Sequence[Message], tokens: int) -> tuple[Message, ...]:
    """What is to be summed up, cut down until it is no more than about `tokens`: first its results, then its oldest
    messages, last its longest texts."""
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
    """The last messages that fit, at least two of them, with a note in place of the others."""
    left = size_of(messages)
    place = 0
    for cut in legal_cuts(messages):
        if left <= (tokens - NOTE_TOKENS if place else tokens) or cut > len(messages) - LEAST_HEAD:
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


def summary_of(answer: str, longest: int = LONGEST_SUMMARY) -> str:
    """The summary in an answer: without its tags and without a draft before it, cut if it is too long."""
    text = _DRAFT_TAGS.sub("", answer)
    found = _SUMMARY_TAGS.search(text)
    return clip_middle((found.group(1) if found else text).strip(), longest)


def rejoin(summary: str, head: Sequence[Message], tools: Iterable[ToolSpec] = ()) -> Message:
    """The message that stands for `head` from now on."""
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
    """The user's first words; those of an earlier summary if there was one."""
    for message in head:
        texts = [block.text for block in message.blocks if isinstance(block, Text) and block.text.strip()]
        if message.role == "user" and texts:
            if texts[0].startswith(OPENING):
                found = _TASK.search(texts[0])
                return found.group(1) if found else ""
            return clip_middle("\n".join(texts).strip(), LONGEST_TASK)
    return ""


def touched_files(messages: Sequence[Message], tools: Iterable[ToolSpec]) -> tuple[str, ...]:
    """`path` or `path (changed)` of the files that calls named, in the order of their last use; those of an earlier
    summary first."""
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
    newest = list(found.items())[-MOST_FILES:]
    return tuple(f"{path} (changed)" if changed else path for path, changed in newest)
