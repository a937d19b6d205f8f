"""Start and refusal: what is checked before the first line, what is printed when nothing can start, exit codes."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.settings import settings_with
from tests.helpers.transcripts import answer, chain, question, save
from tests.helpers.windows_bash import bash_for_windows
from yume_shim.app.command_list import BUILTIN_NAMES
from yume_shim.app.early_signals import EarlySignals
from yume_shim.app.resume import NoConversation
from yume_shim.app.start import Startup, exit_code, host_answers, refuse, run
from yume_shim.host.clock import FixedClock, SystemClock
from yume_shim.host.ids import CountedIds, RandomIds
from yume_shim.store.layout import session_path
from yume_shim.text import codec
from yume_shim.types.errors import BadInvocation
from yume_shim.types.events import Pong, SessionInfo, TurnEnded
from yume_shim.types.models import Usage
from yume_shim.types.settings import Rules

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.types.settings import Settings

ONE = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
FIXED = {"YUME_TEST_CLOCK": "1", "YUME_TEST_IDS": "1"}


def ended(outcome: Any) -> TurnEnded:
    return TurnEnded(outcome, "", 1, 0, 0, Usage(), 0.0)


# ---------------------------------------------------------------- exit codes


@pytest.mark.parametrize(
    ("signal", "outcome", "flat", "gone", "code"),
    [
        ("", None, True, False, 0),
        ("", "success", True, False, 0),
        ("", "success", False, False, 0),
        ("", "execution_error", True, False, 1),
        ("", "execution_error", False, False, 1),
        ("", "max_turns", False, False, 1),
        ("", "execution_error", True, True, 0),
        ("SIGINT", None, True, False, 130),
        ("SIGINT", "execution_error", False, False, 0),
        ("SIGTERM", "success", True, False, 143),
        ("SIGTERM", None, False, False, 143),
        ("SIGHUP", None, False, True, 129),
        ("SIGBREAK", None, True, False, 149),
    ],
)
def test_exit_codes(signal: str, outcome: str | None, flat: bool, gone: bool, code: int) -> None:
    end = ended(outcome) if outcome is not None else None
    assert exit_code(signal, end, flat=flat, host_gone=gone) == code


# ---------------------------------------------------------------- refusal


def test_a_flat_refusal_is_a_message_and_a_line(capfd: pytest.CaptureFixture[str]) -> None:
    assert refuse(BadInvocation("no such flag", "config"), flat=True) == 2
    out, err = capfd.readouterr()
    assert err == "no such flag\n"
    line = codec.loads(out.encode())
    assert (line["type"], line["subtype"], line["code"]) == ("system", "error", "config")
    assert "no such flag" in line["message"]


def test_a_claude_form_reports_on_stderr_only(capfd: pytest.CaptureFixture[str]) -> None:
    settings = settings_with(output_format="stream-json")
    assert refuse(BadInvocation("no such flag"), flat=False, settings=settings) == 1
    assert capfd.readouterr() == ("", "no such flag\n")


def test_a_claude_form_without_its_session_ends_with_a_result(capfd: pytest.CaptureFixture[str]) -> None:
    settings = settings_with(output_format="stream-json")
    assert refuse(NoConversation("No conversation found", ONE), flat=False, settings=settings) == 1
    out, err = capfd.readouterr()
    assert err == "No conversation found\n"
    [line] = [codec.loads(each.encode()) for each in out.splitlines()]
    assert (line["type"], line["is_error"], line["session_id"]) == ("result", True, ONE)


def test_a_key_in_the_wrong_place_is_not_printed(capfd: pytest.CaptureFixture[str]) -> None:
    settings = settings_with(env={"OPENAI_API_KEY": "sk-very-secret-key"})
    refuse(BadInvocation("no model 'sk-very-secret-key'"), flat=True, settings=settings)
    out, err = capfd.readouterr()
    assert "sk-very-secret-key" not in out + err


@pytest.mark.parametrize(("flat", "code"), [(True, 2), (False, 1)])
def test_a_flag_that_does_not_parse_starts_nothing(flat: bool, code: int, capfd: pytest.CaptureFixture[str]) -> None:
    assert run({}, (), ("error: unknown option '--x'", "another"), flat=flat, env={}) == code
    assert capfd.readouterr().err == "error: unknown option '--x'\n"


def test_a_flat_start_without_a_key_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    values = {"model": "openai/gpt-5.4", "output-format": "flat"}
    assert run(values, (), (), flat=True, env={"HOME": str(tmp_path)}) == 2
    out, err = capfd.readouterr()
    assert "OPENAI_API_KEY" in err
    assert codec.loads(out.encode())["code"] == "auth"


# ---------------------------------------------------------------- what exists before the first line


class Here:
    """A home and a working folder."""

    def __init__(self, folder: Path) -> None:
        self.home, self.cwd = folder / "home", folder / "work"
        self.home.mkdir()
        self.cwd.mkdir()

    def settings(self, env: dict[str, str] | None = None, **more: Any) -> Settings:
        own = {"HOME": str(self.home), "OPENAI_API_KEY": "sk-openai-key"}
        return settings_with(cwd=str(self.cwd), env=own | (env or {}), **{"model": "openai/gpt-5.4", **more})

    def store(self, model: str = "") -> None:
        path = session_path(str(self.home / ".claude" / "projects"), str(self.cwd), ONE)
        os.makedirs(os.path.dirname(path))
        with open(path, "wb") as file:
            file.write(save(*chain(question("u1", "hi"), answer("u2", [{"type": "text", "text": "hello"}]))))


@pytest.fixture
def here(tmp_path: Path) -> Here:
    return Here(tmp_path)


def test_the_first_description_of_a_session(here: Here) -> None:
    env = FIXED | bash_for_windows()
    startup = Startup(here.settings(env, permission_mode="plan", add_dirs=("/a",), tools=("Read", "Bash")), flat=True)
    assert startup.first_info() == SessionInfo(
        session_id=startup.opened.session_id,
        cwd=str(here.cwd),
        provider="openai",
        model="gpt-5.4",
        permission_mode="plan",
        tools=("Bash", "Read"),
        api_key_source="OPENAI_API_KEY",
        additional_directories=("/a",),
        slash_commands=BUILTIN_NAMES,
        resumed=False,
    )


def test_denied_tools_and_disabled_commands_are_not_described(here: Here) -> None:
    settings = here.settings(tools=("Read", "Bash"), rules=Rules(deny=("Bash",)), slash_commands=False)
    info = Startup(settings, flat=True).first_info()
    assert (info.tools, info.slash_commands) == (("Read",), ())


@pytest.mark.skipif(sys.platform == "win32", reason="the transcripts hold POSIX paths")
def test_a_resumed_session_is_described_as_such(here: Here) -> None:
    here.store()
    startup = Startup(here.settings(resume=ONE, persist=False), flat=True)
    info = startup.first_info()
    assert (info.session_id, info.resumed) == (ONE, True)
    assert not startup.describe(startup.spec, "another", "default", (), ()).resumed


def test_ids_and_clock_of_tests(here: Here) -> None:
    fixed, usual = Startup(here.settings(FIXED), flat=True), Startup(here.settings(), flat=True)
    assert (type(fixed.ids), type(fixed.clock)) == (CountedIds, FixedClock)
    assert (type(usual.ids), type(usual.clock)) == (RandomIds, SystemClock)


def test_a_claude_form_starts_without_a_key_and_a_flat_one_does_not(here: Here) -> None:
    settings = here.settings({"OPENAI_API_KEY": ""})
    assert Startup(settings, flat=False).first_info().api_key_source == "none"
    with pytest.raises(BadInvocation, match="OPENAI_API_KEY") as caught:
        Startup(settings, flat=True)
    assert caught.value.kind == "auth"


def test_the_log_names_model_and_place_of_the_key_but_no_key(here: Here, capfd: pytest.CaptureFixture[str]) -> None:
    env = {"OPENAI_BASE_URL": "https://user:pass@proxy.example/v1?key=sk-in-address"}
    startup = Startup(here.settings(env, log_level="info"), flat=True)
    startup.log("warning", "the key is sk-openai-key")
    err = capfd.readouterr().err
    assert "gpt-5.4 at " in err
    assert "key from OPENAI_API_KEY" in err
    assert not any(secret in err for secret in ("sk-openai-key", "pass@", "sk-in-address"))


def test_listeners_receive_every_event(here: Here, capfd: pytest.CaptureFixture[str]) -> None:
    received: list[Any] = []
    startup = Startup(here.settings(), flat=True, listeners=[received.append])
    startup.output.emit(Pong())
    assert [type(tagged.event) for tagged in received] == [Pong]
    assert codec.loads(capfd.readouterr().out.encode())["type"] == "pong"


# ---------------------------------------------------------------- small parts


@pytest.mark.parametrize(
    ("settings", "mode", "answers"),
    [
        ({}, "default", False),
        ({}, "interactive", True),
        ({"prompt_tool": "stdio"}, "default", True),
        ({"prompt_tool": "stdio", "input_format": "text"}, "default", False),
        ({"prompt_tool": "stdio", "never_ask": True}, "default", False),
        ({"never_ask": True}, "interactive", False),
    ],
)
def test_when_the_host_answers_questions(settings: dict[str, Any], mode: str, answers: bool) -> None:
    assert host_answers(settings_with(**settings), mode) is answers


def test_a_signal_that_comes_early_waits_for_the_program() -> None:
    signals, received = EarlySignals(), list[str]()
    signals.receive("SIGTERM")
    signals.receive("SIGINT")
    assert signals.received == "SIGTERM"
    signals.forward_to(received.append)
    assert received == ["SIGTERM"]
