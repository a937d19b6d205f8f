"""Models that know our tools only roughly: their calls are corrected before the host sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.scripted_model import ModelServer, call, say
from tests.helpers.vendor_place import FLAT, MODELS, NESTED, VendorPlace

if TYPE_CHECKING:
    from pathlib import Path

THIRD_PARTY = {**MODELS, "anthropic-messages": "anthropic/kimi-k3"}


def calls_and_results(place: VendorPlace, model: str, form: tuple[str, ...]) -> tuple[list[Any], list[Any]]:
    """The inputs of the printed calls, and `is_error` of the results."""
    content: Any = "Read it."
    prompt = {"type": "user", "content": content}
    if form == NESTED:
        prompt = {"type": "user", "message": {"role": "user", "content": content}}
    ended = child.run([*form, "--model", model], [prompt, {"!after": "result"}], cwd=place.cwd, env=place.env)
    assert b"schema drift: Read was called with `colour`, ignored" in ended.stderr or "claude" in model
    if form == FLAT:
        blocks = ended.lines
    else:
        lines = [line["message"]["content"] for line in ended.lines if line["type"] in ("assistant", "user")]
        blocks = [block for blocks in lines for block in blocks if isinstance(block, dict)]
    inputs = [block["input"] for block in blocks if block["type"] == "tool_use"]
    return inputs, [bool(block.get("is_error")) for block in blocks if block["type"] == "tool_result"]


@pytest.mark.parametrize("form", [FLAT, NESTED], ids=["flat", "nested"])
@pytest.mark.parametrize("api", sorted(THIRD_PARTY))
def test_wrong_and_unexpected_names_are_corrected_before_the_call_is_printed(
    tmp_path: Path, api: str, form: tuple[str, ...]
) -> None:
    with ModelServer([call("Read", path="notes.txt", colour="red")], [say("Done.")]) as server:
        place = VendorPlace(tmp_path, server)
        (place.cwd / "notes.txt").write_text("hello")
        inputs, errors = calls_and_results(place, THIRD_PARTY[api], form)
    assert (inputs, errors) == ([{"file_path": "notes.txt"}], [False])


def test_claude_reads_about_its_mistake(tmp_path: Path) -> None:
    with ModelServer([call("Read", path="notes.txt", colour="red")], [say("Done.")]) as server:
        inputs, errors = calls_and_results(VendorPlace(tmp_path, server), MODELS["anthropic-messages"], NESTED)
    assert (inputs, errors) == ([{"path": "notes.txt", "colour": "red"}], [True])
