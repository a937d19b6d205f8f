"""Notes which entries of the catalogue of errors a test reaches: whatever carries a code or a message, as it is made.

With YUME_BREAK_MESSAGES=1 the code or the message of the entries in question is made wrong, and the test must fail: one
that passes asserts nothing about them.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from yume_shim.extensions.hooks.answers import HookAnswer
from yume_shim.extensions.mcp.errors import McpError
from yume_shim.types import value
from yume_shim.types.error_entries.catalogue import ENTRIES
from yume_shim.types.errors import BadInvocation, BadLine, Failure, StoreFailed, ToolFailed
from yume_shim.types.events import Notice, ToolFinished, TurnEnded
from yume_shim.types.host_events import ControlAnswered
from yume_shim.types.side_events import HookNotice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from tests.helpers.entry_tests import Id

CODES: dict[type[Any], tuple[str, str]] = {
    Notice: ("warning", "code"),
    ControlAnswered: ("request", "error_code"),
    BadLine: ("request", "code"),
    HookNotice: ("warning", "tag"),
    TurnEnded: ("outcome", "outcome"),
}
"""Value → the group of entries that one of its fields names."""
RAISED: dict[str, Any] = {
    "start": BadInvocation,
    "tool": ToolFailed,
    "mcp": (McpError, ToolFailed),
    "store": StoreFailed,
}
"""Group → the exceptions that are made in the modules of its entries."""
WRONG = "made wrong on purpose"
MODULE: Any = value


@contextmanager
def reaching(expected: set[Id]) -> Iterator[None]:
    """The test in this context must reach these entries; if their messages are wrong it must fail."""
    if not os.environ.get("YUME_BREAK_MESSAGES"):
        with reached() as found:
            yield
        missed = f"the catalogue of errors says that this test reaches {sorted(expected - found)}; it reaches {found}"
        assert expected <= found, missed
        return
    try:
        with reached(expected):
            yield
    except (Exception, pytest.fail.Exception):
        return
    raise AssertionError(f"the messages of {sorted(expected)} were wrong, and this test passes all the same")


@contextmanager
def reached(broken: set[Id] = frozenset()) -> Iterator[set[Id]]:  # type: ignore[assignment]
    """The entries that are reached in this context. Those in `broken` are made wrong."""
    found: set[Id] = set()
    values: list[Any] = [Failure, HookAnswer, ToolFinished, *CODES]
    for kind in values:
        if "__init__" not in vars(kind):  # the first instance would put it there, in place of the one below
            kind.__init__ = MODULE._init_for(kind)
    values += [BadInvocation, ToolFailed, McpError, StoreFailed]
    before = {kind: kind.__init__ for kind in values}

    def noting(init: Callable[..., None]) -> Callable[..., None]:
        def made(self: Any, *args: Any, **named: Any) -> None:
            init(self, *args, **named)
            maker = sys._getframe(1)
            if not maker.f_globals.get("__name__", "").startswith("yume_shim."):
                return  # a test made it, to compare with
            ids = set(entries_of(self, maker))
            found.update(ids)
            if ids & broken:
                make_wrong(self)

        return made

    for kind, init in before.items():
        kind.__init__ = noting(init)
    try:
        yield found
    finally:
        for kind, init in before.items():
            kind.__init__ = init


def entries_of(made: Any, frame: FrameType) -> Iterator[Id]:
    """The entries that this value or exception belongs to; `frame` has made it."""
    if type(made) in CODES:
        group, field = CODES[type(made)]
        yield group, getattr(made, field)
    elif isinstance(made, Failure):
        yield "failure", f"{made.kind}.{made.case}" if made.case else made.kind
    elif isinstance(made, ToolFinished):
        if made.denied:
            yield "tool", "tool.denied"
    elif isinstance(made, HookAnswer):
        if made.refuses and not made.failure:
            yield "hook", "hook.refused"
        if made.failure:
            yield "hook", "hook.failed"
        hook: Any = frame.f_locals.get("hook")
        if hook is not None and hook.problem:
            yield "hook", "hook.not_run"
    else:
        module = frame.f_globals.get("__name__", "").partition("yume_shim.")[2].replace(".", "/")
        for entry in ENTRIES:
            if isinstance(made, RAISED.get(entry.group, ())) and module in entry.raised_in:
                yield entry.group, entry.id


def make_wrong(made: Any) -> None:
    """Change what a user or a host would see of it."""
    if isinstance(made, Exception):
        made.args = (WRONG,)
        if "message" in vars(made):
            vars(made)["message"] = WRONG
        if isinstance(made, BadInvocation):
            made.kind = "internal"
        if isinstance(made, BadLine):
            made.code = WRONG
        return
    wrong: dict[type[Any], dict[str, Any]] = {
        Failure: {"kind": "internal", "message": WRONG},
        HookAnswer: {"reason": WRONG, "failure": "", "blocks": False, "verdict": ""},
        ToolFinished: {"denied": False},
        Notice: {"code": WRONG, "text": WRONG},
        HookNotice: {"tag": WRONG, "text": WRONG},
        ControlAnswered: {"error_code": WRONG},
        TurnEnded: {"outcome": "success"},
    }
    for name, broken in wrong[type(made)].items():
        type(made).__dict__[name].__set__(made, broken)
