"""Draws one random session from a seed: endpoint, dialect, answers, faults, and what the host does and when."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.chaos.faults import ALL_FAULTS
from tests.chaos.routes import ROADS
from tests.chaos.vendor_answers import VendorAnswer
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
DIALECTS = {"flat": 9, "stream-json": 7, "acp": 4, "text": 1, "json": 1}
COMMANDS = (
    "echo fine",
    "sleep 0.2; echo late",
    "sleep 30",
    "trap '' TERM INT; sleep 30",
    "sleep 30 & echo forked",
    "setsid sleep 30 & echo apart",
    "(trap '' TERM HUP INT; sleep 30) & disown; echo gone",
    "head -c 3000000 /dev/zero | tr '\\0' 'x'",
    "head -c 20000 /dev/urandom",
    "yes | head -n 100000",
    "printf 'a\\0b\\xff\\xfe\\n\\033[31mred\\r\\n'",
    "exit 3",
    "kill -9 $$",
    "kill -STOP $$",
    "cat",
    "exec >&- 2>&-; sleep 0.2",
)
HOOKS = {
    "hook": "cat >/dev/null; echo '{}'",
    "slow-hook": "sleep 20",
    "stubborn-hook": "trap '' TERM INT; sleep 20",
    "refusing-hook": "echo no >&2; exit 2",
    "failing-hook": "exit 7",
    "garbage-hook": "head -c 3000 /dev/urandom",
    "flooding-hook": "yes | head -c 3000000",
    "forking-hook": "sleep 30 & echo '{}'",
    "blocking-hook": """echo '{"decision": "block", "reason": "not yet"}'""",
    "stopping-hook": """echo '{"continue": false, "stopReason": "enough"}'""",
}
HOOK_EVENTS = (
    *("PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop", "SessionStart", "SessionEnd", "PostToolUseFailure"),
    *("PostToolBatch", "PermissionRequest", "StopFailure", "SubagentStart", "SubagentStop", "PreCompact"),
)
HTTP = "http:"
"""The word before the fault of an MCP server over HTTP."""
SERVERS = (
    *("", "garbage", "flood", "words", "silent", "deaf", "dies", "missing"),
    *(
        f"{HTTP}{fault}"
        for fault in ("none", "late", "silent", "no-answer", "cut-body", "garbage", "web-page", "reset")
    ),
)
"""How an MCP server starts; "" = as it should. Those over HTTP answer with a fault each time."""
SERVER_TOOLS = ("echo", "hang", "crash", "progress", "broken", "twice", "noisy", "null", "nothing_like_it")
SYSTEMS = (
    "read-only home",
    "full disk",
    "few descriptors",
    "small address space",
    "clock jumps",
    "two processes",
    "closed stderr",
)
JUMPS = (0.0, -86_400.0, 3_600.0, 300_000_000.0, -1_000_000_000.0)
"""By how many seconds the clock is wrong, one after the other."""
OTHER_TOOLS = (
    *("NoSuchTool", "Edit", "Glob", "Grep", "TodoWrite", "TaskStop", "WebFetch", "AskUserQuestion", "EnterPlanMode"),
    *("ExitPlanMode", "SendMessage", "NotebookEdit"),
)
"""They get arguments that suit some of them."""
REPLIES = ("allow", "deny", "garbage", "twice", "late", "nothing")
"""How the host answers a question about a call."""
WORDS = ("Hello. ", "Ünïcödé ✓ 🌸 ", "line\nline\n", "\u2028 separators ", "tab\t", "日本語 ", "a" * 300 + " ")
HOST_ACTIONS = (
    *("prompt", "prompt", "prompt", "interrupt", "interrupt", "wait", "wait", "garbage", "huge", "model", "mode"),
    *("deaf", "unknown", "empty", "control", "ping", "split", "stop-cont", "many"),
    *("slash", "clear", "compact", "switch"),
)
SLASH = ("/context", "/cost", "/compact", "/no-such-command", "/model other")
"""What a host's user may type in place of a prompt."""
ENDS = (
    *("eof", "eof", "eof", "eof", "SIGINT", "SIGTERM", "SIGHUP", "close-stdout", "SIGKILL"),
    *("SIGINT+eof", "SIGTERM+eof", "SIGTERM+SIGTERM", "SIGINT+SIGINT", "half+eof"),
)
NO_HOST = ("text", "json")
"""Claude forms with one prompt on the command line: nothing is read, and only the end of the output is heard."""


class Action(NamedTuple):
    """What the host does, `after` seconds behind the action before."""

    kind: str
    after: float
    body: Any = None


class Plan(NamedTuple):
    """One session."""

    seed: int
    api: str
    dialect: str
    partial: bool
    sdk: bool
    cold: bool
    """Started like a host does it, and not from a loaded interpreter."""
    road: str
    """A fault on the way to the endpoint."""
    keys: int
    spare: str
    """The API of the fallback model; "" = there is none."""
    answers: list[Answer | list[VendorAnswer]]
    alike: bool
    """The endpoint gives all answers and their calls the same names."""
    faults: list[str]
    actions: list[Action]
    asks: bool
    """The host is asked about calls."""
    reply: str
    slow: bool
    """The host reads slowly."""
    hooks: tuple[tuple[str, str], ...]
    """Event and behaviour."""
    server: str | None
    """How the MCP server starts; None = there is none."""
    system: str
    resumed: bool
    """Another process goes on with the session afterwards, without faults."""

    @property
    def flat(self) -> bool:
        return self.dialect == "flat"

    @property
    def alone(self) -> bool:
        return self.dialect in NO_HOST

    @property
    def end(self) -> str:
        """The last action."""
        return self.actions[-1].kind


