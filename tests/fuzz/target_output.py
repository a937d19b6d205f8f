"""What others have written of sessions: recorded output that is shown as a page, and the files of a batch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.fuzz.harness import Target
from yume_shim.app.session_pages import read_document
from yume_shim.batch.out_file import OutFile
from yume_shim.batch.task_file import read_tasks
from yume_shim.dialects.stream_check import StreamCheck
from yume_shim.pages.html.page import page
from yume_shim.pages.json_form import as_json
from yume_shim.pages.terminal import rendered
from yume_shim.text import codec
from yume_shim.types.errors import BadInvocation

if TYPE_CHECKING:
    from yume_shim.types.blocks import Json

NAMES = ("recorded-output", "batch-files")
GOLDEN = Path(__file__).parents[2] / "golden"
MAX_SEED = 5_000
SEEDS_OF_A_KIND = 12
WORDS = (
    *(
        b'"type":"result"',
        b'"subtype":"init"',
        b'"protocol":"flat/1"',
        b'"parent_tool_use_id":"t"',
        b'"uuid":"u"',
        b"\n",
    ),
    *(b'"type":"stream_event"', b'"content":[]', b'"hunks":[{}]', b"\xe2\x80\xae", b"\x1b[31m", b"<script>", b"```"),
)
TASKS: tuple[Json, ...] = (
    {"id": "a", "prompt": "One", "model": "openai/gpt-5", "system": "Be short.", "max_turns": 3, "cwd": "."},
    {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"},
     {"role": "user", "content": [{"type": "text", "text": "x"}]}], "settings": {"a": 1}, "flags": ["--max-turns", "2"]},
)  # fmt: skip
ROWS: tuple[Json, ...] = (
    {"id": "a", "result": "x", "is_error": False, "error": None, "usage": {"input_tokens": 1}, "cost_usd": 0.5},
    {"id": "b", "result": "", "is_error": True, "error": {"kind": "auth", "message": "no"}, "usage": {}, "cost_usd": 0},
)


def open_target(name: str, folder: Path) -> Target:
    """The target of this name."""
    place = folder / "file.jsonl"
    if name == "batch-files":
        files = tuple(b"".join(codec.dumps(line) + b"\n" for line in lines) for lines in (TASKS, ROWS))
        return Target(name, lambda data: check_batch(place, data), (*files, b'"just a prompt"\n'))
    seeds: list[bytes] = []
    for kind in ("flat", "nested"):
        found = (path.read_bytes() for path in sorted((GOLDEN / "sessions").glob(f"*/expected/{kind}.jsonl")))
        seeds += [data for data in found if len(data) < MAX_SEED][:SEEDS_OF_A_KIND]
    return Target(name, lambda data: check_output(place, data), tuple(seeds), WORDS)


def check_output(place: Path, data: bytes) -> None:
    """A page, a text and a JSON form of it, or a BadInvocation; and what is wrong with its lines."""
    place.write_bytes(data)
    try:
        document = read_document(str(place))
    except BadInvocation as bad:
        assert bad.message
    else:
        page(document).encode("utf-8")
        assert "\x1b" not in rendered(document)
        codec.dumps(as_json(document)).decode("utf-8")
    check = StreamCheck()
    for line in data.split(b"\n"):
        assert all(problem.strip() for problem in check.feed(line + b"\n"))
    check.end()


def check_batch(place: Path, data: bytes) -> None:
    """Tasks that can be run, or a BadInvocation; an OUT that is continued holds rows only, or stays as it is."""
    place.write_bytes(data)
    try:
        for task in read_tasks(str(place)):
            codec.dumps({"lines": list(task.lines), "id": task.id})
            for word in task.flags:
                word.encode("utf-8")
    except BadInvocation as bad:
        assert bad.message
    try:
        out = OutFile(str(place), resume=True, keep=lambda row: not row.get("is_error"))
    except BadInvocation as bad:
        assert bad.message
        assert place.read_bytes() == data
        return
    try:
        out.append({"id": "new"})
        out.sort({"new": 0})
    finally:
        out.close()
    rows = [codec.loads_object(line) for line in place.read_bytes().splitlines()]
    assert None not in rows
    assert len(rows) == len(out.finished) + ("new" not in out.finished)
