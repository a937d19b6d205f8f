"""Names of files and folders that another program reads and then runs: the one table for gate, sandbox and documents.

A name counts at any depth of a workspace and in any case of its letters. `x/` is a folder with all that is below it,
`x/y/` a folder inside another, `x*` every file whose name begins so; anything else is a file.
"""

from __future__ import annotations

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class ProtectedName(Value):
    """One row. Writing there asks in every mode but bypassPermissions."""

    name: str
    reason: str
    bypass: bool = False
    """Asks in bypassPermissions too: the Claude CLI documents that it guards this name there."""
    claude: bool = True
    """The Claude CLI asks about it too (observed in acceptEdits); False: it lets the write pass."""
    sandbox: tuple[str, ...] | None = None
    """What a sandbox makes read-only, if not the name itself."""

    @property
    def plain(self) -> str:
        """The name without its mark."""
        return self.name.rstrip("/*")


_SHELL = "a shell runs it when it starts or ends"
_GIT_INSIDE = (".git/hooks", ".git/config", ".git/config.worktree", ".git/commondir", ".git/info")
_row = ProtectedName

PROTECTED: tuple[ProtectedName, ...] = (
    _row(".git/", "git runs its hooks and the programs of its configuration", bypass=True, sandbox=_GIT_INSIDE),
    _row(".claude/", "settings, hooks and permissions of agents", bypass=True),
    _row(".claude/agents/", "instructions and tools of subagents"),
    _row(".claude/commands/", "slash commands: prompts that may run shell commands"),
    _row(".claude/skills/", "skills: prompts and scripts that an agent runs"),
    _row(".claude/output-styles/", "replaces parts of the system prompt"),
    _row(".claude/hooks/", "scripts that hooks run"),
    _row(".yume/", "settings of this program", bypass=True, claude=False),
    _row(".vscode/", "tasks, launch configurations and interpreter paths that the editor runs", bypass=True),
    _row(".idea/", "run configurations and watchers that the editor runs", bypass=True),
    _row(".zed/", "tasks and language servers that the editor runs", claude=False),
    _row(".cursor/", "rules, hooks and MCP servers of an agent", claude=False),
    _row(".exrc", "vim runs it in its folder", claude=False),
    _row(".nvimrc", "neovim runs it in its folder", claude=False),
    _row(".nvim.lua", "neovim runs it in its folder", claude=False),
    _row(".mcp.json", "MCP servers: programs that an agent starts"),
    _row(".claude.json", "MCP servers and trust decisions of agents"),
    _row(".husky/", "git hooks"),
    _row("lefthook.yml", "git hooks"),
    _row("lefthook.yaml", "git hooks"),
    _row("lefthook.toml", "git hooks", claude=False),
    _row("lefthook.json", "git hooks", claude=False),
    _row("lefthook-local.*", "git hooks", claude=False, sandbox=("lefthook-local.yml",)),
    _row(".lefthook.yml", "git hooks"),
    _row(".lefthook.yaml", "git hooks"),
    _row(".lefthook.toml", "git hooks", claude=False),
    _row(".lefthook.json", "git hooks", claude=False),
    _row(".lefthook-local.*", "git hooks", claude=False, sandbox=(".lefthook-local.yml",)),
    _row(".pre-commit-config.yaml", "git hooks"),
    _row(".gitconfig", "git runs the programs that it names"),
    _row(".config/git/", "git runs the programs that its configuration names"),
    _row(".gitmodules", "git clones from the addresses and runs the update commands that it names"),
    _row(".devcontainer/", "commands that run when the container is built or opened"),
    _row(".devcontainer.json", "commands that run when the container is built or opened"),
    _row(".npmrc", "npm and pnpm: registries, scripts and shells that they run"),
    _row(".yarnrc*", "yarn runs the releases and plugins that it names", sandbox=(".yarnrc", ".yarnrc.yml")),
    _row(".yarn/", "releases and plugins that yarn runs", sandbox=(".yarn/releases", ".yarn/plugins", ".yarn/sdks")),
    _row(".pnp.cjs", "node loads it in every yarn command"),
    _row(".pnp.loader.mjs", "node loads it in every yarn command"),
    _row(".pnpmfile.cjs", "pnpm runs it at every install"),
    _row(".pnpmfile.mjs", "pnpm runs it at every install", claude=False),
    _row("bunfig.toml", "bun: registries and scripts that it preloads"),
    _row(".bazelrc", "bazel: flags that run programs"),
    _row(".bazeliskrc", "the bazel that bazelisk downloads and runs"),
    _row(".cargo/", "cargo: runners, linkers and aliases that it runs"),
    _row(".mvn/", "maven: extensions and JVM options that it loads"),
    _row(".envrc", "direnv runs it when a shell enters the folder"),
    _row(".pypirc", "addresses and passwords for uploads", claude=False),
    _row(".netrc", "passwords that git and curl send", claude=False),
    _row(".ssh/", "keys, and commands that ssh runs", claude=False),
    _row(".gnupg/", "keys, and programs that gpg runs", claude=False),
    _row(".ripgreprc", "ripgrep: flags that run programs"),
    _row(".jq", "jq loads it in every run", claude=False),
    _row(".inputrc", "keys that run commands in shells", claude=False),
    _row(".profile", _SHELL),
    _row(".bashrc", _SHELL),
    _row(".bash_profile", _SHELL),
    _row(".bash_login", _SHELL),
    _row(".bash_logout", _SHELL),
    _row(".bash_aliases", _SHELL),
    _row(".zshrc", _SHELL),
    _row(".zshenv", _SHELL),
    _row(".zprofile", _SHELL),
    _row(".zlogin", _SHELL),
    _row(".zlogout", _SHELL),
    _row(".kshrc", _SHELL, claude=False),
    _row(".cshrc", _SHELL, claude=False),
    _row(".tcshrc", _SHELL, claude=False),
    _row(".login", _SHELL, claude=False),
    _row(".xprofile", "a desktop session runs it when it starts", claude=False),
    _row(".xinitrc", "a desktop session runs it when it starts", claude=False),
)

