"""Transcripts and recorded streams as documents."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.helpers.page_samples import KEY, Story, arabic_session, text, thought, ugly_session
from tests.helpers.timing import cheap
from yume_shim.app.session_pages import read_document, read_golden
from yume_shim.pages.cleaning import MAX_RESULT, Cleaner
from yume_shim.pages.document import Answer, Aside, Call, Mark, Picture, Prompt, Thinking, Tokens, Words
from yume_shim.pages.json_form import as_json
from yume_shim.pages.readers.messages import starts_turn
from yume_shim.pages.readers.stream import kind_of
from yume_shim.pages.readers.transcript import AgentLines, read_transcript
from yume_shim.text.codec import dumps, loads

if TYPE_CHECKING:
    from yume_shim.pages.document import Document, Item

GOLDEN = Path(__file__).parents[3] / "golden" / "sessions"


def read(story: Story | bytes) -> Document:
    data = story if isinstance(story, bytes) else story.save()
    return read_transcript(data.splitlines(), Cleaner())


def said(items: tuple[Item, ...]) -> list[tuple[str, str]]:
    """(kind, what it says) of each item."""
    found: list[tuple[str, str]] = []
    for item in items:
        match item:
            case Prompt():
                words = " ".join(part.text for part in item.parts if isinstance(part, Words))
                found.append((item.kind, item.title or words))
            case Answer() | Thinking():
                found.append((type(item).__name__.lower(), item.words.text))
            case Call():
                found.append((item.state, item.name))
            case Mark():
                found.append((item.kind, item.title))
            case Aside():
                found.append(("aside", item.title))
    return found


def test_a_turn_has_its_calls_results_times_and_figures() -> None:
    story = Story()
    story.ask("Run it.", wait=0)
    story.answer(thought("First look."))
    story.tool("Bash", {"command": "python3 app.py"}, "\n".join("line" for _ in range(14)), 1.2)
    story.answer(text("It ran."))
    (turn,) = (document := read(story)).turns
    assert said(turn.items) == [("thinking", "First look."), ("ok", "Bash"), ("answer", "It ran.")]
    call = turn.items[1]
    assert isinstance(call, Call)
    assert (call.duration_ms, call.id) == (1200, "t1-2")
    assert [(span.kind, round(span.end - span.start, 1)) for span in turn.spans] == [
        ("model", 2.0),
        ("model", 2.0),
        ("tool", 1.2),
        ("model", 2.0),
    ]
    assert (turn.calls, turn.errors, turn.failure, len(turn.requests)) == (1, 0, "", 3)
    assert turn.cost_usd == pytest.approx(0.012)
    assert (document.folder, document.branch, document.models) == ("/srv/ume/garden", "main", ("claude-sonnet-5-5",))
    assert document.title == "Run it."
    assert document.ended is not None
    assert document.started is not None
    assert document.ended - document.started == pytest.approx(7.2, abs=0.01)


def test_the_lines_of_one_answer_count_once() -> None:
    story = Story()
    story.ask("Hi")
    story.answer(thought("a"), text("b"), text("c"))
    (turn,) = read(story).turns
    assert len(turn.requests) == 1
    assert turn.tokens == turn.requests[0].tokens != Tokens()


def test_failures_retries_compactions_and_interrupts_are_shown() -> None:
    document = read(ugly_session())
    kinds = [kind for turn in document.turns for kind, _ in said(turn.items)]
    assert {"retry", "compaction", "interrupted", "failure", "error", "denied", "context"} <= set(kinds)
    assert kinds.count("retry") == 3
    assert document.turns[0].retries == 3
    assert [turn.failure != "" for turn in document.turns] == [False, False, False, True]
    assert document.unread == 3
    retry = next(item for item in document.turns[0].items if isinstance(item, Mark))
    assert (retry.title, retry.detail, retry.wait_ms) == ("Request failed, attempt 1 of 10", "529 Overloaded", 900)


def test_a_branch_that_was_left_is_beside_the_conversation() -> None:
    story = Story()
    story.ask("One")
    leaf = story.lines[-1]["uuid"]
    story.answer(text("Dropped."))
    story._leaf = leaf
    story.answer(text("Kept."))
    story.ask("Two")
    first, second = read(story).turns
    assert said(first.items)[0][0] == "aside"
    assert said(first.items)[1] == ("answer", "Kept.")
    aside = first.items[0]
    assert isinstance(aside, Aside)
    assert said(aside.items) == [("answer", "Dropped.")]
    assert second.prompt is not None


def test_calls_side_by_side_are_written_as_branches() -> None:
    story = Story()
    story.ask("Both")
    prompt = story.lines[-1]["uuid"]
    blocks = [{"type": "tool_use", "id": name, "name": "Read", "input": {"file_path": name}} for name in ("a", "b")]
    story.answer(*blocks)
    first, second = (line["uuid"] for line in story.lines[-2:])
    story.result("b", "two")
    end = story.lines[-1]["uuid"]
    story._leaf = first
    story.result("a", "one")
    story._leaf = end
    story.answer(text("Done."))
    (turn,) = read(story).turns
    assert said(turn.items) == [("ok", "Read"), ("ok", "Read"), ("answer", "Done.")]
    assert prompt != second


def test_what_programs_put_around_prompts_is_context() -> None:
    story = Story()
    story.ask("Hello <system-reminder>Be brief.</system-reminder>")
    story.ask("<command-name>/review</command-name><command-args>all</command-args>")
    story.ask("<local-command-stdout>ok</local-command-stdout>")
    story.ask("Note", isMeta=True)
    story.ask("<task-notification>\n<task-id>a</task-id></task-notification>")
    document = read(story)
    prompts = [turn.prompt for turn in document.turns if turn.prompt is not None]
    assert [(prompt.kind, prompt.parts[0]) for prompt in prompts[:2]] == [
        ("user", Words("Hello")),
        ("command", Words("/review all")),
    ]
    assert prompts[2].kind == "notice"
    assert said(document.turns[1].items) == [("context", "Output of the command"), ("context", "Note for the model")]


def test_agents_are_inside_their_calls() -> None:
    document = read_golden(str(GOLDEN / "anthropic-messages-agent"))
    call = next(item for item in document.turns[0].items if isinstance(item, Call))
    assert call.agent is not None
    assert said(call.agent.items) == [
        ("user", "Which words are in notes.txt?"),
        ("answer", "I look."),
        ("ok", "Read"),
        ("answer", "There are apple and pear."),
    ]
    assert document.agents == ()


def test_agents_of_older_transcripts_are_found_by_their_prompt() -> None:
    story = Story()
    story.ask("Look")
    story.answer({"type": "tool_use", "id": "c", "name": "Task", "input": {"description": "d", "prompt": "Find it"}})
    main = story._leaf
    story._leaf = None
    story.ask("Find it", isSidechain=True)
    story.answer(text("Found."))
    story.lines[-1]["isSidechain"] = True
    story._leaf = main
    story.result("c", "Found.")
    call = read(story).turns[0].items[0]
    assert isinstance(call, Call)
    assert call.agent is not None
    assert said(call.agent.items) == [("user", "Find it"), ("answer", "Found.")]


def test_an_agent_without_a_call_is_not_lost() -> None:
    child = Story()
    child.ask("Alone")
    lines = [AgentLines("a1", "toolu_gone", "scout", "look", child.save().splitlines())]
    document = read_transcript(arabic_session().splitlines(), Cleaner(), agents=lines)
    assert [(agent.kind, said(agent.items)) for agent in document.agents] == [("scout", [("user", "Alone")])]


@pytest.mark.parametrize(
    "name",
    [
        "anthropic-messages-agent",
        "overloaded-retries-with-backoff",
        "anthropic-messages-compact",
        "anthropic-messages-interrupt",
    ],
)
def test_all_recordings_of_a_session_say_the_same(name: str) -> None:
    """The transcript and both dialects, as far as each of them says it."""
    documents = [
        read_document(str(GOLDEN / name / "expected" / f"{kind}.jsonl")) for kind in ("session", "nested", "flat")
    ]
    assert [document.source for document in documents] == ["transcript", "stream-json", "flat"]
    answers = [
        [item.words.text for turn in document.turns for item in turn.items if isinstance(item, Answer)]
        for document in documents
    ]
    assert answers[0] == answers[1] == answers[2] != []
    marks = [
        [item.kind for turn in document.turns for item in turn.items if isinstance(item, Mark)]
        for document in documents
    ]
    assert marks[0] == marks[1] == marks[2]
    firsts = [document.turns[0].prompt for document in documents]
    assert len({prompt.parts for prompt in firsts if prompt is not None}) == 1
    assert None not in firsts


@pytest.mark.parametrize(
    ("case", "kinds", "shown"),
    [
        # lines of the host that cannot be read do not fail the turn after them
        ("bad-input", ("flat",), [("Still there?", [("answer", "Yes.")])]),
        # the hook's and the command's own lines take no prompt's place
        ("hook-model-switch", ("nested",), [("one", [("answer", "One.")]), ("two", [("answer", "Two.")])]),
        # what the program answers itself is in `result` only
        (
            "hook-prompt-blocked",
            ("nested",),
            [
                (
                    "Here is a secret.",
                    [("answer", "UserPromptSubmit operation blocked by hook:\n[sh .hooks/hook.sh]: no secrets")],
                ),
                ("What should I buy?", [("answer", "Fine.")]),
            ],
        ),
        (
            "background-command",
            ("flat", "nested"),
            [
                (
                    "Start it.",
                    [
                        ("ok", "Bash"),
                        ("answer", "It is started."),
                        ("notice", 'Background command "wait for the turn" completed (exit code 0)'),
                    ],
                ),
                ("", [("answer", "It has ended.")]),
            ],
        ),
    ],
)
def test_turns_of_recorded_streams(
    case: str, kinds: tuple[str, ...], shown: list[tuple[str, list[tuple[str, str]]]]
) -> None:
    for kind in kinds:
        document = read_document(str(GOLDEN / f"anthropic-messages-{case}" / "expected" / f"{kind}.jsonl"))
        turns = [turn for turn in document.turns if turn.number]
        asked = ["".join(part.text for part in turn.prompt.parts) for turn in turns]  # type: ignore[union-attr]
        got = [[each for each in said(turn.items) if each[0] != "context"] for turn in turns]
        assert (list(zip(asked, got, strict=True)), [turn.failure for turn in turns]) == (shown, [""] * len(turns))


@pytest.mark.parametrize("kind", ["flat", "nested"])
def test_a_recording_may_end_inside_an_answer(kind: str, tmp_path: Path) -> None:
    """Its program was killed: what the model had said is shown."""
    case = tmp_path / "case"
    shutil.copytree(GOLDEN / "anthropic-messages-text-only", case)
    path = case / "expected" / f"{kind}.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    places = [place for place, line in enumerate(lines) if b'"type":"text"' in line or b'"text_delta"' in line]
    path.write_bytes(b"".join(lines[: next(at for at in places if "🌸".encode() in lines[at]) + 1]))
    (turn,) = (turn for turn in read_document(str(path)).turns if turn.number)
    assert said((turn.prompt, *turn.items)) == [  # type: ignore[arg-type] # it has one
        ("user", "Greet me in two languages."),
        ("answer", "Hello there, and konnichiwa: こんにちは 🌸"),
    ]


def test_every_golden_session_becomes_a_document_and_json() -> None:
    seen = 0
    for path in sorted(GOLDEN.glob("*/expected/*.jsonl")):
        with path.open("rb") as file:
            kind = kind_of(file)
        if kind:
            seen += 1
            document = read_document(str(path))
            assert loads(dumps(as_json(document)))["kind"] == "document"
            assert all(
                turn.number == place + (document.turns[0].number > 0) for place, turn in enumerate(document.turns)
            )
    assert seen > 400


def test_the_live_view_knows_where_turns_begin() -> None:
    """`starts_turn` says of single lines what the reader makes of whole transcripts."""
    for path in sorted(GOLDEN.glob("*/expected/session.jsonl")):
        lines = [line for line in map(loads, path.read_bytes().splitlines()) if line.get("type") == "user"]
        document = read_transcript(path.read_bytes().splitlines(), Cleaner(), whole=False)
        assert sum(map(starts_turn, lines)) == sum(turn.number > 0 for turn in document.turns), path.parts[-3]


def test_values_are_cleaned() -> None:
    document = read(ugly_session())
    shown = dumps(as_json(document)).decode()
    assert KEY not in shown
    assert "[redacted]" in shown
    calls = [item for turn in document.turns for item in turn.items if isinstance(item, Call)]
    huge = next(call for call in calls if call.input.get("command") == "cat /var/log/huge.log")
    assert huge.result is not None
    assert len(huge.result.text) < MAX_RESULT + 10
    pictures = [
        part for call in calls if call.result is not None for part in call.result.parts if not isinstance(part, Words)
    ]
    assert [type(part) for part in pictures] == [Picture, *[type(pictures[-1])] * 2]
    assert all(isinstance(part, Picture) is (place == 0) for place, part in enumerate(pictures))
    deep = next(call for call in calls if "tree" in call.input)
    assert len(dumps(deep.input)) < 10_000


def test_a_secret_in_use_is_removed() -> None:
    story = Story()
    story.ask("my-very-own-password-1")
    document = read_transcript(story.save().splitlines(), Cleaner(("my-very-own-password-1",)))
    assert "password" not in dumps(as_json(document)).decode()


@pytest.mark.parametrize(
    "data", [b"", b"\n\n", b"nothing\n", b"[]\n{}\n", b'{"type":"user"}\n', b'{"type":"assistant","message":[]}\n']
)
def test_files_that_hold_nothing(data: bytes) -> None:
    document = read(data)
    assert [turn.items for turn in document.turns if turn.items] == []


def test_fields_of_wrong_types_are_survived() -> None:
    """Every field of every line of a session, one after the other, with values of other types."""
    lines = [loads(line) for line in arabic_session().splitlines()]
    wrong: tuple[object, ...] = (None, 7, -1.5, "x", [], {}, [1], {"a": 1}, True)
    for line in (lines[0], lines[2], lines[3]):
        for place in [*line, *(f"message.{name}" for name in line["message"])]:
            for value in wrong:
                broken = loads(dumps(line))
                owner, name = (broken["message"], place[8:]) if place.startswith("message.") else (broken, place)
                owner[name] = value
                read(b"\n".join(dumps(each) for each in (lines[0], broken, lines[4])))


def test_attachments_of_the_claude_cli_are_one_item() -> None:
    story = Story()
    story.ask("Go")
    for kind, fields in (
        ("environment", {"snapshot": {"platform": "linux", "folders": []}}),
        ("skill_listing", {"content": "- init: begins"}),
        ("session_context", {"context": {}}),
        ("prompt_snapshot", {"systemPrompt": ["x" * 9000]}),
    ):
        story.line("attachment", attachment={"type": kind, **fields})
    story.tool("Bash", {"command": "true"}, "<tool_use_error>No such file</tool_use_error>", error=True)
    story.line("attachment", attachment={"type": "prompt_snapshot", "systemPrompt": ["x" * 9000]})
    story.line("attachment", attachment={"type": "file", "filename": "a.txt", "content": {"type": "text"}})
    story.answer(text("Done."))
    story.ask("<local-command-stdout>ok</local-command-stdout>")
    (turn,) = read(story).turns
    assert said(turn.items) == [
        ("aside", "Context: environment, skill listing, session context"),
        ("error", "Bash"),
        ("context", "Attached: file a.txt"),
        ("answer", "Done."),
        ("context", "Output of the command"),
    ]
    aside, call = turn.items[0], turn.items[1]
    assert isinstance(aside, Aside)
    assert [item.id for item in (aside, *aside.items)] == ["t1-1", "t1-1-1", "t1-1-2", "t1-1-3"]
    listed = Words("~~~~~~\nplatform: linux\nfolders: []\n~~~~~~")
    assert [item.parts for item in aside.items if isinstance(item, Prompt)][::2] == [(listed,), ()]
    assert isinstance(call, Call)
    assert call.result is not None
    assert call.result.text == "No such file"


def test_many_attachments_take_linear_time() -> None:
    story = Story()
    story.ask("Go")
    for number in range(4_000):
        story.line("attachment", attachment={"type": f"kind{number}", "content": "c"})
    with cheap(8.0):  # 0.2 s
        (turn,) = read(story).turns
    (aside,) = turn.items
    assert isinstance(aside, Aside)
    assert len(aside.items) == 4_000


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        ({"status": 529, "message": '529 {"error": {"message": "Overloaded"}}'}, "529 Overloaded"),
        ({"status": 400, "message": "400 {torn"}, "400 {torn"),
        ({"error": {"error": {"message": "Slow down"}}}, "Slow down"),
        ({"cause": {"code": "ECONNRESET"}}, "ECONNRESET"),
        ("plain", "plain"),
    ],
)
def test_reasons_of_failed_requests(error: object, reason: str) -> None:
    story = Story()
    story.ask("Go")
    story.system("api_error", error=error, retryAttempt=1, maxRetries=2)
    (turn,) = read(story).turns
    assert isinstance(turn.items[0], Mark)
    assert turn.items[0].detail == reason
