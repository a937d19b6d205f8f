"""Attacks by paths, through the whole call pipeline: links, `..` after links, hard links, swapped folders.

Each row is really called in every mode in which it must not work; then the workspace and the folder next to it must be
unchanged, and nothing that is outside or hidden may have been shown.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.attack_world import EVERY, World, call
from tests.helpers.fakes import cancel
from tests.helpers.path_fuzz import fuzz
from yume_shim.engine.attach import attachments
from yume_shim.types.blocks import Text, ToolCall
from yume_shim.types.outputs import ToolContext
from yume_shim.types.settings import Rules

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")

CANARIES = ("OUTSIDE", "SECRET", "HIDDEN")

OUT = [
    "slink/../o.txt",
    "./slink/../o.txt",
    "slink/./../o.txt",
    "slink//../o.txt",
    "slink/../deep/../o.txt",
    "slink/../../outside/o.txt",
    "sub/../slink/../o.txt",
    "sub/up/slink/../o.txt",
    "{space}/slink/../o.txt",
    "{space}//slink/../o.txt",
    "{space}/sub/../slink/../o.txt",
    "chain1/../o.txt",
    "chain3/../o.txt",
    "dlink/o.txt",
    "dlink/deep/../o.txt",
    "dlink/deep/back/o.txt",
    "flink",
    "sub/flink2",
    "sub/../flink",
    "abs/../o.txt",
    "rel/../o.txt",
    "slink/up2/outside/o.txt",
    "../outside/o.txt",
    "../work/slink/../o.txt",
    "../work-sibling/../outside/o.txt",
    "{outside}/o.txt",
    "{outside}/deep/../o.txt",
    "odd name\n/../o.txt",
    "-x/../o.txt",
    "ü/../o.txt",
    "...link/../o.txt",
    "*/../o.txt",
    "[a]/../o.txt",
    "self/slink/../o.txt",
    "self/self/self/slink/../o.txt",
]
"""Paths that lead to a file outside, whatever they look like."""

HIDDEN = [
    "hidden/key",
    "./hidden/key",
    "sub/../hidden/key",
    "hlink/../key",
    "sub/hlink2/../key",
    "{space}/hlink/../key",
    "hidden/in/../key",
    "keylink",
    "sub/keylink2",
    "hfolder/key",
    "hfolder/in/../key",
    "hlink/back/hidden/key",
    "self/hidden/key",
    "self/hlink/../key",
    "self/self/keylink",
    "dlink/into/key",
    "slink/../into/key",
    "slink/../into/in/../key",
    "missing/../hidden/key",
    "a.txt/../hidden/key",
    "sub/missing/../../hidden/key",
    "~root/key",
]
"""Paths that lead to a file that `Read(./hidden/**)` hides."""

NEW = [
    "slink/../new",
    "slink/../dlink2/new",
    "slink/../newfolder/new",
    "sub/../slink/../new",
    "dlink/new",
    "dlink/newfolder/deep/new",
    "dangling",
    "dangling2/new",
    "chain3/../new",
    "self/slink/../new",
    "../new",
    "../work-sibling/new",
    "{outside}/new",
    "{space}/slink/../new",
    "gitlink/hooks/pre-commit",
    "sub/../gitlink/hooks/post-checkout",
    "inlink/../../gitlink/hooks/x",
    "inlink/../../.git/hooks/x",
    "self/.git/hooks/x",
    "slink/../../work/.git/hooks/x",
    "dlink/towork/.git/hooks/x",
    "hooks/pre-push",
    "self/gitlink/config",
    "claudelink/settings.json",
    "inlink/../../.claude/settings.json",
]
"""Paths at which nothing may be created: outside, or where git and other programs look for things to run."""

DECOY = [
    "inlink/../flink",
    "inlink/../dlink/o.txt",
    "inlink/../slink/../o.txt",
    "inlink/../chain1/../o.txt",
    "inlink/../abs/../o.txt",
    "inlink/../dlink/new",
    "inlink/../dlink/deep/new",
    "inlink/../dangling",
    "inlink/../dangling2/new",
    "inlink/../gitlink/hooks/x",
    "inlink/../gitlink/config",
    "inlink/../hooks/pre-commit",
    "inlink/../claudelink/settings.json",
    "inlink/../keylink",
    "inlink/../hfolder/key",
    "inlink/../hidden/key",
    "inlink/../hlink/../key",
    "self/inlink/../flink",
    "self/inlink/../dlink/o.txt",
    "self/inlink/../keylink",
    "{space}/inlink/../flink",
    "{space}/inlink/../dlink/new",
    "{space}/inlink/../gitlink/hooks/x",
]
"""Paths that lead below `sub`, where nothing is, and that look as if they led through a link beside `inlink`."""

BINDING = ("Read", "Edit")


def lay(world: World) -> None:
    space, outside = world.space, world.outside
    for folder in (outside / "deep" / "x", space / "sub" / "deep", space / "hidden" / "in"):
        folder.mkdir(parents=True)
    (outside / "nb.ipynb").write_text(
        '{"cells": [], "nbformat": 4, "nbformat_minor": 4, "metadata": {}, "o": "OUTSIDE"}'
    )
    (space / "o.txt").write_text("inside, same name\n")
    (space / "key").write_text("inside, same name\n")
    (space / "sub" / "f").write_text("SUB\n")
    (space / "hidden" / "key").write_text("HIDDEN\n")
    links = {
        "slink": "../outside/deep",
        "chain1": "chain2",
        "chain2": "chain3",
        "chain3": "sub/../slink",
        "dlink": "../outside",
        "flink": "../outside/o.txt",
        "sub/flink2": "../flink",
        "sub/up": "..",
        "abs": f"{outside}/deep",
        "rel": "sub/../../outside/deep",
        "self": ".",
        "inlink": "sub/deep",
        "odd name\n": "slink",
        "-x": "slink",
        "ü": "slink",
        "...link": "slink",
        "*": "slink",
        "[a]": "slink",
        "hlink": "hidden/in",
        "sub/hlink2": "../hidden/in",
        "keylink": "hidden/key",
        "sub/keylink2": "../keylink",
        "hfolder": "hidden",
        "hidden/in/back": "../..",
        "~root": "hidden",
        "gitlink": ".git",
        "hooks": ".git/hooks",
        "dangling": "../outside/nothing",
        "dangling2": "../outside/nofolder",
        "claudelink": ".claude",
    }
    for name, target in links.items():
        (space / name).symlink_to(target)
    (outside / "into").symlink_to(space / "hidden")
    (outside / "towork").symlink_to(space)
    (outside / "dlink2").symlink_to(outside / "deep")
    (outside / "deep" / "back").symlink_to("..")
    (outside / "deep" / "up2").symlink_to("../..")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path.resolve())
    lay(made)
    yield made
    made.close()


def full(world: World, path: str) -> str:
    return path.format(space=world.space, outside=world.outside)


def rules(world: World, mode: str) -> Rules:
    """In bypassPermissions only rules protect: they hide and lock everything that the rows aim at."""
    deny = [f"{tool}(./hidden/**)" for tool in BINDING]
    if mode == "bypassPermissions":
        places = (world.outside, world.space / ".git", world.space / ".claude", world.base / "work-sibling")
        deny += [f"{tool}(/{place}/**)" for tool in BINDING for place in places]
        deny += [f"{tool}(/{world.base}/new)" for tool in BINDING]
    return Rules(deny=tuple(deny))


def spoken(finished: Any) -> str:
    return f"{finished.result.content} {finished.structured}"


def calls_with(path: str) -> list[tuple[str, dict[str, Any]]]:
    """Every tool that could show or change the file."""
    edit = {"old_string": "S", "new_string": "target"}
    folder = path.rpartition("/")[0] or "."
    return [
        ("Read", {"file_path": path}),
        ("Edit", {"file_path": path, **edit}),
        ("MultiEdit", {"file_path": path, "edits": [edit]}),
        ("Write", {"file_path": path, "content": "target"}),
        ("Grep", {"pattern": "[A-Z]{5}", "path": path, "output_mode": "content"}),
        ("Glob", {"pattern": "*.ipynb", "path": folder}),
    ]


def test_the_rows_really_lead_there(world: World) -> None:
    """Without the gate each row reaches its target, so the tables test attacks that work."""
    for path, word in [(p, "OUTSIDE") for p in OUT] + [(p, "HIDDEN") for p in HIDDEN]:
        if path.partition("/")[0] in ("missing", "a.txt") or "missing" in path:
            continue  # the kernel refuses these, programs that normalise paths do not
        with open(os.path.join(world.space, full(world, path))) as file:
            assert word in file.read(), path


@pytest.mark.parametrize("mode", EVERY)
def test_nothing_outside_is_shown_or_changed(world: World, mode: str) -> None:
    runner, before = world.runner(mode, rules(world, mode)), world.snapshot()
    for number, path in enumerate(OUT):
        for tool, given in calls_with(full(world, path)):
            finished = call(runner, number, tool, **given)
            assert not any(word in spoken(finished) for word in CANARIES), (tool, path)
            assert "nb.ipynb" not in str(finished.result.content), (tool, path)
            if tool != "Glob":
                assert finished.result.is_error, (tool, path)
    assert world.snapshot() == before


@pytest.mark.parametrize("mode", EVERY)
def test_nothing_hidden_is_shown_or_changed(world: World, mode: str) -> None:
    runner, before = world.runner(mode, rules(world, mode)), world.snapshot()
    for number, path in enumerate(HIDDEN):
        for tool, given in calls_with(full(world, path))[:-1]:
            finished = call(runner, number, tool, **given)
            assert not any(word in spoken(finished) for word in CANARIES), (tool, path)
            assert finished.result.is_error, (tool, path)
    assert world.snapshot() == before


@pytest.mark.parametrize("mode", EVERY)
def test_nothing_is_created_where_it_may_not_be(world: World, mode: str) -> None:
    runner, before = world.runner(mode, rules(world, mode)), world.snapshot()
    for number, path in enumerate(NEW):
        shown = full(world, path)
        for tool, given in (
            ("Write", {"file_path": shown, "content": "target"}),
            ("Edit", {"file_path": shown, "old_string": "", "new_string": "target"}),
            ("MultiEdit", {"file_path": shown, "edits": [{"old_string": "", "new_string": "target"}]}),
        ):
            assert call(runner, number, tool, **given).result.is_error, (tool, path)
            assert world.snapshot() == before, (tool, path)


@pytest.mark.parametrize("mode", EVERY)
def test_a_path_is_not_shortened_before_it_is_opened(world: World, mode: str) -> None:
    """The kernel's reading is inside the workspace, so the gate may allow it; then no other file may be used."""
    runner, before = world.runner(mode, rules(world, mode)), world.guarded()
    for number, path in enumerate(DECOY):
        for tool, given in calls_with(full(world, path)):
            finished = call(runner, number, tool, **given)
            assert not any(word in spoken(finished) for word in CANARIES), (tool, path)
            assert world.guarded() == before, (tool, path)


