"""Write, Edit, MultiEdit: what goldens do not show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.tool_cases import call, toolbox
from yume_shim.tools.edit import replaced
from yume_shim.types.errors import ToolFailed

if TYPE_CHECKING:
    from pathlib import Path

TEXT = st.text(alphabet="ab \n\r", max_size=30)


@given(TEXT, st.text(alphabet="ab\n", min_size=1, max_size=4), st.text(alphabet="xy\n", max_size=4))
def test_only_the_requested_text_changes(text: str, old: str, new: str) -> None:
    """Whatever the line ends: the text seen with LF only is as Python's own replace makes it."""
    text = text.replace("\r", "\r\n")
    seen = text.replace("\r\n", "\n")
    if seen.count(old) == 0:
        with pytest.raises(ToolFailed, match="not found"):
            replaced(text, old, new, True)
        return
    assert replaced(text, old, new, True).replace("\r\n", "\n") == seen.replace(old, new)


def test_line_ends_elsewhere_stay(tmp_path: Path) -> None:
    tools = toolbox(tmp_path, tmp_path / "scratch")
    (tmp_path / "a").write_bytes(b"one\ntwo\r\nthree\nfour\r\n\r\n")
    call(tools, "Edit", {"file_path": "a", "old_string": "three", "new_string": "3"})
    assert (tmp_path / "a").read_bytes() == b"one\ntwo\r\n3\nfour\r\n\r\n"


def test_new_text_is_not_a_template(tmp_path: Path) -> None:
    tools = toolbox(tmp_path, tmp_path / "scratch")
    (tmp_path / "a").write_bytes(b"one\r\n")
    call(tools, "Edit", {"file_path": "a", "old_string": "one", "new_string": r"\1 \g<0> $0 \n"})
    assert (tmp_path / "a").read_bytes() == rb"\1 \g<0> $0 \n" + b"\r\n"


def test_bad_bytes_elsewhere_stay(tmp_path: Path) -> None:
    tools = toolbox(tmp_path, tmp_path / "scratch")
    (tmp_path / "a").write_bytes("äöü ".encode() + b"\xfe word\n")
    call(tools, "Edit", {"file_path": "a", "old_string": "word", "new_string": "wört"})
    assert (tmp_path / "a").read_bytes() == "äöü ".encode() + b"\xfe " + "wört\n".encode()


def test_a_broken_encoding_is_not_edited(tmp_path: Path) -> None:
    tools = toolbox(tmp_path, tmp_path / "scratch")
    (tmp_path / "a").write_bytes(b"\xff\xfea\0b")
    with pytest.raises(ToolFailed, match="cannot be edited without loss"):
        call(tools, "Edit", {"file_path": "a", "old_string": "a", "new_string": "c"})


def test_changes_made_by_the_tools_are_not_stale(tmp_path: Path) -> None:
    tools = toolbox(tmp_path, tmp_path / "scratch")
    call(tools, "Write", {"file_path": "a", "content": "one\n"})
    call(tools, "Edit", {"file_path": "a", "old_string": "one", "new_string": "two"})
    call(tools, "Write", {"file_path": "a", "content": "three\n"})
    (tmp_path / "a").write_text("user\n")
    with pytest.raises(ToolFailed, match=r"^File has been modified since read"):
        call(tools, "Write", {"file_path": "a", "content": "four\n"})
    call(tools, "Read", {"file_path": "a"})
    call(tools, "Write", {"file_path": "a", "content": "four\n"})
    assert (tmp_path / "a").read_text() == "four\n"


def test_a_file_deleted_after_reading_can_be_written(tmp_path: Path) -> None:
    tools = toolbox(tmp_path, tmp_path / "scratch")
    call(tools, "Write", {"file_path": "a", "content": "one\n"})
    (tmp_path / "a").unlink()
    assert call(tools, "Write", {"file_path": "a", "content": "two\n"}).structured["type"] == "create"


def test_lone_surrogates_are_replaced(tmp_path: Path) -> None:
    tools = toolbox(tmp_path, tmp_path / "scratch")
    call(tools, "Write", {"file_path": "a", "content": "x\ud83dy\n"})
    assert (tmp_path / "a").read_text("utf-8") == "x\ufffdy\n"


def test_an_added_folder_may_be_reached_by_a_link(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "f").write_text("old")
    (tmp_path / "ws" / "l").symlink_to("../more/f")
    tools = toolbox(tmp_path / "ws", tmp_path / "scratch", add_dirs=(str(tmp_path / "more"),))
    call(tools, "Write", {"file_path": "l", "content": "new"})
    assert ((tmp_path / "more" / "f").read_text(), (tmp_path / "ws" / "l").is_symlink()) == ("new", True)
    (tmp_path / "more2").mkdir()
    (tmp_path / "more2" / "f").write_text("old")
    (tmp_path / "ws" / "m").symlink_to("../more2/f")
    with pytest.raises(ToolFailed, match="leaves the workspace"):
        call(tools, "Edit", {"file_path": "m", "old_string": "old", "new_string": "new"})
    assert (tmp_path / "more2" / "f").read_text() == "old"
