r"""Attack rows of Windows for each tool and each way by which a path comes in. Runs on every system.

The session works in `C:\w`, where rules hide `secret.txt` and `vault`, and lock `locked.txt` (`windows_gate.py`).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.gates import decide
from tests.helpers.windows_gate import MODES, SHORT, SPELLINGS, verdicts, windows_gate
from yume_shim.config.build import build_settings
from yume_shim.config.setting_sources import SettingSources
from yume_shim.context.memory_files import imported_names
from yume_shim.context.mentions import mentioned

if TYPE_CHECKING:
    from pathlib import Path

EDIT_TOOLS: dict[str, tuple[str, dict[str, Any]]] = {
    "MultiEdit": ("file_path", {"edits": [{"old_string": "a", "new_string": "b"}]}),
    "NotebookEdit": ("notebook_path", {"new_source": "x", "cell_id": "c"}),
}


def spelled(spelling: str, name: str) -> str:
    return spelling.replace("{{0}}", "{0}").replace("{}", name).replace("^", name.upper())


# ---------------------------------------------------------------- tools


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tool", EDIT_TOOLS)
def test_no_spelling_is_edited_against_a_deny_rule(tool: str, mode: str) -> None:
    field, more = EDIT_TOOLS[tool]
    guard = windows_gate(mode)
    for spelling in SPELLINGS:
        for name in ("locked.txt", SHORT["locked.txt"]):
            path = spelled(spelling, name)
            assert verdicts(tool, field, path, mode, guard, **more) == {"deny"}, path


@pytest.mark.parametrize("tool", EDIT_TOOLS)
def test_edits_outside_are_asked_about(tool: str) -> None:
    field, more = EDIT_TOOLS[tool]
    guard = windows_gate("acceptEdits")
    assert decide(guard, tool, **{field: "other.txt"}, **more).verdict == "allow"
    for path in ("C:\\Users\\u\\private.txt", "away\\private.txt", "..\\x", "/c/x", ".git\\config", "GIT~1\\config"):
        assert verdicts(tool, field, path, "acceptEdits", guard, **more) == {"ask"}, path


FOLDERS = [spelling for spelling in SPELLINGS if "server@" not in spelling]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tool", ["LS", "Glob", "Grep"])
def test_no_spelling_lists_a_hidden_folder(tool: str, mode: str) -> None:
    guard = windows_gate(mode)
    more = {} if tool == "LS" else {"pattern": "*"}
    for spelling in [*FOLDERS, "joint", "joint\\", "VAULT~1", "C:\\w\\VAULT~1"]:
        path = spelled(spelling, "vault")
        assert verdicts(tool, "path", path, mode, guard, **more) == {"deny"}, path


PATTERNS = [
    *("vault/*", "vault\\*", "VAULT\\*", "Vault/**/*", ".\\vault\\**", "sub\\..\\vault\\*", "vault\\key.*"),
    *("C:\\w\\vault\\*", "c:\\W\\VAULT\\*", "C:/w/vault/*", "c:/W\\Vault/*.pem", "\\w\\vault\\*"),
    *("/c/w/vault/*", "/C/W/VAULT/*", "/mnt/c/w/vault/*", "/cygdrive/c/w/vault/*", "VAULT~1\\*", "joint\\*"),
    *("C:\\w\\VAULT~1\\*", "C:\\W~1\\vault\\*", "vault.\\*", "vault \\*", "vault::$INDEX_ALLOCATION\\*"),
    *("C:vault\\*", "\\\\.\\C:\\w\\vault\\*", "//./C:/w/vault/*", "\\\\localhost\\c$\\w\\vault\\*"),
    *("//127.0.0.1/c$/w/vault/*", "C:\\w\\sub\\..\\vault\\*", "C:\\w\\vault\\key.pem", "vault\\key.pem"),
]


@pytest.mark.parametrize("mode", MODES)
def test_no_pattern_passes_a_denied_folder(mode: str) -> None:
    guard = windows_gate(mode)
    for pattern in PATTERNS:
        # The gate alone must refuse the pattern as given: what it asks about, the bypass mode allows.
        assert decide(guard, "Glob", pattern=pattern).verdict == "deny", pattern
        assert verdicts("Glob", "pattern", pattern, mode, guard) == {"deny"}, pattern


def test_patterns_outside_are_asked_about() -> None:
    guard = windows_gate("default", deny=())
    for pattern in (
        *("C:\\Users\\u\\*", "c:/users/U/*", "..\\*", "../*", "sub\\..\\..\\*", "away\\*", "/c/Users/*", "\\Users\\*"),
        *("D:\\*", "*\\..\\..\\*", "~\\*", "C:\\w2\\*", "c:\\*", "C:\\w\\*\\..\\..\\Users\\*"),
    ):
        assert verdicts("Glob", "pattern", pattern, "default", guard) == {"ask"}, pattern
    for pattern in ("*.txt", "sub\\*", "SUB/*", "C:\\w\\*", "c:\\W\\sub\\*", "/c/w/*", "sub\\**\\x"):
        assert verdicts("Glob", "pattern", pattern, "default", guard) == {"allow"}, pattern


# ---------------------------------------------------------------- prompts and memory


@pytest.mark.parametrize("mode", MODES)
def test_no_mention_attaches_a_hidden_file(mode: str) -> None:
    """Mentions are read with the Read tool, if the gate allows it unasked."""
    guard = windows_gate(mode)
    seen = 0
    for spelling in SPELLINGS:
        path = spelled(spelling, "secret.txt")
        for prompt in (f"see @{path}", f'see @"{path}", please'):
            for named in mentioned(prompt):
                if "secret" in named.lower():
                    seen += 1
                    assert verdicts("Read", "file_path", named, mode, guard) == {"deny"}, named
    assert seen > len(SPELLINGS)


@pytest.mark.parametrize("mode", MODES)
def test_no_import_brings_in_a_hidden_file(mode: str) -> None:
    guard = windows_gate(mode)
    for spelling in SPELLINGS:
        path = spelled(spelling, "secret.txt")
        if not path.endswith((" ", ".")) and " " not in path:
            assert next(imported_names(f"See @{path}\n"))[0] == path
        assert guard.hides(path), path
    for path in ("vault\\key.pem", "joint\\key.pem", "C:\\w\\VAULT~1\\key.pem", "c:/W/vault\\key.pem"):
        assert guard.hides(path), path
    for path in ("other.txt", "sub\\note.txt", "C:\\w\\OTHER.TXT"):
        assert not guard.hides(path), path


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("@sub\\inc.md", ["sub\\inc.md"]),
        ("See @.\\sub\\inc.md.", [".\\sub\\inc.md"]),
        ("@C:\\w\\a.md and @~\\b.md", ["C:\\w\\a.md", "~\\b.md"]),
        ("@my\\ notes.md", ["my notes.md"]),
        ("a@b\\c `@sub\\inc.md`\n```\n@C:\\x\n```\n", []),
    ],
)
def test_imports_with_backslashes(text: str, names: list[str]) -> None:
    assert [bare for _, bare, _ in imported_names(text)] == names


# ---------------------------------------------------------------- additional folders, rules of settings files

ADDED = [
    "C:\\Users\\u\\more",
    "c:\\USERS\\U\\MORE",
    "C:/Users/u/more",
    "/c/Users/u/more",
    "~\\more",
    "..\\Users\\u\\more",
]


@pytest.mark.parametrize("added", ADDED)
def test_an_added_folder_is_that_folder_only(added: str) -> None:
    guard = windows_gate("default", dirs=(added,))
    for path in ("C:\\Users\\u\\more\\x", "c:/users/u/MORE/sub/x", "/c/users/u/more/x"):
        assert verdicts("Read", "file_path", path, "default", guard) == {"allow"}, path
    for path in ("C:\\Users\\u\\private.txt", "C:\\Users\\u\\more2\\x", "C:\\Users\\u\\more\\..\\x", "away\\x"):
        assert verdicts("Read", "file_path", path, "default", guard) == {"ask"}, path


@pytest.mark.parametrize("mode", MODES)
def test_no_added_folder_opens_what_a_rule_hides(mode: str) -> None:
    for added in ("C:\\", "c:/", "C:\\w\\vault", "VAULT~1", "joint", "..", "\\\\?\\C:\\w\\vault", "/c/w/vault"):
        guard = windows_gate(mode, dirs=(added,))
        for path in ("secret.txt", "C:\\W\\SECRET.TXT", "vault\\key.pem", "VAULT~1\\KEY.PEM", "joint\\key.pem"):
            assert verdicts("Read", "file_path", path, mode, guard) == {"deny"}, (added, path)


@pytest.mark.parametrize("added", ["\\\\server\\share", "//server/share", "\\\\?\\UNC\\server\\share", "nul", "C:x"])
def test_an_added_device_opens_no_other(added: str) -> None:
    guard = windows_gate("default", dirs=(added,))
    for path in ("\\\\server2\\share\\x", "\\\\.\\pipe\\x", "nul", "C:x"):
        assert verdicts("Read", "file_path", path, "default", guard) == {"deny"}, path
    assert decide(guard, "Read", file_path="C:\\Users\\u\\private.txt").verdict == "ask"


FILE_RULES = [
    *("Read(C:\\w\\secret.txt)", "Read(c:\\W\\SECRET.TXT)", "Read(C:/w/secret.txt)", "Read(.\\secret.txt)"),
    *("Read(//c/w/secret.txt)", "Read(secret.txt)", "Read(C:\\w\\sec*)", "Read(C:\\w\\SECRET~1.TXT)"),
]


@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_rules_of_a_settings_file_deny(tmp_path: Path, bom: str) -> None:
    (tmp_path / ".claude").mkdir()
    text = json.dumps({"permissions": {"deny": FILE_RULES}}, indent=1).replace("\n", "\r\n")
    (tmp_path / ".claude" / "settings.json").write_bytes((bom + text).encode())
    sources = SettingSources(
        {}, (), flat=True, env={"HOME": str(tmp_path)}, cwd=str(tmp_path / "none"), log=lambda *_: None, managed=""
    )
    assert build_settings(sources).permissions.rules.deny == tuple(FILE_RULES)
    for mode in MODES:
        for rule in FILE_RULES:
            guard = windows_gate(mode, deny=(rule,))
            for asked in (
                "secret.txt",
                "C:\\w\\SECRET.TXT",
                "/c/w/secret.txt",
                "SECRET~1.TXT",
                "\\\\?\\C:\\w\\secret.txt",
            ):
                assert verdicts("Read", "file_path", asked, mode, guard) == {"deny"}, (rule, asked)


HOOK_FILES = [".claude\\settings.json", ".CLAUDE\\Settings.json", ".claude/hooks/x.sh", ".claude.\\hooks\\x.cmd"]


@pytest.mark.parametrize(
    "path", [*HOOK_FILES, "C:\\w\\.claude\\hooks\\x.ps1", "/c/w/.CLAUDE/hooks/x", ".git\\hooks\\x"]
)
def test_files_that_hooks_run_are_never_changed_unasked(path: str) -> None:
    for tool, field, more in (
        ("Write", "file_path", {"content": "x"}),
        ("Edit", "file_path", {"old_string": "a", "new_string": "b"}),
        *((tool, field, more) for tool, (field, more) in EDIT_TOOLS.items()),
    ):
        for mode in ("default", "acceptEdits", "plan"):
            assert "allow" not in verdicts(tool, field, path, mode, windows_gate(mode, deny=()), **more), (tool, mode)
