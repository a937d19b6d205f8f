"""For host tests: one world per test; a test that takes `world` runs once for each provider."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.helpers.host_world import ANTHROPIC, GOOGLE, VENDORS, HostWorld

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.helpers.host_world import Vendor


@pytest.fixture(params=VENDORS, ids=lambda vendor: vendor.name)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[HostWorld]:
    """A home, a workspace and a provider; once for each provider."""
    with _opened(tmp_path, request.param) as made:
        yield made


@pytest.fixture
def any_world(tmp_path: Path) -> Iterator[HostWorld]:
    """The same on one provider, for what does not depend on it."""
    with _opened(tmp_path, GOOGLE) as made:
        yield made


@pytest.fixture
def anthropic_world(tmp_path: Path) -> Iterator[HostWorld]:
    """The same on the one provider that every host knows."""
    with _opened(tmp_path, ANTHROPIC) as made:
        yield made


@contextmanager
def _opened(folder: Path, vendor: Vendor) -> Iterator[HostWorld]:
    """A world; no process of the test may outlive it."""
    made = HostWorld(folder, vendor)
    yield made
    strays = made.strays()
    made.close()
    assert strays == []
