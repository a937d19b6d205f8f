"""Token estimates: by characters, and exact only from data that is on disk and whole."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.helpers.histories import said, user
from yume_shim.context.estimate import (
    O200K_FILE,
    O200K_SHA256,
    Measured,
    load_exact,
    measured,
    room_for_output,
)
from yume_shim.types.models import Usage
from yume_shim.types.token_estimate import DOCUMENT_CHARS_PER_TOKEN, IMAGE_TOKENS, by_characters

if TYPE_CHECKING:
    from pathlib import Path


SCRIPT = """
import sys
from yume_shim.context.estimate import estimate_request
from yume_shim.types.blocks import Document, Image, Message, Other, Text, Thinking, ToolCall, ToolResult
from yume_shim.types.models import Endpoint, ModelSpec, Request, ToolSpec
model = ModelSpec("m", Endpoint("e", "openai-chat", "http://127.0.0.1:1"))
blocks = (
    Text("x" * 10), Thinking("y" * 10), ToolCall("a", "LS", {}), ToolCall("b", "LS", {}, "{" * 8),
    ToolResult("a", "z" * 10), ToolResult("b", (Text("z" * 10), Image("image/png", "A" * 9999))),
    Document("text/plain", "d" * 10), Document("application/pdf", "A" * 61), Other("x", {"k": 1}),
)
tool = ToolSpec("LS", "Lists", {"type": "object"})
request = Request(model, (Message("user", blocks),), ("s" * 10,), (tool,))
nothing = Request(model, ())
print(estimate_request(nothing), estimate_request(request), "tiktoken" in sys.modules)
"""


def test_a_request_is_the_sum_of_what_it_sends(tmp_path: Path) -> None:
    """In a separate process, to see that tiktoken is not loaded."""
    environ = {**os.environ, "TIKTOKEN_CACHE_DIR": str(tmp_path)}
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environ, capture_output=True, text=True, timeout=30, check=True
    )
    counted = ("x" * 10, "y" * 10, "LS{}", "LS" + "{" * 8, "z" * 10, "z" * 10, "d" * 10)
    texts = sum(map(by_characters, counted))  # Text, Thinking, two calls, two results, the plain document
    pdf = -(-61 // DOCUMENT_CHARS_PER_TOKEN)
    other, system, tool = (
        by_characters('{"k":1}'),
        by_characters("s" * 10),
        by_characters('LS\nLists\n{"type":"object"}'),
    )
    assert run.stdout.split() == ["0", str(texts + IMAGE_TOKENS + pdf + other + system + tool), "False"]


@pytest.mark.parametrize("content", [None, b"", b"not the data"])
def test_no_data_or_wrong_data_loads_nothing(tmp_path: Path, content: bytes | None) -> None:
    """tiktoken would delete a file with a wrong checksum and download it again."""
    if content is not None:
        (tmp_path / O200K_FILE).write_bytes(content)
    assert load_exact({"TIKTOKEN_CACHE_DIR": str(tmp_path)}) is None
    assert load_exact({"DATA_GYM_CACHE_DIR": str(tmp_path)}) is None
    assert load_exact({"TIKTOKEN_CACHE_DIR": ""}) is None
    assert (tmp_path / O200K_FILE).exists() == (content is not None)


def test_the_names_are_tiktokens_own() -> None:
    """The file name and the check sum that the installed tiktoken looks for."""
    import hashlib
    import importlib
    import inspect

    source = inspect.getsource(importlib.import_module("tiktoken_ext.openai_public").o200k_base)
    address = next(word for word in source.split('"') if word.endswith("/o200k_base.tiktoken"))
    assert hashlib.sha1(address.encode()).hexdigest() == O200K_FILE
    assert O200K_SHA256 in source


def test_the_providers_count_is_the_base() -> None:
    history = [user("x" * 100), said("y" * 100)]
    base = measured(Usage(50, 20, cache_read=30, cache_write=5), len(history), "a/m")
    assert base == Measured(105, 2, "a/m")
    assert base is not None
    assert base.size(history) == 105
    assert base.size([*history, user("z" * 100)]) == 105 + by_characters("z" * 100)
    assert measured(Usage(50, 20, estimated=True), 2, "a/m") is None
    assert measured(Usage(0, 20), 2, "a/m") is None


@pytest.mark.parametrize(
    ("size", "requested", "room"),
    [
        (1_000, 8_000, 8_000),
        (95_000, 8_000, 3_000),
        (99_000, 8_000, 1_024),
        (200_000, 8_000, 1_024),
        (99_000, 500, 500),
    ],
)
def test_an_answer_is_never_longer_than_the_window_leaves(size: int, requested: int, room: int) -> None:
    assert room_for_output(100_000, size, requested) == room
