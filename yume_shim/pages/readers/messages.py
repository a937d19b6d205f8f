"""Reads single lines with messages: `user`, `assistant`, `system` and `attachment` lines of transcripts, which
stream-json prints nearly alike."""

from __future__ import annotations

from yume_shim.pages.cleaning import MAX_LINE
from yume_shim.pages.readers.assembler import ATTACHED
from yume_shim.pages.readers.facts import facts_of
from yume_shim.pages.readers.parts import blocks_of, parts_of
from yume_shim.pages.readers.prompt_words import pieces
from yume_shim.pages.readers.times import count, money, tokens_of
from yume_shim.pages.readers.transcript_lines import content_of, message_id
from yume_shim.text.codec import dumps, loads_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from yume_shim.pages.document import MarkKind
    from yume_shim.pages.readers.assembler import Assembler
    from yume_shim.pages.readers.transcript import Price
    from yume_shim.types.blocks import Json

SYNTHETIC = "<synthetic>"
NOT_SHOWN = ("prompt_snapshot",)
"""Attachments that repeat in every turn what the program itself sends: tens of kilobytes each."""
MOST_OF_A_FIELD = 2_000
"""Characters of a field of an attachment that has no text."""
MOST_FIELDS = 60
_DENIED = (
    "User rejected tool use",
    "Error: Permission",
    "Error: The model requested permissions",
    "Error: Claude requested",
    "Error: This command requires approval",
    "Error: PreToolUse:",
)


