"""Removes keys from logs, recordings and messages: the ones in use, and everything that looks like one."""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from re import Match, Pattern
    from typing import Any

REDACTED = "[redacted]"
MIN_SECRET_LENGTH = 8
"""Shorter "secrets" are placeholders such as `none` or `ollama`; redacting them would garble ordinary words."""

_SHAPES = (
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)",
    r"\bsk-[A-Za-z0-9_-]{16,}",  # Anthropic (sk-ant-…), OpenAI (sk-proj-…), OpenRouter (sk-or-…), DeepSeek and others
    r"\bAIza[A-Za-z0-9_-]{30,}",  # Google
    r"\bya29\.[A-Za-z0-9_-]{20,}",  # Google OAuth
    r"\b(?:gsk|xai|csk)[_-][A-Za-z0-9]{20,}",  # Groq, xAI, Cerebras
    r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})",
    r"\bglpat-[A-Za-z0-9_-]{18,}",
    r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",  # Slack
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",  # AWS
    r"\bhf_[A-Za-z0-9]{30,}",
    r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",  # JSON Web Token
)
_BEARER = r"(?i:\b(bearer)\s+)[A-Za-z0-9._~+/=-]{16,}"

_pattern: Pattern[str] | None = None


def redact(text: str, secrets: Sequence[str] = ()) -> str:
    """`text` with every key replaced by `[redacted]`."""
    return redact_count(text, secrets)[0]


def redact_count(text: str, secrets: Sequence[str] = ()) -> tuple[str, int]:
    """(`redact(text, secrets)`, how many were replaced)."""
    global _pattern
    count = 0
    for secret in sorted(secrets, key=len, reverse=True):  # one key may be the start of another
        if len(secret) >= MIN_SECRET_LENGTH and secret in text:
            count += text.count(secret)
            text = text.replace(secret, REDACTED)
    if _pattern is None:
        _pattern = re.compile("|".join((_BEARER, *_SHAPES)))
    text, found = _pattern.subn(_hide, text)
    return text, count + found


def with_texts(fact: Any, change: Callable[[str], str]) -> Any:
    """Nested lists and dicts with every text in them changed, keys included."""
    if isinstance(fact, str):
        return change(fact)
    if isinstance(fact, dict):
        return {change(str(name)): with_texts(inner, change) for name, inner in fact.items()}
    if isinstance(fact, list | tuple):
        return [with_texts(inner, change) for inner in fact]
    return fact


def shown_address(url: str) -> str:
    """A URL that may be shown and stored: without user name, password and query, where people put keys."""
    scheme, mark, rest = url.partition("://")
    place, slash, path = rest.partition("?")[0].partition("/")
    return scheme + mark + place.rpartition("@")[2] + slash + path


def _hide(match: Match[str]) -> str:
    scheme = match.group(1)
    return f"{scheme} {REDACTED}" if scheme else REDACTED
