"""Control requests about stored sessions, on real transcripts."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.engine_fakes import SPEC, Bench, ScriptedProvider, answer, info, says
from tests.helpers.transcripts import answer as answered
from tests.helpers.transcripts import chain, question, save
from yume_shim.app.session_requests import SessionParts, handle
from yume_shim.dialects.schema_check import SchemaCheck, load_schema
from yume_shim.engine.session import Session
from yume_shim.host.control import Later
from yume_shim.store.layout import session_path
from yume_shim.store.lock import hold
from yume_shim.text import codec
from yume_shim.types.errors import BadLine
from yume_shim.types.events import TitleChanged

if TYPE_CHECKING:
    from pathlib import Path

ANSWERS = SchemaCheck(load_schema("control-answers"), strict=True)
HUNK = {"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1, "lines": ["-a", "+b"]}


class World:
    """A folder with a running session `now` and a stored one `old`, and another folder with `far`."""

    def __init__(self, home: Path, *scripts: list[Any], **more: Any) -> None:
        self.here, self.there = home / "here", home / "there"
        self.projects = home / "projects"
        for folder in (self.here, self.there):
            folder.mkdir()
        self.bench = Bench(
            ScriptedProvider(*scripts), cwd=str(self.here), session_dir=str(self.projects), env={}, **more
        )
        self.session = Session(self.bench.services, SPEC, "now", lambda text: SPEC, info)
        self.write("now", [question("u1", "What is this?"), answered("a1", [{"type": "text", "text": "A test."}])])
        self.write(
            "old",
            [
                question("u2", "Change a file", timestamp="2026-01-01T00:00:00.000Z"),
                answered("a2", [{"type": "tool_use", "id": "c1", "name": "Edit", "input": {"file_path": "f"}}]),
                question(
                    "u3",
                    [{"type": "tool_result", "tool_use_id": "c1", "content": "ok", "is_error": False}],
                    toolUseResult={"filePath": "/f", "structuredPatch": [HUNK], "originalFile": "a"},
                ),
                question("n1", [{"type": "text", "text": "a note to the model"}], isMeta=True),
                answered("a3", [{"type": "text", "text": "Done."}]),
            ],
        )
        self.write("far", [question("u4", "Secret of another folder")], self.there)

    def write(self, name: str, lines: list[dict[str, Any]], folder: Path | None = None) -> None:
        folder = folder or self.here
        path = self.path(name, folder)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(save(*(line | {"cwd": str(folder), "sessionId": name} for line in chain(*lines))))

    def path(self, name: str, folder: Path | None = None) -> Path:
        from pathlib import Path

        return Path(session_path(str(self.projects), str(folder or self.here), name))

    def ask(self, subtype: str, **body: Any) -> Any:
        services = self.bench.services
        parts = SessionParts(
            self.session, services.settings, self.bench.emit, services.ids, str(self.path("now").parent)
        )
        found = handle(subtype, {"subtype": subtype, **body}, parts)
        said = found.work() if isinstance(found, Later) else found
        assert ANSWERS.member(subtype, said) == []
        return said

    def refused(self, subtype: str, **body: Any) -> str:
        with pytest.raises(BadLine) as caught:
            self.ask(subtype, **body)
        return caught.value.code


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_the_sessions_of_this_folder_are_listed(world: World) -> None:
    said = world.ask("list_sessions")
    found = {entry["session_id"]: entry for entry in said["sessions"]}
    assert set(found) == {"now", "old"}
    assert "next_offset" not in said
    assert (found["now"]["title"], found["now"].get("current")) == ("What is this?", True)
    assert (found["old"]["title"], found["old"].get("current")) == ("Change a file", None)
    assert found["old"]["cwd"] == str(world.here)
    assert found["old"]["size"] == world.path("old").stat().st_size


def test_the_list_comes_in_pages(world: World) -> None:
    first = world.ask("list_sessions", limit=1)
    assert (len(first["sessions"]), first["next_offset"]) == (1, 1)
    second = world.ask("list_sessions", limit=1, offset=1)
    assert {entry["session_id"] for entry in first["sessions"] + second["sessions"]} == {"now", "old"}
    assert "next_offset" not in second
    for wrong in ({"limit": 0}, {"limit": "many"}, {"offset": -1}, {"offset": True}):
        assert world.refused("list_sessions", **wrong) == "invalid_value"


def test_a_conversation_is_shown_with_calls_results_and_patches(world: World) -> None:
    said = world.ask("get_session", session_id="old")
    assert said["session"]["session_id"] == "old"
    assert said["messages"] == [
        {
            "uuid": "u2",
            "role": "user",
            "timestamp": "2026-01-01T00:00:00.000Z",
            "content": [{"type": "text", "text": "Change a file"}],
        },
        {
            "uuid": "a2",
            "role": "assistant",
            "timestamp": "2026-01-02T03:04:05.000Z",
            "content": [{"type": "tool_use", "id": "c1", "name": "Edit", "input": {"file_path": "f"}}],
            "model": "claude-x",
        },
        {
            "uuid": "u3",
            "role": "user",
            "timestamp": "2026-01-02T03:04:05.000Z",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "ok", "is_error": False}],
            "patch": {"file_path": "/f", "hunks": [HUNK]},
        },
        {
            "uuid": "a3",
            "role": "assistant",
            "timestamp": "2026-01-02T03:04:05.000Z",
            "content": [{"type": "text", "text": "Done."}],
            "model": "claude-x",
        },
    ]
    assert world.ask("get_session")["session"]["current"] is True


def test_a_long_conversation_comes_in_pages_of_bounded_messages(world: World) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 50_000}}
    call = {"type": "tool_use", "id": "c", "name": "Write", "input": {f"k{n}": "x" * 9_000 for n in range(9)}}
    talk = [question(f"q{n}", "x" * 100_000) for n in range(20)]
    world.write("long", [*talk, question("p", [image]), answered("w", [call])])
    offset: int | None = 0
    pages, messages = 0, []
    while offset is not None:
        said = world.ask("get_session", session_id="long", offset=offset)
        assert len(json.dumps(said)) < 70_000
        messages += said["messages"]
        offset, pages = said.get("next_offset"), pages + 1
    assert pages > 1
    assert [message["uuid"] for message in messages] == [*(f"q{n}" for n in range(20)), "p", "w"]
    assert all(message["content_truncated"] for message in messages)
    assert messages[-2]["content"][0]["source"]["data"] == ""
    assert messages[-1]["content"] == [{"type": "tool_use", "id": "c", "name": "Write", "input": {}}]


@pytest.mark.parametrize(
    "given", ["far", "../there/far", "nope", "", ".", "..", "a/b", "old\0", "old.jsonl", "/etc/passwd", "*"]
)
def test_only_sessions_of_this_folder_are_found(given: str, world: World) -> None:
    for subtype in ("get_session", "delete_session", "fork_session"):
        assert world.refused(subtype, session_id=given) == "not_found"
    assert world.refused("rename_session", session_id=given, title="Mine") == "not_found"
    assert world.path("far", world.there).exists()


def test_odd_ids_and_titles(world: World) -> None:
    for subtype in ("get_session", "delete_session", "fork_session"):
        assert world.refused(subtype, session_id=["old"]) == "invalid_value"
    assert world.refused("delete_session") == "invalid_value"
    for title in (None, 5, "", " \n\t"):
        assert world.refused("rename_session", title=title) == "invalid_value"


def test_a_folder_with_the_same_project_name_is_another_folder(world: World) -> None:
    world.write("twin", [question("t", "Of a twin")])
    twin = world.path("twin")
    twin.write_bytes(twin.read_bytes().replace(codec.dumps(str(world.here)), b'"/somewhere/else"'))
    assert world.refused("get_session", session_id="twin") == "not_found"


def test_the_running_session_is_renamed_with_a_line(world: World) -> None:
    assert world.ask("rename_session", title=" A\n  title\x07 ") == {"session_id": "now", "title": "A title"}
    assert world.bench.of(TitleChanged) == [TitleChanged("A title")]
    assert world.ask("rename_session", title="x" * 500)["title"] == "x" * 200


def test_another_session_is_renamed_in_its_file(world: World) -> None:
    path = world.path("old")
    path.write_bytes(path.read_bytes() + b'{"half a line')
    assert world.ask("rename_session", session_id="old", title="Mine") == {"session_id": "old", "title": "Mine"}
    assert world.bench.of(TitleChanged) == []
    [entry] = [each for each in world.ask("list_sessions")["sessions"] if each["session_id"] == "old"]
    assert (entry["title"], entry["first_prompt"]) == ("Mine", "Change a file")
    assert len(world.ask("get_session", session_id="old")["messages"]) == 4


def test_a_session_is_deleted_with_its_files(world: World) -> None:
    beside = world.path("old").with_suffix("")
    beside.mkdir()
    (beside / "result.txt").write_text("x")
    assert world.ask("delete_session", session_id="old") == {"session_id": "old"}
    assert not world.path("old").exists()
    assert not beside.exists()
    assert world.refused("delete_session", session_id="now") == "running"
    assert world.path("now").exists()


def test_a_session_that_another_process_writes_is_left_alone(world: World) -> None:
    lock = hold(str(world.path("old")), wait=0.0, now=lambda: "now")
    assert lock is not None
    try:
        assert world.refused("delete_session", session_id="old") == "failed"
        assert world.refused("rename_session", session_id="old", title="Mine") == "failed"
    finally:
        lock.release()
    assert world.path("old").exists()


def test_a_copy_has_the_same_conversation_under_a_new_id(world: World) -> None:
    said = world.ask("fork_session", session_id="old", title="Copy")
    assert said["forked_from"] == "old"
    copy, old = (world.ask("get_session", session_id=name) for name in (said["session_id"], "old"))
    assert copy["session"]["title"] == "Copy"
    assert [m["content"] for m in copy["messages"]] == [m["content"] for m in old["messages"]]
    assert {m["uuid"] for m in copy["messages"]}.isdisjoint(m["uuid"] for m in old["messages"])
    assert os.name == "nt" or world.path(said["session_id"]).stat().st_mode & 0o777 == 0o600
    assert world.ask("fork_session")["forked_from"] == "now"


def test_the_model_makes_a_title_that_counts_and_is_kept_on_request(tmp_path: Path) -> None:
    world = World(tmp_path, answer(says('"Testing things"\nIt is a good title.')), answer(says("Other words")))
    assert world.ask("generate_session_title") == {"title": "Testing things"}
    request = world.bench.provider.requests[0]
    assert [block.text for block in request.messages[0].blocks] == ["What is this?"]  # type: ignore[union-attr]
    assert request.tools == ()
    assert world.bench.of(TitleChanged) == []
    assert world.session._conversation.tally.total_usd() > 0
    assert world.ask("generate_session_title", description="parsers", persist=True) == {"title": "Other words"}
    assert world.bench.of(TitleChanged) == [TitleChanged("Other words")]


def test_a_title_that_was_given_stays(tmp_path: Path) -> None:
    world = World(tmp_path)
    path = world.path("now")
    path.write_bytes(path.read_bytes() + save({"type": "custom-title", "customTitle": "Given", "sessionId": "now"}))
    assert world.ask("generate_session_title", description="parsers") == {"title": "Given"}
    assert world.bench.provider.requests == []


def test_no_title_without_a_prompt_or_an_answer(tmp_path: Path) -> None:
    world = World(tmp_path, answer(says("  ")))
    assert world.refused("generate_session_title") == "failed"
    world.path("now").unlink()
    assert world.refused("generate_session_title") == "invalid_value"
