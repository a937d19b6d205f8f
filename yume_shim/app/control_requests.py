"""The control requests that the host may send: a table, subtype -> handler."""

from __future__ import annotations

from yume_shim.host.control import ReplyThen, initialize_body
from yume_shim.types.errors import BadInvocation, BadLine, ToolFailed
from yume_shim.types.events import ModeChanged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from yume_shim.app.lazy_agents import LazyAgents
    from yume_shim.app.lazy_hooks import LazyHooks
    from yume_shim.app.lazy_mcp import LazyMcp
    from yume_shim.app.lazy_tasks import LazyTasks
    from yume_shim.app.model_requests import ModelParts
    from yume_shim.app.providers import Providers
    from yume_shim.app.session_requests import SessionParts
    from yume_shim.engine.session import Session
    from yume_shim.host.control import Handler, Later
    from yume_shim.types.blocks import Json
    from yume_shim.types.effort import Effort
    from yume_shim.types.ports import Emit, Gate
    from yume_shim.types.settings import Settings


SESSION_REQUESTS = (
    *("list_sessions", "get_session", "rename_session", "generate_session_title", "delete_session", "fork_session"),
)
MCP_REQUESTS = (
    *("mcp_reconnect", "mcp_toggle", "mcp_set_servers", "mcp_message", "mcp_call", "mcp_read_resource"),
    *("mcp_authenticate", "mcp_clear_auth"),
)


