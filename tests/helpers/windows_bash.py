"""The bash of the tests on Windows: a file of that name, which makes the Bash tool be offered, or a real one.

`scripts/test_windows.py` puts it beside the interpreter's folder: an empty file, unless `WINDOWS_BASH` names a
`bash.exe` to use. Tests that start commands are skipped without a real one.
"""

from __future__ import annotations

import sys
from pathlib import Path

BASH = Path(sys.executable).parent.parent / "bash" / "bin" / "bash.exe"
NO_BASH = "no bash for Windows" if sys.platform == "win32" and not (BASH.is_file() and BASH.stat().st_size) else ""
"""Why no command can be started here; "" where one can."""


def bash_for_windows() -> dict[str, str]:
    """The variable that names it; nothing on other systems, and where it is missing."""
    return {"CLAUDE_CODE_GIT_BASH_PATH": str(BASH)} if sys.platform == "win32" and BASH.is_file() else {}
