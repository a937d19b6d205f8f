"""Reads the tasks of a batch: JSON lines, or files that all get the same prompt."""

from __future__ import annotations

import os

from yume_shim.host.input_lines import parse_line
from yume_shim.text.codec import dumps, loads
from yume_shim.types.errors import BadInvocation, BadLine
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from yume_shim.types.blocks import Json

MAX_LINE = 64 << 20
"""Bytes of one task, as of a line of the flat protocol."""
MAX_TASKS = 1_000_000
MAX_ID = 200
MAX_SCHEMA = 100_000
"""Characters; a schema is an argument of the process, and Linux takes 128 KiB of one. Other long texts go in files."""
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
SHOWN_MISTAKES = 5
TEXT_FIELDS = {"model": "--model", "system": "--system-prompt", "append_system": "--append-system-prompt"}
"""Fields that are one text, and the flag that each becomes."""
FIELDS = frozenset({*TEXT_FIELDS, "id", "prompt", "messages", "tools", "schema", "cwd", "settings", "max_turns"})


class Task(Value):
    """One prompt with what belongs to it."""

    id: str
    index: int
    """Its place in IN, from 0."""
    lines: tuple[Json, ...]
    """What the process reads: earlier messages, which start no turn, then the prompt."""
    flags: tuple[str, ...] = ()
    """Flags of the process that can run it. Tasks with the same flags and folder can share one."""
    cwd: str = ""
    """The folder that it works in; "" = that of the batch."""
    size: int = 0
    """Characters of its texts, for a first estimate of its tokens."""

    @property
    def group(self) -> tuple[str, ...]:
        """Tasks of one group can share a process."""
        return (self.cwd, *self.flags)


def read_tasks(path: str, *, folders_here: bool = True) -> list[Task]:
    """The tasks of a file of JSON lines. `folders_here`: their folders must be on this machine. Raises BadInvocation
    that names the first lines with mistakes."""
    tasks: list[Task] = []
    mistakes: list[str] = []
    seen: dict[str, int] = {}
    for number, line in _lines(path):
        try:
            task = _task(loads(line.decode()), len(tasks), number, here=folders_here)
        except UnicodeDecodeError:
            mistakes.append(f"line {number}: not UTF-8")
            continue
        except ValueError as error:
            mistakes.append(f"line {number}: {error}")
            continue
        if task.id in seen:
            mistakes.append(f"line {number}: the id {task.id!r} was used in line {seen[task.id]}")
            continue
        seen[task.id] = number
        tasks.append(task)
        if len(tasks) > MAX_TASKS:
            raise BadInvocation(f"{path} has more than {MAX_TASKS:,} tasks: split it")
    if mistakes:
        more = f"\n… and {len(mistakes) - SHOWN_MISTAKES} more" if len(mistakes) > SHOWN_MISTAKES else ""
        raise BadInvocation(f"{_shown(path)}: nothing was run.\n" + "\n".join(mistakes[:SHOWN_MISTAKES]) + more)
    if not tasks:
        raise BadInvocation(f"{_shown(path)} holds no task: each line is an object with `prompt` or `messages`")
    return tasks


def tasks_of_files(paths: Sequence[str], prompt: str) -> list[Task]:
    """One task per file: the prompt, then the file's text. Its id is its path as given. Raises BadInvocation."""
    tasks = []
    if not prompt.strip():
        raise BadInvocation("files need --prompt: what to do with each of them")
    if len(set(paths)) < len(paths):
        raise BadInvocation("a file is named twice; its path is the id of its task")
    for index, path in enumerate(paths):
        try:
            with open(path, "rb") as file:
                data = file.read(MAX_LINE + 1)
        except OSError as error:
            raise BadInvocation(f"cannot read {path}: {error.strerror}") from None
        if len(data) > MAX_LINE:
            raise BadInvocation(f"{path} is larger than {MAX_LINE >> 20} MiB")
        text = f"{prompt}\n\n<file path={dumps(path).decode()}>\n{data.decode('utf-8', 'replace')}\n</file>"
        line: Json = {"type": "user", "content": text}
        try:
            tasks.append(Task(path, index, (line,), size=_size(line)))
        except ValueError as error:
            raise BadInvocation(f"{path}: {error}") from None
    return tasks


def _shown(path: str) -> str:
    return "stdin" if path == "-" else path


def _lines(path: str) -> Iterator[tuple[int, bytes]]:
    try:
        with open(0 if path == "-" else path, "rb", closefd=path != "-") as file:
            number = 0
            while line := file.readline(MAX_LINE + 1):
                number += 1
                if number == 1 and line.startswith(UTF_16):
                    raise BadInvocation(f"{path} is UTF-16: save it as UTF-8")
                if len(line) > MAX_LINE:
                    raise BadInvocation(f"{path}: line {number} is longer than {MAX_LINE >> 20} MiB")
                line = line.removeprefix(b"\xef\xbb\xbf")
                if line.strip():
                    yield number, line
    except OSError as error:
        raise BadInvocation(f"cannot read {path}: {error.strerror}") from None