@pytest.mark.parametrize("mode", EVERY)
def test_notebooks(world: World, mode: str) -> None:
    runner, before = world.runner(mode, rules(world, mode)), world.snapshot()
    for number, path in enumerate(("slink/../nb.ipynb", "dlink/nb.ipynb", "self/slink/../nb.ipynb", "abs/../nb.ipynb")):
        given = {"notebook_path": path, "edit_mode": "insert", "cell_type": "code", "new_source": "x"}
        for tool, more in (("Read", {"file_path": path}), ("NotebookEdit", given)):
            finished = call(runner, number, tool, **more)
            assert finished.result.is_error, (tool, path)
            assert "OUTSIDE" not in spoken(finished)
    assert world.snapshot() == before


@pytest.mark.parametrize("mode", EVERY)
def test_mentioned_files(world: World, mode: str) -> None:
    services = world.runner(mode, rules(world, mode))._services
    paths = [full(world, path) for path in (*OUT, *HIDDEN) if "\n" not in path]
    for path in paths:
        notes = attachments(services, [Text(f'look at @"{path}" and @{path}')], cancel())
        assert not any(word in note for note in notes for word in CANARIES), path
    [inside] = attachments(services, [Text("see @inlink/../f")], cancel())
    assert "SUB" in inside


@pytest.mark.parametrize("mode", EVERY)
@pytest.mark.parametrize(
    "path", ["inlink/../f", "self/inlink/../f", "sub/deep/../f", "self/sub/f", "{space}/inlink/../f"]
)
def test_links_inside_the_workspace_are_read_unasked(world: World, mode: str, path: str) -> None:
    """A question too many is a defect as well, and so is another file than the kernel opens."""
    finished = call(world.runner(mode, Rules()), 1, "Read", file_path=full(world, path))
    assert (finished.result.is_error, "SUB" in str(finished.result.content)) == (None, True)


