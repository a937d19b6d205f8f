"""Glob, Grep and LS under load, cancelled, and against hostile patterns."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.fakes import cancel
from tests.helpers.timing import SOON
from tests.helpers.tool_cases import call, toolbox, without_ripgrep
from yume_shim.tools.search import walk
from yume_shim.tools.search.fallback import FILE_TYPES
from yume_shim.tools.search.search_process import ripgrep_argv
from yume_shim.tools.shell.processes import find_program
from yume_shim.types.errors import Cancelled, ToolFailed

if TYPE_CHECKING:
    from pathlib import Path

SEARCHERS = [
    pytest.param(False, id="fallback"),
    pytest.param(True, id="ripgrep", marks=pytest.mark.ripgrep),
]


def env_for(ripgrep: bool) -> dict[str, str]:
    return {} if ripgrep else without_ripgrep()


def stopped_after(folder: Path, name: str, given: dict[str, Any], seconds: float) -> float:
    """Run a call, cancel it after some time; how long after that it took to raise."""
    tools = toolbox(folder, folder / "scratch", without_ripgrep())
    stop = cancel()
    set_at: list[float] = []

    def set_it() -> None:
        set_at.append(time.monotonic())
        stop.set()

    threading.Timer(seconds, set_it).start()
    with pytest.raises(Cancelled):
        call(tools, name, given, "1", stop=stop)
    return time.monotonic() - set_at[0]


def test_an_exponential_pattern_can_be_stopped(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a" * 60 + "b\n")
    assert stopped_after(tmp_path, "Grep", {"pattern": "(a+)+$"}, 0.5) < SOON


@pytest.fixture(scope="module")
def big_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("big")
    for number in range(12_000):
        (top / f"f{number:05}.txt").touch()
    return top


def test_a_big_folder(big_folder: Path) -> None:
    tools = toolbox(big_folder, big_folder / "scratch")
    found = call(tools, "Glob", {"pattern": "**/*.txt"}).structured
    assert (found["numFiles"], found["truncated"], found["totalMatches"]) == (100, True, 12_000)
    listed = call(tools, "LS", {}).structured
    assert (listed["numEntries"], listed["truncated"]) == (1_000, True)


def test_the_budget_ends_a_walk(big_folder: Path) -> None:
    from yume_shim.text.path_patterns import PathPattern

    budget = walk.Budget(cancel(), entries=1_000)
    assert len(list(walk.matching_files(str(big_folder), PathPattern("**"), budget))) == 999
    assert budget.spent
    late = walk.Budget(cancel(), seconds=-1)
    assert len(list(walk.matching_files(str(big_folder), PathPattern("**"), late))) < 1_000
    stop = cancel()
    stop.set()
    with pytest.raises(Cancelled):
        list(walk.matching_files(str(big_folder), PathPattern("**"), walk.Budget(stop)))


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("secret\n")
    ws = tmp_path / "ws"
    ws.mkdir()
    (ws / "out").symlink_to("../outside")
    (ws / "file").symlink_to("../outside/secret.txt")
    (ws / "loop").symlink_to(".")
    tools = toolbox(ws, tmp_path / "scratch", without_ripgrep())
    assert call(tools, "Glob", {"pattern": "**/*.txt"}).content == "No files found"
    assert call(tools, "Grep", {"pattern": "secret"}).content == "No files found"
    assert call(tools, "LS", {}).structured["entries"] == ["file", "loop", "out"]


@pytest.mark.skipif(sys.platform == "win32", reason="paths are short there")
def test_very_deep_folders(tmp_path: Path) -> None:
    here = tmp_path
    for _ in range(600):
        here = here / "d"
    os.makedirs(here)
    tools = toolbox(tmp_path, tmp_path / "scratch")
    assert call(tools, "LS", {}).structured["numEntries"] == 600
    assert call(tools, "Glob", {"pattern": "**/*.txt"}).content == "No files found"


@pytest.mark.parametrize("ripgrep", SEARCHERS)
def test_too_many_matches(tmp_path: Path, ripgrep: bool) -> None:
    (tmp_path / "a.txt").write_text("match\n" * 150_000)
    tools = toolbox(tmp_path, tmp_path / "scratch", env_for(ripgrep))
    output = call(tools, "Grep", {"pattern": "match", "output_mode": "content"})
    assert isinstance(output.content, str)
    assert output.content.count("\n") == 250
    assert output.content.endswith("the search was ended early: narrow it)")
    count = call(tools, "Grep", {"pattern": "match", "output_mode": "count"})
    assert count.structured["numMatches"] == 150_000
    everything = call(tools, "Grep", {"pattern": "match", "output_mode": "content", "head_limit": 0})
    assert len(everything.content) < 31_000


@pytest.mark.parametrize("ripgrep", SEARCHERS)
@pytest.mark.parametrize("pattern", ["-e", "--pre=touch pwned", "a'; touch pwned; '", "$(touch pwned)"])
def test_a_pattern_is_never_an_option_or_a_command(tmp_path: Path, ripgrep: bool, pattern: str) -> None:
    (tmp_path / "a.txt").write_text("-e\n")
    tools = toolbox(tmp_path, tmp_path / "scratch", env_for(ripgrep))
    call(tools, "Grep", {"pattern": pattern, "glob": "--pre=touch", "type": "txt"})
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.skipif(sys.platform == "win32", reason="no file has such a name there")
@pytest.mark.parametrize("ripgrep", SEARCHERS)
def test_odd_names(tmp_path: Path, ripgrep: bool) -> None:
    for name in ("with:colon:1:.txt", "-dash", "new\nline", "ünï"):
        (tmp_path / name).write_text("hit\n")
    tools = toolbox(tmp_path, tmp_path / "scratch", env_for(ripgrep))
    found = call(tools, "Grep", {"pattern": "hit", "output_mode": "files_with_matches"}).structured["filenames"]
    assert sorted(found) == ["-dash", "new\nline", "with:colon:1:.txt", "ünï"]
    shown = call(tools, "Grep", {"pattern": "hit", "path": "-dash", "output_mode": "content"})
    assert shown.content == "-dash:1:hit"


@pytest.mark.parametrize("ripgrep", SEARCHERS)
def test_ignore_rules_above_the_folder_searched(tmp_path: Path, ripgrep: bool) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("sub/out/\n")
    for name in ("out", "src"):
        (tmp_path / "sub" / name).mkdir(parents=True)
        (tmp_path / "sub" / name / "a.txt").write_text("hit\n")
    tools = toolbox(tmp_path / "sub", tmp_path / "scratch", env_for(ripgrep))
    assert call(tools, "Grep", {"pattern": "hit"}).content == "Found 1 file\nsrc/a.txt"


@pytest.mark.parametrize("ripgrep", SEARCHERS)
def test_bytes_that_are_not_text(tmp_path: Path, ripgrep: bool) -> None:
    (tmp_path / "l.txt").write_bytes(b"gr\xfcn hit\n")
    (tmp_path / "u.txt").write_bytes("\ufeffhit\n".encode("utf-16-le"))
    tools = toolbox(tmp_path, tmp_path / "scratch", env_for(ripgrep))
    assert call(tools, "Grep", {"pattern": "hit", "output_mode": "content"}).content == (
        "l.txt:1:gr\ufffdn hit\nu.txt:1:hit"
    )


def test_ripgrep_runs_without_config_and_with_a_bare_pattern() -> None:
    job = {
        "pattern": "-x",
        "top": "/t",
        "mode": "content",
        "globs": ["*.py", "!a/*"],
        "type": "py",
        "ignore_case": True,
        "multiline": True,
        "before": 1,
        "after": 2,
    }
    argv = ripgrep_argv("/bin/rg", job)
    assert argv[:2] == ["/bin/rg", "--no-config"]
    assert argv[-3:] == ["--regexp=-x", "--", "/t"]
    assert [word for word in argv if word.startswith("--glob=") and "*" in word] == ["--glob=**/*.py", "--glob=!**/a/*"]


@pytest.mark.ripgrep
def test_our_file_types_are_ripgreps(tmp_path: Path) -> None:
    tools = toolbox(tmp_path, tmp_path / "scratch")
    for name in FILE_TYPES:
        assert call(tools, "Grep", {"pattern": "x", "type": name}).content == "No files found"


@pytest.mark.skipif(sys.platform == "win32", reason="programs have endings there")
def test_a_searcher_that_cannot_start(tmp_path: Path) -> None:
    fake = tmp_path / "bin" / "rg"
    fake.parent.mkdir()
    fake.write_text("#!/nonexistent/interpreter\n")
    fake.chmod(0o755)
    (tmp_path / "work").mkdir()
    tools = toolbox(tmp_path / "work", tmp_path / "scratch", {"PATH": str(fake.parent)})
    with pytest.raises(ToolFailed, match=r"^The search could not be started"):
        call(tools, "Grep", {"pattern": "x"})


@pytest.mark.skipif(sys.platform == "win32", reason="programs have endings there")
def test_find_program(tmp_path: Path) -> None:
    (tmp_path / "tool").write_text("")
    path = os.pathsep.join(("", str(tmp_path / "missing"), str(tmp_path)))
    assert find_program("tool", path) == ""
    (tmp_path / "tool").chmod(0o755)
    assert find_program("tool", path) == str(tmp_path / "tool")
