"""Marks for what hosts may ask and this version does not do; remove a mark as soon as its test passes."""

from __future__ import annotations

import pytest

hooks = pytest.mark.xfail(strict=True, reason="hooks are not run (docs/deviations.md)")
