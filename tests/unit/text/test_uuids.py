"""UUIDs in the usual form, and texts that only look like one."""

from __future__ import annotations

import uuid

import pytest

from yume_shim.text.uuids import is_uuid

GOOD = "0f3b1c2d-4e5f-4a6b-8c7d-9e0f1a2b3c4d"


@pytest.mark.parametrize("text", [GOOD, GOOD.upper(), str(uuid.UUID(int=0)), str(uuid.UUID(int=1 << 127, version=4))])
def test_a_uuid_of_any_version(text: str) -> None:
    assert is_uuid(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "----",
        GOOD.replace("-", ""),
        f"{GOOD}\n",
        f" {GOOD}",
        f"{GOOD}-",
        f"{{{GOOD}}}",
        GOOD.replace("0f3b1c2d", "0g3b1c2d"),
        GOOD.replace("0f3b1c2d", "0f3b1c2\u0661"),  # a digit of another script
        GOOD.replace("0f3b1c2d-4e5f", "0f3b1c2-d4e5f"),
    ],
)
def test_other_texts(text: str) -> None:
    assert not is_uuid(text)
