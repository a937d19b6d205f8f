"""Control requests: every subtype's answer, and what it does to the session."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.engine_fakes import SPEC, Bench, FunctionTools, ScriptedProvider, TableGate, answer, info, says
from tests.helpers.fakes import FakeIds
from yume_shim.app.control_requests import ControlRequests
from yume_shim.app.lazy_agents import LazyAgents
from yume_shim.app.lazy_hooks import LazyHooks
from yume_shim.app.lazy_mcp import LazyMcp
from yume_shim.app.lazy_tasks import LazyTasks
from yume_shim.app.models import EndpointKeys
from yume_shim.app.providers import Providers
from yume_shim.app.session_requests import SessionParts
from yume_shim.engine.session import Session
from yume_shim.host.control import MAX_LATER, ControlResponder, Later
from yume_shim.host.host_requests import HostRequests
from yume_shim.types.agents import AgentSettings
from yume_shim.types.blocks import Text
from yume_shim.types.commands import ControlAsk, EndOfInput, UserInput
from yume_shim.types.errors import BadInvocation, BadLine
from yume_shim.types.events import ControlAnswered, ModeChanged, ModelChanged, PromptWithdrawn
from yume_shim.types.models import ModelSpec
from yume_shim.types.settings import HookSettings
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from yume_shim.app.mcp import McpParts
    from yume_shim.app.model_requests import ModelParts
    from yume_shim.extensions.agents.agent_tool import AgentTool
    from yume_shim.extensions.agents.message_tool import MessageTool
    from yume_shim.extensions.hooks.runner import HookServices

PROFILES = {
    "work": {"provider": "anthropic", "key": "sk-work"},
    "home": {"provider": "openai", "key": "sk-home"},
}


class Gate(TableGate):
    """Knows two modes."""

    def __init__(self) -> None:
        super().__init__()
        self.now = "default"

    def mode(self) -> str:
        return self.now

    def set_mode(self, mode: str) -> None:
        if mode not in ("default", "plan"):
            raise BadLine(f"no mode {mode}", code="invalid_mode")
        self.now = mode


def no_servers() -> McpParts:
    raise AssertionError("these requests need no MCP server")


def no_models() -> ModelParts:
    raise AssertionError("tests/unit/app/test_model_requests.py asks for models")


def no_hooks() -> HookServices:
    raise AssertionError("these requests register no hook")


def no_agents(_: object) -> tuple[AgentTool, MessageTool]:
    raise AssertionError("no agent is started here")


class Host:
    """Asks, and reads the answers."""

    def __init__(self, *scripts: list[Any]) -> None:
        self.bench = Bench(ScriptedProvider(*scripts), profiles=PROFILES, config_file="config.toml")
        self.gate = Gate()
        self.ended = 0
        self.reloaded = 0
        self.mcp, self.hooks = LazyMcp(no_servers), LazyHooks(HookSettings(), no_hooks)

        def resolve(text: str) -> ModelSpec:
            if text == "nope":
                raise BadInvocation("unknown model 'nope'")
            return replace(SPEC, id=text or "the-default")

        self.session = Session(self.bench.services, SPEC, "s-1", resolve, info)
        models = ({"value": "default"},)
        services = self.bench.services
        self.keys = EndpointKeys(services.settings)
        providers = Providers(
            services.settings,
            self.keys,
            services.ids,
            services.clock,
            services.log,
            HostRequests(lambda _: "", FakeIds()),
        )
        self.tasks = LazyTasks(self.bench.emit, services.ids.uuid, lambda: self.session.notify)
        self.agents = LazyAgents(AgentSettings(), no_agents, print, offered=("Agent",), background=True)
        requests = ControlRequests(
            *(
                self.session,
                self.gate,
                providers,
                self.bench.emit,
                services.settings,
                self.mcp,
                self.hooks,
                self.tasks,
                self.agents,
                models,
                "2.1.325",
            ),
            list_commands=lambda of_servers: of_servers,
            reload_prompts=self.reload_prompts,
            end_session=self.end_session,
            session_parts=lambda: SessionParts(
                self.session, services.settings, self.bench.emit, services.ids, "/nowhere/sessions"
            ),
            model_parts=no_models,
        )
        self.responder = ControlResponder(self.bench.emit, requests.handlers(), services.log)

    def reload_prompts(self) -> None:
        self.reloaded += 1

    def end_session(self) -> None:
        self.ended += 1

    def ask(self, subtype: str, **body: Any) -> ControlAnswered:
        before = len(self.bench.of(ControlAnswered))
        self.responder.answer(ControlAsk("r1", subtype, {"subtype": subtype, **body}))
        [said] = self.bench.of(ControlAnswered)[before:]
        assert isinstance(said, ControlAnswered)
        return said


def test_initialize_answers_what_sdks_need_and_applies_their_settings() -> None:
    host = Host(answer(says("Hi.")))
    said = host.ask(
        "initialize", systemPrompt=["one", "two"], appendSystemPrompt="three", jsonSchema={"type": "object"}
    )
    assert said.body is not None
    for field in ("commands", "agents", "output_style", "available_output_styles", "models", "account", "pid"):
        assert field in said.body
    host.session.submit(UserInput((Text("a"),), "a"))
    host.session.submit(EndOfInput())
    host.session.run()
    request = host.bench.provider.requests[0]
    assert "one\n\ntwo" in "\n".join(request.system)
    assert "three" in "\n".join(request.system)
    assert request.tools[-1].name == "StructuredOutput"


def test_interrupt_names_what_still_waits() -> None:
    host = Host()
    host.session.submit(UserInput((Text("a"),), "a", "u-1"))
    assert host.ask("interrupt").body == {"still_queued": ["u-1"]}


def test_permission_mode() -> None:
    host = Host()
    assert host.ask("set_permission_mode", mode="plan").body == {"mode": "plan"}
    assert host.bench.events[-1] == ModeChanged("plan")
    wrong = host.ask("set_permission_mode", mode="what")
    assert (wrong.error, wrong.error_code) == ("no mode what", "invalid_mode")
    assert host.ask("set_permission_mode").error_code == "invalid_mode"


@pytest.mark.parametrize(("asked", "used"), [("m-2", "m-2"), ("default", "the-default"), (None, "the-default")])
def test_model(asked: str | None, used: str) -> None:
    host = Host()
    assert host.ask("set_model", model=asked).body == {"model": used}
    assert host.bench.of(ModelChanged) == [ModelChanged("test", used, "host")]


def test_unknown_model() -> None:
    host = Host()
    said = host.ask("set_model", model="nope")
    assert (said.error, said.error_code) == ("unknown model 'nope'", "not_found")


def test_thinking_budget() -> None:
    host = Host(answer(says("Hi.")))
    assert host.ask("set_max_thinking_tokens", max_thinking_tokens=2_000).error == ""
    assert host.ask("set_max_thinking_tokens", max_thinking_tokens="many").error_code == "invalid_value"
    host.session.submit(UserInput((Text("a"),), "a"))
    host.session.submit(EndOfInput())
    host.session.run()
    assert host.bench.provider.requests[0].thinking_budget == 2_000


def test_effort() -> None:
    host = Host(answer(says("Hi.")))
    assert host.ask("set_effort", effort="high").body == {"effort": "high"}
    assert host.ask("set_effort", effort="extreme").error_code == "invalid_value"
    settings = host.ask("get_settings").body
    assert settings is not None
    assert settings["applied"]["effort"] == "high"
    host.session.submit(UserInput((Text("a"),), "a"))
    host.session.submit(EndOfInput())
    host.session.run()
    assert host.bench.provider.requests[0].effort == "high"
    assert host.ask("set_effort", effort=None).body == {"effort": None}


def test_the_working_folder_stays() -> None:
    said = Host().ask("set_cwd", path="/elsewhere")
    assert said.error_code == "unsupported"
    assert "start another process" in said.error


def test_tools_and_commands() -> None:
    host = Host()
    host.bench.services.toolbox.add(FunctionTools(Up=lambda given, _: "", mcp__files__read=lambda given, _: ""))
    said = host.ask("list_tools").body
    assert said is not None
    assert [(tool["name"], tool["source"], tool.get("server")) for tool in said["tools"]] == [
        ("Up", "builtin", None),
        ("mcp__files__read", "mcp", "files"),
    ]
    assert host.ask("list_tools", offset=1).body == {"tools": said["tools"][1:]}
    assert host.ask("list_tools", offset=-1).error_code == "invalid_value"
    assert host.ask("list_commands").body == {"commands": []}


def test_a_prompt_joins_only_a_running_turn() -> None:
    host = Host()
    said = host.ask("steer", content="also this")
    assert (said.error, said.error_code) == ("no turn is running: send a `user` line instead", "not_running")
    assert host.ask("steer").error_code == "invalid_value"
    assert host.ask("steer", content=[{"type": "text"}]).error_code != ""


def test_too_many_slow_requests_are_refused() -> None:
    bench, gate = Bench(ScriptedProvider()), threading.Event()
    responder = ControlResponder(
        bench.emit, {"slow": lambda _: Later(lambda: {"waited": gate.wait(60)})}, bench.services.log
    )
    for number in range(MAX_LATER + 1):
        responder.answer(ControlAsk(str(number), "slow", {}))
    [refused] = bench.of(ControlAnswered)
    assert (refused.request_id, refused.error_code) == (str(MAX_LATER), "busy")
    gate.set()
    responder.finish(lambda: False)
    assert {answered.request_id for answered in bench.of(ControlAnswered)} == set(map(str, range(MAX_LATER + 1)))


def test_a_waiting_message_is_withdrawn() -> None:
    host = Host()
    host.session.submit(UserInput((Text("a"),), "a", "u-1"))
    assert host.ask("cancel_async_message", message_uuid="u-1").body == {"cancelled": True}
    assert host.bench.of(PromptWithdrawn) == [PromptWithdrawn("u-1")]
    assert host.ask("cancel_async_message", message_uuid="u-1").body == {"cancelled": False}


def test_a_profile_is_chosen_and_listed() -> None:
    host = Host()
    work, home = {"name": "work", "provider": "anthropic"}, {"name": "home", "provider": "openai"}
    profiles = [{**work, "chosen": False}, {**home, "chosen": False}]
    assert host.ask("list_profiles").body == {"profiles": profiles}
    assert host.ask("set_profile", profile="home").body == {"profile": "home"}
    assert host.keys.profile == "home"
    profiles = [{**work, "chosen": False}, {**home, "chosen": True}]
    assert host.ask("list_profiles").body == {"profiles": profiles}
    assert host.ask("set_profile", profile=None).body == {"profile": None}
    assert host.keys.profile == ""


@pytest.mark.parametrize(
    ("profile", "code"), [("nope", "not_found"), (5, "invalid_value"), (["work"], "invalid_value")]
)
def test_a_profile_that_cannot_be_chosen(profile: object, code: str) -> None:
    host = Host()
    host.ask("set_profile", profile="work")
    assert host.ask("set_profile", profile=profile).error_code == code
    assert host.keys.profile == "work"


def test_the_session_ends_after_the_answer() -> None:
    host = Host()
    assert host.ask("end_session").error == ""
    assert host.ended == 1


def test_the_settings_in_effect() -> None:
    said = Host().ask("get_settings").body
    assert said is not None
    applied = {"model": "test-model", "effort": None, "provider": "test"}
    assert said["applied"] == {**applied, "permissionMode": "default", "cwd": "/nowhere"}
    assert set(said) == {"effective", "sources", "applied"}


def test_small_answers() -> None:
    host = Host()
    assert host.ask("mcp_status").body == {"mcpServers": []}
    assert host.ask("get_binary_version").body == {"version": "2.1.325"}
    assert host.ask("stop_task", task_id="t").body == {}


def test_anything_else_is_unsupported() -> None:
    said = Host().ask("make_coffee")
    assert (said.error, said.error_code) == ("Unsupported control request subtype: make_coffee", "unsupported_request")
