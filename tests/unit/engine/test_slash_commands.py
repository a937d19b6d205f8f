"""Slash commands in a session: files, built-in ones, unknown ones, what they grant, and when they cannot run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.engine_fakes import (
    SPEC,
    Bench,
    FunctionTools,
    ScriptedProvider,
    TableGate,
    answer,
    calls,
    info,
    says,
)
from yume_shim.app.command_list import BUILTIN_NAMES, described_commands
from yume_shim.dialects.order import OrderCheck
from yume_shim.engine.builtin_prompts import TEXTS
from yume_shim.engine.command_table import BY_NAME, LISTED, PROMPTS, UNAVAILABLE
from yume_shim.engine.session import Session
from yume_shim.extensions.commands.library import PromptLibrary
from yume_shim.types.blocks import Image, Text
from yume_shim.types.commands import EndOfInput, UserInput
from yume_shim.types.errors import BadInvocation, ToolFailed
from yume_shim.types.events import LocalCommandDone, NoteAdded, PromptTaken, SessionReady, Tagged, TurnEnded
from yume_shim.types.prompt_files import PromptFolder
from yume_shim.types.value import replace, replace_in

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.types.models import ModelSpec, Request
    from yume_shim.types.outputs import ToolContext

PICTURE = Image("image/png", "AAAA")


def shell(given: dict[str, Any], context: ToolContext) -> str:
    if given["command"] == "fail":
        raise ToolFailed("Exit code 1")
    return f"<{given['command']}>"


class Desk:
    """A session with a folder of commands, a fake shell and a gate."""

    def __init__(self, base: Path, *answers: Any, trusted: bool = True, **verdicts: str) -> None:
        self.base = base
        self.trusted = trusted
        self.gate = TableGate(**verdicts)
        self.bench = Bench(ScriptedProvider(*answers), FunctionTools(Bash=shell), self.gate)

    def write(self, name: str, text: str) -> None:
        path = self.base / "commands" / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def run(self, *prompts: str | UserInput) -> Session:
        where = PromptFolder(str(self.base / "commands"), "command", "project", trusted=self.trusted)
        library = PromptLibrary((where,), lambda path: False, self.bench.services.log)
        services = replace(self.bench.services, prompt_files=library)
        session = Session(services, SPEC, "s-1", self.resolve, info)
        for prompt in prompts:
            session.submit(UserInput((Text(prompt),), prompt) if isinstance(prompt, str) else prompt)
        session.submit(EndOfInput())
        session.run()
        check = OrderCheck()
        for event in (SessionReady(info()), *self.bench.events):
            check.feed(Tagged(event, "u", 0.0))
        return session

    def resolve(self, name: str) -> ModelSpec:
        if name == "missing":
            raise BadInvocation("there is no model 'missing'")
        endpoint = replace(SPEC.endpoint, name="elsewhere") if name.startswith("elsewhere/") else SPEC.endpoint
        return replace(SPEC, id=name, endpoint=endpoint)

    def said(self, request: int = 0) -> list[str]:
        return texts(self.bench.provider.requests[request])

    def ends(self) -> list[TurnEnded]:
        return self.bench.of(TurnEnded)


def texts(request: Request) -> list[str]:
    return [block.text for message in request.messages for block in message.blocks if isinstance(block, Text)]


def tags(name: str, arguments: str = "") -> str:
    text = f"<command-message>{name}</command-message>\n<command-name>/{name}</command-name>"
    return text + (f"\n<command-args>{arguments}</command-args>" if arguments else "")


def test_a_command_becomes_its_text(tmp_path: Path) -> None:
    desk = Desk(tmp_path, answer(says("ok")))
    desk.write("shout", "Shout $0: !`echo $1`")
    desk.run("/shout a b")
    assert desk.said() == [tags("shout", "a b"), "Shout a: <echo b>"]
    [taken] = desk.bench.of(PromptTaken)
    assert taken.content == tags("shout", "a b")
    [note] = desk.bench.of(NoteAdded)
    assert note == NoteAdded("Shout a: <echo b>", counts=False, hidden=True)


def test_arguments_without_a_place_are_added(tmp_path: Path) -> None:
    desk = Desk(tmp_path, answer(says("ok")), answer(says("ok")))
    desk.write("plain", "Do it")
    desk.run("/plain two words", "/plain")
    assert desk.said()[1] == "Do it\n\nARGUMENTS: two words"
    assert desk.said(1)[-1] == "Do it"


def test_a_command_is_the_last_text_of_a_prompt(tmp_path: Path) -> None:
    desk = Desk(tmp_path, *(answer(says("ok")) for _ in range(3)))
    desk.write("shout", "BODY")
    after = UserInput((PICTURE, Text("/shout x")), ({"type": "image"}, {"type": "text", "text": "/shout x"}))
    before = UserInput((Text("/shout x"), PICTURE), ({"type": "text", "text": "/shout x"}, {"type": "image"}))
    desk.run(after, before, " /shout x")
    first, second, third = desk.bench.of(PromptTaken)
    assert first.message.blocks == (Text(tags("shout", "x")), PICTURE)
    assert second.message.blocks == before.blocks
    assert third.message.blocks == (Text(" /shout x"),)
    assert len(desk.bench.of(NoteAdded)) == 1


def test_what_a_file_allows_holds_for_its_turn(tmp_path: Path) -> None:
    seen: list[list[str]] = []
    desk = Desk(
        tmp_path,
        answer(calls("c1", "Bash", command="x")),
        answer(says("ok")),
        answer(calls("c2", "Bash", command="x")),
        answer(says("ok")),
    )

    def look(given: dict[str, Any], context: ToolContext) -> str:
        seen.append(list(desk.gate.granted))
        return ""

    desk.bench.services.toolbox._sources[0].tools["Bash"] = look  # type: ignore[attr-defined]
    desk.write("grant", "---\nallowed-tools: Bash(touch:*), Write\n---\nGo")
    desk.run("/grant", "again")
    assert seen == [["Bash(touch:*)", "Write"], []]


@pytest.mark.parametrize("verdict", ["ask", "deny"])
def test_a_shell_command_that_is_not_allowed_ends_the_turn(tmp_path: Path, verdict: str) -> None:
    desk = Desk(tmp_path, Bash=verdict)
    desk.write("bang", "---\nallowed-tools: Read\n---\nNow !`rm x`")
    desk.run("/bang a")
    message = 'Shell command permission check failed for pattern "!`rm x`": Bash needs permission'
    assert desk.bench.of(LocalCommandDone) == [LocalCommandDone("bang", message, arguments="a", answers=True)]
    [end] = desk.ends()
    assert (end.outcome, end.text, end.num_turns, end.local_command) == ("success", message, 0, "bang")
    assert desk.bench.provider.requests == []
    assert desk.gate.granted == []


def test_a_shell_command_that_fails_ends_the_turn(tmp_path: Path) -> None:
    desk = Desk(tmp_path, answer(says("next")))
    desk.write("bang", "Now !`fail`")
    desk.run("/bang", "hello")
    assert desk.ends()[0].text == 'Shell command failed for pattern "!`fail`": Exit code 1'
    assert desk.said() == ["hello"]  # nothing of the command is in the history


def test_shell_commands_can_be_switched_off(tmp_path: Path) -> None:
    desk = Desk(tmp_path, answer(says("ok")), Bash="deny")
    desk.bench.services = replace(
        desk.bench.services, settings=replace_in(desk.bench.services.settings, "prompts", prompt_shell=False)
    )
    desk.write("bang", "Now !`rm x`")
    desk.run("/bang")
    assert desk.said()[1] == "Now [not run: the settings disable shell commands in commands and skills]"


def test_the_model_of_a_command_answers_one_turn(tmp_path: Path) -> None:
    desk = Desk(tmp_path, answer(says("one")), answer(says("two")))
    desk.write("quick", "---\nmodel: small\n---\nGo")
    desk.run("/quick", "go on")
    assert [request.model.id for request in desk.bench.provider.requests] == ["small", SPEC.id]


@pytest.mark.parametrize(
    ("model", "trusted", "used", "warning"),
    [
        ("missing", True, SPEC.id, "there is no model 'missing'"),
        ("elsewhere/x", True, "elsewhere/x", ""),
        ("elsewhere/x", False, SPEC.id, "this folder is not trusted to choose another provider"),
        ("small", False, "small", ""),
    ],
)
def test_a_model_that_cannot_or_may_not_be_used(
    tmp_path: Path, model: str, trusted: bool, used: str, warning: str
) -> None:
    desk = Desk(tmp_path, answer(says("one")), trusted=trusted)
    desk.write("quick", f"---\nmodel: {model}\n---\nGo")
    desk.run("/quick")
    assert desk.bench.provider.requests[0].model.id == used
    assert [text.endswith(warning) for _, text in desk.bench.logged] == ([True] if warning else [])


def test_a_file_replaces_a_built_in_command(tmp_path: Path) -> None:
    desk = Desk(tmp_path, answer(says("ok")))
    desk.write("compact", "MINE")
    desk.run("/compact")
    assert desk.said() == [tags("compact"), "MINE"]


def test_built_in_prompts_are_sent(tmp_path: Path) -> None:
    desk = Desk(tmp_path, answer(says("ok")), answer(says("ok")))
    desk.run("/init", "/review the parser")
    assert desk.said() == [tags("init"), TEXTS["init"]]
    assert desk.said(1)[-2:] == [
        tags("code-review", "the parser"),
        TEXTS["code-review"].replace("$ARGUMENTS", "the parser"),
    ]


def test_answers_need_no_request(tmp_path: Path) -> None:
    desk = Desk(tmp_path, answer(says("hi")))
    desk.write("shout", "---\ndescription: Shouts\nargument-hint: <word>\n---\nX")
    session = desk.run(
        "hello", "/cost", "/model", "/model other", "/model missing", "/help", "/context", "/status", "/mcp"
    )
    assert len(desk.bench.provider.requests) == 1
    cost, model, changed, missing, listed, context, status, servers = (end.text for end in desk.ends()[1:])
    assert cost.splitlines()[0].startswith("Total cost: $0.")
    assert cost.splitlines()[1].startswith(f"{SPEC.id}: ")
    assert model.startswith(f"Current model: {SPEC.endpoint.name}/{SPEC.id}\n")
    assert (changed, session.spec.id) == ("Set model to other for this session only", "other")
    assert missing == "The model is not changed: there is no model 'missing'"
    assert listed.splitlines()[0] == "/shout <word>: Shouts (project)"
    assert len(listed.splitlines()) == 1 + len(LISTED)
    assert "| Messages |" in context
    assert status == "/status isn't available in this environment."
    assert servers == "No MCP servers are configured. Add one with `yume-shim mcp add`."
    assert {(end.outcome, end.num_turns) for end in desk.ends()[1:]} == {("success", 0)}


def test_files_are_read_again_on_demand(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.write("a", "A")
    desk.run("/reload-skills")
    assert desk.ends()[0].text == "1 commands and skills (nothing changed)."


def test_an_unknown_command_is_sent_with_a_note(tmp_path: Path) -> None:
    desk = Desk(tmp_path, *(answer(says("ok")) for _ in range(3)))
    desk.write("shout", "X")
    desk.run("/shuot now", "/etc", "/a/b.c is broken")
    prompt, note = desk.said()
    assert prompt == "/shuot now"
    assert "no command /shuot, so nothing was run. The most similar one is /shout.\nIts commands are: /shout, " in note
    assert desk.said(2)[-2:] == ["ok", "/a/b.c is broken"]
    assert len(desk.bench.of(NoteAdded)) == 1  # paths are no commands


def test_a_skill_for_the_model_cannot_be_run(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.write("inner", "---\nuser-invocable: false\n---\nX")
    desk.run("/inner")
    assert desk.ends()[0].text == 'This skill is for the model only. Ask it to use the skill "inner".'


def test_commands_that_wait_are_not_joined_with_prompts(tmp_path: Path) -> None:
    desk = Desk(tmp_path, *(answer(says("ok")) for _ in range(4)))
    desk.bench.services = replace(
        desk.bench.services, settings=replace_in(desk.bench.services.settings, "host", merge_waiting=True)
    )
    desk.write("shout", "BODY")
    desk.run("one", "two", "/shout x", "/nosuch", "three")
    assert [end.outcome for end in desk.ends()] == ["success"] * len(desk.ends())
    assert desk.said(1)[-2:] == ["ok", "two"]
    assert desk.said(2)[-2:] == [tags("shout", "x"), "BODY\n\nARGUMENTS: x"]
    assert desk.said(3)[-2] == "/nosuch\nthree"  # no command, so a prompt like any other


# ---------------------------------------------------------------- tables


def test_the_names_for_init_lines_are_those_of_the_table() -> None:
    assert tuple(command.name for command in LISTED) == BUILTIN_NAMES
    assert {command.name for command in PROMPTS} == set(TEXTS)
    assert not UNAVAILABLE & set(BY_NAME)
    assert described_commands(None, ({"name": "mcp__x"},))[-2:] == (
        {
            "name": "verify",
            "description": "Show that a change does what it should, by using it",
            "argumentHint": "[what to verify]",
            "builtin": True,
        },
        {"name": "mcp__x"},
    )
