"""Old tool results cut down, so that a long history fits without a summary. Pure.

Results are the bulk of a history, and the older one is the less of it is needed: most can be had again by calling the
tool once more. So every age of results gets a cap, half of the cap of the age after it. The caps are worked out: the
largest with which the history comes down to its target, given how long its results are and how many tokens a character
of it takes.

Trimming changes what was already sent, which costs the provider's prompt cache. Therefore it happens in steps: a step
makes a plan that goes well below the budget, the plan stays as it is while the history grows, and the next step comes
when the budget is reached again.
"""

from __future__ import annotations

from yume_shim.text.clip import clip_middle
from yume_shim.types.blocks import Document, Image, Text, ToolResult
from yume_shim.types.value import replace, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from yume_shim.types.blocks import Message

LEAST_CAP = 200
"""Characters that stay of the oldest results: enough to see what they were."""
AGES = (4, 8, 16)
"""Tool rounds of each age, the newest first; everything older is the last age."""
TARGET_SHARE = 0.7
"""A step goes down to this part of the budget, so that the next one is far off."""
LEAST_GAIN = 0.05
"""A step that frees less than this part of the history is not worth the provider's cache."""
DENSITY = 0.3
"""Tokens per character where nothing was measured."""
LEAST_DENSITY, MOST_DENSITY = 0.1, 1.5
MEDIA_CHARS = 5_000
"""What an image or a document counts as, in characters."""
TRIM_NOTE = "\n[… {cut} characters of this old result cut …]\n"


@value
class TrimPlan:
    """The cap, in characters, of the results in each message from the first on; messages behind that stay whole."""

    caps: tuple[int, ...] = ()

    def joined(self, other: TrimPlan) -> TrimPlan:
        """Both plans at once: a result that was cut never grows again."""
        longer, shorter = sorted((self.caps, other.caps), key=len, reverse=True)
        return TrimPlan(tuple(map(min, longer, shorter)) + longer[len(shorter) :])


@value
class Step:
    """A plan, and about how many tokens it frees."""

    plan: TrimPlan
    freed: int


def apply_trim(messages: Sequence[Message], plan: TrimPlan) -> tuple[Message, ...]:
    """The history as it is sent. Message for message the same, but for the results that the plan cuts."""
    return tuple(
        _cut_message(message, plan.caps[place]) if place < len(plan.caps) else message
        for place, message in enumerate(messages)
    )


def plan_step(
    messages: Sequence[Message],
    size: int,
    budget: int,
    *,
    keep_turns: int = 1,
    caps: tuple[int, ...] = (),
) -> Step | None:
    """The next step for a history of `size` tokens that should stay under `budget`; None if there is too little to
    gain. `messages` is the history as it is sent now. `caps` overrides what would be worked out, by age."""
    limit = untouched_from(messages, keep_turns)
    rounds = _rounds(messages, limit)
    if not rounds:
        return None
    characters = sum(_length(block) for message in messages for block in message.blocks) or 1
    density = min(max(size / characters, LEAST_DENSITY), MOST_DENSITY) if size else DENSITY
    wanted = max(0, round((size - budget * TARGET_SHARE) / density))

    def by_age(base: int) -> Callable[[int], int]:
        return lambda age: max(base >> age, LEAST_CAP)

    cap_of = (lambda age: caps[min(age, len(caps) - 1)]) if caps else by_age(_largest_base(rounds, wanted, by_age))
    freed = round(_freed(rounds, cap_of) * density)
    if freed < size * LEAST_GAIN:
        return None
    by_place = {place: cap_of(age) for place, age, _ in rounds}
    longest = max(length for _, _, lengths in rounds for length in lengths)
    return Step(TrimPlan(tuple(by_place.get(place, longest) for place in range(limit))), freed)


def untouched_from(messages: Sequence[Message], keep_turns: int) -> int:
    """From which message on nothing is cut. While tools run, that is the start of the last `keep_turns` user turns,
    and in any case the newest round; else the prompt that waits for its answer."""
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
    rounds: list[tuple[int, int, list[int]]], wanted: int, by_age: Callable[[int], Callable[[int], int]]
) -> int:
    """The gentlest cap of the newest age that frees `wanted` characters; the hardest if none does."""
    low = LEAST_CAP
    high = max(length for _, _, lengths in rounds for length in lengths) << len(AGES)
    while low < high:
        middle = (low + high + 1) // 2
        if _freed(rounds, by_age(middle)) >= wanted:
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
    """About how many characters a block is worth."""
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


def _cut_message(message: Message, cap: int) -> Message:
    blocks = tuple(_cut(block, cap) if isinstance(block, ToolResult) else block for block in message.blocks)
    return message if blocks == message.blocks else replace(message, blocks=blocks)


def _cut(result: ToolResult, cap: int) -> ToolResult:
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
