"""The answers to slash commands that this program answers itself."""

from __future__ import annotations

from yume_shim.engine.command_table import LISTED
from yume_shim.types.errors import BadInvocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.engine.conversation import Conversation
    from yume_shim.types.blocks import Json
    from yume_shim.types.events import SessionInfo
    from yume_shim.types.models import ModelSpec

MAX_LISTED = 200
"""Commands that `/help` lists."""


class LocalAnswers:
    """Answers on the session's thread."""

    def __init__(
        self,
        conversation: Conversation,
        describe: Callable[[], SessionInfo],
        use_model: Callable[[str], ModelSpec],
    ) -> None:
        self._conversation, self._describe, self._use_model = conversation, describe, use_model

    def answer(self, name: str, arguments: str) -> str:
        """The text to show. `name` is one of the built-in names, or one that is not available."""
        match name:
            case "usage":
                return self._usage()
            case "context":
                return self._context()
            case "model":
                return self._model(arguments)
            case "mcp":
                return self._servers()
            case "agents":
                return self._agents()
            case "help":
                return self._help()
            case "reload-skills":
                return self._reload()
            case _:
                return f"/{name} isn't available in this environment."

    def _usage(self) -> str:
        tally = self._conversation.tally
        models = tally.by_model()
        known = all(each.cost_known for each in models)
        lines = [
            f"Total cost: ${tally.total_usd():.4f}" + ("" if known else " (the price of some models is not known)")
        ]
        for each in models:
            used = each.usage
            lines.append(
                f"{each.model}: {used.input:,} input, {used.output:,} output, {used.cache_read:,} cache read, "
                f"{used.cache_write:,} cache write (${each.cost_usd:.4f})"
            )
        return "\n".join(lines if models else [*lines, "No model has been used yet."])

    def _context(self) -> str:
        from yume_shim.engine.context_usage import context_usage

        self._conversation.prepare()
        usage = context_usage(self._conversation)
        window = max(1, usage["maxTokens"])
        rows = [
            f"| {part['name']} | {part['tokens']:,} | {100 * part['tokens'] / window:.1f}% |"
            for part in usage["categories"]
        ]
        files = [f"- {file['path']}" for file in usage["memoryFiles"] if isinstance(file, dict) and "path" in file]
        return "\n".join(
            [
                "## Context Usage",
                "",
                f"**Model:** {usage['model']}  ",
                f"**Tokens:** {usage['totalTokens']:,} / {usage['maxTokens']:,} ({usage['percentage']}%)",
                "",
                "| Category | Tokens | Percentage |",
                "|----------|--------|------------|",
                *rows,
                *(["", "### Memory files", "", *files] if files else []),
            ]
        )

    def _model(self, asked: str) -> str:
        if not asked:
            spec = self._conversation.models.current()
            return f"Current model: {spec.endpoint.name}/{spec.id}\nUsage: /model NAME, or /model PROVIDER/NAME"
        try:
            spec = self._use_model("" if asked == "default" else asked)
        except BadInvocation as error:
            return f"The model is not changed: {error.message}"
        return f"Set model to {spec.id} for this session only"

    def _servers(self) -> str:
        servers = self._describe().mcp_servers
        if not servers:
            return "No MCP servers are configured. Add one with `yume-shim mcp add`."
        return "\n".join(f"{server.get('name')}: {server.get('status')}" for server in servers)

    def _agents(self) -> str:
        names = self._describe().agents
        places = "Agents are files in .claude/agents/ (this project) and ~/.claude/agents/ (all projects)."
        return "\n".join([*(f"- {name}" for name in names), places])

    def _help(self) -> str:
        files = self._conversation.services.prompt_files
        listed: list[Json] = [*(files.listed() if files is not None else ())]
        taken = {str(entry["name"]) for entry in listed}
        own = [(each.name, each.hint, each.description) for each in LISTED if each.name not in taken]
        rows = [(str(e["name"]), str(e["argumentHint"]), str(e["description"])) for e in listed] + own
        lines = [f"/{name}{f' {hint}' if hint else ''}: {text}" for name, hint, text in rows[:MAX_LISTED]]
        return "\n".join(lines if len(rows) <= MAX_LISTED else [*lines, f"… and {len(rows) - MAX_LISTED} more"])

    def _reload(self) -> str:
        files = self._conversation.services.prompt_files
        if files is None:
            return "There are no commands or skills to read."
        changed = files.refresh()
        return f"{len(files.all())} commands and skills ({'changed' if changed else 'nothing changed'})."
