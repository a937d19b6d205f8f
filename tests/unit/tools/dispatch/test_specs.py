"""The schemas of the built-in tools are plain: every endpoint accepts them unchanged."""

from __future__ import annotations

import pytest

from yume_shim.providers.fitting.schema import object_schema
from yume_shim.tools.dispatch.specs import SPECS
from yume_shim.types.models import ToolSpec


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_no_parameter_is_called_like_a_keyword_that_reducers_drop(spec: ToolSpec) -> None:
    assert "format" not in spec.schema["properties"]
    assert object_schema(spec.schema) is spec.schema
