"""Hooks as real commands, and callbacks of a host: what they answer, and how they fail."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.engine_fakes import FunctionTools
from tests.helpers.timing import set_when, wait_until
from yume_shim.engine.cancel import CancelSignal
from yume_shim.extensions.hooks.commands import MARK, HookCommands
from yume_shim.extensions.hooks.runner import HookRunner, HookServices
from yume_shim.extensions.hooks.session_hooks import SessionHooks
from yume_shim.extensions.hooks.specs import Hook
from yume_shim.host.host_requests import HostRequests
from yume_shim.host.ids import CountedIds
from yume_shim.system.orphan_watcher import OrphanWatcher
from yume_shim.types.blocks import ToolCall
from yume_shim.types.calls import ModelSwitch, PreparedCall
from yume_shim.types.errors import Cancelled, Failure, ToolFailed
from yume_shim.types.host_reply import HostReply
from yume_shim.types.models import ToolSpec
from yume_shim.types.settings import HookSettings
from yume_shim.types.side_events import (
    HookAsked,
    HookEnded,
    HookNotice,
    HookStarted,
    QuestionWithdrawn,
)
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yume_shim.extensions.hooks.combined import Combined
    from yume_shim.types.events import Event
    from yume_shim.types.ports import Cancel

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the commands are written for a POSIX shell")


class Desk:
    """Runs hooks in a folder; `events` is what was emitted, `reply` what the host answers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.events: list[Event] = []
        self.logged: list[str] = []
        self.reply: HostReply | None = HostReply("answered", {})
        self.judgement: str | Exception = ""
        self.asked: tuple[str, str, float] = ("", "", 0.0)
        ids = CountedIds()
        self.host = HostRequests(self.emit, ids)
        self.watcher = OrphanWatcher(lambda *_: None)
        env = {"PATH": os.environ["PATH"], "CLAUDE_PROJECT_DIR": str(folder)}
        self.services = HookServices(
            facts=lambda: {"session_id": "s1", "cwd": str(folder)},
            mode=lambda: "default",
            effort=lambda: "high",
            tasks=lambda: [{"id": "b1", "type": "shell"}],
            conversation=lambda: "user: hi",
            folder=lambda: str(folder),
            commands=HookCommands(str(folder), env, self.watcher),
            host=self.host,
            emit=self.emit,
            ids=ids,
            log=lambda level, message: self.logged.append(message),
            shows_all=False,
            fail_closed=False,
            add_variables=lambda _: None,
            agent_transcript=lambda agent: f"/agents/{agent}.jsonl",
            covers=lambda rule, prepared: {"yes": True, "no": False}.get(rule),
            ask=self.ask,
            ask_agent=self.ask,
            call_tool=self.call_tool,
            settings=HookSettings(),
            env=env,
            category=lambda failure: failure.kind,
            lifetime=CancelSignal(),
            spent=set(),
        )

    def ask(self, system: str, text: str, model: str, seconds: float, cancel: Cancel) -> str:
        """What a model answers; the last question is kept."""
        self.asked = (text, model, seconds)
        if isinstance(self.judgement, Exception):
            raise self.judgement
        return self.judgement

    def call_tool(self, server: str, tool: str, given: Any, seconds: float, cancel: Cancel) -> tuple[str, bool]:
        """What a tool of a server answers: its text, an error if it begins with `!`; the last call is kept."""
        self.asked = (f"{server}/{tool}", json.dumps(given), seconds)
        if isinstance(self.judgement, Exception):
            raise self.judgement
        return self.judgement, self.judgement.startswith("!")

    def emit(self, event: Event) -> str:
        self.events.append(event)
        if isinstance(event, HookAsked) and self.reply is not None:
            self.host.answer(event.ask_id, self.reply)
        return ""

    def run(self, *hooks: Hook, event: str = "PreToolUse", tool: str = "Bash", **services: Any) -> Combined:
        runner = HookRunner(hooks, replace(self.services, **services))
        return runner.run(event, tool, {"tool_name": tool}, CancelSignal(), prepared_call())

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.services.commands.end_turn()
    made.watcher.close()


