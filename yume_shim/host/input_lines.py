"""One stdin line -> one Command. Pure; raises BadLine and nothing else.

Both dialects take both kinds of line: the flat ones (`{"type":"interrupt"}`) and the Claude CLI's
(`{"type":"control_request",…}`). They differ for an unknown type: the flat dialect reports
an error, the Claude forms ignore it, because their hosts send types of other releases.
"""

from __future__ import annotations

from codecs import BOM_UTF8

from yume_shim.host.content import assistant_blocks, user_blocks
from yume_shim.text import codec
from yume_shim.text.clean import clean_model_text
from yume_shim.types.commands import (
    Approve,
    Clear,
    Compact,
    ControlAsk,
    ControlCancel,
    ControlReply,
    HistoryInput,
    Interrupt,
    Nothing,
    Ping,
    SetMode,
    SetModel,
    UserInput,
)
from yume_shim.types.errors import BadLine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, Literal

    from yume_shim.types.blocks import Json
    from yume_shim.types.commands import Command

    InputDialect = Literal["flat", "claude"]

SCOPES = ("session", "project", "user")
"""How long an approval counts, if not once."""
MAX_QUOTE = 200
"""Characters of a bad line that are quoted back."""
MAX_NESTING = 200
"""Levels of arrays and objects in a line. The encoder that writes lines goes to 254."""


def parse_line(line: bytes, dialect: InputDialect) -> Command:
    """The command in this line. Raises BadLine."""
    stripped = line.strip()
    if stripped.startswith(BOM_UTF8):
        stripped = stripped[len(BOM_UTF8) :].lstrip()
    if not stripped or (stripped == b"$" and dialect == "flat"):
        return Nothing()
    try:
        return _command_of(parse_json(stripped), dialect)
    except BadLine as bad:
        raise BadLine(bad.message, quote_line(stripped)) from None


def quote_line(line: bytes) -> str:
    """The start of a line, for a message about it."""
    text = line[: (MAX_QUOTE + 1) * 4].decode("utf-8", "replace")
    return text if len(text) <= MAX_QUOTE else text[: MAX_QUOTE - 1] + "…"


def parse_json(line: bytes) -> Any:
    """The JSON value in this line, which is not nested too deep. Raises BadLine."""
    try:
        parsed = codec.loads(line)
    except ValueError as error:
        if getattr(error, "msg", "") == "Extra data":
            raise BadLine("The line holds more than one JSON value; write each object on a line of its own.") from None
        raise BadLine(f"The line is not JSON ({error}); write one object per line.") from None
    if line.count(b"[") + line.count(b"{") > MAX_NESTING and _is_deep(parsed):
        raise BadLine(f"The line is nested more than {MAX_NESTING} levels deep.")
    return parsed


def _is_deep(parsed: Any) -> bool:
    level = [parsed]
    for _ in range(MAX_NESTING):
        level = [inner for item in level for inner in _inside(item) if isinstance(inner, (dict, list))]
        if not level:
            return False
    return True


def _inside(item: Any) -> Iterable[Any]:
    if isinstance(item, dict):
        return item.values()
    return item if isinstance(item, list) else ()


def _command_of(parsed: Any, dialect: InputDialect) -> Command:
    if parsed is None:
        raise BadLine("The line is null; write one JSON object per line.")
    if not isinstance(parsed, dict):
        if dialect == "claude":
            return Nothing()
        raise BadLine("The line is not a JSON object; write one object with a type per line.")
    kind = parsed.get("type")
    make = _MAKERS.get(kind) if isinstance(kind, str) else None
    if make is not None:
        return make(parsed)
    if dialect == "claude":
        return Nothing()
    if kind is None:
        raise BadLine('The object has no type; a prompt is {"type":"user","content":"…"}.')
    raise BadLine(f"The type {_short(kind)} is unknown; known are: {', '.join(_MAKERS)}.")


def _short(item: Any) -> str:
    text = clean_model_text(item) if isinstance(item, str) else codec.dumps(item).decode("utf-8")
    return f'"{text[:40]}"'


# ---------------------------------------------------------------- prompts


