"""Keys are removed from tool output, from text and from structured results."""

from __future__ import annotations

from yume_shim.engine.scrub import scrub
from yume_shim.types.blocks import Image, Text
from yume_shim.types.outputs import ToolOutput

KEY = "the-key-in-use-123"
SECRETS = (KEY,)


def test_text_and_structured_results() -> None:
    output = ToolOutput(
        f"env: {KEY}\n", {"stdout": f"env: {KEY}\n", "lines": [1, f"x{KEY}"], "interrupted": False}, False
    )
    clean, count = scrub(output, SECRETS)
    assert clean == ToolOutput(
        "env: [redacted]\n", {"stdout": "env: [redacted]\n", "lines": [1, "x[redacted]"], "interrupted": False}, False
    )
    assert count == 2


def test_blocks() -> None:
    image = Image("image/png", "AAAA")
    clean, count = scrub(ToolOutput((Text(KEY), image)), SECRETS)
    assert clean.content == (Text("[redacted]"), image)
    assert count == 1


def test_encoded_bytes_are_left_alone() -> None:
    output = ToolOutput((Image("image/png", "x"),), {"file": {"base64": "/AIza" + "a" * 40}})
    assert scrub(output, ()) == (output, 0)


def test_texts_in_the_form_of_a_key_are_removed_too() -> None:
    clean, count = scrub(ToolOutput("key sk-" + "ant-api03-" + "a1B2" * 12), ())
    assert "a1B2" not in str(clean.content)
    assert count == 1


def test_harmless_output_is_the_same_object() -> None:
    output = ToolOutput("nothing here", {"a": ["b", {"c": 1}]})
    assert scrub(output, SECRETS) == (output, 0)
    assert scrub(output, SECRETS)[0] is output


def test_long_lists_of_texts() -> None:
    lines = [f"+line {n}" for n in range(1_000)]
    assert scrub(ToolOutput("ok", {"lines": lines}), SECRETS)[1] == 0
    clean, count = scrub(ToolOutput("ok", {"lines": [*lines, f"-{KEY}"]}), SECRETS)
    assert clean.structured == {"lines": [*lines, "-[redacted]"]}
    assert count == 1
