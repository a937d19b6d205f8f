"""The SDK's own types take every request body of the goldens: no field name is ours alone."""

from __future__ import annotations

import pytest

from tests.helpers.wire_cases import Case, cases, encode
from yume_shim.providers.apis import google_genai

CASES = cases(google_genai.API)
FIELDS = {"contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "continuationToken"}
OURS = {"labels"}
"""Fields that a case adds through its endpoint's extra body."""


@pytest.mark.parametrize("case", CASES, ids=[case.folder.name for case in CASES])
def test_body_is_made_of_the_sdks_types(case: Case) -> None:
    from google.genai import types

    body = encode(case)[0]["body"]
    assert set(body) <= FIELDS | OURS
    for content in body["contents"]:
        assert content["parts"]
        types.Content.model_validate(content)
    types.GenerationConfig.model_validate(body["generationConfig"])
    for tool in body.get("tools", ()):
        types.Tool.model_validate(tool)
    if "systemInstruction" in body:
        types.Content.model_validate(body["systemInstruction"])
    if "toolConfig" in body:
        types.ToolConfig.model_validate(body["toolConfig"])


def test_the_types_are_strict() -> None:
    """A field that they do not know is an error: the test above can fail."""
    from google.genai import types
    from pydantic import ValidationError

    with pytest.raises(ValidationError):
        types.Content.model_validate({"role": "user", "parts": [{"functionResponse": {"names": "x"}}]})
