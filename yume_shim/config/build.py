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
from yume_shim.types.folders import claude_state_file
from yume_shim.types.settings import HookSettings, McpSettings, Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.config.setting_sources import SettingSources


def build_settings(sources: SettingSources) -> Settings:
    """Resolve everything; raises BadInvocation."""
    host = host_settings(sources)
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
        instructions=instruction_settings(sources),
        limits=limit_settings(sources),
        history=history_settings(sources),
        tools=tool_settings(sources),
        permissions=permission_settings(sources),
        session=session_settings(sources),
        mcp=_mcp_settings(sources),
        hooks=_hook_settings(sources),
        agents=agent_settings(sources),
        left_out=tuple(sources.left_out),  # the last: the other groups add to it
    )


def _hook_settings(sources: SettingSources) -> HookSettings:
    if not sources.on("include-hook-events") and not any(layer.data.get("hooks") for layer in sources.layers):
        return HookSettings()
    from yume_shim.config.hook_settings import hook_settings

    return hook_settings(sources)


def _mcp_settings(sources: SettingSources) -> McpSettings:
    """The default, without loading anything, where no server can be configured."""
    places = (os.path.join(sources.cwd, ".mcp.json"), claude_state_file(sources.env))
    ruled = any("deniedMcpServers" in layer.data or "allowedMcpServers" in layer.data for layer in sources.layers)
    if not ruled and not sources.on("mcp-config") and not any(map(os.path.exists, places)):
        return McpSettings()
    from yume_shim.config.mcp_settings import mcp_settings

    return mcp_settings(sources)
