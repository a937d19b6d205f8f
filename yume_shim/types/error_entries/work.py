"""Failures of tools, MCP servers, hooks and the store. Results of tools carry no code: hosts see their text."""

from __future__ import annotations

from yume_shim.types.error_entries.entry import Entry


def _tool(case: str, means: str, advice: str, *raised_in: str) -> Entry:
    return Entry("tool", "tool", means, advice, case, raised_in)


def _mcp(case: str, means: str, advice: str, *raised_in: str) -> Entry:
    return Entry("mcp", "mcp", means, advice, case, raised_in)


TOOLS: tuple[Entry, ...] = (
    _tool(
        "input",
        "The model called an unknown tool, or with an input that does not match the schema.",
        "Nothing: the model reads why and tries again",
        "engine/toolbox",
        "tools/dispatch/own_schemas",
        "engine/tool_search",
        "tools/dispatch/session_state",
    ),
    _tool(
        "cut",
        "The output limit cut the input of a call off.",
        "Nothing: the model is told to write less at once",
        "engine/repeats",
    ),
    _tool(
        "denied",
        "A rule, a hook, the mode or the host refused the call.",
        "Allow it with --allowedTools or --permission-mode, or approve it",
        "engine/calls",
    ),
    _tool(
        "internal",
        "A tool failed in a way that this program did not expect.",
        "Report it with what --debug-file FILE keeps",
        "engine/call_pipeline",
    ),
    _tool(
        "file",
        "A file cannot be read or written.",
        "Read why in the text; the model may try another path",
        "tools/files/atomic_write",
        "tools/files/checkpoints",
        "tools/files/host_text",
        "tools/files/media",
        "tools/files/text_files",
        "tools/edit",
        "tools/multi_edit",
        "tools/read",
        "tools/write",
        "tools/ls",
        "tools/dispatch/builtin",
        "app/acp/files",
    ),
    _tool("notebook", "A notebook cannot be edited.", "Read why in the text", "tools/notebook_edit"),
    _tool(
        "search",
        "A search could not be made.",
        "Correct the pattern or the path",
        "tools/glob",
        "tools/grep",
        "tools/search/search_process",
    ),
    _tool(
        "command",
        "A shell command failed, or could not be started.",
        "Read its output; `sandbox` and the working folder are settings",
        "tools/bash",
        "tools/shell/sandbox",
        "tools/shell/shell_session",
    ),
    _tool(
        "web",
        "A page could not be fetched.",
        "Check the address; only public ones are fetched",
        "tools/web/client",
        "tools/web_fetch",
        "tools/web_search",
    ),
    _tool(
        "task",
        "A background task is unknown, has ended, or cannot be stopped.",
        "Nothing: the model reads why",
        "tools/task_output",
        "tools/task_stop",
    ),
    _tool(
        "question",
        "The host cannot answer a question of the model.",
        "Use a host that answers questions, or leave the tool out (--disallowedTools AskUserQuestion)",
        "tools/ask_user_question",
    ),
    _tool(
        "agent",
        "An agent could not be started, or failed.",
        "Read why in the text; the failures of providers above apply to agents too",
        "extensions/agents/agent_tool",
        "extensions/agents/message_tool",
        "engine/children",
        "engine/judging_agents",
    ),
    _tool(
        "skill",
        "A skill or a command of a file could not be used.",
        "Correct its file; /debug names the place",
        "extensions/skills/skill_tool",
        "engine/command_expansion",
        "engine/slash_commands",
        "engine/local_commands",
        "engine/prompt_commands",
    ),
    _tool(
        "schema",
        "The answer does not match the schema of --json-schema.",
        "Nothing: the model tries again",
        "engine/structured",
    ),
    _tool(
        "session",
        "A request about the session cannot be carried out now.",
        "Wait for the end of the turn",
        "engine/session",
        "engine/side_question",
        "engine/attach",
    ),
)

MCP: tuple[Entry, ...] = (
    _mcp(
        "config",
        "A server is not started, because its configuration or the settings do not allow it.",
        "`yume-shim mcp get NAME` shows the configuration",
        "app/mcp_host_servers",
        "extensions/mcp/server",
        "extensions/mcp/headers_helper",
    ),
    _mcp(
        "closed",
        "The server could not be started, or ended.",
        "Run its command by hand; its last words on stderr are in the message",
        "extensions/mcp/stdio",
        "extensions/mcp/host_bridge",
        "extensions/mcp/recording",
    ),
    _mcp(
        "timeout",
        "The server did not answer in time.",
        "Raise MCP_TIMEOUT (start) or MCP_TOOL_TIMEOUT (calls)",
        "extensions/mcp/peer",
        "extensions/mcp/prompts",
    ),
    _mcp(
        "sign_in",
        "The server wants a sign-in.",
        "`yume-shim mcp login NAME`",
        "extensions/mcp/login",
        "extensions/mcp/tokens",
    ),
    _mcp(
        "http",
        "The server's HTTP answer is an error, or cannot be used.",
        "Check its address with `yume-shim mcp get NAME`",
        "extensions/mcp/http_channel",
        "extensions/mcp/http_exchange",
        "extensions/mcp/event_stream",
    ),
    _mcp(
        "answer",
        "The server answered with an error, or in a form that MCP does not allow.",
        "Report it to the author of the server",
        "extensions/mcp/listing",
        "extensions/mcp/results",
        "extensions/mcp/servers",
        "extensions/mcp/resources",
        "extensions/mcp/large_results",
        "app/mcp_tool_hooks",
    ),
)

HOOKS: tuple[Entry, ...] = (
    Entry(
        "hook",
        "hook",
        "A hook refused a call or a prompt, or says something.",
        "The text names the hook; settings.json holds it",
        "refused",
    ),
    Entry(
        "hook",
        "hook",
        "A hook failed; what it guards goes on unless it says `onFailure: block`.",
        "The log line names the command and its last words; correct it",
        "failed",
    ),
    Entry(
        "hook",
        "hook",
        "A hook is not run, because it is not complete or its kind is not known.",
        "Correct its entry in settings.json; docs/hooks.md lists the events",
        "not_run",
    ),
)

STORE: tuple[Entry, ...] = (
    Entry(
        "store",
        "store",
        "A transcript cannot be read.",
        "Check its rights, or start a new session",
        "read",
        ("store/load", "store/checkpoint", "types/stored_history"),
    ),
    Entry(
        "store",
        "store",
        "A transcript cannot be changed or deleted, or another process writes it.",
        "Wait until that process has ended; check the rights of the folder",
        "change",
        ("store/changes",),
    ),
)
