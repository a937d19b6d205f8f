"""Removes keys from logs, recordings and messages: the ones in use, and everything that looks like one."""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from re import Match
    from typing import Any

REDACTED = "[redacted]"
MIN_SECRET_LENGTH = 8
"""Shorter "secrets" are placeholders such as `none` or `ollama`; redacting them would garble ordinary words."""

_BEARER = "bearer"
_SHAPES = (
    ((_BEARER,), r"(?i:\b(bearer)\s+)[A-Za-z0-9._~+/=-]{16,}"),
    (("-----BEGIN ",), r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\Z)"),
    (("sk-",), r"\bsk-[A-Za-z0-9_-]{16,}"),  # Anthropic, OpenAI, OpenRouter (sk-or-…), DeepSeek and others
    (("AIza",), r"\bAIza[A-Za-z0-9_-]{30,}"),  # Google
    (("ya29.",), r"\bya29\.[A-Za-z0-9_-]{20,}"),  # Google OAuth
    (("gsk", "xai", "csk"), r"\b(?:gsk|xai|csk)[_-][A-Za-z0-9]{20,}"),  # Groq, xAI, Cerebras
    (("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"\bgh[pousr]_[A-Za-z0-9]{30,}"),
    (("github_pat_",), r"\bgithub_pat_[A-Za-z0-9_]{30,}"),
    (("glpat-",), r"\bglpat-[A-Za-z0-9_-]{18,}"),
    (("xox",), r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),  # Slack
    (("AKIA", "ASIA"), r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),  # AWS
    (("hf_",), r"\bhf_[A-Za-z0-9]{30,}"),
    (("eyJ",), r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),  # JSON Web Token
)
"""How keys look, each with a word that every such key contains. Saved outputs have many megabytes, and almost never one
of the words: looking for them first is far faster than the patterns."""


def redact(text: str, secrets: Sequence[str] = ()) -> str:
    """`text` with every key replaced by `[redacted]`."""
    return redact_count(text, secrets)[0]


def redact_count(text: str, secrets: Sequence[str] = ()) -> tuple[str, int]:
    """(`redact(text, secrets)`, how many were replaced)."""
    count = 0
    if len(text) < MIN_SECRET_LENGTH:
        return text, 0
    for secret in sorted(secrets, key=len, reverse=True):  # one key may be the start of another
        if len(secret) >= MIN_SECRET_LENGTH and secret in text:
            count += text.count(secret)
            text = text.replace(secret, REDACTED)
    shapes = [shape for words, shape in _SHAPES if any(word in text for word in words)]
    if _BEARER not in text and _BEARER in text.lower():
        shapes.insert(0, _SHAPES[0][1])
    if not shapes:
        return text, count
    import re

    text, found = re.subn("|".join(shapes), _hide, text)
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
    scheme = match.group(1) if match.re.groups else ""
    return f"{scheme} {REDACTED}" if scheme else REDACTED