# ---------------------------------------------------------------- between the decision and the access

SWAPPED: list[tuple[str, dict[str, Any]]] = [
    ("Read", {"file_path": "sub/o.txt"}),
    ("Write", {"file_path": "sub/o.txt", "content": "target"}),
    ("Write", {"file_path": "sub/new", "content": "target"}),
    ("Write", {"file_path": "sub/more/new", "content": "target"}),
    ("Edit", {"file_path": "sub/o.txt", "old_string": "i", "new_string": "target"}),
    ("MultiEdit", {"file_path": "sub/o.txt", "edits": [{"old_string": "i", "new_string": "target"}]}),
    ("Grep", {"pattern": "OUTSIDE", "path": "sub", "output_mode": "content"}),
    ("Grep", {"pattern": "OUTSIDE", "path": "sub/o.txt", "output_mode": "content"}),
    ("Glob", {"pattern": "**/nb.ipynb", "path": "sub"}),
    ("LS", {"path": "sub"}),
]


READING = ("Read", "Grep", "Glob", "LS")
SWAPPED_BY_MODE = [
    (mode, tool, given)
    for mode in EVERY
    for tool, given in SWAPPED
    if tool in READING or mode in ("acceptEdits", "bypassPermissions")
]
"""Elsewhere a write is asked about, whatever its path is."""


