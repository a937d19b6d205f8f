"""The clients that can start this program instead of the Claude CLI or as an ACP agent: where to set it, and what was
tested.

The table in README.md and `yume-shim init --for NAME` come from here.
"""

from __future__ import annotations

from yume_shim.types.value import Value


class Client(Value):
    """One client. `{program}` in `steps` is the path of this program."""

    key: str
    """Its name for `--for`."""
    name: str
    setting: str
    state: str
    steps: tuple[str, ...]


def _variable(name: str) -> tuple[str, ...]:
    return ("Set this variable in the environment in which it starts:", f"  {name}={{program}}")


CLIENTS: tuple[Client, ...] = (
    Client(
        "python-sdk",
        "Agent SDK for Python (0.2.182)",
        '`ClaudeAgentOptions(cli_path="/path/to/yume-shim")`',
        "tested",
        ("In the program:", '  options = ClaudeAgentOptions(cli_path="{program}", model="sonnet")'),
    ),
    Client(
        "typescript-sdk",
        "Agent SDK for TypeScript (0.3.325)",
        "`options.pathToClaudeCodeExecutable`",
        "tested",
        ("In the program:", '  const options = {{ pathToClaudeCodeExecutable: "{program}", model: "sonnet" }};'),
    ),
    Client(
        "claude-agent-acp",
        "claude-agent-acp (0.99.1): Zed, JetBrains, other ACP editors",
        "environment `CLAUDE_CODE_EXECUTABLE=/path/to/yume-shim`",
        "tested",
        _variable("CLAUDE_CODE_EXECUTABLE"),
    ),
    Client(
        "ai-sdk",
        "ai-sdk-provider-claude-code (3.6.0), Vercel AI SDK",
        "`createClaudeCode({ defaultSettings: { pathToClaudeCodeExecutable } })`",
        "tested",
        (
            "In the program:",
            '  const claude = createClaudeCode({{ defaultSettings: {{ pathToClaudeCodeExecutable: "{program}" }} }});',
        ),
    ),
    Client(
        "zed",
        "Zed, without a bridge",
        "`agent_servers` in its settings ([docs/acp.md](docs/acp.md))",
        "protocol tested",
        (
            "In ~/.config/zed/settings.json:",
            '  {{ "agent_servers": {{ "yume-shim": {{ "type": "custom", "command": "{program}",',
            '    "args": ["acp"], "env": {{}} }} }} }}',
            "Then choose yume-shim in the agent panel's menu for a new thread.",
        ),
    ),
    Client(
        "jetbrains",
        "JetBrains IDEs, without a bridge",
        "`agent_servers` in `~/.jetbrains/acp.json` ([docs/acp.md](docs/acp.md))",
        "protocol tested",
        (
            "In ~/.jetbrains/acp.json (AI Chat window: Add Custom Agent):",
            '  {{ "agent_servers": {{ "yume-shim": {{ "command": "{program}", "args": ["acp"] }} }} }}',
        ),
    ),
    Client(
        "neovim",
        "Neovim: CodeCompanion, avante.nvim",
        "an ACP adapter ([docs/acp.md](docs/acp.md))",
        "protocol tested",
        (
            "avante.nvim:",
            '  require("avante").setup({{ provider = "yume-shim",',
            '    acp_providers = {{ ["yume-shim"] = {{ command = "{program}", args = {{ "acp" }} }} }} }})',
            "CodeCompanion: the adapter is in docs/acp.md.",
        ),
    ),
    Client(
        "ccusage",
        "ccusage (18), claude-code-log (1.7.0)",
        "none: they read the transcripts in `~/.claude/projects`",
        "tested",
        ("Nothing to set: they read the transcripts in ~/.claude/projects.",),
    ),
    Client(
        "vibe-kanban",
        "vibe-kanban",
        "profile field `base_command_override`",
        "form tested",
        ("In the agent profile:", '  "base_command_override": "{program}"'),
    ),
    Client(
        "opcode",
        "opcode",
        "its setting for the Claude binary; it uses the highest `--version` it finds",
        "form tested",
        ("In its settings, under the Claude binary, choose:", "  {program}"),
    ),
    Client(
        "goose",
        "goose (claude-code provider)",
        "`CLAUDE_CODE_COMMAND`",
        "form tested",
        _variable("CLAUDE_CODE_COMMAND"),
    ),
    Client(
        "crystal",
        "Crystal",
        "configuration `claudeExecutablePath`",
        "form tested",
        ("In its configuration:", '  "claudeExecutablePath": "{program}"'),
    ),
    Client(
        "t3code",
        "t3code",
        "setting `binaryPath`",
        "form tested (its probe)",
        ("In its settings:", '  "binaryPath": "{program}"'),
    ),
    Client(
        "claude-code-action",
        "claude-code-action",
        "input `path_to_claude_code_executable`",
        "not tested (the SDK it uses is)",
        ("In the workflow, under `with`:", "  path_to_claude_code_executable: {program}"),
    ),
    Client(
        "cloudcli",
        "CloudCLI (claudecodeui)",
        "environment `CLAUDE_CLI_PATH`, in releases that use it (1.12.0 does not)",
        "not tested (the SDK it uses is)",
        _variable("CLAUDE_CLI_PATH"),
    ),
    Client(
        "happy", "Happy, local mode", "environment `HAPPY_CLAUDE_PATH`", "not tested", _variable("HAPPY_CLAUDE_PATH")
    ),
    Client(
        "other",
        "anything else",
        "a link or a script called `claude` that starts `yume-shim`, first on `PATH`",
        "not tested",
        ("Make a link called claude, in a folder that comes first on PATH:", "  ln -s {program} ~/bin/claude"),
    ),
)
BY_KEY = {client.key: client for client in CLIENTS}


def directions(client: Client, program: str) -> str:
    """What to set where, for people."""
    steps = "".join(f"{step.format(program=program)}\n" for step in client.steps)
    return f"{client.name} — {client.state}\n{steps}"
