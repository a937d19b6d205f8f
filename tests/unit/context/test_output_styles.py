"""Output styles: built in, and from real files."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from yume_shim.context.output_styles import BUILT_IN, MAX_STYLES, Style, StyleFolder, find_styles, style_note


def find(*folders: StyleFolder, hidden: tuple[str, ...] = ()) -> tuple[dict[str, Style], list[str]]:
    warnings: list[str] = []
    return find_styles(folders, lambda path: os.path.basename(path) in hidden, warnings.append), warnings


def own(found: dict[str, Style]) -> list[Style]:
    return [style for style in found.values() if style not in BUILT_IN]


def test_without_files_the_built_in_styles_are_there(tmp_path: Path) -> None:
    found, warnings = find(StyleFolder(str(tmp_path / "none")))
    assert (list(found), warnings) == (["Proactive", "Concise", "Explanatory", "Learning"], [])


def test_files_of_several_folders(tmp_path: Path) -> None:
    for folder, name, text in (
        ("user", "pirate.md", "---\nname: Pirate\ndescription: x\n---\nArr.\n"),
        ("user", "plain.md", "No header."),
        ("user", "empty.md", "---\nname: Empty\n---\n"),
        ("user", "notes.txt", "no style"),
        ("project", "pirate.md", "---\nname: Pirate\nkeep-coding-instructions: false\n---\nAhoy."),
        ("plugin", "a.md", "---\nkeep-coding-instructions: true\n---\nText"),
    ):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / name).write_text(text)
    found, warnings = find(
        StyleFolder(str(tmp_path / "plugin"), prefix="kit:"),
        StyleFolder(str(tmp_path / "user")),
        StyleFolder(str(tmp_path / "project"), str(tmp_path / "project")),
    )
    assert own(found) == [
        Style("kit:a", "Text"),
        Style("Pirate", "Ahoy.", keeps_coding=False),
        Style("plain", "No header."),
    ]
    assert warnings == []
    assert style_note(found["plain"]) == "<system-reminder>\n# Output Style: plain\n\nNo header.\n</system-reminder>"


@pytest.mark.skipif(sys.platform == "win32", reason="no named pipes in folders there")
def test_hostile_files_are_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (tmp_path / "secret.md").write_text("SECRET")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    (folder / "denied.md").write_text("SECRET")
    (folder / "folder.md").mkdir()
    os.mkfifo(folder / "pipe.md")
    (folder / "long.md").write_text("x" * 300_000)
    found, warnings = find(StyleFolder(str(folder), str(folder)), hidden=("denied.md",))
    assert [(style.name, len(style.text)) for style in own(found)] == [("long", 100_000)]
    assert [text.split(" is ignored: ")[1] for text in warnings] == [
        "a permission rule denies reading it",
        "it cannot be read (not a regular file)",
        "it cannot be read (not a regular file)",
    ]


def test_the_number_of_styles_is_limited(tmp_path: Path) -> None:
    for number in range(MAX_STYLES + 20):
        (tmp_path / f"{number:04}.md").write_text("x")
    assert len(own(find(StyleFolder(str(tmp_path)))[0])) == MAX_STYLES
