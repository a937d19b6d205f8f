"""Large output where nothing can be saved: a read-only home, a full disk. The model gets both ends, and the truth."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.helpers import child
from tests.helpers.scripted_model import ModelServer, call, say
from tests.helpers.vendor_place import FLAT, MODELS, VendorPlace

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.skipif(sys.platform != "linux", reason="mounts a file system"), pytest.mark.root]

MOUNT = 'mount -t tmpfs -o "$SHIM_MOUNT" tmpfs "$HOME/.claude" && exec "$0" -m yume_shim "$@"'
PROGRAM = ("unshare", "--mount", "sh", "-c", MOUNT, sys.executable)
LONG = "echo first line; seq 1 60000; echo last line"
"""About 340 KB."""
MIDDLE = "echo first line; seq 1 9000; echo last line"
"""About 44 KB: fits into memory, too long to show."""


@pytest.mark.parametrize(
    ("mount", "reason"), [("ro", "Read-only file system"), ("size=128k", "No space left on device")]
)
def test_output_that_cannot_be_saved_shows_both_ends_and_says_so(tmp_path: Path, mount: str, reason: str) -> None:
    answers = [call("Bash", command=LONG)], [call("Bash", command=f"{LONG}; exit 3")], [call("Bash", command=MIDDLE)]
    started = [call("Bash", command="echo from afar", run_in_background=True)]
    background = (started, [call("TaskOutput", task_id="bash_1")])
    with ModelServer(*answers, *background, [say("Done.")]) as server:
        place = VendorPlace(tmp_path, server)
        (place.home / ".claude").mkdir()
        env = place.env | {"SHIM_MOUNT": mount}
        words = [*FLAT, "--model", MODELS["openai-chat"], "--permission-mode", "bypassPermissions"]
        script = [{"type": "user", "content": "Go."}, {"!after": "result"}]
        ended = child.run(words, script, cwd=place.cwd, env=env | {"IS_SANDBOX": "1"}, program=PROGRAM)
    results = [line["content"] for line in ended.lines if line["type"] == "tool_result"]
    long, failed, middle, told, afar = results
    for text in (long, failed) if mount != "ro" else (long, failed, middle):
        assert "first line" in text[:100]
        assert text.endswith("last line")
        assert f"could not be saved ({reason})" in text
        assert "saved to" not in text
        assert len(text) < 31_000
    assert failed.startswith("Exit code 3\n")
    if mount == "ro":
        assert f"Its output cannot be saved ({reason})" in told
    assert "from afar" in afar
    assert ended.lines[-2]["subtype"] == "success"
