"""Rules that were saved with answers: read, added, and left out where they do not count."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from yume_shim.config.saved_rules import MAX_RULES, read_saved_rules, save_rules


class Place:
    def __init__(self, root: Path) -> None:
        self.env = {"HOME": str(root / "home")}
        self.file = root / "home" / ".yume" / "permissions.json"
        self.work, self.other = root / "work", root / "other"
        self.work.mkdir()
        self.other.mkdir()
        self.logged: list[str] = []

    def read(self, folder: Path) -> tuple[str, ...]:
        return read_saved_rules(self.env, str(folder), lambda level, text: self.logged.append(text))

    def save(self, scope: str, *rules: str) -> None:
        save_rules(self.env, str(self.work), scope, rules)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_rules_count_in_their_folder_or_everywhere(place: Place) -> None:
    place.save("project", "Bash(make:*)", "Read")
    place.save("project", "Bash(make:*)", "Edit(//x)")
    place.save("user", "WebFetch(domain:example.com)")
    assert place.read(place.work) == ("WebFetch(domain:example.com)", "Bash(make:*)", "Read", "Edit(//x)")
    assert place.read(place.other) == ("WebFetch(domain:example.com)",)
    (place.other / "link").symlink_to(place.work)
    assert place.read(place.other / "link") == place.read(place.work)
    assert os.name == "nt" or os.stat(place.file).st_mode & 0o777 == 0o600
    assert place.logged == []


def test_the_number_of_rules_is_limited(place: Place) -> None:
    place.save("user", *(f"Bash({number})" for number in range(MAX_RULES + 5)))
    assert place.read(place.work)[0] == "Bash(5)"


@pytest.mark.parametrize("text", ["{", "[]", "x" * 2_000_000])
def test_a_damaged_file_grants_nothing_and_is_not_overwritten(place: Place, text: str) -> None:
    place.file.parent.mkdir(parents=True)
    place.file.write_text(text)
    assert place.read(place.work) == ()
    assert len(place.logged) == 1
    with pytest.raises(OSError, match=r"not valid|longer"):
        place.save("user", "Read")
    assert place.file.read_text() == text


@pytest.mark.parametrize("whole", [{"user": 1}, {"folders": []}, {"user": {"allow": [1, {}]}}])
def test_parts_of_a_wrong_type_are_left_out(place: Place, whole: object) -> None:
    place.file.parent.mkdir(parents=True)
    place.file.write_text(json.dumps(whole))
    assert place.read(place.work) == ()
