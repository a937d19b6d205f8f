"""Logs each model request, and makes the record of a failed one: where it went, how it ended, what shape it had.

Neither the log nor a record holds contents, keys or what the provider wrote about them: only names that we gave
ourselves, counts, sizes, and codes that look like codes.
"""

from __future__ import annotations

import re
import threading
import time

from yume_shim import __version__
from yume_shim.text.log_entry import log_entry
from yume_shim.text.redact import shown_address
from yume_shim.types.shapes import timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from yume_shim.providers.pipeline import Exchange
    from yume_shim.types.blocks import Json
    from yume_shim.types.errors import Failure
    from yume_shim.types.models import Request

MAX_CHANGE = 200
"""Characters of our own words about a change."""
MAX_COUNTED = 16
"""Requests whose attempts are counted: as many as loops may run side by side."""
_CODE = re.compile(r"[\w.:\[\]-]{1,80}", re.ASCII)


class RequestLog:
    """The requests to one endpoint. Loops that run side by side share it; the lock guards the counts, since each
    attempt of a request may run on a thread of its own.

    `log` is None unless debug messages are written; `keep` stores the record of a failure."""

    def __init__(self, log: Callable[[str, str], None] | None, keep: Callable[[Json], None] | None) -> None:
        self._log = log
        self._keep = keep
        self._lock = threading.Lock()
        self._counted: list[tuple[Request, int]] = []
        """The requests sent last, each with its attempts, the newest at the end."""

    def note(self, request: Request, exchange: Exchange, failure: Failure | None, change: str) -> None:
        """One attempt has ended. `change`: it is sent again at once, changed in this way."""
        attempts = self._count(request)
        if failure is None and self._log is None:
            return
        facts = self._facts(request, exchange, failure, change) | {"attempt": attempts}
        if self._log is not None:
            self._log("debug", log_entry("request", **facts))
        if failure is not None and failure.kind != "cancelled" and self._keep is not None:
            self._keep({"time": timestamp(time.time()), "version": __version__, **facts})

    def _count(self, request: Request) -> int:
        """How often the request was sent, this time included."""
        with self._lock:
            attempts = 1 + next((count for sent, count in self._counted if sent is request), 0)
            others = [pair for pair in self._counted if pair[0] is not request]
            self._counted = [*others[1 - MAX_COUNTED :], (request, attempts)]
            return attempts

    def _facts(self, request: Request, exchange: Exchange, failure: Failure | None, change: str) -> dict[str, Any]:
        endpoint, wire = request.model.endpoint, exchange.wire
        took = round((time.monotonic() - exchange.began) * 1000) if wire is not None else 0
        facts: dict[str, Any] = {
            "endpoint": endpoint.name,
            "address": shown_address(endpoint.base_url) + (shown_address(wire.path) if wire is not None else ""),
            "model": request.model.id,
            "status": 200 if failure is None else failure.status,
            "duration_ms": took,
        }
        if failure is None:
            from yume_shim.providers.wire.error_body import read_request_id

            return facts | {"request_id": read_request_id(exchange.headers)}
        facts |= {
            "kind": failure.kind,
            "code": _code(failure.provider_code),
            "param": _code(failure.param),
            "detail": _code(failure.detail),
            "request_id": _code(failure.request_id),
            "retryable": failure.retryable,
            "retry_after_ms": failure.retry_after_ms,
            "sent_again": change[:MAX_CHANGE],
        }
        if wire is None:
            facts["sent"] = False
        elif failure.status is not None and 400 <= failure.status < 500:
            from yume_shim.providers.wire.request_shape import request_shape

            facts["shape"] = request_shape(wire)
        return {name: fact for name, fact in facts.items() if fact is not None and fact != ""}


def _code(found: str) -> str:
    """A code of the provider; "" if it is a sentence, which may quote the request."""
    return found if _CODE.fullmatch(found) else ""
