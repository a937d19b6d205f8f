"""Lists of sessions, from both ends of real files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.helpers.timing import cheap
from tests.helpers.transcripts import answer, question, save
from yume_shim.store.index import Listed, by_title, find, listing, look, newest
from yume_shim.store.layout import session_path

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.types.blocks import Json

SAID = [{"type": "text", "text": "x"}]


class Projects:
    """A folder of projects and one working folder."""

    def __init__(self, root: Path) -> None:
        self.root = str(root / "projects")
        self.cwd = root / "a.b"
        self.twin = root / "a-b"
        """Another folder with the same project name."""
        self.cwd.mkdir()
        self.twin.mkdir()
        self._time = 1_700_000_000

    def write(self, session_id: str, *lines: Json, cwd: Path | None = None) -> str:
        path = session_path(self.root, str(cwd or self.cwd), session_id)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(save(*lines))
        self._time += 10
        os.utime(path, (self._time, self._time))
        return path


@pytest.fixture
def projects(tmp_path: Path) -> Projects:
    return Projects(tmp_path)


def test_the_facts_that_a_list_shows(projects: Projects) -> None:
    path = projects.write(
        "one",
        {"type": "queue-operation"},
        question("0", "a note", isMeta=True, cwd="/home/w", gitBranch="main"),
        question("1", [{"type": "tool_result", "tool_use_id": "t", "content": "no prompt"}]),
        question("2", [{"type": "text", "text": " What is this? "}], parent="1"),
        {"type": "summary", "summary": "weaker"},
        {"type": "custom-title", "customTitle": "Old title"},
        {"type": "custom-title", "customTitle": "The title"},
        {"type": "last-prompt", "lastPrompt": "And that?"},
    )
    assert look(path) == Listed(
        session_id="one",
        path=path,
        modified=1_700_000_010.0,
        size=os.path.getsize(path),
        cwd="/home/w",
        title="The title",
        first_prompt="What is this?",
        last_prompt="And that?",
        created="2026-01-02T03:04:05.000Z",
        git_branch="main",
    )


def test_files_without_a_conversation_are_not_listed(projects: Projects) -> None:
    projects.write("empty")
    projects.write("sub", question("1", "hi", isSidechain=True))
    projects.write("notes", {"type": "custom-title", "customTitle": "x"})
    projects.write("real", question("1", "hi"))
    assert [listed.session_id for listed in listing(projects.root)] == ["real"]
    assert look("/nowhere/at-all.jsonl") is None


def test_a_first_prompt_longer_than_the_part_that_is_read(projects: Projects) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 200_000}}
    path = projects.write("big", question("1", [{"type": "text", "text": 'see "this"'}, image]))
    listed = look(path)
    assert listed is not None
    assert (listed.first_prompt, listed.cwd) == ('see "this"', "/w")


def test_only_both_ends_of_a_file_are_read(projects: Projects) -> None:
    path = projects.write("long", question("1", "first", cwd=str(projects.cwd)))
    with open(path, "ab") as file:
        file.seek(60_000_000)
        file.write(b"\n" + save({"type": "last-prompt", "lastPrompt": "last"}))
    with cheap(0.5):
        [listed] = listing(projects.root, str(projects.cwd))
    assert (listed.first_prompt, listed.last_prompt) == ("first", "last")


def test_the_newest_session_must_be_from_the_same_folder(projects: Projects) -> None:
    projects.write("mine-old", question("1", "hi", cwd=str(projects.cwd)))
    mine = projects.write("mine", question("1", "hi", cwd=str(projects.cwd)))
    theirs = projects.write("theirs", question("1", "hi", cwd=str(projects.twin)), cwd=projects.twin)
    projects.write("emptied")
    assert newest(projects.root, str(projects.cwd)) == mine
    assert newest(projects.root, str(projects.twin)) == theirs
    assert newest(projects.root, str(projects.cwd.parent)) == ""


def test_a_folder_lists_only_its_own_sessions(projects: Projects) -> None:
    title = {"type": "custom-title", "customTitle": "Plan"}
    mine = projects.write("mine", question("1", "hi", cwd=str(projects.cwd)), title)
    theirs = projects.write("theirs", question("1", "hi", cwd=str(projects.twin)), title, cwd=projects.twin)
    assert os.path.dirname(mine) == os.path.dirname(theirs)
    assert [listed.path for listed in listing(projects.root, str(projects.cwd))] == [mine]
    assert [listed.path for listed in listing(projects.root, str(projects.twin))] == [theirs]
    assert [listed.path for listed in listing(projects.root)] == [theirs, mine]
    assert by_title(projects.root, "plan", str(projects.cwd)) == [mine]


def test_sessions_are_found_in_every_project(projects: Projects) -> None:
    away = projects.write("away", question("1", "hi"), cwd=projects.cwd.parent)
    assert find(projects.root, "away", str(projects.cwd)) == away
    for nowhere in ("", "..", "../a", "missing"):
        assert find(projects.root, nowhere, str(projects.cwd)) == ""


def test_titles(projects: Projects) -> None:
    titled = {"type": "custom-title", "customTitle": "The Plan"}
    here = str(projects.cwd)
    old = projects.write("old", question("1", "hi", cwd=here), titled)
    new = projects.write("new", question("1", "hi", cwd=here), answer("2", SAID, parent="1"), titled)
    assert by_title(projects.root, "the plan ", str(projects.cwd)) == [new, old]
    assert by_title(projects.root, "", str(projects.cwd)) == []