def guard(command: str, event: str = "PreToolUse", **fields: Any) -> Hook:
    return Hook(event, fields.pop("matcher", ""), command, **fields)


def says(body: Any) -> str:
    return f"echo '{json.dumps(body)}'"


PRE = {"hookEventName": "PreToolUse"}


def decision(verdict: str, reason: str = "") -> str:
    special = {"hookEventName": "PreToolUse", "permissionDecision": verdict, "permissionDecisionReason": reason}
    return says({"hookSpecificOutput": special})


# ---------------------------------------------------------------- answers of commands


def test_a_command_reads_its_event_and_has_its_environment(desk: Desk) -> None:
    desk.run(guard('cat > given.json; echo "$CLAUDE_PROJECT_DIR" > place.txt'))
    given = json.loads((desk.folder / "given.json").read_text())
    assert given == {
        "session_id": "s1",
        "cwd": str(desk.folder),
        "prompt_id": "00000000-0000-4000-8000-000000000001",
        "permission_mode": "default",
        "effort": {"level": "high"},
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
    }
    assert (desk.folder / "place.txt").read_text().strip() == str(desk.folder)


def test_exit_code_two_blocks(desk: Desk) -> None:
    said = desk.run(guard("echo no >&2; exit 2"))
    assert (said.verdict, said.reason) == ("deny", "[echo no >&2; exit 2]: no")


@pytest.mark.parametrize("command", ["true", "echo text", "exit 1", "exit 3", says({}), says([1]), "echo '{\"half'"])
def test_no_opinion(desk: Desk, command: str) -> None:
    said = desk.run(guard(command))
    assert (said.verdict, said.blocked, said.stopped, said.input) == ("", None, None, None)


def test_deny_beats_ask_beats_allow(desk: Desk) -> None:
    allow, ask, deny = (guard(decision(verdict, verdict)) for verdict in ("allow", "ask", "deny"))
    assert desk.run(allow, ask, deny).verdict == "deny"
    assert desk.run(ask, allow).verdict == "ask"
    assert (desk.run(allow).verdict, desk.run(allow).reason) == ("allow", "allow")


def test_other_answers(desk: Desk) -> None:
    said = desk.run(
        guard(says({"hookSpecificOutput": {**PRE, "updatedInput": {"command": "ls"}, "additionalContext": "careful"}})),
        guard(says({"continue": False, "stopReason": "enough"})),
        guard(says({"decision": "block", "reason": "policy"})),
        guard(says({"systemMessage": "hello"})),
    )
    assert (said.input, said.stopped, said.blocked) == ({"command": "ls"}, "enough", "policy")
    assert [answer.context for answer in said.answers if answer.context] == ["careful"]
    assert desk.of(HookNotice) == [HookNotice("PreToolUse:Bash says: hello", "notice")]


def test_identical_commands_run_once_and_others_side_by_side(desk: Desk) -> None:
    desk.run(guard("echo x >> once.txt"), guard("echo x >> once.txt"))
    assert (desk.folder / "once.txt").read_text() == "x\n"
    wait = "n=0; while [ ! -e {1} ] && [ $n -lt 400 ]; do sleep 0.05; n=$((n+1)); done"
    meeting = f"touch {{0}}; {wait}; [ -e {{1}} ] || exit 2"
    said = desk.run(guard(meeting.format("a", "b")), guard(meeting.format("b", "a")))
    assert said.blocked is None  # each waited for the other


def test_every_guard_runs_however_many_there_are(desk: Desk) -> None:
    """More than run side by side: the last one refuses."""
    many = [guard(f"exit {0 if number < 69 else 2}; : {number}") for number in range(70)]
    assert desk.run(*many).verdict == "deny"