WORKTREES = (".claude", "worktrees")
"""Checkouts of agents: what is in such a folder is edited like any other file."""

_BY_FIRST: dict[str, list[ProtectedName]] = {}
for _one in PROTECTED:
    if not _one.name.endswith("*"):
        _BY_FIRST.setdefault(_one.plain.split("/")[0], []).insert(0, _one)
_PREFIXES = tuple(row for row in PROTECTED if row.name.endswith("*"))


def protected_row(steps: Sequence[str], above: int = 0, mode: str = "") -> ProtectedName | None:
    """The row that covers a path in this mode; the path is given as its case-folded names. The first `above` names do
    not count (a worktree may be below `.claude`), except `.git`: a session inside a `.git` folder must not be able to
    plant hooks."""
    if ".git" in steps:
        return _BY_FIRST[".git"][0]
    for place in range(above, len(steps)):
        row = _row_at(steps[place:])
        if row is not None and (row.bypass or mode != "bypassPermissions"):
            return row
    return None


def _row_at(rest: Sequence[str]) -> ProtectedName | None:
    """The row whose name the path begins with; of several (`.claude/`, `.claude/agents/`) the longest."""
    found = next((row for row in _BY_FIRST.get(rest[0], ()) if _covers(row, rest)), None)
    if found is None and len(rest) == 1:
        found = next((row for row in _PREFIXES if rest[0].startswith(row.plain)), None)
    return found


def _covers(row: ProtectedName, rest: Sequence[str]) -> bool:
    names = row.plain.split("/")
    if list(rest[: len(names)]) != names:
        return False
    if not row.name.endswith("/"):
        return len(rest) == len(names)
    return not (names == [".claude"] and len(rest) > 2 and tuple(rest[:2]) == WORKTREES)


def sandbox_names() -> tuple[str, ...]:
    """What a sandbox keeps read-only in each folder of the workspace, outermost names only."""
    found = [name for row in PROTECTED for name in (row.sandbox if row.sandbox is not None else (row.plain,))]
    return tuple(name for name in found if not any(name.startswith(other + "/") for other in found))


def single_names() -> tuple[str, ...]:
    """Every protected name that is one step of a path; of `x*` the usual ones."""
    found = [name for row in PROTECTED for name in ((row.sandbox or ()) if row.name.endswith("*") else (row.plain,))]
    return tuple(sorted(name for name in found if "/" not in name))
