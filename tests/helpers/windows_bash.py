"""The bash of the tests on Windows: brush, a shell in the manner of bash, which also runs under Wine.

`scripts/test_windows.py` puts it beside the interpreter's folder. It is named for the tests that need a bash; the
others see a Windows without one.
"""

from __future__ import annotations

import sys
from pathlib import Path

BASH = Path(sys.executable).parent.parent / "bash" / "bin" / "bash.exe"


def bash_for_windows() -> dict[str, str]:
    """The variable that names it; nothing on other systems, and where it is missing."""
    return {"CLAUDE_CODE_GIT_BASH_PATH": str(BASH)} if sys.platform == "win32" and BASH.is_file() else {}
