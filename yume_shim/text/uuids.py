"""Recognises UUIDs."""

from __future__ import annotations

import re

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def is_uuid(text: str) -> bool:
    """A UUID in the usual form with dashes, of any version."""
    return _UUID.fullmatch(text) is not None
