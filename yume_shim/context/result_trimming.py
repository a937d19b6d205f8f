"""Decides how old tool results are trimmed, so that a long history fits without a summary. Pure.

Results are the bulk of a history, and the older a result is, the less of it is needed: calling the tool again brings
most of them back. So results are grouped by age, and each group gets a cap, half of the cap of the next younger group.
The caps are computed: the largest ones that bring the history down to its target, given the lengths of the results and
the number of tokens per character.

Trimming changes messages that were already sent, which invalidates the provider's prompt cache. So it happens in steps:
a step makes a plan that goes well below the budget, the plan stays the same while the history grows, and the next step
comes when the budget is reached again.
"""

from __future__ import annotations

from yume_shim.context.trim_plan import TrimPlan
from yume_shim.text.clip import clip_middle
from yume_shim.types.blocks import Document, Image, Text, ToolResult
from yume_shim.types.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from yume_shim.types.blocks import Message

MIN_CAP = 200
"""Characters left of the oldest results: enough to see what they were."""
AGES = (4, 8, 16)
"""Tool rounds in each age group, the newest first; the last group has all older ones."""
TARGET_SHARE = 0.7
"""A step goes down to this share of the budget, so that the next step is far off."""
MIN_GAIN = 0.05
"""A step that frees less than this share of the history is not worth losing the provider's cache."""
DENSITY = 0.3
"""Tokens per character, if not measured."""
MIN_DENSITY, MAX_DENSITY = 0.1, 1.5
MEDIA_CHARS = 5_000
"""Characters that an image or a document counts as."""
TRIM_NOTE = "\n[… {cut} characters of this old result cut …]\n"


class Step(Value):
    """A plan, and about how many tokens it frees."""

    plan: TrimPlan
    freed: int


def plan_step(
    messages: Sequence[Message],
    size: int,
    budget: int,
    *,
    keep_turns: int = 1,
    caps: tuple[int, ...] = (),
) -> Step | None:
    """The next step for a history of `size` tokens that should stay under `budget`; None if the gain is too small.
    `messages` is the history as it is sent now. `caps` replaces the computed caps, by age."""
    limit = untouched_from(messages, keep_turns)
    rounds = _rounds(messages, limit)
    if not rounds:
        return None
    characters = sum(_length(block) for message in messages for block in message.blocks) or 1
    density = min(max(size / characters, MIN_DENSITY), MAX_DENSITY) if size else DENSITY
    to_free = max(0, round((size - budget * TARGET_SHARE) / density))

    def by_age(base: int) -> Callable[[int], int]:
        return lambda age: max(base >> age, MIN_CAP)

    cap_of = (lambda age: caps[min(age, len(caps) - 1)]) if caps else by_age(_largest_base(rounds, to_free, by_age))
    freed = round(_freed(rounds, cap_of) * density)
    if freed < size * MIN_GAIN:
        return None
    by_place = {place: cap_of(age) for place, age, _ in rounds}
    longest = max(length for _, _, lengths in rounds for length in lengths)
    return Step(TrimPlan(tuple(by_place.get(place, longest) for place in range(limit))), freed)


def untouched_from(messages: Sequence[Message], keep_turns: int) -> int:
    """The first message that is never trimmed. While tools run, that is the start of the last `keep_turns` user turns,
    and in any case the newest round; otherwise the prompt that needs an answer."""
    last = len(messages) - 1
    if last < 0 or not _has_result(messages[last]):
        return max(last, 0)
    prompts = [p for p, message in enumerate(messages) if message.role == "user" and not _has_result(message)]
    if keep_turns <= 0 or not prompts:
        return max(last - 1, 0)
    return prompts[max(len(prompts) - keep_turns, 0)]


def _rounds(messages: Sequence[Message], limit: int) -> list[tuple[int, int, list[int]]]:
    """(place, age, lengths) of every message with results before `limit`, the newest first."""
    found: list[tuple[int, int, list[int]]] = []
    for place in range(limit - 1, -1, -1):
        lengths = [_length(block) for block in messages[place].blocks if isinstance(block, ToolResult)]
        if lengths:
            found.append((place, _age(len(found)), lengths))
    return found


def _age(nth: int) -> int:
    for age, width in enumerate(AGES):
        if nth < width:
            return age
        nth -= width
    return len(AGES)


def _largest_base(
    rounds: list[tuple[int, int, list[int]]], to_free: int, by_age: Callable[[int], Callable[[int], int]]
) -> int:
    """The largest cap for the newest group that frees `to_free` characters; the smallest cap if none does."""
    low = MIN_CAP
    high = max(length for _, _, lengths in rounds for length in lengths) << len(AGES)
    while low < high:
        middle = (low + high + 1) // 2
        if _freed(rounds, by_age(middle)) >= to_free:
            low = middle
        else:
            high = middle - 1
    return low


def _freed(rounds: list[tuple[int, int, list[int]]], cap_of: Callable[[int], int]) -> int:
    return sum(max(0, length - cap_of(age)) for _, age, lengths in rounds for length in lengths)


# ---------------------------------------------------------------- one result


def _has_result(message: Message) -> bool:
    return any(isinstance(block, ToolResult) for block in message.blocks)


def _length(block: object) -> int:
    """About how many characters a block counts as."""
    match block:
        case Text(text):
            return len(text)
        case Image() | Document(media_type="application/pdf"):
            return MEDIA_CHARS
        case Document():
            return len(block.data)
        case ToolResult():
            return len(block.content) if isinstance(block.content, str) else sum(map(_length, block.content))
        case _:
            return len(str(block))


def trimmed_message(message: Message, cap: int) -> Message:
    """The message with its results cut to this cap."""
    blocks = tuple(_trim(block, cap) if isinstance(block, ToolResult) else block for block in message.blocks)
    return message if blocks == message.blocks else replace(message, blocks=blocks)


def _trim(result: ToolResult, cap: int) -> ToolResult:
    if _length(result) <= cap:
        return result
    content = result.content
    text = content if isinstance(content, str) else "\n".join(map(_as_text, content))
    return replace(result, content=clip_middle(text, cap, TRIM_NOTE))


def _as_text(part: Text | Image | Document) -> str:
    match part:
        case Text(text):
            return text
        case Document(media_type="text/plain"):
            return part.data
        case Image() | Document():
            return f"[{part.media_type} of an old result left out]"