def starts_turn(line: Json) -> bool:
    """Does this `user` line begin a turn? The live page reads a file again from the start of its last turn."""
    private = line.get("yume")
    if line.get("type") != "user" or line.get("isSidechain") or (isinstance(private, dict) and private.get("joined")):
        return False
    if any(line.get(name) for name in ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isSynthetic")):
        return False
    blocks = blocks_of(content_of(line))
    if any(block.get("type") == "tool_result" for block in blocks):
        return False
    texts = [block["text"] for block in blocks if block.get("type") == "text" and isinstance(block.get("text"), str)]
    kinds = {piece.kind for text in texts for piece in pieces(text)}
    return bool(kinds & {"user", "command", "notice"}) or len(texts) < len(blocks)


class MessageReader:
    """Feeds an assembler with messages."""

    def __init__(self, made: Assembler, price: Price | None) -> None:
        self._made = made
        self._price = price
        self.costs: dict[str, float] = {}
        """Answer → its cost."""
        self.estimated = False
        """A cost was computed here."""

    def costs_without(self, seen: set[str]) -> Iterator[float]:
        """The costs of the answers that are not in `seen`."""
        return (cost for key, cost in self.costs.items() if key not in seen)

    # ------------------------------------------------------------ user

    def user(self, line: Json, at: float | None, scope: str) -> None:
        """A `user` line: a prompt, results, a note."""
        blocks = blocks_of(content_of(line))
        results = [block for block in blocks if block.get("type") == "tool_result"]
        for block in results:
            self._result(block, line, at, scope)
        rest = [block for block in blocks if block.get("type") != "tool_result"]
        if not rest:
            return
        cleaner = self._made.cleaner
        if line.get("isCompactSummary"):
            self._made.prompt(at, "context", parts_of(rest, cleaner), "Summary of the conversation so far", scope)
        elif line.get("isMeta") or line.get("isVisibleInTranscriptOnly") or line.get("isSynthetic"):
            self._made.prompt(at, "context", parts_of(rest, cleaner), "Note for the model", scope)
        else:
            self._said(rest, line, at, scope, among_results=bool(results))

    def _said(self, blocks: list[Json], line: Json, at: float | None, scope: str, *, among_results: bool) -> None:
        made, private, origin = self._made, line.get("yume"), line.get("origin")
        said: list[Json] = []
        kind, title, around = "user", "", []
        for block in blocks:
            text = block.get("text") if block.get("type") == "text" else None
            if not isinstance(text, str):
                said.append(block)
                continue
            for piece in pieces(text):
                if piece.kind == "interrupted":
                    made.mark(at, "interrupted", "Interrupted by the user", scope=scope)
                elif piece.kind == "context":
                    around.append(piece)
                else:
                    said.append({"type": "text", "text": piece.text})
                    kind, title = (piece.kind, piece.title) if piece.kind != "user" else (kind, title)
        if isinstance(origin, dict) and origin.get("kind") == "task-notification":
            kind, title = "notice", "A background task ended"
        parts = parts_of(said, made.cleaner)
        if parts:
            joined = isinstance(private, dict) and private.get("joined") is True
            if (joined or among_results) and not scope:
                made.joined(at, parts)
            else:
                made.prompt(
                    at,
                    "command" if kind == "command" else "notice" if kind == "notice" else "user",
                    parts,
                    title,
                    scope,
                )
        for piece in around:
            made.prompt(at, "context", parts_of(piece.text, made.cleaner), piece.title, scope)

    def _result(self, block: Json, line: Json, at: float | None, scope: str) -> None:
        call_id = block.get("tool_use_id")
        structured = line.get("toolUseResult", line.get("tool_use_result"))
        private = line.get("yume")
        private = private if isinstance(private, dict) else {}
        facts = facts_of(structured, self._made.cleaner)
        ran = private.get("duration_ms", facts.get("durationMs"))
        self._made.result(
            at,
            call_id if isinstance(call_id, str) else "",
            block.get("content"),
            is_error=block.get("is_error") is True,
            facts=facts,
            duration_ms=count(ran) if ran is not None else None,
            waited_ms=count(private.get("waited_ms")),
            denied=isinstance(structured, str) and structured.startswith(_DENIED),
            scope=scope,
        )

    # ------------------------------------------------------------ assistant

    def assistant(self, line: Json, at: float | None, scope: str) -> None:
        """An `assistant` line: blocks of one answer, or a failure."""
        message = line.get("message")
        if not isinstance(message, dict):
            return
        model = message.get("model")
        model = model if isinstance(model, str) else ""
        if line.get("isApiErrorMessage") or line.get("is_api_error_message") or model == SYNTHETIC:
            self._synthetic(line, at, scope)
            return
        made, private = self._made, line.get("yume")
        private = private if isinstance(private, dict) else {}
        for block in blocks_of(message.get("content")):
            self._block(block, at, model, scope, private)
        key = f"{message_id(line)} {line.get('requestId') or line.get('request_id') or ''}".strip() or str(
            line.get("uuid")
        )
        if not scope:
            made.answered(at, key, model)
        tokens = tokens_of(message.get("usage"))
        cost = money(line.get("costUSD"))
        if cost is None and self._price is not None:
            requested = line.get("requestedModel")
            cost = self._price(requested if isinstance(requested, str) else model, tokens)
            self.estimated = self.estimated or cost is not None
        if cost is not None:
            self.costs[key] = cost
        first = private.get("first_ms")
        made.used(key, model, tokens, cost, at=at, first_ms=count(first) if first is not None else None, scope=scope)

    def _block(self, block: Json, at: float | None, model: str, scope: str, private: Json) -> None:
        made, kind = self._made, block.get("type")
        if kind == "text":
            made.text(at, _string(block.get("text")), model, scope)
        elif kind in ("thinking", "redacted_thinking"):
            made.thinking(at, _string(block.get("thinking")), scope)
        elif kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
            given, broken = block.get("input"), private.get("broken")
            text = _string(broken) or ("" if isinstance(given, dict) else _string(given))
            name = _string(block.get("name"))
            made.call(at, _string(block.get("id")), name, given if isinstance(given, dict) else {}, text, scope)
        elif isinstance(block.get("tool_use_id"), str):  # a result of a tool that the provider ran
            content = block.get("content")
            failed = isinstance(content, dict) and "error" in str(content.get("type"))
            shown = [content] if isinstance(content, dict) else content
            made.result(at, block["tool_use_id"], shown, is_error=failed or block.get("is_error") is True, scope=scope)

    def _synthetic(self, line: Json, at: float | None, scope: str) -> None:
        text = "\n".join(_string(block.get("text")) for block in blocks_of(content_of(line)))
        failed = line.get("isApiErrorMessage") or line.get("is_api_error_message") or line.get("error")
        if failed:
            category = _string(line.get("error")).replace("_", " ")
            self._made.mark(
                at, "failure", f"The turn failed: {category}" if category else "The turn failed", text, scope=scope
            )
        elif text.strip():
            self._notice(at, "notice", text, scope)

    def _notice(self, at: float | None, kind: MarkKind, text: str, scope: str) -> None:
        """A text of the program: its first line, and all of it if that is not everything."""
        first = text.strip().partition("\n")[0]
        whole = first == text.strip() and len(first) <= MAX_LINE
        self._made.mark(at, kind, first, "" if whole else text.strip("\n"), scope=scope)

    # ------------------------------------------------------------ system

    def system(self, line: Json, at: float | None, scope: str) -> None:
        """A `system` line of a transcript."""
        made, kind = self._made, line.get("subtype")
        text = _string(line.get("content"))
        if kind == "compact_boundary":
            facts = line.get("compactMetadata", line.get("compact_metadata"))
            self.compaction(at, facts if isinstance(facts, dict) else {}, scope)
        elif kind == "api_error":
            reason = _reason(line.get("error")) or _reason(line.get("cause"))
            attempt, most = count(line.get("retryAttempt")), count(line.get("maxRetries"))
            wait = line.get("retryInMs")
            wait_ms = round(wait) if isinstance(wait, (int, float)) and 0 <= wait < 1e9 else 0
            made.mark(at, "retry", f"Request failed, attempt {attempt} of {most}", reason, wait_ms=wait_ms, scope=scope)
        elif kind == "local_command":
            for piece in pieces(text):
                made.prompt(at, "context", parts_of(piece.text, made.cleaner), piece.title or "Command", scope)
        elif kind == "model_fallback":
            made.mark(at, "model", text or "Another model answers from here", scope=scope)
        elif text.strip() and kind not in ("turn_duration", "stop_hook_summary"):
            bad = line.get("level") in ("error", "warning")
            self._notice(at, "warning" if bad else "notice", text, scope)

    def compaction(self, at: float | None, facts: Json, scope: str) -> None:
        """A summary replaced what was before."""
        before, after = (
            count(facts.get(a) or facts.get(b)) for a, b in (("preTokens", "pre_tokens"), ("postTokens", "post_tokens"))
        )
        how = "by command" if facts.get("trigger") == "manual" else "to make room"
        size = (
            f": {before:,} → {after:,} tokens" if before and after else f": {before:,} tokens before" if before else ""
        )
        self._made.mark(at, "compaction", f"Conversation compacted {how}{size}", scope=scope)

    def attachment(self, line: Json, at: float | None, scope: str) -> None:
        """An attachment of the Claude CLI: a prompt that waited, or context for the model."""
        found = line.get("attachment")
        if not isinstance(found, dict):
            return
        kind, made = found.get("type"), self._made
        if kind == "queued_command" and found.get("prompt"):
            made.joined(at, parts_of(found["prompt"], made.cleaner))
        elif isinstance(kind, str):
            if kind in NOT_SHOWN:
                return
            name = found.get("displayPath") or found.get("filename") or found.get("path")
            title = f"{ATTACHED}{kind.replace('_', ' ')}" + (f" {name}" if isinstance(name, str) else "")
            text = next(
                (found[key] for key in ("content", "text", "message", "snippet") if isinstance(found.get(key), str)), ""
            )
            parts = parts_of(text or _listed(found), made.cleaner)
            made.prompt(at, "context", parts, made.cleaner.line(title), scope)


def _listed(found: Json) -> str:
    """The fields of an attachment that has no text, a line for each."""
    fields = {name: value for name, value in found.items() if name != "type" and value not in (None, "", [], {})}
    if len(fields) == 1 and isinstance(inner := next(iter(fields.values())), dict):
        fields = inner
    rows = [
        f"{name}: {value if isinstance(value, str) else dumps(value).decode()}"[:MOST_OF_A_FIELD]
        for name, value in list(fields.items())[:MOST_FIELDS]
    ]
    return "\n".join(("~~~~~~", *(" ".join(row.split()) for row in rows), "~~~~~~")) if rows else ""


def _string(found: object) -> str:
    return found if isinstance(found, str) else ""


def _reason(found: object) -> str:
    """The words of an error object, however deep they are, with its status."""
    status = ""
    for _ in range(6):
        if isinstance(found, str):
            text = found.removeprefix(status).strip()
            inner = loads_object(text.encode("utf-8", "replace")) if text.startswith("{") else None
            if inner is None:
                return f"{status} {text}".strip()
            found = inner
        if not isinstance(found, dict):
            break
        if isinstance(found.get("status"), int):
            status = str(found["status"])
        if isinstance(found.get("message"), str):
            found = found["message"]
            continue
        found = found.get("error") or found.get("cause") or found.get("code")
    return status
