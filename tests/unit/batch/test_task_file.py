"""Which tasks a file describes, and what is said about mistakes."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from yume_shim.batch.task_file import Task, read_tasks, tasks_of_files
from yume_shim.types.errors import BadInvocation

if TYPE_CHECKING:
    from pathlib import Path


def written(tmp_path: Path, *rows: Any) -> str:
    path = tmp_path / "in.jsonl"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), "utf-8")
    return str(path)


def test_a_prompt_gets_its_line_number_as_id(tmp_path: Path) -> None:
    path = written(tmp_path, {"prompt": "One"}, "", {"prompt": "Two", "id": "b"}, {"prompt": "Three", "id": 7})
    tasks = read_tasks(path)
    assert [(task.id, task.index) for task in tasks] == [("1", 0), ("b", 1), ("7", 2)]
    assert tasks[0] == Task("1", 0, ({"type": "user", "content": "One"},), size=tasks[0].size)


def test_every_field_becomes_a_flag(tmp_path: Path) -> None:
    row: dict[str, object] = {
        "prompt": "Hi",
        "model": "openai/m",
        "system": "Be brief",
        "append_system": "--x",
        "tools": ["Read", "Grep"],
    }
    row |= {"schema": {"type": "object"}, "settings": {"model": "x"}, "cwd": str(tmp_path), "max_turns": 3}
    (task,) = read_tasks(written(tmp_path, row))
    assert task.cwd == str(tmp_path)
    assert task.flags == (
        "--model=openai/m",
        "--system-prompt=Be brief",
        "--append-system-prompt=--x",
        "--tools=Read,Grep",
        '--json-schema={"type":"object"}',
        '--settings={"model":"x"}',
        "--max-turns=3",
    )
    assert task.group == (str(tmp_path), *task.flags)


def test_no_tools_at_all(tmp_path: Path) -> None:
    assert read_tasks(written(tmp_path, {"prompt": "Hi", "tools": []}))[0].flags == ("--tools=",)


def test_messages_become_a_history_and_a_prompt(tmp_path: Path) -> None:
    blocks = [{"type": "text", "text": "And now?"}]
    messages = [
        {"role": "user", "content": "A"},
        {"role": "assistant", "content": "B"},
        {"role": "user", "content": blocks},
    ]
    (task,) = read_tasks(written(tmp_path, {"messages": messages}))
    assert task.lines == (
        {"type": "user", "content": "A", "shouldQuery": False},
        {"type": "assistant", "message": {"role": "assistant", "content": "B"}},
        {"type": "user", "content": blocks},
    )


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("{", "line 1: "),
        ([], "not an object"),
        ({}, "either `prompt` or `messages`"),
        ({"prompt": "a", "messages": []}, "either `prompt` or `messages`"),
        ({"prompt": ""}, "`prompt` must be a text"),
        ({"prompt": ["a"]}, "`prompt` must be a text"),
        ({"prompt": "a", "promt": "b"}, "unknown field 'promt'"),
        ({"prompt": "a", "id": ""}, "`id` must be"),
        ({"prompt": "a", "id": True}, "`id` must be"),
        ({"prompt": "a", "id": "x" * 201}, "`id` must be"),
        ({"prompt": "a", "tools": "Read"}, "`tools` must be a list"),
        ({"prompt": "a", "schema": "x"}, "`schema` must be an object"),
        ({"prompt": "a", "model": 1}, "`model` must be a text"),
        ({"prompt": "a", "cwd": "/no/such/folder"}, "`cwd` is no folder"),
        ({"prompt": "a", "max_turns": -1}, "`max_turns` must be"),
        ({"messages": [{"role": "system", "content": "a"}]}, "messages[0] needs the role"),
        ({"messages": [{"role": "assistant", "content": "a"}]}, "the last message must be the user's"),
        ({"messages": [{"role": "user", "content": ""}]}, "messages[0].content"),
        ({"prompt": [{"type": "text"}]}, "line 1: content[0]: a text needs text"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image"}]}, {"role": "user", "content": "a"}]},
            "needs source",
        ),
    ],
)
def test_mistakes_are_named_and_nothing_runs(tmp_path: Path, row: Any, words: str) -> None:
    with pytest.raises(BadInvocation) as caught:
        read_tasks(written(tmp_path, row))
    assert "nothing was run" in caught.value.message
    assert words in caught.value.message


def test_a_repeated_id_is_named_with_both_lines(tmp_path: Path) -> None:
    with pytest.raises(BadInvocation, match=r"line 2: the id 'a' was used in line 1"):
        read_tasks(written(tmp_path, {"id": "a", "prompt": "x"}, {"id": "a", "prompt": "y"}))


def test_only_the_first_mistakes_are_shown(tmp_path: Path) -> None:
    with pytest.raises(BadInvocation, match="and 3 more"):
        read_tasks(written(tmp_path, *[{}] * 8))


def test_a_file_without_tasks(tmp_path: Path) -> None:
    with pytest.raises(BadInvocation, match="holds no task"):
        read_tasks(written(tmp_path, "\ufeff"))
    with pytest.raises(BadInvocation, match="cannot read"):
        read_tasks(str(tmp_path / "none"))


def test_files_with_one_prompt(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"caf\xc3\xa9 \xff")
    (task,) = tasks_of_files([str(path)], "Count the words.")
    assert (task.id, task.lines[0]["content"]) == (
        str(path),
        f"Count the words.\n\n<file path={json.dumps(str(path))}>\ncafé �\n</file>",
    )
    for paths, prompt, words in (
        ([str(path)] * 2, "x", "named twice"),
        ([str(path)], " ", "need --prompt"),
        ([str(tmp_path)], "x", "cannot read"),
    ):
        with pytest.raises(BadInvocation, match=words):
            tasks_of_files(paths, prompt)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'{"prompt":"a"}\n{"prompt":"\xff"}\n', "line 2: not UTF-8"),
        ('{"prompt":"a"}\n'.encode("utf-16"), "is UTF-16: save it as UTF-8"),
        (b'{"prompt":"a","system":"a\\u0000b"}\n', "line 1: `system` has a NUL character"),
        (b'{"prompt":"a","model":"\\ud800"}\n', "line 1: `model` has half a character"),
        (b'{"prompt":"a","id":"\\ud800"}\n', "line 1: `id` has half a character"),
        (b'{"prompt":"a","tools":["\\u0000"]}\n', "line 1: `tools` has a NUL character"),
        (b'{"prompt":"a","cwd":"\\u0000"}\n', "line 1: `cwd` has a NUL character"),
        (b'{"prompt":"a","schema":{"a":"%s"}}\n' % (b"x" * 100_000), "line 1: `schema` is longer than 100,000"),
    ],
)
def test_what_no_process_could_get(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(data)
    with pytest.raises(BadInvocation) as caught:
        read_tasks(str(path))
    assert words in caught.value.message


def test_byte_order_mark_crlf_and_empty_lines(tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"prompt":"a"}\r\n\r\n  \n{"prompt":"b"}\r\n')
    assert [task.id for task in read_tasks(str(path))] == ["1", "4"]


def test_folders_of_other_machines(tmp_path: Path) -> None:
    folder = os.path.abspath("/on/a/node")
    path = written(tmp_path, {"prompt": "a", "cwd": folder})
    assert read_tasks(path, folders_here=False)[0].cwd == folder
    with pytest.raises(BadInvocation, match="must be absolute"):
        read_tasks(written(tmp_path, {"prompt": "a", "cwd": "relative"}), folders_here=False)
