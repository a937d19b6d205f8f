"""Threads that import at the same time neither see a half-initialised module nor deadlock."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

DEADLINE = 60
PRELUDE = """
import importlib, os, random, sys, threading, time
sys.path.insert(0, sys.argv[1])
from yume_shim.host import imports
if "bare" not in sys.argv:
    imports.one_at_a_time()
    imports.one_at_a_time()
def statement(name): exec(f"import {name}", {})
def from_import(name): exec(f"from {name} import BASE", {})
def dunder(name): __import__(name)
def import_module(name): importlib.import_module(name)
def reload(name): importlib.reload(sys.modules[name])
"""


def run(folder: Path, story: str, *arguments: str) -> str:
    """What the story prints in a fresh interpreter, with `folder` on its module path."""
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + story, str(folder), *arguments],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=True,
    )
    return done.stdout


LEFT = """
import __main__ as stage
stage.left_loading.set()
stage.right_loading.wait(stage.PATIENCE)
import right_half
stage.right_done.wait(stage.PATIENCE)
BASE = 1
"""
RIGHT = """
import __main__ as stage
stage.right_loading.set()
stage.wait_until_blocked(stage.threads[0])
import left_half
"""
CIRCLE = """
# with the lock the second thread never gets this far, so the first one must not wait long for it
PATIENCE = 0.3 if sys.argv[2] == "guarded" else 20
left_loading, right_loading, right_done, broken = threading.Event(), threading.Event(), threading.Event(), []
def wait_until_blocked(thread):
    for _ in range(1000):
        if thread is threading.current_thread() or not thread.is_alive():
            return
        if "importlib" in sys._current_frames()[thread.ident].f_code.co_filename:
            return
        time.sleep(0.01)
def load(name):
    try:
        __import__(name)
        sys.modules["left_half"].BASE
    except Exception as error:
        broken.append(f"{name}: {error}")
    if name == "right_half":
        right_done.set()
threads = [threading.Thread(target=load, args=(name,)) for name in ("left_half", "right_half")]
threads[0].start()
left_loading.wait(20)
threads[1].start()
[thread.join(20) for thread in threads]
print(broken)
"""


@pytest.mark.parametrize("how", ["guarded", "bare"])
def test_circular_imports_on_two_threads(how: str, tmp_path: Path) -> None:
    (tmp_path / "left_half.py").write_text(LEFT)
    (tmp_path / "right_half.py").write_text(RIGHT)
    # "bare" shows that the lock is needed: the second thread gets a left half without its BASE
    assert (run(tmp_path, CIRCLE, how) == "[]\n") is (how == "guarded")


MEETING = """
import __main__ as stage
stage.loading.set()
assert stage.waiting.wait(5)
stage.wait_until_blocked(stage.second)
import needed_later
BASE = 1
"""
TWO_WAYS = """
loading, waiting, finished = threading.Event(), threading.Event(), []
def wait_until_blocked(thread):  # inside the import machinery, no longer in this script
    if thread is threading.current_thread():
        return
    for _ in range(500):
        frame = sys._current_frames()[thread.ident]
        if "importlib" in frame.f_code.co_filename or frame.f_code.co_filename == imports.__file__:
            time.sleep(0.05)
            return
        time.sleep(0.01)
def first_thread():
    globals()[sys.argv[2]]("meeting")
    finished.append("first")
def second_thread():
    loading.wait(5)
    waiting.set()
    globals()[sys.argv[3]]("meeting")
    finished.append("second")
