"""What `yume-shim mcp` prints, in the Claude CLI's words and layout: hosts read these lines."""

from __future__ import annotations

from yume_shim.config.mcp_files import SCOPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from yume_shim.config.mcp_files import McpFiles

    Table = dict[str, Any]
    State = tuple[str, str]
    """(status, error)."""

NONE = "No MCP servers configured. Use `yume-shim mcp add` to add a server.\n"
CHECKING = "Checking MCP server health…\n\n"
PENDING = "⏸ Pending approval (this folder is not trusted)"
REJECTED = "✘ Rejected (see disabledMcpjsonServers in settings)"
HIDDEN = "[REDACTED]"
SECRET_HEADERS = ("authorization", "cookie", "key", "token", "secret", "password")


def one_line(text: object) -> str:
    """Text of a file or a server without control characters and line ends: it goes to a terminal."""
    from yume_shim.text.clean import clean_output

    cleaned = clean_output(str(text).encode("utf-8", "replace"))
    return " ".join(part.strip() for part in cleaned.splitlines() if part.strip()) if "\n" in cleaned else cleaned


def kind_of(table: Table) -> str:
    """stdio, http or sse."""
    from yume_shim.config.mcp_settings import KIND_ALIASES

    kind = str(table.get("type") or "stdio")
    return KIND_ALIASES.get(kind, kind)


def state_words(state: State, name: str) -> tuple[str, str]:
    """(status, what is wrong)."""
    status, error = state
    match status:
        case "connected":
            return "✔ Connected", ""
        case "needs-auth":
            return "! Needs authentication", f"run: yume-shim mcp login {name}"
        case "pending-approval":
            return PENDING, ""
        case "rejected":
            return REJECTED, ""
        case _:
            return "✘ Failed to connect", one_line(error)


def list_line(name: str, table: Table, state: State) -> str:
    """One line of `mcp list`. What to do about a sign-in is not in it, as in the Claude CLI's."""
    status, issue = state_words(state, name)
    shown = f"{status} — {issue}" if issue and state[0] != "needs-auth" else status
    return f"{one_line(name)}: {target(table)} - {shown}\n"


def server_line(name: str, state: State) -> str:
    """The state of a server in one line, for `doctor`."""
    status, issue = state_words(state, one_line(name))
    return f"{one_line(name)}: {status} — {issue}" if issue else f"{one_line(name)}: {status}"


def target(table: Table) -> str:
    """The command line, or the address with its transport."""
    kind = kind_of(table)
    if kind in ("http", "sse"):
        return one_line(f"{table.get('url', '')} ({kind.upper()})")
    return one_line(f"{table.get('command', '')} {_arguments(table)}")


def details(name: str, scope: str, table: Table, state: State) -> str:
    """The lines of `mcp get`."""
    kind = kind_of(table)
    status, issue = state_words(state, name)
    lines = [f"{name}:", f"  Scope: {SCOPES[scope]}", f"  Status: {status}"]
    lines += [f"  Issue: {issue}"] if issue else []
    lines.append(f"  Type: {one_line(kind)}")
    if kind in ("http", "sse"):
        lines.append(f"  URL: {one_line(table.get('url', ''))}")
        lines += _pairs("Headers", table.get("headers"), ": ")
    else:
        lines += [f"  Command: {one_line(table.get('command', ''))}", f"  Args: {one_line(_arguments(table))}".rstrip()]
        lines += _pairs("Environment", table.get("env"), "=")
    lines += ["", f"To remove this server, run: yume-shim mcp remove {name} -s {scope}", ""]
    return "\n".join(lines)


def added(name: str, scope: str, table: Table, files: McpFiles) -> str:
    """The answer to `mcp add`."""
    kind = kind_of(table)
    if kind == "stdio":
        text = f"Added stdio MCP server {name} with command: {target(table)} to {scope} config\n"
    else:
        text = f"Added {kind.upper()} MCP server {name} with URL: {table['url']} to {scope} config\n"
        if table.get("headers"):
            shown = ",\n".join(f'  "{key}": "{_shown_header(key, text)}"' for key, text in table["headers"].items())
            text += f"Headers: {{\n{shown}\n}}\n"
    return text + modified(scope, files)


def modified(scope: str, files: McpFiles) -> str:
    """The line that names the changed file."""
    return f"File modified: {files.shown(scope)}\n"


def several_scopes(name: str, scopes: tuple[str, ...], files: McpFiles) -> str:
    """Why `mcp remove` needs a scope."""
    places = "".join(f"  - {SCOPES[scope]} ({files.shown(scope)})\n" for scope in scopes)
    ways = "\n".join(f"  yume-shim mcp remove {name} -s {scope}" for scope in scopes)
    return f'MCP server "{name}" exists in multiple scopes:\n{places}\nTo remove from a specific scope, use:\n{ways}'


def _arguments(table: Table) -> str:
    args = table.get("args")
    return " ".join(map(str, args)) if isinstance(args, list) else ""


def _pairs(title: str, given: Mapping[str, Any] | None, between: str) -> list[str]:
    if not isinstance(given, dict):
        return []
    return [f"  {title}:", *(f"    {one_line(key)}{between}{one_line(text)}" for key, text in given.items())]


def _shown_header(name: str, text: str) -> str:
    return HIDDEN if any(part in name.lower() for part in SECRET_HEADERS) else one_line(text)
