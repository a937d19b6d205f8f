"""Records a model's answers as a cassette for replay. It is a tap on the pipeline; its errors never reach the pipeline.

Secrets are removed twice: the keys in use and strings in the form of well-known keys are replaced, and a line that
still looks like a key is replaced by a mark. Folders have mode 0700, files 0600.
"""

from __future__ import annotations

import os
import re
import threading

from yume_shim.providers.wire.failures import StatusFailed
from yume_shim.providers.wire.history_memo import plain_body
from yume_shim.text import codec
from yume_shim.text.redact import MIN_SECRET_LENGTH, REDACTED
from yume_shim.types.errors import BadInvocation, Failure
from yume_shim.types.models import WireRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from yume_shim.providers.pipeline import TapKind

_KEPT_HEADERS = ("content-type", "request-id", "retry-after", "retry-after-ms", "x-request-id", "x-should-retry")
_SECRET_FIELDS = frozenset(
    ("api-key", "api_key", "apikey", "authorization", "cookie", "set-cookie", "x-api-key", "x-goog-api-key")
)
# Anthropic and OpenAI keys, Google keys, Groq, xAI, GitHub, Hugging Face; organisations and projects; bearer tokens.
_SECRET = re.compile(
    r"\b(?:sk-[A-Za-z0-9_-]{12,}|AIza[A-Za-z0-9_-]{20,}|gsk_[A-Za-z0-9]{12,}|xai-[A-Za-z0-9]{12,}|gh[pousr]_[A-Za-z0-9]{20,}"
    r"|hf_[A-Za-z0-9]{20,}|org-[A-Za-z0-9]{12,}|proj_[A-Za-z0-9]{12,})"
    r"|(?i:bearer)\s+[A-Za-z0-9._~+/-]{12,}=*"
)
_CONNECTION_FAILURES = frozenset(("network", "stream_interrupted", "timeout", "dns", "tls"))


class Recorder:
    """A tap for `pipeline.ApiProvider`. Each thread records its own request; files are numbered in order of
    requests."""

    def __init__(
        self,
        directory: str,
        api: str,
        model: str,
        secrets: Sequence[str] = (),
        log: Callable[[str, str], None] | None = None,
        *,
        native_tools: bool = True,
        streaming: bool = True,
    ) -> None:
        self._directory = directory
        self._secrets = secrets  # not copied: it grows when a key is obtained later
        self._log = log
        self._lock = threading.Lock()
        self._current = threading.local()
        self._stopped = False
        try:
            for name in ("wire", "requests"):
                os.makedirs(os.path.join(directory, name), mode=0o700, exist_ok=True)
            table = os.path.join(directory, "cassette.toml")
            if not os.path.exists(table):
                lines = [f"api = {_toml(api)}", f"model = {_toml(model)}"]
                lines += [] if native_tools else ["tools = false"]
                lines += [] if streaming else ["streaming = false"]
                _write(table, "\n".join((*lines, "")).encode(), os.O_TRUNC)
            self._count = len(os.listdir(os.path.join(directory, "wire")))
        except OSError as exc:
            raise BadInvocation(f"cannot record to {directory!r}: {exc.strerror}") from None

    def __call__(self, kind: TapKind, data: Any) -> None:
        """Record one message of the pipeline."""
        if self._stopped:
            return
        try:
            self._record(kind, data)
        except OSError as exc:
            self._stopped = True
            if self._log:
                self._log("warning", f"recording stopped: {exc.strerror}")

    def _record(self, kind: TapKind, data: Any) -> None:
        match kind:
            case "request":
                self._begin(data)
            case "headers":
                kept = _kept(data)
                if kept:
                    self._line({"!headers": kept})
            case "frame":
                self._line(data)
            case "status":
                self._line(_status_line(data))
                self._current.refused = True
            case "fault":
                self._fault(data)

    def _begin(self, wire: WireRequest) -> None:
        number = self._next_number()
        self._current.path = os.path.join(self._directory, "wire", f"{number:02d}.jsonl")
        self._current.refused = False
        body = self._safe(plain_body(wire.body))
        _write(os.path.join(self._directory, "requests", f"{number:02d}.json"), body + b"\n", os.O_TRUNC)

    def _next_number(self) -> int:
        """The number of the next request; its empty file is there. Other processes may record here, too."""
        with self._lock:
            while True:
                self._count += 1
                try:
                    _write(os.path.join(self._directory, "wire", f"{self._count:02d}.jsonl"), b"", os.O_EXCL)
                except FileExistsError:
                    continue
                return self._count

    def _fault(self, failure: Failure) -> None:
        if self._current.refused:
            return
        if failure.kind == "cancelled":
            self._line({"!hold": True})
        elif failure.kind in _CONNECTION_FAILURES:
            self._line({"!drop": True})

    def _line(self, frame: Any) -> None:
        _write(self._current.path, self._safe(frame) + b"\n", os.O_APPEND)

    def _safe(self, item: Any) -> bytes:
        return safe_line(item, self._secrets)


def safe_line(item: Any, secrets: Sequence[str]) -> bytes:
    """JSON without secrets; a line that still seems to contain one is replaced."""
    # shorter keys are placeholders (`none`, `EMPTY`); replacing those would destroy the recording
    keys = sorted((key for key in secrets if len(key) >= MIN_SECRET_LENGTH), key=len, reverse=True)
    line = codec.dumps(_scrub(item, keys))
    text = line.decode()
    if _SECRET.search(text) or any(key in text for key in keys):
        return codec.dumps({"!redacted": True})
    return line


def _scrub(item: Any, keys: list[str]) -> Any:
    if isinstance(item, str):
        for key in keys:
            item = item.replace(key, REDACTED)
        return _SECRET.sub(REDACTED, item)
    if isinstance(item, dict):
        return {
            name: REDACTED if name.lower() in _SECRET_FIELDS and isinstance(part, str) else _scrub(part, keys)
            for name, part in item.items()
        }
    if isinstance(item, (list, tuple)):
        return [_scrub(part, keys) for part in item]
    return item


def _status_line(refused: StatusFailed) -> dict[str, Any]:
    try:
        body: Any = codec.loads(refused.body)
    except ValueError:
        body = refused.body.decode("utf-8", "replace")
    return {"!status": refused.status, "headers": _kept(refused.headers), "body": body}


def _kept(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that a decoder or the retry rule reads; others may identify people and machines."""
    return {name: headers[name] for name in _KEPT_HEADERS if name in headers}


def _toml(text: str) -> str:
    """A basic TOML string; JSON's escapes are among TOML's."""
    return codec.dumps(text).decode()


def _write(path: str, data: bytes, how: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0) | how, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
