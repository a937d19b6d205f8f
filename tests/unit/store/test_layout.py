"""Where sessions are stored; the Agent SDK must find the same folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from claude_agent_sdk._internal.sessions import _sanitize_path

from yume_shim.store.layout import project_key, projects_dir, session_path

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("/home/ada/my_project.v2", "-home-ada-my-project-v2"),
        ("C:\\Users\\Ada\\work", "C--Users-Ada-work"),
        ("/srv/a-b", "-srv-a-b"),
        ("/srv/caf\u00e9", "-srv-caf-"),
        ("/srv/cafe\u0301", "-srv-caf-"),
        ("/srv/\U0001f600", "-srv---"),
    ],
)
def test_keys(path: str, key: str) -> None:
    assert project_key(path) == key


@pytest.mark.parametrize("length", [199, 200, 201, 999])
def test_long_keys_are_the_same_as_the_sdks(length: int) -> None:
    path = ("/" + "abc.def/" * 200)[:length]
    assert project_key(path) == _sanitize_path(path)


def test_folders() -> None:
    assert projects_dir({"HOME": "/h"}) == os.path.join("/h", ".claude", "projects")
    assert projects_dir({"HOME": "/h"}, "/elsewhere") == "/elsewhere"


def test_links_are_followed(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    assert session_path("/p", str(link), "sid") == session_path("/p", str(real), "sid")
    assert session_path("/p", str(real), "sid").endswith("-real" + os.sep + "sid.jsonl")