@pytest.mark.parametrize("when", ["before the decision", "after the decision"])
@pytest.mark.parametrize(("mode", "tool", "given"), SWAPPED_BY_MODE)
def test_a_folder_swapped_for_a_link(world: World, tool: str, given: dict[str, Any], when: str, mode: str) -> None:
    """A background program of the model may replace a folder by a link at any moment; two moments matter: between the
    preparation of a call and its decision, and between the decision and the access."""
    (world.space / "sub" / "o.txt").write_text("i\n")
    services = world.runner(mode, rules(world, mode))._services
    box, gate = services.toolbox, services.gate
    away = world.base / "away"

    def swap() -> None:
        (world.space / "sub").rename(away)
        (world.space / "sub").symlink_to(world.outside)

    def swap_back() -> None:
        (world.space / "sub").unlink()
        away.rename(world.space / "sub")

    if when == "before the decision":
        swap()
    prepared = box.prepare(box.complete(ToolCall("c", tool, given)))
    if when == "before the decision":
        swap_back()  # the gate sees the innocent folder, and the tool must not use the one that was prepared
    decision = gate.decide(prepared.call, prepared.spec)
    assert decision.verdict == "allow"
    outside = sorted(os.listdir(world.outside)), (world.outside / "o.txt").read_bytes()
    swap()
    shown = ""
    try:
        shown = str(box.run(prepared.at(decision.judged), ToolContext("c", cancel())))
    except Exception as error:
        shown = str(error)
    assert "OUTSIDE\\n" not in shown
    assert "nb.ipynb" not in shown
    assert (sorted(os.listdir(world.outside)), (world.outside / "o.txt").read_bytes()) == outside


# ---------------------------------------------------------------- hard links


@pytest.mark.parametrize("mode", ["acceptEdits", "bypassPermissions"])
@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Write", {"file_path": "hard", "content": "target"}),
        ("Edit", {"file_path": "hard", "old_string": "OUT", "new_string": "target"}),
        ("MultiEdit", {"file_path": "hard", "edits": [{"old_string": "OUT", "new_string": "target"}]}),
        ("Write", {"file_path": "self/hard", "content": "target"}),
        ("Edit", {"file_path": "sub/../hard", "old_string": "OUT", "new_string": "target"}),
    ],
)
def test_the_other_name_of_a_hard_link_keeps_its_content(
    world: World, tool: str, given: dict[str, Any], mode: str
) -> None:
    os.link(world.outside / "o.txt", world.space / "hard")
    assert not call(world.runner(mode, Rules()), 1, tool, **given).result.is_error
    assert "target" in (world.space / "hard").read_text()
    assert (world.outside / "o.txt").read_text() == "OUTSIDE\n"


HARD_LINK_COMMANDS = [
    "echo x > hard",
    "echo x >> hard",
    "echo x >| self/hard",
    "cp a.txt hard",
    "echo x > sub/../hard",
    "echo x &> hard",
]


@pytest.mark.parametrize("mode", EVERY)
def test_commands_that_write_through_a_hard_link_are_asked_about(world: World, mode: str) -> None:
    os.link(world.outside / "o.txt", world.space / "hard")
    runner = world.runner(mode, Rules(deny=("Edit(./hard)",)) if mode == "bypassPermissions" else Rules())
    for number, command in enumerate(HARD_LINK_COMMANDS):
        assert call(runner, number, "Bash", command=command).result.is_error, command
        assert (world.outside / "o.txt").read_text() == "OUTSIDE\n", command


# ---------------------------------------------------------------- random paths


def test_random_paths(tmp_path: Path) -> None:
    """A short run of `scripts/fuzz_paths.py`."""
    found = fuzz(tmp_path, range(6), 24)
    assert found.problems == []
    assert found.counts["ran"] > 20
