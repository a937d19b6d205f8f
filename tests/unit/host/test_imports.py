"""Two threads that import modules which import each other never see a half-made one."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

LEFT = "import time\ntime.sleep(0.2)\nimport right_half\ntime.sleep(0.5)\nBASE = 1\n"
RIGHT = "import time\ntime.sleep(0.3)\nimport left_half\n"
STORY = """
import sys, threading, time
sys.path.insert(0, sys.argv[1])
if sys.argv[2] == "guarded":
    from yume_shim.host.imports import one_at_a_time
    one_at_a_time()
    one_at_a_time()
broken = []
def load(name):
    try:
        __import__(name)
        sys.modules["left_half"].BASE
    except Exception as error:
        broken.append(f"{name}: {error}")
threads = [threading.Thread(target=load, args=(name,)) for name in ("left_half", "right_half")]
threads[0].start()
time.sleep(0.05)
threads[1].start()
[thread.join(20) for thread in threads]
print(broken)
"""


@pytest.mark.parametrize("how", ["guarded", "bare"])
def test_threads_that_import_in_circles(how: str, tmp_path: Path) -> None:
    (tmp_path / "left_half.py").write_text(LEFT)
    (tmp_path / "right_half.py").write_text(RIGHT)
    done = subprocess.run(
        [sys.executable, "-c", STORY, str(tmp_path), how], capture_output=True, text=True, timeout=60, check=True
    )
    # bare shows that the danger is real: the second thread is handed a left half without its BASE
    assert (done.stdout == "[]\n") is (how == "guarded")
