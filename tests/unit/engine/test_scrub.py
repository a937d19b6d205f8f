"""Keys never leave a tool, in text or in structured results."""

from __future__ import annotations

from yume_shim.engine.scrub import scrub
from yume_shim.types.blocks import Image, Text
from yume_shim.types.outputs import ToolOutput

KEY = "the-key-in-use-123"
OURS = (KEY,)


def test_text_and_structured_results() -> None:
    output = ToolOutput(
        f"env: {KEY}\n", {"stdout": f"env: {KEY}\n", "lines": [1, f"x{KEY}"], "interrupted": False}, False
    )
    clean, count = scrub(output, OURS)
    assert clean == ToolOutput(
        "env: [redacted]\n", {"stdout": "env: [redacted]\n", "lines": [1, "x[redacted]"], "interrupted": False}, False
    )
    assert count == 2


def test_blocks() -> None:
    image = Image("image/png", "AAAA")
    clean, count = scrub(ToolOutput((Text(KEY), image)), OURS)
    assert clean.content == (Text("[redacted]"), image)
    assert count == 1


def test_encoded_bytes_are_left_alone() -> None:
    output = ToolOutput((Image("image/png", "x"),), {"file": {"base64": "/AIza" + "a" * 40}})
    assert scrub(output, ()) == (output, 0)


def test_known_shapes_go_without_being_in_use() -> None:
    clean, count = scrub(ToolOutput("key sk-" + "ant-api03-" + "a1B2" * 12), ())
    assert "a1B2" not in str(clean.content)
    assert count == 1


def test_harmless_output_is_the_same_object() -> None:
    output = ToolOutput("nothing here", {"a": ["b", {"c": 1}]})
    assert scrub(output, OURS) == (output, 0)
    assert scrub(output, OURS)[0] is output
