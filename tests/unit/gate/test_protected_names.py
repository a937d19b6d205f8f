"""The table of protected names: what it covers, in which modes it asks, and that gate, sandbox and documents use it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.gates import bash, decide, gate
from yume_shim.gate.paths import POSIX, WINDOWS, Flavour, protected_row
from yume_shim.tools.shell.sandbox import GUARDED
from yume_shim.types.protected_names import PROTECTED, ProtectedName

DOCS = Path(__file__).parents[3] / "docs"


def name_in(path: str, flavour: Flavour = POSIX, workspace: str = "", mode: str = "") -> str:
    row = protected_row(path, flavour, workspace, mode)
    return row.plain if row is not None else ""


@pytest.mark.parametrize(
    ("flavour", "path", "name"),
    [
        (POSIX, "/w/.git/hooks/x", ".git"),
        (POSIX, "/w/.GIT/hooks/x", ".git"),
        (POSIX, "/w/sub/.vscode/tasks.json", ".vscode"),
        (POSIX, "/w/.claude/settings.json", ".claude"),
        (POSIX, "/w/.claude/commands", ".claude/commands"),
        (POSIX, "/w/.claude/commands/x.md", ".claude/commands"),
        (POSIX, "/w/.claude/output-styles/deep/x.md", ".claude/output-styles"),
        (POSIX, "/w/.Claude/Agents/x.md", ".claude/agents"),
        (POSIX, "/w/.claude/worktrees", ".claude"),
        (POSIX, "/w/.claude/worktrees/a/x.py", ""),
        (POSIX, "/w/.claude/worktrees/a/.git/config", ".git"),
        (POSIX, "/w/.claude/worktrees/a/.npmrc", ".npmrc"),
        (POSIX, "/w/.bashrc", ".bashrc"),
        (POSIX, "/w/.bashrc/x", ""),
        (POSIX, "/w/.yarnrc", ".yarnrc"),
        (POSIX, "/w/.yarnrc.yml", ".yarnrc"),
        (POSIX, "/w/pkg/.yarnrc.local.yml", ".yarnrc"),
        (POSIX, "/w/.yarnrc.d/x", ""),
        (POSIX, "/w/.yarn/releases/yarn.cjs", ".yarn"),
        (POSIX, "/w/.config/git/config", ".config/git"),
        (POSIX, "/w/.config/git", ".config/git"),
        (POSIX, "/w/.config/gitea/x", ""),
        (POSIX, "/w/.config/other/git/x", ""),
        (POSIX, "/w/lefthook-local.yml", "lefthook-local."),
        (POSIX, "/w/.gitignore", ""),
        (POSIX, "/w/.gitattributes", ""),
        (POSIX, "/w/.github/workflows/x.yml", ""),
        (POSIX, "/w/a.git/x", ""),
        (POSIX, "/w/cargo/x", ""),
        (POSIX, "/w/package.json", ""),
        (WINDOWS, "C:\\w\\.git\\config", ".git"),
        (WINDOWS, "C:\\w\\.git. \\config", ".git"),
        (WINDOWS, "C:\\w\\.Claude \\settings.json", ".claude"),
        (WINDOWS, "C:\\w\\.mcp.json.", ".mcp.json"),
        (WINDOWS, "C:\\w\\.Cargo\\config.toml", ".cargo"),
    ],
)
def test_what_a_row_covers(flavour: Flavour, path: str, name: str) -> None:
    assert name_in(path, flavour) == name


def test_names_above_the_workspace_do_not_count_except_git() -> None:
    assert name_in("/u/.claude/x/a.py", workspace="/u/.claude/x") == ""
    assert name_in("/u/.claude/x/.idea/a", workspace="/u/.claude/x") == ".idea"
    assert name_in("/u/.git/hooks/pre-commit", workspace="/u/.git") == ".git"


def test_in_bypass_a_row_that_does_not_count_there_hides_no_other() -> None:
    assert name_in("/w/.devcontainer/.vscode/tasks.json", mode="bypassPermissions") == ".vscode"
    assert name_in("/w/.claude/commands/x.md", mode="bypassPermissions") == ""
    assert name_in("/w/.npmrc", mode="bypassPermissions") == ""


def file_of(row: ProtectedName) -> str:
    """A file that the row protects."""
    return {"/": row.name + "x", "*": row.plain + "yml"}.get(row.name[-1], row.name)


@pytest.mark.parametrize("row", PROTECTED, ids=[row.name for row in PROTECTED])
def test_writing_there_asks(tmp_path: Path, row: ProtectedName) -> None:
    """Tools and commands, in a folder of its own or below another; `bypass` rows in every mode."""
    inside = file_of(row)
    for place in (inside, f"sub/{inside}", inside.upper()):
        for mode in ("default", "acceptEdits", "plan", "interactive", "bypassPermissions"):
            guard = gate(tmp_path, mode, allow=("Write", "Edit", "Bash(tee:*)"))
            expected = "ask" if row.bypass or mode != "bypassPermissions" else "allow"
            found = [
                decide(guard, "Write", file_path=place, content="x").verdict,
                decide(guard, "Edit", file_path=place, old_string="a", new_string="b").verdict,
                bash(guard, f"echo x > {place}").verdict,
                bash(guard, f"tee {place}").verdict,
                bash(guard, f"cp a.txt {place}").verdict,
            ]
            assert found == [expected] * 5, (place, mode)
        refused = gate(tmp_path, "dontAsk", allow=("Write", "Bash(tee:*)"))
        assert decide(refused, "Write", file_path=place, content="x").verdict == "deny"
        assert bash(refused, f"tee {place}").verdict == "deny"
        assert bash(gate(tmp_path, "acceptEdits"), f"mkdir -p {place}").verdict == "ask"
        assert decide(gate(tmp_path, "default"), "Read", file_path=place).verdict == "allow"


def test_the_names_that_ask_in_bypass_are_those_that_the_claude_cli_documents_and_ours() -> None:
    assert [row.name for row in PROTECTED if row.bypass] == [".git/", ".claude/", ".yume/", ".vscode/", ".idea/"]


def test_the_sandbox_keeps_every_row_read_only() -> None:
    for row in PROTECTED:
        for name in row.sandbox or (row.plain,):
            assert any(name == kept or name.startswith(kept + "/") for kept in GUARDED), name
    assert ".git" not in GUARDED, "commits must work in a sandbox"


def test_every_row_has_its_reason_and_is_in_the_documents() -> None:
    names = (DOCS / "protected-names.md").read_text(encoding="utf-8")
    deviations = (DOCS / "deviations.md").read_text(encoding="utf-8")
    ours = deviations.split("<!-- names that only we protect")[1].split("<!-- end of")[0]
    for row in PROTECTED:
        assert len(row.reason) > 5
        assert f"| `{row.name}` | {row.reason} |" in names
        assert (f"`{row.name}`" in ours) is not row.claude, row.name
