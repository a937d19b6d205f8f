"""What telemetry says about tool calls and commands: parameters, sizes, languages, changed lines, commits. Pure."""

from __future__ import annotations

import re

from yume_shim.text import codec
from yume_shim.types.blocks import Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json, ToolCall, ToolResult
    from yume_shim.types.file_patch import FilePatch

EDIT_TOOLS = ("Edit", "MultiEdit", "Write", "NotebookEdit")
SHELL_TOOLS = ("Bash", "PowerShell")
MAX_VALUE, MAX_INPUT = 512, 4_096
"""Characters of one value of `tool_input`, and of all; the Claude CLI's limits."""
BASH_FIELDS = ("timeout", "description", "dangerouslyDisableSandbox")
LANGUAGES = {
    "c": "C", "cpp": "C++", "cc": "C++", "h": "C", "hpp": "C++", "cs": "C#", "css": "CSS", "go": "Go", "html": "HTML",
    "java": "Java", "js": "JavaScript", "jsx": "JavaScript", "mjs": "JavaScript", "json": "JSON", "kt": "Kotlin",
    "lua": "Lua", "md": "Markdown", "php": "PHP", "pl": "Perl", "py": "Python", "ipynb": "Jupyter Notebook", "r": "R",
    "rb": "Ruby", "rs": "Rust", "scala": "Scala", "sh": "Shell", "bash": "Shell", "sql": "SQL", "swift": "Swift",
    "toml": "TOML", "ts": "TypeScript", "tsx": "TypeScript", "txt": "Text", "xml": "XML", "yaml": "YAML", "yml": "YAML",
}  # fmt: skip
_COMMIT = re.compile(r"\bgit\b(?:\s+-\S+(?:\s+[^\s;&|]+)?)*\s+commit\b")
_PULL_REQUEST = re.compile(r"\bgh\s+pr\s+create\b|\bglab\s+mr\s+create\b")
_COMMAND_NAME = re.compile(r"<command-name>/?(.*?)</command-name>", re.DOTALL)
_COMMAND_ARGUMENTS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_MCP_PULL_REQUEST = re.compile(r"create_(?:pull|merge)_request")


def language_of(call: ToolCall) -> str:
    """The language of the edited file, by its ending."""
    path = call.input.get("file_path") or call.input.get("notebook_path")
    ending = path.rpartition(".")[2].lower() if isinstance(path, str) and "." in path else ""
    return LANGUAGES.get(ending, "unknown")


def changed_lines(patch: FilePatch | None) -> tuple[int, int]:
    """Lines that were added and removed."""
    lines = [line for hunk in patch.hunks for line in hunk.get("lines", ())] if patch is not None else []
    return sum(line[:1] == "+" for line in lines), sum(line[:1] == "-" for line in lines)


def makes_commit(call: ToolCall) -> bool:
    """Is it a command that makes a commit?"""
    return bool(_COMMIT.search(_command(call)))


def makes_pull_request(call: ToolCall) -> bool:
    """Does it open a pull request or merge request?"""
    if call.name.startswith("mcp__"):
        return bool(_MCP_PULL_REQUEST.search(call.name))
    return bool(_PULL_REQUEST.search(_command(call)))


def parameters_of(call: ToolCall) -> Json:
    """`tool_parameters` of the Claude CLI; {} for a tool that has none."""
    given = call.input
    if call.name in SHELL_TOOLS:
        command = _command(call)
        words = command.split(None, 1)
        found = {"bash_command": words[0] if words else "", "full_command": command}
        return found | {name: given[name] for name in BASH_FIELDS if name in given}
    if call.name.startswith("mcp__"):
        _, server, tool = [*call.name.split("__", 2), "", ""][:3]
        return {"mcp_server_name": server, "mcp_tool_name": tool}
    if call.name == "Skill":
        return {"skill_name": given.get("skill", "")}
    if call.name in ("Agent", "Task"):
        return {"subagent_type": given.get("subagent_type", "")}
    return {}


def command_of(prompt: str) -> tuple[str, str]:
    """Name and arguments of the command that a prompt stands for; "" if it is an ordinary one."""
    found = _COMMAND_NAME.search(prompt) if prompt.startswith("<command-") else None
    if found is None:
        return "", ""
    arguments = _COMMAND_ARGUMENTS.search(prompt)
    return found[1], arguments[1] if arguments is not None else ""


def input_text(given: Json) -> str:
    """`tool_input` of the Claude CLI: long values are cut, and the whole."""
    short = {name: _short(item) for name, item in given.items()}
    return codec.dumps(short).decode("utf-8", "replace")[:MAX_INPUT]


def json_text(found: Json) -> str:
    """As JSON text."""
    return codec.dumps(found).decode("utf-8", "replace")


def input_size(call: ToolCall) -> int:
    """Bytes of the input as JSON."""
    return len(codec.dumps(call.input))


def result_text(result: ToolResult) -> str:
    """The texts of a result."""
    if isinstance(result.content, str):
        return result.content
    return "\n".join(part.text for part in result.content if isinstance(part, Text))


def _command(call: ToolCall) -> str:
    command = call.input.get("command") if call.name in SHELL_TOOLS else ""
    return command if isinstance(command, str) else ""


def _short(item: object) -> object:
    text = item if isinstance(item, str) else codec.dumps(item).decode("utf-8", "replace")
    return item if len(text) <= MAX_VALUE else text[:MAX_VALUE] + "…"
