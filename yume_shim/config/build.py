"""Builds the one frozen Settings from flags, environment and files. Flags override the environment, which overrides
files."""

from __future__ import annotations

import os

from yume_shim.config.agent_settings import agent_settings
from yume_shim.config.host_settings import host_settings, log_settings, session_settings
from yume_shim.config.instruction_settings import instruction_settings
from yume_shim.config.key_settings import credential_settings
from yume_shim.config.limit_settings import history_settings, limit_settings
from yume_shim.config.model_settings import endpoint_settings, model_settings, network_settings
from yume_shim.config.tool_settings import permission_settings, tool_settings
from yume_shim.types.agents import AgentFolder, AgentSettings
from yume_shim.types.folders import claude_folder, claude_state_file
from yume_shim.types.plugins import PluginSettings
from yume_shim.types.prompt_files import PromptSettings
from yume_shim.types.script_settings import ScriptSettings
from yume_shim.types.settings import HookSettings, InstructionSettings, McpSettings, Settings, TelemetrySettings
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from yume_shim.config.setting_sources import SettingSources


def build_settings(sources: SettingSources) -> Settings:
    """Resolve everything; raises BadInvocation."""
    host = host_settings(sources)
    plugins = _plugin_settings(sources)
    return Settings(
        cwd=sources.cwd,
        env=sources.env,
        config_file=sources.config_path,
        setting_sources=sources.layer_names,
        host=host,
        log=log_settings(sources),
        model=model_settings(sources),
        endpoint=endpoint_settings(sources),
        network=network_settings(sources),
        credentials=credential_settings(sources),
        instructions=_instruction_settings(sources, plugins),
        limits=limit_settings(sources),
        script=_script_settings(sources),
        history=history_settings(sources),
        tools=tool_settings(sources),
        permissions=permission_settings(sources),
        session=session_settings(sources),
        mcp=_mcp_settings(sources, plugins),
        hooks=_hook_settings(sources, plugins),
        agents=_agent_settings(sources, plugins),
        prompts=_prompt_settings(sources, plugins),
        plugins=plugins,
        telemetry=_telemetry_settings(sources),
        left_out=tuple(sources.left_out),  # the last: the other groups add to it
    )


def _script_settings(sources: SettingSources) -> ScriptSettings:
    """Nothing is loaded where no flag of scripts is used."""
    flags = ("exit-codes", "fail-on", "deadline", "max-tool-calls", "retry-forever", "errors")
    if not any(map(sources.on, flags)) and not sources.env.keys() & {"YUME_DEADLINE", "YUME_MAX_TOOL_CALLS"}:
        return ScriptSettings()
    from yume_shim.config.script_settings import script_settings

    return script_settings(sources)


def _telemetry_settings(sources: SettingSources) -> TelemetrySettings:
    if sources.env.get("CLAUDE_CODE_ENABLE_TELEMETRY", "").lower() not in ("1", "true", "yes", "on"):
        return TelemetrySettings()
    from yume_shim.config.telemetry_settings import telemetry_settings

    return telemetry_settings(sources)


def _plugin_settings(sources: SettingSources) -> PluginSettings:
    named = sources.on("plugin-dir") or sources.on("plugin-dir-no-mcp")
    if not named and not any(layer.data.get("enabledPlugins") for layer in sources.layers):
        return PluginSettings()
    from yume_shim.config.plugin_settings import plugin_settings

    return plugin_settings(sources)


def _instruction_settings(sources: SettingSources, plugins: PluginSettings) -> InstructionSettings:
    """With the output styles of plugins: their names begin with the plugin's."""
    settings = instruction_settings(sources)
    folders = tuple((f"{plugin.name}:", path) for plugin in plugins.used for path in plugin.output_styles)
    return replace(settings, style_folders=folders) if folders else settings


def _agent_settings(sources: SettingSources, plugins: PluginSettings) -> AgentSettings:
    """With the agents of plugins, which are the weakest."""
    settings = agent_settings(sources)
    of_plugins = tuple(
        AgentFolder(path, "plugin", prefix=f"{plugin.name}:") for plugin in plugins.used for path in plugin.agents
    )
    return replace(settings, folders=(*of_plugins, *settings.folders)) if of_plugins else settings


def _prompt_settings(sources: SettingSources, plugins: PluginSettings) -> PromptSettings:
    """Nothing is loaded where no folder can be: the folder of the user's settings, or one of the project's, exists."""
    names = tuple(os.path.join(".claude", name) for name in ("commands", "skills"))
    users = claude_folder(sources.env)
    places = [*(os.path.join(users, os.path.basename(name)) for name in names), *_above(sources.cwd, names)]
    if not plugins.used and not any(map(os.path.isdir, places)):
        return PromptSettings()
    from yume_shim.config.prompt_settings import prompt_settings

    return prompt_settings(sources, plugins.used)


def _above(folder: str, names: tuple[str, ...]) -> Iterator[str]:
    """These names in a folder and in those above it."""
    before = ""
    while folder != before:
        yield from (os.path.join(folder, name) for name in names)
        before, folder = folder, os.path.dirname(folder)


def _hook_settings(sources: SettingSources, plugins: PluginSettings) -> HookSettings:
    configured = any(layer.data.get("hooks") for layer in sources.layers) or any(one.hooks for one in plugins.used)
    if not configured and not sources.on("include-hook-events"):
        return HookSettings()
    from yume_shim.config.hook_settings import hook_settings

    return hook_settings(sources, plugins.used)


def _mcp_settings(sources: SettingSources, plugins: PluginSettings) -> McpSettings:
    """The default, without loading anything, where no server can be configured."""
    places = (os.path.join(sources.cwd, ".mcp.json"), claude_state_file(sources.env))
    ruled = any("deniedMcpServers" in layer.data or "allowedMcpServers" in layer.data for layer in sources.layers)
    configured = ruled or sources.on("mcp-config") or any(one.mcp_servers for one in plugins.used)
    if not configured and not any(map(os.path.exists, places)):
        return McpSettings()
    from yume_shim.config.mcp_settings import mcp_settings

    return mcp_settings(sources, plugins.used)
