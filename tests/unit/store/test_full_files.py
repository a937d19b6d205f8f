"""A disk that fills: each small file of ours is as it was before, or whole; nothing half of one stays."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from yume_shim.config import saved_rules, trust
from yume_shim.extensions.mcp import tokens
from yume_shim.extensions.mcp.errors import McpError
from yume_shim.providers.facts.fact_file import FactFile
from yume_shim.store.error_records import add_error, errors_path, read_errors
from yume_shim.types.folders import SAVED_RULES, yume_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="file size limits are a POSIX thing")
LIMIT = 1_000


@pytest.fixture
def full(tmp_path: Path) -> Iterator[dict[str, str]]:
    """An environment with a home in which no file may grow over the limit."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, hard))
    yield {"HOME": str(tmp_path)}
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    signal.signal(signal.SIGXFSZ, before)


def left_in(folder: str) -> list[str]:
    """Files of ours, without locks."""
    return sorted(name for name in os.listdir(folder) if not name.endswith(".lock"))


def test_saved_rules(full: dict[str, str], tmp_path: Path) -> None:
    saved_rules.save_rules(full, str(tmp_path), "user", ("Bash(one)",))
    with pytest.raises(OSError, match="File too large"):
        saved_rules.save_rules(full, str(tmp_path), "user", (f"Bash({'x' * LIMIT})",))
    assert saved_rules.read_saved_rules(full, str(tmp_path), lambda level, text: None) == ("Bash(one)",)
    assert left_in(yume_folder(full)) == [SAVED_RULES]


def test_facts(full: dict[str, str]) -> None:
    path = os.path.join(yume_folder(full), "facts.json")
    told: list[str] = []
    facts = FactFile(path, lambda: 1_000.0, lambda level, text: told.append(text))
    facts.put("a", "asked", {"b": 1}, 60)
    facts.put("c", "asked", {"text": "x" * LIMIT}, 60)
    assert (facts.get("a", "asked"), facts.get("c", "asked")) == ({"b": 1}, None)
    assert len(told) == 1
    assert left_in(yume_folder(full)) == ["facts.json"]


def test_tokens(full: dict[str, str]) -> None:
    tokens.save("https://a/", {"access_token": "t"}, full)
    with pytest.raises(McpError, match="cannot be changed"):
        tokens.save("https://b/", {"access_token": "t" * LIMIT}, full)
    assert tokens.load("https://a/", full) is not None
    assert tokens.load("https://b/", full) is None
    folder, name = os.path.split(tokens.tokens_path(full))
    assert left_in(folder) == [name]


def test_answers_about_trust(full: dict[str, str]) -> None:
    trust.remember("/w/a", full, True)
    with pytest.raises(OSError, match="File too large"):
        trust.remember("/w/" + "b" * LIMIT, full, True)
    assert trust._recorded("/w/a", full) is True
    folder, name = os.path.split(trust.record_path(full))
    assert left_in(folder) == [name]


def test_records_of_errors(full: dict[str, str]) -> None:
    path = errors_path(full)
    add_error(path, {"number": 1})
    try:
        add_error(path, {"number": 2, "text": "x" * LIMIT})  # a part of it is written
    except OSError:
        pass
    os.truncate(path, LIMIT - 100)  # there is room again
    add_error(path, {"number": 3})
    assert [record["number"] for record in read_errors(path)] == [1, 3]
