"""Draws one random session from a seed: endpoint, dialect, answers, faults, and what the host does and when."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.chaos.faults import FAULTS, STATUSES
from tests.helpers.scripted_model import call, say, think

if TYPE_CHECKING:
    from tests.helpers.scripted_model import Answer

ENDPOINTS = {
    "anthropic-messages": ("anthropic", "claude-sonnet-5-5", ""),
    "openai-responses": ("openai", "gpt-5.4", "/v1"),
    "openai-chat": ("groq", "llama-4", "/v1"),
    "google-genai": ("google", "gemini-3.5-flash", ""),
    "ollama-chat": ("ollama", "qwen3", ""),
}
"""API → provider, model, path of its address."""
COMMANDS = (
    "echo fine",
    "sleep 0.3; echo late",
    "sleep 30",
    "trap '' TERM INT; sleep 30",
    "sleep 30 & echo forked",
    "setsid sleep 30 & echo apart",
    "head -c 3000000 /dev/zero | tr '\\0' 'x'",
    "head -c 20000 /dev/urandom",
    "yes | head -n 200000",
    "exit 3",
    "kill -9 $$",
    "cat",
)
BORN = 0.3
WORDS = ("Hello. ", "Ünïcödé ✓ 🌸 ", "line\nline\n", "\u2028 separators ", "tab\t", "日本語 ", "a" * 300 + " ")


class Action(NamedTuple):
    """What the host does, `after` seconds behind the action before."""

    kind: str
    after: float
    body: Any = None


class Plan(NamedTuple):
    """One session."""

    seed: int
    api: str
    flat: bool
    partial: bool
    sdk: bool
    answers: list[Answer]
    faults: list[str]
    actions: list[Action]
    extensions: tuple[str, ...]
    system: str


def draw(seed: int) -> Plan:
    """The session of a seed."""
    chance = random.Random(seed)
    api = chance.choice(list(ENDPOINTS))
    flat = chance.random() < 0.6
    return Plan(
        seed,
        api,
        flat,
        chance.random() < 0.5,
        api != "ollama-chat" and chance.random() < 0.15,
        [_answer(chance) for _ in range(chance.randrange(1, 6))],
        _faults(chance),
        _actions(chance, flat),
        tuple(name for name in ("hook", "slow-hook", "mcp", "dying-mcp") if chance.random() < 0.12),
        chance.choice(("", "", "", "", "read-only home", "few descriptors", "small address space")),
    )


def _answer(chance: random.Random) -> Answer:
    steps: Answer = []
    if chance.random() < 0.3:
        steps.append(think("Considering. " * chance.randrange(1, 20)))
    if chance.random() < 0.8:
        steps.append(say("".join(chance.choices(WORDS, k=chance.randrange(1, 30))), chance.randrange(1, 12)))
    for _ in range(chance.choice((0, 0, 1, 1, 2, 5))):
        steps.append(_call(chance))
    return steps or [say("So.")]


def _call(chance: random.Random) -> Any:
    match chance.randrange(7):
        case 0 | 1 | 2:
            return call("Bash", command=chance.choice(COMMANDS), timeout=4_000)
        case 3:
            return call("Bash", command=chance.choice(COMMANDS), run_in_background=True)
        case 4:
            return call("Read", file_path=chance.choice(("a.txt", "missing.txt", "/etc/hostname", "..")))
        case 5:
            return call("Write", file_path="new.txt", content="x" * chance.choice((1, 5_000, 400_000)))
        case _:
            return call(chance.choice(("NoSuchTool", "Edit", "Glob")), pattern="*", file_path="a.txt")


def _faults(chance: random.Random) -> list[str]:
    names = [*FAULTS, *STATUSES]
    return [chance.choice(names) if chance.random() < 0.55 else "none" for _ in range(chance.randrange(1, 7))]


def _actions(chance: random.Random, flat: bool) -> list[Action]:
    made = [Action("prompt", 0.0, f"Go {chance.random()}")]
    kinds = ["prompt", "interrupt", "garbage", "huge", "model", "mode", "deaf", "unknown", "empty", "control"]
    made += [
        Action(chance.choice(kinds), chance.choice((0.0, 0.01, 0.1, 0.4)), chance.random())
        for _ in range(chance.randrange(4))
    ]
    end = chance.choice(("eof", "eof", "eof", "SIGINT", "SIGTERM", "SIGHUP", "close-stdout", "SIGKILL", "stop-cont"))
    wait = chance.choice((0.0, 0.02, 0.2, 0.8, 2.0))
    if end.startswith("SIG"):  # while the interpreter itself starts, its own default applies
        wait += BORN
    made.append(Action(end, wait))
    if not flat and end == "close-stdout":  # a Claude form finishes its turn without a reader
        made[-1] = Action("eof", 0.1)
    return made
