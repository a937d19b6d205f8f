"""The tables of docs/errors.md: the catalogue of errors, and the messages that the code raises, by entry."""

from __future__ import annotations

import ast
import os

import _venv

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from yume_shim.types.error_entries.entry import Entry

GROUPS = {
    "failure": "failures of requests",
    "outcome": "ends of turns",
    "warning": "warnings",
    "start": "start refusals",
    "line": "lines of the host",
    "request": "control requests",
    "tool": "tools",
    "mcp": "MCP servers",
    "hook": "hooks",
    "store": "store",
}
RAISED = {
    "start": ("BadInvocation",),
    "line": ("BadLine",),
    "request": ("BadInvocation",),
    "tool": ("ToolFailed",),
    "mcp": ("McpError", "ServerGone", "NoAnswer", "NeedsAuth", "SessionLost", "BadInvocation", "ToolFailed"),
    "store": ("StoreFailed",),
}
"""The exceptions that carry the messages of a group."""
MAX_SHOWN = 160
"""Characters of a message that a table shows."""


def sections() -> dict[str, str]:
    """Every table of the document by its name."""
    from yume_shim.types.error_entries.catalogue import ENTRIES

    found = {name: table([entry for entry in ENTRIES if entry.group == group]) for group, name in GROUPS.items()}
    return {"exit codes": exit_codes(), **found}


def exit_codes() -> str:
    """The codes of `--exit-codes detailed`."""
    from yume_shim.app.script_ends import REFUSED
    from yume_shim.types.exit_codes import CODES, MEANINGS

    rows: dict[int, tuple[str, str]] = {CODES[cause]: (cause or "success", MEANINGS[cause]) for cause in CODES}
    rows[REFUSED] = ("start", "the program could not start: an option, a setting or a file")
    lines = ["", "| exit code | cause | when |", "|---|---|---|"]
    lines += [f"| {code} | {cause} | {when} |" for code, (cause, when) in sorted(rows.items())]
    return "\n".join(lines) + "\n\n"


def table(entries: list[Entry]) -> str:
    """A row per entry, then the messages of those whose messages live in the code."""
    lines = ["", "| code | means | what to do |", "|---|---|---|"]
    lines += [f"| {shown_id(entry)} | {entry.means} | {filled(entry.advice)}. |" for entry in entries]
    for entry in entries:
        texts = list(messages(entry))
        if texts:
            lines += ["", f"Messages of `{entry.id}`:", "", *(f"- {text}" for text in texts)]
    return "\n".join(lines) + "\n\n"


def shown_id(entry: Entry) -> str:
    """The code, with the cause where a code has several."""
    return f"`{entry.code}` ({entry.case})" if entry.case else f"`{entry.code}`"


def filled(advice: str) -> str:
    """The advice with words in place of what is filled in."""
    words = {"provider": "PROVIDER", "address": "ADDRESS", "keys": "PLACES", "model": "MODEL"}
    return advice.format(**words) if "{" in advice and '"' not in advice else advice


def messages(entry: Entry) -> Iterator[str]:
    """The messages that the modules of an entry raise, `…` where something is filled in."""
    seen = {""}
    for module in entry.raised_in:
        path = os.path.join(_venv.ROOT, "yume_shim", *module.split("/")) + ".py"
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
        for node in ast.walk(tree):
            text = raised_text(node, RAISED.get(entry.group, ()))
            if text not in seen:
                seen.add(text)
                yield f"`{text[:MAX_SHOWN]}`"


def raised_text(node: ast.AST, carriers: tuple[str, ...]) -> str:
    """The message of a call that makes one of these exceptions; "" if it is none, or has no words of its own."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
        return ""
    text = template(node.args[0]) if node.func.id in carriers else ""
    return text if text.strip("… :;()'") else ""


def template(node: ast.expr) -> str:
    """The fixed parts of a message, on one line."""
    match node:
        case ast.Constant(value=str(text)):
            return " ".join(text.replace("`", "'").replace("|", "/").split("\n"))
        case ast.JoinedStr(values=parts):
            return "".join(template(part) if isinstance(part, ast.Constant) else "…" for part in parts)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return template(left) + template(right)
        case _:
            return ""