class ControlRequests:
    """One per process. Handlers run on the stdin reader's thread, also during a turn, and must return quickly."""

    def __init__(
        self,
        session: Session,
        gate: Gate,
        providers: Providers,
        emit: Emit,
        settings: Settings,
        mcp: LazyMcp,
        hooks: LazyHooks,
        tasks: LazyTasks,
        agents: LazyAgents,
        models: tuple[Json, ...],
        version: str,
        *,
        list_commands: Callable[[tuple[Json, ...]], tuple[Json, ...]],
        reload_prompts: Callable[[], None],
        end_session: Callable[[], None],
        session_parts: Callable[[], SessionParts],
        model_parts: Callable[[], ModelParts],
    ) -> None:
        self._session, self._gate, self._providers, self._emit = session, gate, providers, emit
        self._settings, self._models, self._version = settings, models, version
        self._end_session = end_session
        self._all_commands, self._reload_prompts = list_commands, reload_prompts
        self._session_parts, self._model_parts = session_parts, model_parts
        self._mcp, self._hooks, self._tasks, self._agents = mcp, hooks, tasks, agents
        self._initialized = False

    def handlers(self) -> Mapping[str, Handler]:
        """The handler of each subtype."""
        return {
            "initialize": self._initialize,
            "interrupt": self._interrupt,
            "set_permission_mode": self._set_permission_mode,
            "set_model": self._set_model,
            "set_profile": self._set_profile,
            "list_profiles": self._list_profiles,
            "set_max_thinking_tokens": self._set_max_thinking_tokens,
            "cancel_async_message": self._cancel_async_message,
            "end_session": lambda _: ReplyThen(None, self._end_session),
            "rewind_files": self._rewind_files,
            "get_settings": self._get_settings,
            "get_context_usage": lambda _: self._session.context_usage(),
            "get_binary_version": lambda _: {"version": self._version},
            "list_models": self._list_models,
            "list_tools": self._list_tools,
            "list_commands": self._list_commands,
            "steer": self._steer,
            "set_effort": self._set_effort,
            "set_cwd": self._set_cwd,
            "mcp_status": self._mcp_status,
            "stop_task": self._stop_task,
            "reload_skills": self._reload_skills,
            **{subtype: self._mcp_request(subtype) for subtype in MCP_REQUESTS},
            **{subtype: self._session_request(subtype) for subtype in SESSION_REQUESTS},
        }

    def _initialize(self, body: Json) -> Json | ReplyThen:
        """Apply what SDKs send here instead of by flags."""
        self._hooks.register(body.get("hooks"))
        self._start_host_servers(body)
        self._take_agents(body)
        prompt, append, schema = body.get("systemPrompt"), body.get("appendSystemPrompt"), body.get("jsonSchema")
        if isinstance(prompt, list):
            prompt = "\n\n".join(part for part in prompt if isinstance(part, str))
        style, exclude = body.get("outputStyle"), body.get("excludeDynamicSections")
        self._session.apply_initialize(
            system_prompt=prompt if isinstance(prompt, str) else None,
            append_system_prompt=append if isinstance(append, str) else None,
            schema=schema if isinstance(schema, dict) else None,
            output_style=style if isinstance(style, str) and style else None,
            exclude_dynamic=exclude if isinstance(exclude, bool) else None,
        )
        answer = self._about()
        if not self._initialized:
            self._initialized = True
            return answer
        return ReplyThen(answer, self._tasks.report)  # a host that begins again learns what runs

    def _about(self) -> Json:
        parts = self._mcp.parts
        told = parts.told_commands() if parts is not None else ()
        commands = self._all_commands(told) if self._settings.host.slash_commands else ()
        styles = self._session.output_styles()
        answer = initialize_body(self._session.info(), self._models, self._version, commands, styles)
        answer["agents"] = list(self._agents.described())
        return answer

    def _take_agents(self, body: Json) -> None:
        agents = body.get("agents")
        if isinstance(agents, dict) and agents:
            self._agents.add_given(agents)
        if body.get("forwardSubagentText") is True:
            self._agents.forwards = True

    def _start_host_servers(self, body: Json) -> None:
        """MCP servers in the host's process: those it names here, and those of `--mcp-config`."""
        named = body.get("sdkMcpServers")
        names = [name for name in named if isinstance(name, str)] if isinstance(named, list) else []
        if names:
            self._mcp.open().add_host_servers(names)
        if self._mcp.parts is not None:
            self._mcp.parts.servers.start(sdk=True)

    def _mcp_status(self, _: Json) -> Json:
        parts = self._mcp.parts
        return {"mcpServers": list(parts.servers.details()) if parts is not None else []}

    def _mcp_request(self, subtype: str) -> Handler:
        def handler(body: Json) -> Json | Later | None:
            from yume_shim.app.mcp_requests import handle

            return handle(subtype, body, self._mcp.open())

        return handler

    def _session_request(self, subtype: str) -> Handler:
        def handler(body: Json) -> Json | ReplyThen | Later | None:
            from yume_shim.app.session_requests import handle

            return handle(subtype, body, self._session_parts())

        return handler

    def _list_models(self, body: Json) -> Later:
        from yume_shim.app.model_requests import list_models

        return list_models(body, self._model_parts())

    def _list_tools(self, body: Json) -> Json:
        from yume_shim.app.tool_list import tool_list

        return tool_list(body, self._session.tools(), self._settings)

    def _list_commands(self, _: Json) -> Json:
        return {"commands": self._about()["commands"]}

    def _steer(self, body: Json) -> Json:
        """Our addition to the protocol: a prompt that joins the running turn."""
        from yume_shim.host.input_lines import steering_prompt

        prompt = steering_prompt(body, self._session_parts().ids.uuid)
        if not self._session.steer(prompt):
            raise BadLine("no turn is running: send a `user` line instead", code="not_running")
        return {"uuid": prompt.uuid}

    def _set_effort(self, body: Json) -> Json:
        from yume_shim.types.effort import EFFORTS

        asked = body.get("effort")
        effort: Effort | None = next((level for level in EFFORTS if level == asked), None)
        if asked is not None and effort is None:
            raise BadLine(f"effort must be one of {', '.join(EFFORTS)}, or null", code="invalid_value")
        self._session.use_effort(effort)
        return {"effort": effort}

    def _set_cwd(self, _: Json) -> Json:
        raise BadLine(
            "the working folder is fixed when the process starts: start another process in the other folder",
            code="unsupported",
        )

    def _interrupt(self, _: Json) -> ReplyThen:
        def stop() -> None:
            self._session.interrupt("user")

        return ReplyThen({"still_queued": list(self._session.waiting_uuids())}, stop)

    def _set_permission_mode(self, body: Json) -> ReplyThen:
        mode = body.get("mode")
        if not isinstance(mode, str):
            raise BadLine("set_permission_mode needs a `mode`", code="invalid_mode")
        self._gate.set_mode(mode)
        now = self._gate.mode()

        def announce() -> None:
            self._emit(ModeChanged(now))

        return ReplyThen({"mode": now}, announce)

    def _set_model(self, body: Json) -> Json | Later:
        asked = body.get("model")

        def change() -> Json:
            try:
                spec = self._session.use_model("" if asked in (None, "default") else str(asked))
            except BadInvocation as error:
                raise BadLine(error.message, code="not_found") from None
            return {"model": spec.id}

        hooks = self._hooks.get()
        if hooks is None or not hooks.has("PreModelSwitch", "PostModelSwitch"):
            return change()
        from yume_shim.host.control import Later

        return Later(change)  # hooks may take a while, and the reader must not wait

    def _set_profile(self, body: Json) -> Json:
        """Our addition to the protocol: choose a credential by name (null = none) from the next request on."""
        asked = body.get("profile")
        if asked is not None and not isinstance(asked, str):
            raise BadLine("set_profile needs a `profile`: a name, or null", code="invalid_value")
        try:
            self._providers.use_profile(asked or "")
        except BadInvocation as error:
            raise BadLine(error.message, code="not_found") from None
        return {"profile": asked or None}

    def _list_profiles(self, _: Json) -> Json:
        """Our addition to the protocol: the names that a user can choose from."""
        profiles = [
            {"name": name, "provider": table["provider"], "chosen": name == self._providers.profile}
            for name, table in self._settings.credentials.profiles.items()
        ]
        return {"profiles": profiles}

    def _set_max_thinking_tokens(self, body: Json) -> None:
        asked = body.get("max_thinking_tokens")
        if asked is not None and (not isinstance(asked, int) or isinstance(asked, bool) or asked < 0):
            raise BadLine("max_thinking_tokens must be a whole number or null", code="invalid_value")
        self._session.use_thinking_budget(asked)

    def _stop_task(self, body: Json) -> Json:
        """An unknown id gets the same answer, as in the Claude CLI."""
        self._session.stop_task(str(body.get("task_id", "")))
        return {}

    def _reload_skills(self, _: Json) -> Json:
        self._reload_prompts()
        return {"skills": list(self._session.info().skills)}

    def _rewind_files(self, body: Json) -> Json:
        try:
            return self._session.rewind_files(str(body.get("user_message_id", "")), dry_run=body.get("dry_run") is True)
        except ToolFailed as error:
            raise BadLine(error.message, code="rewind_failed") from None

    def _cancel_async_message(self, body: Json) -> Json:
        return {"cancelled": self._session.withdraw(str(body.get("message_uuid", "")))}

    def _get_settings(self, _: Json) -> Json:
        settings, info = self._settings, self._session.info()
        rules = settings.permissions.rules
        effective: dict[str, Any] = {
            "model": info.model,
            "permissions": {
                "allow": list(rules.allow),
                "ask": list(rules.ask),
                "deny": list(rules.deny),
                "defaultMode": settings.permissions.mode,
                "additionalDirectories": list(info.additional_directories),
            },
        }
        return {
            "effective": effective,
            "sources": [{"source": name, "settings": {}} for name in settings.setting_sources],
            "applied": {
                "model": info.model,
                "effort": self._session.effort,
                "provider": info.provider,
                "permissionMode": info.permission_mode,
                "cwd": info.cwd,
            },
        }
