"""Why the program does not start (exit code 2 in flat, 1 in the Claude forms), and why a sub-command fails."""

from __future__ import annotations

from yume_shim.types.error_entries.entry import Entry


def _start(case: str, means: str, advice: str, *raised_in: str, code: str = "config") -> Entry:
    return Entry("start", code, means, advice, case, raised_in)


START: tuple[Entry, ...] = (
    _start(
        "option",
        "An option is unknown, lacks its value, or does not go with another one.",
        "Correct it; `yume-shim --help` lists all options",
        "app/start",
    ),
    _start("output", "Two options about input and output exclude each other.", "Change one", "config/host_settings"),
    _start(
        "input",
        "A print mode got no prompt, or one that cannot be used.",
        "Give the prompt as an argument or through stdin",
        "host/prompt_text",
    ),
    _start(
        "value",
        "The value of an option, a variable or a setting cannot be used.",
        "Correct the one that the message names; it says which values are possible",
        "config/setting_sources",
        "config/limit_settings",
        "config/model_settings",
        "config/sampling_settings",
        "config/tool_settings",
        "config/trust",
        "config/script_settings",
        "config/instruction_settings",
        "gate/permissions",
        "types/exit_codes",
    ),
    _start(
        "settings_file",
        "A file of settings cannot be read, or holds something that is not allowed there.",
        "Correct the place that the message names; docs/settings.md lists all settings",
        "config/settings_files",
        "config/known_settings",
        "config/sandbox_settings",
    ),
    _start(
        "managed",
        "The managed settings of this machine cannot be read.",
        "Ask the administrator to correct the file that the message names",
        "config/managed_settings",
    ),
    _start(
        "profile",
        "A profile with keys is unknown or not complete.",
        "Correct [profiles.NAME] of the config file, or choose another one with --profile",
        "config/profiles",
        "config/key_settings",
        "app/models",
    ),
    _start(
        "key",
        "There is no key for the chosen provider.",
        "Set one of the variables that the message names, or choose another provider with --provider",
        "config/credentials",
        "config/key_helper",
        code="auth",
    ),
    _start(
        "model",
        "The model, the provider or the address is unknown or not complete.",
        "Correct --model, --provider or --api-base; `yume-shim models` lists what is known",
        "catalog/resolve",
    ),
    _start(
        "endpoint",
        "The description of an endpoint cannot be used.",
        "Correct the table of the config file or --compat; docs/providers.md lists the keys",
        "catalog/rows",
        "providers/load",
        "providers/sdk/transport",
    ),
    _start(
        "session",
        "The session to continue does not exist, is in use, or its options exclude each other.",
        "`yume-shim sessions list` names the stored ones; --fork-session continues one under a new id",
        "app/resume",
    ),
    _start(
        "cassette",
        "A recording cannot be read or written.",
        "Name a folder with a recording: --cassette DIR",
        "providers/cassettes/replay",
        "providers/cassettes/record",
    ),
    _start(
        "mcp_config",
        "The configuration of MCP servers cannot be used.",
        "Correct the file or the JSON of --mcp-config",
        "config/mcp_settings",
    ),
    _start(
        "agents",
        "The definition of an agent cannot be used, or there is no such agent.",
        "Correct --agents or --agent; `/agents` lists the known ones",
        "config/agent_settings",
        "app/agents",
    ),
    _start(
        "command",
        "A sub-command cannot do what it was asked for.",
        "Add --help to the sub-command",
        "cli/mcp_arguments",
        "cli/batch_command",
        "cli/init_command",
        "cli/page_commands",
        "cli/page_output",
        "cli/session_finder",
        "app/session_pages",
        "app/watch/command",
        "batch/out_file",
        "batch/task_file",
        "cli/mcp_command",
        "cli/models_command",
        "cli/protocol_commands",
        "cli/session_commands",
        "config/mcp_files",
        "providers/discovery/model_lists",
    ),
    _start(
        "cluster",
        "A batch cannot use the Ray cluster.",
        "Start one with `ray start --head`, or give its HOST:PORT in RAY_ADDRESS; docs/fleet.md has the steps",
        "batch/ray_engine",
    ),
)
