"""Builds ScriptSettings: the flags of unattended runs."""

from __future__ import annotations

from yume_shim.types.script_settings import ScriptSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.config.setting_sources import SettingSources

FLAGS = ("exit-codes", "fail-on", "deadline", "max-tool-calls", "retry-forever", "errors")
VARIABLES = ("YUME_DEADLINE", "YUME_MAX_TOOL_CALLS")


def script_settings(sources: SettingSources) -> ScriptSettings:
    """Raises BadInvocation."""
    from yume_shim.types.exit_codes import read_fail_on

    return ScriptSettings(
        detailed_codes=sources.text("exit-codes") == "detailed",
        fail_on=read_fail_on(sources.text("fail-on") or ""),
        deadline=sources.number("deadline", "YUME_DEADLINE", least=0.001) or 0.0,
        max_tool_calls=sources.whole("max-tool-calls", "YUME_MAX_TOOL_CALLS") or 0,
        retry_forever=sources.on("retry-forever"),
        errors_to_stderr=sources.text("errors") == "stderr",
    )
