"""Runs the shell parser within a bound of processor time."""

from __future__ import annotations

import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_PARSE_S = 0.05
"""Processor time of the parser. On text that is not shell it can need time with the square of the length."""
PARSE_STEP = 4 * 1024
"""The parser cannot be interrupted. A long text is parsed up to here first, then further, while that is fast."""


def syntax_tree(source: bytes) -> Node | None:
    """The root of the tree; None if parsing takes too long. Raises ImportError if the parser is not installed."""
    with _lock:  # parallel calls are judged in parallel
        parser = _parser()
        end, start = PARSE_STEP, time.thread_time()
        while end < len(source):
            parser.parse(source[:end])
            if time.thread_time() - start > MAX_PARSE_S:
                return None
            end += max(PARSE_STEP, end // 8)
        return parser.parse(source).root_node


_made: list[Parser] = []
_lock = threading.Lock()


def _parser() -> Parser:
    """The parser, created for the first command that is judged (30 ms)."""
    if not _made:
        import tree_sitter
        import tree_sitter_bash

        _made.append(tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language())))
    return _made[0]
