"""The provider's own reason for a refusal, in one line for people."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_DETAIL = 500
"""Characters of a reason that are shown."""


def refusal_detail(code: Any, *explanations: Any) -> str:
    """The code and what explains it: texts, ratings of Gemini, filter results of Azure. Other values are left out."""
    found: list[str] = []
    for part in (code, *explanations):
        text = part if isinstance(part, str) else ", ".join(_blocked(part))
        text = " ".join(text.split())
        if text and text not in found:
            found.append(text)
    return ": ".join(found)[:MAX_DETAIL]


def _blocked(ratings: Any) -> list[str]:
    """The categories that were blocked: `[{"category", "blocked"}]` or `{category: {"filtered"}}`."""
    if isinstance(ratings, list):
        return [
            each["category"]
            for each in ratings
            if isinstance(each, dict) and each.get("blocked") and isinstance(each.get("category"), str)
        ]
    if isinstance(ratings, dict):
        return [
            str(name)
            for name, each in ratings.items()
            if isinstance(each, dict) and (each.get("filtered") is True or each.get("detected") is True)
        ]
    return []