def _user(line: Json) -> Command:
    message = line.get("message")
    if message is None:
        if "content" not in line:
            raise BadLine('A user line needs its prompt: {"type":"user","content":"…"}.')
        message = line
    if not isinstance(message, dict):
        raise BadLine('The message of a user line must be an object: {"role":"user","content":"…"}.')
    role = message.get("role", "user")
    if role != "user":
        raise BadLine(f"Expected message role 'user', got {_short(role)}.")
    content = message.get("content")
    blocks = user_blocks(content)
    priority = line.get("priority")
    return UserInput(
        blocks=blocks,
        content=tuple(content) if isinstance(content, list) else content or "",
        uuid=_text(line, "uuid"),
        priority=priority if priority in ("now", "later") else "next",
        should_query=line.get("shouldQuery") is not False,
        expand=line.get("client_composed") is not True,
    )


def steering_prompt(body: Json, fresh_uuid: Callable[[], str]) -> UserInput:
    """The prompt of a `steer` request. Raises BadLine."""
    if not body.get("content"):
        raise BadLine('steer needs its prompt: {"subtype":"steer","content":"…"}', code="invalid_value")
    content = body["content"]
    try:
        blocks = user_blocks(content)
    except BadLine as bad:
        raise BadLine(bad.message, code="invalid_value") from None
    shown = tuple(content) if isinstance(content, list) else content
    return UserInput(blocks=blocks, content=shown, uuid=_text(body, "uuid") or fresh_uuid(), expand=False)


def _assistant(line: Json) -> Command:
    message = line.get("message")
    if not isinstance(message, dict):
        raise BadLine("An assistant line needs a message object with its content.")
    blocks = assistant_blocks(message.get("content"))
    return HistoryInput(blocks) if blocks else Nothing()


# ---------------------------------------------------------------- flat commands


def _approve(line: Json) -> Command:
    approved = line.get("approved")
    if not isinstance(approved, bool):
        raise BadLine("tool_approval needs approved: true or false.")
    changed = line.get("input")
    if changed is not None and not isinstance(changed, dict):
        raise BadLine("The input of a tool_approval must be an object, or be left out.")
    scope, rules = _text(line, "remember"), line.get("rules")
    if rules is not None and not (isinstance(rules, list) and all(isinstance(rule, str) for rule in rules)):
        raise BadLine("The rules of a tool_approval must be a list of strings, or be left out.")
    told = tuple(map(clean_model_text, rules or ()))
    kept = scope if scope in SCOPES else ""
    return Approve(_needed(line, "id"), approved, changed, _text(line, "reason"), kept, told)


def _needed(line: Json, field: str) -> str:
    item = line.get(field)
    if not isinstance(item, str) or not item:
        raise BadLine(f"{line['type']} needs {field}, a string.")
    return clean_model_text(item)


def _text(line: Json, field: str) -> str:
    """An optional string; anything else counts as not given."""
    item = line.get(field)
    return clean_model_text(item) if isinstance(item, str) else ""


# ---------------------------------------------------------------- control protocol


def _control_ask(line: Json) -> Command:
    """Never refused here: a request without a usable body gets an error answer."""
    body = line.get("request")
    if not isinstance(body, dict):
        body = {}
    return ControlAsk(_id_of(line), _text(body, "subtype"), body)


def _control_reply(line: Json) -> Command:
    response = line.get("response")
    if not isinstance(response, dict):
        raise BadLine("control_response needs a response object with subtype and request_id.")
    body = response.get("response")
    error = ""
    if response.get("subtype") == "error":
        error = _text(response, "error") or "the host gave no reason"
    return ControlReply(
        id=_id_of(response) or "",
        body=body if isinstance(body, dict) and not error else None,
        error=error,
        line=line,
    )


def _control_cancel(line: Json) -> Command:
    return ControlCancel(_id_of(line) or "")


def _id_of(frame: Json) -> str | None:
    given = frame.get("request_id")
    if isinstance(given, str):
        return clean_model_text(given)
    return str(given) if isinstance(given, int) and not isinstance(given, bool) else None


_MAKERS: Mapping[str, Callable[[Json], Command]] = {
    "user": _user,
    "interrupt": lambda _: Interrupt(),
    "tool_approval": _approve,
    "set_permission_mode": lambda line: SetMode(_needed(line, "mode")),
    "set_model": lambda line: SetModel(_needed(line, "model")),
    "compact": lambda _: Compact(),
    "clear": lambda _: Clear(),
    "ping": lambda _: Ping(),
    "control_request": _control_ask,
    "control_response": _control_reply,
    "control_cancel_request": _control_cancel,
    "keep_alive": lambda _: Nothing(),
    "update_environment_variables": lambda _: Nothing(),
    "assistant": _assistant,
}