first, second = (threading.Thread(target=work, daemon=True) for work in (first_thread, second_thread))
first.start()
second.start()
begun = time.monotonic()
[thread.join(20) for thread in (first, second)]
print(sorted(finished), time.monotonic() - begun < 8, hasattr(sys.modules["meeting"], "BASE"), flush=True)
os._exit(0)
"""


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("import_module", "statement"),
        ("import_module", "from_import"),
        ("import_module", "import_module"),
        ("statement", "import_module"),
        ("dunder", "statement"),
    ],
)
def test_two_threads_that_import_one_module_both_finish(first: str, second: str, tmp_path: Path) -> None:
    """The first thread is in the middle of the module and about to import another one; the second waits for it."""
    (tmp_path / "meeting.py").write_text(MEETING)
    (tmp_path / "needed_later.py").write_text("")
    assert run(tmp_path, TWO_WAYS, first, second) == "['first', 'second'] True True\n"


def test_a_reload_and_an_import_that_reloads_the_same_module_both_finish(tmp_path: Path) -> None:
    (tmp_path / "meeting.py").write_text(
        "import __main__ as stage\nif stage.reloading:" + MEETING.replace("\n", "\n    ")
    )
    (tmp_path / "needed_later.py").write_text("")
    (tmp_path / "reloads.py").write_text("import importlib, meeting\nimportlib.reload(meeting)\n")
    story = TWO_WAYS.replace('globals()[sys.argv[3]]("meeting")', 'statement("reloads")')
    story = "reloading = False\nimport meeting\nreloading = True\n" + story
    assert run(tmp_path, story, "reload", "-") == "['first', 'second'] True True\n"


STRESS = """
names = [f"{side}_{number}" for number in range(40) for side in ("left", "right")]
ways = [statement, dunder, import_module, statement, dunder, import_module]
broken, together = [], threading.Barrier(len(ways))
def load(way, seed):
    order = names[:]
    random.Random(seed).shuffle(order)
    together.wait(5)
    for name in order:
        try:
            way(name)
            sys.modules[name].use()
        except Exception as error:
            broken.append(f"{way.__name__} {name}: {error!r}")
sys.setswitchinterval(0.0001)
threads = [threading.Thread(target=load, args=(way, seed), daemon=True) for seed, way in enumerate(ways)]
[thread.start() for thread in threads]
[thread.join(30) for thread in threads]
print(broken, sum(thread.is_alive() for thread in threads), flush=True)
os._exit(0)
"""


def test_many_circular_imports_in_every_way(tmp_path: Path) -> None:
    for number in range(40):
        for side, other in (("left", "right"), ("right", "left")):
            how = f"import {other}_{number}" if number % 2 else f"importlib.import_module('{other}_{number}')"
            body = f"import importlib, time\ntime.sleep(0.001)\n{how}\ntime.sleep(0.001)\nBASE = 1\n"
            body += f"def use():\n    import {other}_{number} as other\n    return BASE + other.BASE\n"
            (tmp_path / f"{side}_{number}.py").write_text(body)
    assert run(tmp_path, STRESS) == "[] 0\n"


JOINS = """
import threading
done = []
def work():
    import needed_later
    done.append(True)
thread = threading.Thread(target=work)
thread.start()
thread.join(20)
BASE = len(done)
"""


def test_a_module_that_waits_for_an_importing_thread_loads_slowly(tmp_path: Path) -> None:
    (tmp_path / "joins.py").write_text(JOINS)
    (tmp_path / "needed_later.py").write_text("")
    story = "imports.LONGEST_WAIT_S = 0.2\nimport joins\nimport needed_later\nprint(joins.BASE)\n"
    assert run(tmp_path, story) == "1\n"


def test_an_import_that_began_before_the_lock_was_installed(tmp_path: Path) -> None:
    body = "from yume_shim.host import imports\nimports.one_at_a_time()\nimport needed_later\nBASE = 1\n"
    (tmp_path / "installs.py").write_text(body)
    (tmp_path / "needed_later.py").write_text("")
    assert run(tmp_path, "import installs\nprint(installs.BASE)\n", "bare") == "1\n"


def test_a_failed_import_leaves_the_lock_free(tmp_path: Path) -> None:
    (tmp_path / "fails.py").write_text("raise ValueError('no')\n")
    (tmp_path / "works.py").write_text("BASE = 1\n")
    story = """
for way in (statement, import_module):
    try:
        way("fails")
    except ValueError as error:
        print(error)
thread = threading.Thread(target=statement, args=("works",))
begun = time.monotonic()
thread.start()
thread.join(20)
print("works" in sys.modules, time.monotonic() - begun < 5)
"""
    assert run(tmp_path, story) == "no\nno\nTrue True\n"