def draw(seed: int) -> Plan:
    """The session of a seed."""
    chance = random.Random(seed)
    api = chance.choice(list(ENDPOINTS))
    [dialect] = chance.choices(list(DIALECTS), list(DIALECTS.values()))
    server = chance.choice(SERVERS) if chance.random() < 0.12 else None
    return Plan(
        seed=seed,
        api=api,
        dialect=dialect,
        partial=chance.random() < 0.5,
        sdk=api != "ollama-chat" and chance.random() < 0.1,
        cold=chance.random() < 0.04,
        road=chance.choice(ROADS) if chance.random() < 0.12 else "",
        keys=chance.choice((1, 1, 1, 2, 3)),
        spare=chance.choice(list(ENDPOINTS)) if chance.random() < 0.2 else "",
        answers=[_answer(chance, server) for _ in range(chance.randrange(1, 6))],
        alike=chance.random() < 0.1,
        faults=_faults(chance),
        actions=_actions(chance, dialect),
        asks=chance.random() < 0.3,
        reply=chance.choice(REPLIES),
        slow=chance.random() < 0.08,
        hooks=tuple(
            (chance.choice(HOOK_EVENTS), chance.choice(list(HOOKS)))
            for _ in range(chance.choice((0, 0, 0, 0, 0, 0, 1, 2)))
        ),
        server=server,
        system=chance.choice(SYSTEMS) if chance.random() < 0.25 else "",
        resumed=chance.random() < 0.2,
    )


def _answer(chance: random.Random, server: str | None) -> Answer | list[VendorAnswer]:
    if chance.random() < 0.12:
        return [VendorAnswer(chance.randrange(1_000))]
    steps: Answer = []
    if chance.random() < 0.3:
        steps.append(think("Considering. " * chance.randrange(1, 20)))
    if chance.random() < 0.8:
        steps.append(say("".join(chance.choices(WORDS, k=chance.randrange(1, 30))), chance.randrange(1, 12)))
    for _ in range(chance.choice((0, 0, 0, 1, 1, 2, 5))):
        steps.append(_call(chance, server))
    return steps or [say("So.")]


def _call(chance: random.Random, server: str | None) -> Any:
    if server is not None and chance.random() < 0.5:
        return call(f"mcp__odd__{chance.choice(SERVER_TOOLS)}", words="x")
    match chance.randrange(9):
        case 0 | 1 | 2:
            return call("Bash", command=chance.choice(COMMANDS), timeout=1_000)
        case 3:
            return call("Bash", command=chance.choice(COMMANDS), run_in_background=True)
        case 4:
            return call("Read", file_path=chance.choice(("a.txt", "missing.txt", "/etc/hostname", "..", "/dev/zero")))
        case 5:
            return call("Write", file_path="new.txt", content="x" * chance.choice((1, 5_000, 400_000)))
        case 6:
            background = {"run_in_background": True} if chance.random() < 0.3 else {}
            return call("Agent", description="a part", prompt="Do it.", subagent_type="general-purpose", **background)
        case 7:
            return call("TaskOutput", task_id="bash_1", block=True, timeout=500)
        case _:
            return call(chance.choice(OTHER_TOOLS), pattern="*", path=".", task_id="bash_1", question="which?")


def _faults(chance: random.Random) -> list[str]:
    return [chance.choice(ALL_FAULTS) if chance.random() < 0.5 else "none" for _ in range(chance.randrange(1, 7))]


def _actions(chance: random.Random, dialect: str) -> list[Action]:
    made = [Action("prompt", 0.0, f"Go {chance.random()}")]
    made += [Action(chance.choice(HOST_ACTIONS), _pause(chance), chance.random()) for _ in range(chance.randrange(5))]
    end, wait = chance.choice(ENDS), chance.choice((0.0, 0.02, 0.2, 0.8))
    if dialect != "flat" and end == "close-stdout":  # a Claude form finishes its turn without a reader
        end = "close-stdout+eof"
    if dialect == "acp" and chance.random() < 0.7:  # the end of the input stops everything there
        made.append(Action("wait", 0.0))
    made.append(Action(end, wait))
    return made


def afterwards(plan: Plan) -> Plan:
    """The session that goes on with this one: a prompt, its answer, the end."""
    actions = [Action("prompt", 0.0, "again"), Action("wait", 0.0), Action("eof", 0.0)]
    calm = plan._replace(actions=actions, answers=[], faults=[], hooks=(), server=None, system="", road="")
    return calm._replace(slow=False, cold=False, resumed=False)


def _pause(chance: random.Random) -> float:
    """Before an action: none, a usual one, or any."""
    return chance.choice((0.0, 0.0, 0.01, 0.1, 0.3, chance.uniform(0.0, 0.6), chance.uniform(0.0, 0.1)))


def prompts_of(plan: Plan) -> int:
    """How many prompts the host sends."""
    if plan.alone:
        return 1
    counts = {"prompt": 1, "huge": 1, "split": 1, "many": 3, "slash": 1}
    if not plan.flat:  # they have no line of their own there
        counts |= {"clear": 1, "compact": 1}
    return sum(counts.get(action.kind, 0) for action in plan.actions)