def test_hooks_are_reported_when_wanted(desk: Desk) -> None:
    desk.run(guard("echo x"))
    assert desk.of(HookStarted) == []
    desk.run(guard("echo out; echo err >&2; exit 1"), shows_all=True)
    [started], [ended] = desk.of(HookStarted), desk.of(HookEnded)
    assert (started.name, started.event) == ("PreToolUse:Bash", "PreToolUse")
    assert (ended.stdout, ended.stderr, ended.code, ended.outcome) == ("out\n", "err\n", 1, "error")
    desk.run(guard("true", "SessionStart"), event="SessionStart", tool="startup")
    assert [event.name for event in desk.of(HookStarted)] == ["PreToolUse:Bash", "SessionStart:startup"]


# ---------------------------------------------------------------- commands that misbehave


def test_a_command_that_hangs_is_ended_and_fails_open(desk: Desk) -> None:
    said = desk.run(guard("sleep 600 & echo $! > pid; wait", seconds=0.5), shows_all=True)
    assert said.verdict == ""
    assert desk.of(HookEnded)[0].outcome == "cancelled"
    [notice] = desk.of(HookNotice)
    assert (notice.tag, notice.no_verdict) == (
        "hook_no_verdict",
        {"hook_event": "PreToolUse", "tool_use_id": "c1", "timed_out": True},
    )
    child = int((desk.folder / "pid").read_text())
    wait_until(lambda: not alive(child), "its child has ended too")


def test_a_command_that_does_not_exist_fails_open(desk: Desk) -> None:
    assert desk.run(guard("/no/such/hook")).verdict == ""
    assert desk.of(HookNotice)[0].tag == "hook_no_verdict"


@pytest.mark.parametrize("command", ["sleep 600", "/no/such/hook", "exit 1", "kill -9 $$", "echo '{\"half'"])
def test_fail_closed_refuses_instead(desk: Desk, command: str) -> None:
    assert desk.run(guard(command, seconds=0.3), fail_closed=True).verdict == "deny"
    assert desk.of(HookNotice) == []


@pytest.mark.parametrize(
    ("command", "told"),
    [("exit 1", False), ("kill -9 $$", True), ("echo '{\"half'", True), (says({"decision": 1}), True)],
)
def test_a_guard_without_a_usable_answer_is_told(desk: Desk, command: str, told: bool) -> None:
    assert desk.run(guard(command)).verdict == ""
    assert [notice.tag for notice in desk.of(HookNotice)] == (["hook_no_verdict"] if told else [])
    assert len(desk.logged) == 1


def test_a_hook_may_ask_to_block_when_it_fails(desk: Desk) -> None:
    said = desk.run(guard("exit 1", on_failure="block"))
    assert (said.verdict, said.reason) == ("deny", "[exit 1]: it ended with code 1")
    assert desk.run(guard("exit 1", "UserPromptSubmit", on_failure="block"), event="UserPromptSubmit").blocked
    assert desk.run(guard("exit 1", "Stop", on_failure="block"), event="Stop").blocked is None


