"""The user's folders according to the environment."""

from __future__ import annotations

import os

from yume_shim.types.folders import claude_folder, home_folder, yume_folder


def test_home_is_named_by_the_environment() -> None:
    assert home_folder({"HOME": "/h", "USERPROFILE": "/u"}) == ("/u" if os.name == "nt" else "/h")
    assert home_folder({"HOME": "/h", "USERPROFILE": ""}) == "/h"
    assert home_folder({"HOME": "", "USERPROFILE": "/u"}) == "/u"
    assert home_folder({}) == os.path.expanduser("~")


def test_the_claude_folder_can_be_moved() -> None:
    assert claude_folder({"HOME": "/h"}) == os.path.join("/h", ".claude")
    assert claude_folder({"CLAUDE_CONFIG_DIR": "/c", "HOME": "/h"}) == "/c"


def test_our_folder_is_in_the_home_folder() -> None:
    assert yume_folder({"CLAUDE_CONFIG_DIR": "/c", "HOME": "/h"}) == os.path.join("/h", ".yume")