def _task(given: Any, index: int, number: int, *, here: bool) -> Task:
    """Raises ValueError that says what is wrong."""
    if not isinstance(given, dict):
        raise ValueError("not an object")
    unknown = sorted(set(given) - FIELDS)
    if unknown:
        raise ValueError(f"unknown field {unknown[0]!r}; known: {', '.join(sorted(FIELDS))}")
    name = given.get("id", str(number))
    if isinstance(name, int) and not isinstance(name, bool):
        name = str(name)
    if not isinstance(name, str) or not 0 < len(name) <= MAX_ID:
        raise ValueError(f"`id` must be a number or a text of 1 to {MAX_ID} characters")
    _argument(name, "id")
    lines = _conversation(given)
    folder = _folder(given, here=here)
    return Task(name, index, lines, tuple(_flags(given)), folder, sum(_size(line) for line in lines))


def _size(line: Json) -> int:
    """Characters of a line that a process will read. Raises ValueError if it would refuse the line."""
    data = dumps(line)
    if len(data) > MAX_LINE:
        raise ValueError(f"a message is longer than {MAX_LINE >> 20} MiB")
    try:
        parse_line(data, "flat")
    except BadLine as bad:
        raise ValueError(bad.message) from None
    return len(data)


def _conversation(given: Json) -> tuple[Json, ...]:
    if ("prompt" in given) == ("messages" in given):
        raise ValueError("give either `prompt` or `messages`")
    if "prompt" in given:
        return ({"type": "user", "content": _content(given["prompt"], "prompt")},)
    messages = given["messages"]
    if not isinstance(messages, list) or not messages:
        raise ValueError("`messages` must be a list of messages")
    lines: list[Json] = []
    for place, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role not in ("user", "assistant"):
            raise ValueError(f"messages[{place}] needs the role user or assistant (a system prompt goes into `system`)")
        content = _content(message.get("content"), f"messages[{place}].content")
        if role == "assistant":
            lines.append({"type": "assistant", "message": {"role": "assistant", "content": content}})
        else:
            lines.append({"type": "user", "content": content, "shouldQuery": False})
    last = lines[-1]
    if last["type"] != "user":
        raise ValueError("the last message must be the user's")
    lines[-1] = {"type": "user", "content": last["content"]}
    return tuple(lines)


def _content(content: Any, where: str) -> Any:
    if isinstance(content, str) and content.strip():
        return content
    if isinstance(content, list) and content and all(isinstance(block, dict) for block in content):
        return content
    raise ValueError(f"`{where}` must be a text or a list of content blocks, and not empty")


def _flags(given: Json) -> Iterator[str]:
    for field, flag in TEXT_FIELDS.items():
        if field in given:
            if not isinstance(given[field], str):
                raise ValueError(f"`{field}` must be a text")
            yield f"{flag}={_argument(given[field], field)}"
    if "tools" in given:
        tools = given["tools"]
        if not isinstance(tools, list) or not all(isinstance(name, str) and name for name in tools):
            raise ValueError("`tools` must be a list of names; [] = none")
        yield f"--tools={_argument(','.join(tools), 'tools')}"
    for field, flag in (("schema", "--json-schema"), ("settings", "--settings")):
        if field in given:
            if not isinstance(given[field], dict):
                raise ValueError(f"`{field}` must be an object")
            text = dumps(given[field]).decode()
            if field == "schema" and len(text) > MAX_SCHEMA:
                raise ValueError(f"`schema` is longer than {MAX_SCHEMA:,} characters")
            yield f"{flag}={text}"
    if "max_turns" in given:
        if not isinstance(given["max_turns"], int) or isinstance(given["max_turns"], bool) or given["max_turns"] < 0:
            raise ValueError("`max_turns` must be a number")
        yield f"--max-turns={given['max_turns']}"


def _argument(text: str, field: str) -> str:
    """A text that UTF-8 can write and a process can get."""
    if "\0" in text:
        raise ValueError(f"`{field}` has a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"`{field}` has half a character (a lone surrogate)") from None
    return text


def _folder(given: Json, *, here: bool) -> str:
    folder = given.get("cwd", "")
    if not isinstance(folder, str):
        raise ValueError("`cwd` must be a folder")
    if not folder:
        return ""
    _argument(folder, "cwd")
    if here and not os.path.isdir(folder):
        raise ValueError(f"`cwd` is no folder: {folder}")
    if not here and not os.path.isabs(folder):
        raise ValueError(f"`cwd` must be absolute, it is a folder of another machine: {folder}")
    return os.path.abspath(folder)