HOSTILE = {
    "flood": "yes | head -c 50000000",
    "endless flood": "yes",
    "flood on both streams": "yes >&2 & yes",
    "binary": "head -c 3000000 /dev/urandom",
    "closes its input": "exec 0<&-; sleep 0.1",
    "closes everything": "exec 0<&- 1>&- 2>&-; sleep 600",
    "half JSON": "echo '{\"decision\":'",
    "deep JSON": "python3 -c 'print(\"[\" * 100000)'",
    "deep object": 'python3 -c \'print(chr(123) + chr(34) * 2 + ":" , end="") ; print("[" * 90000)\'',
    "leaves a child": "cat >/dev/null; (sleep 600 &) ; exit 0",
    "forks": "for n in 1 2 3 4 5 6 7 8; do (sleep 600 &); done",
    "writes after its answer": "echo '{}'; (while sleep 0.01; do echo x; done) &",
    "ignores signals": "trap '' TERM INT HUP PIPE; sleep 600",
    "leaves its group": "echo $$ > /dev/null; setsid sleep 601 & exit 0",
    "stops itself": "kill -STOP $$",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_hooks_do_no_harm(desk: Desk, name: str) -> None:
    """Each ends within its time limit, decides nothing, and nothing of it is left when the turn has ended."""
    begun = time.monotonic()
    assert desk.run(guard(HOSTILE[name], seconds=0.7)).verdict == ""
    assert time.monotonic() - begun < 60
    desk.services.commands.end_turn()
    wait_until(lambda: not marked(), "no process is left")


def marked() -> list[int]:
    """The processes that carry the mark of a hook of this process."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            data = (entry / "environ").read_bytes() if entry.name.isdigit() else b""
        except OSError:
            continue
        if f"\0{MARK}={os.getpid()}-".encode() in b"\0" + data and alive(int(entry.name)):
            found.append(int(entry.name))
    return found


def test_what_a_hook_leaves_running_ends_with_the_turn(desk: Desk) -> None:
    desk.run(guard("sleep 600 >/dev/null 2>&1 & echo $! > pid"))
    child = int((desk.folder / "pid").read_text())
    assert alive(child)
    desk.services.commands.end_turn()
    wait_until(lambda: not alive(child), "it has ended")


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_an_interrupt_ends_a_hook(desk: Desk) -> None:
    cancel = CancelSignal()
    set_when(cancel, (desk.folder / "started").exists)
    with pytest.raises(Cancelled):
        HookRunner([guard("touch started; sleep 600")], desk.services).run("PreToolUse", "Bash", {}, cancel)


def test_a_program_with_arguments_needs_no_shell(desk: Desk) -> None:
    hook = guard("echo", args=(json.dumps({"decision": "block", "reason": "$HOME; exit"}),))
    assert desk.run(hook).reason == "$HOME; exit"
    assert desk.run(guard("true", shell="powershell"), fail_closed=True).verdict == "deny"  # there is none here


def test_conditions_and_hooks_that_run_once(desk: Desk) -> None:
    hooks = [
        guard("echo no >> ran", condition="no"),
        guard("echo yes >> ran", condition="yes"),
        guard("echo bad >> ran", condition="((("),  # what cannot be read does not switch a guard off
        guard("echo once >> ran", once=True),
    ]
    runner = HookRunner(hooks, desk.services)
    for _ in range(2):
        runner.run("PreToolUse", "Bash", {}, CancelSignal(), prepared_call())
    ran = (desk.folder / "ran").read_text().split()
    assert sorted(ran) == ["bad", "bad", "once", "yes", "yes"]


def test_nobody_waits_for_a_background_hook(desk: Desk) -> None:
    hook = guard("while [ ! -e go ]; do sleep 0.02; done; touch done; exit 2", background=True)
    assert desk.run(hook).verdict == ""
    desk.services.commands.end_turn()
    (desk.folder / "go").touch()
    wait_until((desk.folder / "done").exists, "it worked on after the turn")
    desk.services.commands.end_session()


def test_a_hook_that_works_on_ends_at_its_own_limit(desk: Desk) -> None:
    desk.run(guard('echo \'{"async": true, "asyncTimeout": 300}\'; echo $$ > pid; exec sleep 600'))
    wait_until(lambda: (desk.folder / "pid").exists() and not alive(int((desk.folder / "pid").read_text())), "it ended")


# ---------------------------------------------------------------- judgements of a model


def test_a_model_judges_by_the_users_condition(desk: Desk) -> None:
    desk.judgement = '{"ok": false, "reason": "rude"}'
    hook = Hook("PreToolUse", prompt="is it polite?", model="small", seconds=7.0)
    assert desk.run(hook).reason == "[is it polite?]: rude"
    text, model, seconds = desk.asked
    assert text.startswith("is it polite?\n\nEvent: {")
    assert (model, seconds) == ("small", 7.0)
    desk.run(Hook("PreToolUse", prompt="is $ARGUMENTS polite?"))
    assert desk.asked[0].startswith("is {")
    assert desk.asked[0].endswith("} polite?")


def test_a_model_that_judges_the_end_of_a_turn_sees_the_conversation(desk: Desk) -> None:
    desk.judgement = '{"ok": true}'
    desk.run(Hook("Stop", prompt="done?"), event="Stop")
    assert desk.asked[0].endswith('\n\nThe newest messages of the conversation: "user: hi"')


def test_which_events_have_a_prompt_a_mode_and_an_effort(desk: Desk) -> None:
    events = ("SessionStart", "UserPromptSubmit", "PreToolUse", "Stop", "PreModelSwitch", "PreCompact", "SessionEnd")
    runner = HookRunner([guard("cat >> given.jsonl", event) for event in events], desk.services)
    for event in events:
        runner.run(event, "", {}, CancelSignal())
        if event == "Stop":
            runner.end_prompt()
    given = [json.loads(line) for line in (desk.folder / "given.jsonl").read_text().splitlines()]
    first, second = given[1]["prompt_id"], given[5]["prompt_id"]
    assert [each.get("prompt_id") for each in given] == [None, first, first, first, first, second, second]
    assert [each.get("permission_mode") for each in given] == [None, "default", "default", "default", None, None, None]
    assert ["effort" in each for each in given] == [False, False, True, True, False, False, False]


@pytest.mark.parametrize(
    ("broken", "timed_out"), [(TimeoutError(), True), (ToolFailed("no model"), False), ("hm", False)]
)
def test_a_model_that_gives_no_judgement_fails_open(desk: Desk, broken: str | Exception, timed_out: bool) -> None:
    desk.judgement = broken
    assert desk.run(Hook("PreToolUse", prompt="p")).verdict == ""
    [notice] = desk.of(HookNotice)
    assert (notice.tag, notice.no_verdict["timed_out"]) == ("hook_no_verdict", timed_out)
    assert desk.run(Hook("PreToolUse", prompt="p"), fail_closed=True).verdict == "deny"


def test_an_agent_judges_as_a_model_does_and_blocks_without_ending_the_turn(desk: Desk) -> None:
    desk.judgement = '{"ok": false, "reason": "no tests"}'
    hook = Hook("PreToolUse", prompt="tests ran?", agentic=True, continues=True)
    said = desk.run(hook)
    assert (said.reason, said.stopped) == ("Agent hook condition was not met: no tests", None)
    desk.judgement = ToolFailed("no more agents", before_run=True)
    assert desk.run(hook).reason == "[tests ran?]: no more agents"  # a guard that was not run refuses
    desk.judgement = ToolFailed("the provider failed")
    assert desk.run(hook).verdict == ""


def test_no_hook_that_asks_a_model_judges_its_own_agent(desk: Desk) -> None:
    desk.judgement = '{"ok": false, "reason": "never"}'
    judged = [Hook("PreToolUse", prompt="p", agentic=True), Hook("PreToolUse", prompt="q"), guard("exit 2")]
    hooks = SessionHooks(HookRunner(judged, desk.services)).for_judge().for_agent("a1", "hook-agent")
    answer = hooks.before(prepared_call(), CancelSignal())
    assert answer.decision is not None
    assert answer.decision.message == "PreToolUse:Bash hook error: [exit 2]: No stderr output"
    assert desk.asked == ("", "", 0.0)


# ---------------------------------------------------------------- tools of servers


def test_a_tool_of_a_server_answers_as_a_command(desk: Desk) -> None:
    special = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "no"}
    desk.judgement = json.dumps({"hookSpecificOutput": special})
    given = {"a": "${tool_name} ${none.x}", "b": [3, "${tool_input}", "${list.1}"], "c": "${ cwd }"}
    hook = Hook("PreToolUse", server="s", tool="t", given=given, seconds=9.0)
    runner = HookRunner([hook], replace(desk.services, shows_all=True))
    fields = {"tool_name": "Bash", "tool_input": {"n": 1}, "list": ["x", "y"]}
    assert runner.run("PreToolUse", "Bash", fields, CancelSignal()).reason == "no"
    filled = {"a": "Bash ", "b": [3, '{"n":1}', "y"], "c": "${ cwd }"}
    assert desk.asked == ("s/t", json.dumps(filled), 9.0)
    [ended] = desk.of(HookEnded)
    assert (ended.stdout, ended.code, ended.outcome) == (desk.judgement, 0, "success")
    desk.judgement = "a note"
    assert desk.run(replace(hook, event="UserPromptSubmit"), event="UserPromptSubmit").answers[0].text == "a note"


@pytest.mark.parametrize(
    ("broken", "verdict", "line"),
    [
        ("!it broke", "", ("!it broke", "!it broke", 1, "error")),
        (TimeoutError(), "", ("", "", None, "cancelled")),
        (ToolFailed("it has no such tool"), "", ("", "it has no such tool", 1, "error")),
        (ToolFailed("not connected", before_run=True), "deny", ("", "not connected", 1, "error")),
    ],
)
def test_a_tool_that_fails_and_one_that_is_not_called(
    desk: Desk, broken: str | Exception, verdict: str, line: tuple[object, ...]
) -> None:
    desk.judgement = broken
    assert desk.run(Hook("PreToolUse", server="s", tool="t"), shows_all=True).verdict == verdict
    [ended] = desk.of(HookEnded)
    assert (ended.stdout, ended.stderr, ended.code, ended.outcome) == line


# ---------------------------------------------------------------- guards that cannot run


def test_a_guard_that_we_do_not_run_refuses(desk: Desk) -> None:
    said = desk.run(replace(guard("x"), problem="hooks of type 'prompt' are not supported"))
    assert said.verdict == "deny"
    assert "not supported" in said.reason
    watcher = replace(guard("x", "PostToolUse"), problem="hooks of type 'prompt' are not supported")
    assert desk.run(watcher, event="PostToolUse").blocked is None


# ---------------------------------------------------------------- callbacks


def callback(**fields: Any) -> Hook:
    return Hook("PreToolUse", callback_id="h1", source="host", **fields)


def test_a_callback_is_asked_and_answers(desk: Desk) -> None:
    desk.reply = HostReply("answered", {"hookSpecificOutput": {"permissionDecision": "deny"}})
    assert desk.run(callback()).verdict == "deny"
    [asked] = desk.of(HookAsked)
    assert (asked.callback_id, asked.call_id, asked.input["tool_name"]) == ("h1", "c1", "Bash")


def test_a_callback_that_does_not_answer_refuses_and_is_withdrawn(desk: Desk) -> None:
    desk.reply = None
    said = desk.run(callback(seconds=0.1))
    assert said.verdict == "deny"
    assert "did not answer within 0.1 s" in said.reason
    assert desk.of(QuestionWithdrawn) == [QuestionWithdrawn(desk.of(HookAsked)[0].ask_id)]


@pytest.mark.parametrize(("on_failure", "verdict"), [("continue", ""), ("block", "deny")])
def test_a_callback_that_fails_does_as_it_was_registered(desk: Desk, on_failure: str, verdict: str) -> None:
    desk.reply = HostReply("error", error="it broke")
    assert desk.run(callback(on_failure=on_failure)).verdict == verdict
    assert [notice.tag for notice in desk.of(HookNotice)] == ([] if verdict else ["hook_callback_failed"])


def test_a_callback_of_a_host_that_is_gone_refuses(desk: Desk) -> None:
    desk.host.close()
    assert desk.run(callback()).verdict == "deny"


def test_hooks_of_a_child_get_its_name(desk: Desk) -> None:
    runner = HookRunner((guard("cat > given.json"),), desk.services)
    SessionHooks(runner).for_agent("a1", "scout").before(prepared_call(), CancelSignal())
    given = json.loads((desk.folder / "given.json").read_text())
    assert (given["agent_id"], given["agent_type"], given["tool_name"]) == ("a1", "scout", "Bash")


def prepared_call() -> PreparedCall:
    return PreparedCall(ToolCall("c1", "Bash", {}), ToolSpec("Bash", "", {}), FunctionTools())


def test_hooks_of_a_child_hear_of_its_start_and_its_end(desk: Desk) -> None:
    keep = "cat >> given.jsonl; "
    context = says({"hookSpecificOutput": {"hookEventName": "SubagentStart", "additionalContext": "be quick"}})
    runner = HookRunner(
        [
            guard(keep + context, "SubagentStart", matcher="scout"),
            guard(keep + says({"decision": "block", "reason": "more"}), "SubagentStop", matcher="scout"),
            guard("touch wrong", "SubagentStop", matcher="builder"),
            guard("touch wrong", "Stop"),
        ],
        replace(desk.services, shows_all=True),
    )
    child = SessionHooks(runner).for_agent("a1", "scout")
    assert child.agent_started(CancelSignal()) == ("SubagentStart hook additional context: be quick",)
    assert child.stopping("seen", CancelSignal(), active=False).feedback == "Stop hook feedback:\nmore"
    started, stopped = [json.loads(line) for line in (desk.folder / "given.jsonl").read_text().splitlines()]
    shared = {
        "session_id": "s1",
        "cwd": str(desk.folder),
        "prompt_id": "00000000-0000-4000-8000-000000000001",
        "agent_id": "a1",
        "agent_type": "scout",
    }
    assert started == {**shared, "hook_event_name": "SubagentStart"}
    assert stopped == {
        **shared,
        "permission_mode": "default",
        "effort": {"level": "high"},
        "hook_event_name": "SubagentStop",
        "stop_hook_active": False,
        "agent_transcript_path": "/agents/a1.jsonl",
        "last_assistant_message": "seen",
        "background_tasks": [{"id": "b1", "type": "shell"}],
        "session_crons": [],
    }
    assert [event.name for event in desk.of(HookStarted)] == ["SubagentStart:scout", "SubagentStop"]
    assert not (desk.folder / "wrong").exists()


def test_commands_and_changes_of_the_model_can_be_stopped(desk: Desk) -> None:
    refuse = guard("cat >> given.jsonl; echo no >&2; exit 2", "UserPromptExpansion", matcher="deploy")
    ask = {"hookSpecificOutput": {"hookEventName": "PreModelSwitch", "permissionDecision": "ask"}}
    note = {"hookSpecificOutput": {"hookEventName": "PostModelSwitch", "additionalContext": "be brief"}}
    hooks = SessionHooks(
        HookRunner(
            [refuse, guard(says(ask), "PreModelSwitch", matcher="big"), guard(says(note), "PostModelSwitch")],
            desk.services,
        )
    )
    assert hooks.expanding("slash_command", "other", "", CancelSignal()).blocked is None
    blocked = hooks.expanding("slash_command", "deploy", "now", CancelSignal()).blocked
    assert blocked is not None
    assert blocked.startswith("a hook stopped the command /deploy: ")
    given = json.loads((desk.folder / "given.jsonl").read_text())
    fields = ("expansion_type", "command_name", "command_args", "prompt")
    assert [given[name] for name in fields] == ["slash_command", "deploy", "now", "/deploy now"]
    assert hooks.model_switching(ModelSwitch("a", "big", "big", 5), CancelSignal()) == "Blocked by hook"
    assert hooks.model_switching(ModelSwitch("a", "small", "", 5), CancelSignal()) is None
    notes = hooks.model_switched(ModelSwitch("a", "small", "", 5), CancelSignal())
    assert notes == ("PostModelSwitch hook additional context: be brief",)


def test_nobody_waits_for_hooks_about_questions(desk: Desk) -> None:
    hooks = SessionHooks(
        HookRunner([guard("cat > given.json; mv given.json told.json", "Notification")], desk.services)
    )
    hooks.host_asked(prepared_call())
    told = desk.folder / "told.json"
    wait_until(told.exists, "the hook ran")
    given = json.loads(told.read_text())
    assert (given["notification_type"], given["message"]) == (
        "permission_prompt",
        "Your permission is needed to use Bash",
    )


def test_a_failed_turn_is_told(desk: Desk) -> None:
    hooks = SessionHooks(HookRunner([guard("cat > given.json", "StopFailure")], desk.services))
    hooks.failed(Failure("overloaded", "busy"), "half", CancelSignal())
    given = json.loads((desk.folder / "given.json").read_text())
    assert (given["error"], given["error_details"], given["last_assistant_message"]) == ("overloaded", "busy", "half")
