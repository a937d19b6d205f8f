"""What endpoints report about their models: read, requested over a real connection, cached, and used by the program."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.fake_server import LoopbackServer
from tests.helpers.fakes import FakeClock, cancel
from tests.helpers.scripted_model import SHOWN, ModelServer, say
from tests.helpers.settings import settings_with
from tests.helpers.timing import in_one_of, set_when, soon, wait_until
from yume_shim.providers.discovery.limits import (
    ASK_SECONDS,
    MAX_ANSWER_BYTES,
    TIMEOUTS,
    ask_limits,
    load_asker,
    read_anthropic,
    read_google,
    read_ollama,
    read_openrouter,
    read_vllm,
    with_limits,
)
from yume_shim.providers.discovery.limits_cache import (
    KEPT_SECONDS,
    SILENCE_SECONDS,
    SLOW_SECONDS,
    LimitsCache,
)
from yume_shim.providers.facts.fact_file import MAX_SUBJECTS, FactFile
from yume_shim.providers.http.transport import DirectTransport
from yume_shim.types.models import Credential, Endpoint, ModelSpec, Quirks, TransportSettings
from yume_shim.types.settings import Settings, Timeouts
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.helpers.fake_server import Exchange
    from yume_shim.types.blocks import Json

KEY = Credential("key-for-tests", "key", "test")
FORMS = {
    "ollama-show": ("ollama-chat", "POST /api/show", SHOWN, 131_072),
    "openrouter-models": ("openai-chat", "GET /models", {"data": [{"id": "m", "context_length": 200_000}]}, 200_000),
    "vllm-models": ("openai-chat", "GET /models", {"data": [{"id": "m", "max_model_len": 40_960}]}, 40_960),
    "gemini-model": ("google-genai", "GET /v1/models/m", {"inputTokenLimit": 1_048_576}, 1_048_576),
    "anthropic-model": ("anthropic-messages", "GET /v1/models/m", {"max_input_tokens": 500_000}, 500_000),
}


def spec(form: str = "ollama-show", url: str = "http://127.0.0.1:1", **more: Any) -> ModelSpec:
    return ModelSpec("m", Endpoint("x", FORMS[form][0], url, tells_limits=form), known=False, **more)


def no_log(level: str, message: str) -> None:
    assert level == "debug", message


# ---------------------------------------------------------------- reading


@pytest.mark.parametrize(
    ("body", "limits"),
    [
        (SHOWN, {"window": 131_072, "tools": True, "images": True, "thinking": "adaptive"}),
        (
            {"model_info": {"qwen3.context_length": 40_960}, "capabilities": ["completion"]},
            {"window": 40_960, "tools": False, "images": False, "thinking": ""},
        ),
        (
            {"capabilities": ["tools", "thinking"], "thinking": {"values": ["low", "high"], "default": "low"}},
            {"tools": True, "images": False, "thinking": "level", "efforts": ["low", "high"]},
        ),
        (
            {"capabilities": ["tools", "thinking"], "thinking": {"values": [False, True], "default": True}},
            {"tools": True, "images": False, "thinking": "adaptive"},
        ),
        ({"model_info": {"a.context_length": 8_192, "b.context_length": 4_096}}, {"window": 4_096}),
        ({"license": "…"}, {}),
    ],
)
def test_ollama(body: Json, limits: Json) -> None:
    assert read_ollama(body, spec()) == limits


def test_ollama_keeps_the_known_style_of_thinking() -> None:
    assert read_ollama({"capabilities": ["thinking"]}, spec(thinking="effort"))["thinking"] == "effort"


def test_openrouter() -> None:
    row = {
        "id": "m",
        "context_length": 200_000,
        "top_provider": {"context_length": 131_072, "max_completion_tokens": 16_384},
        "supported_parameters": ["tools", "reasoning", "max_tokens"],
        "architecture": {"input_modalities": ["text", "image"]},
    }
    limits = {"window": 131_072, "max_output": 16_384, "tools": True, "sampling": False, "thinking": "effort"}
    body = {"data": [{"id": "other"}, row]}
    asked = spec("openrouter-models")
    assert read_openrouter(body, asked) == {**limits, "images": True}
    assert read_openrouter(body, replace(asked, id="m:nitro")) == {**limits, "images": True}
    assert read_openrouter(body, replace(asked, id="n")) == {}
    plain = {"data": [{"id": "m", "top_provider": None, "supported_parameters": ["temperature"]}]}
    assert read_openrouter(plain, asked) == {"tools": False, "sampling": True, "thinking": ""}


def test_vllm() -> None:
    body = {"data": [{"id": "m", "max_model_len": 40_960}]}
    assert read_vllm(body, spec("vllm-models")) == {"window": 40_960}
    assert read_vllm({"data": [{"id": "m"}]}, spec("vllm-models")) == {}


def test_google() -> None:
    body = {"inputTokenLimit": 1_048_576, "outputTokenLimit": 65_536, "thinking": True}
    assert read_google(body, spec("gemini-model")) == {"window": 1_048_576, "max_output": 65_536}
    assert read_google({"thinking": False}, spec("gemini-model")) == {"thinking": ""}


def test_anthropic() -> None:
    yes, no = {"supported": True}, {"supported": False}
    able: Json = {
        "thinking": {"supported": True, "types": {"adaptive": yes, "enabled": no}},
        "effort": {"supported": True, "low": yes, "medium": yes, "high": yes, "xhigh": no, "max": yes},
        "image_input": no,
    }
    body = {"max_input_tokens": 1_000_000, "max_tokens": 128_000, "capabilities": able}
    assert read_anthropic(body, spec("anthropic-model")) == {
        "window": 1_000_000,
        "max_output": 128_000,
        "thinking": "adaptive",
        "efforts": ["low", "medium", "high", "max"],
        "images": False,
    }
    able["thinking"] = {"supported": True, "types": {"adaptive": no, "enabled": yes}}
    assert read_anthropic(body, spec("anthropic-model"))["thinking"] == "budget"
    assert read_anthropic({"max_input_tokens": None, "capabilities": None}, spec("anthropic-model")) == {}


# ---------------------------------------------------------------- using


def test_reported_limits_override_guesses() -> None:
    limits = {"window": 40_960, "efforts": ["low"], "tools": False, "unknown": 1}
    assert with_limits(spec(), limits) == replace(spec(), window=40_960, efforts=("low",), tools=False, known=True)


def test_a_window_is_no_larger_than_the_requested_context() -> None:
    small = replace(spec(), endpoint=replace(spec().endpoint, quirks=Quirks(context_size=32_768)))
    assert with_limits(small, {"window": 131_072}) == replace(small, window=32_768, max_output=8_192, known=True)
    assert with_limits(small, {"window": 4_096}) == replace(small, window=4_096, max_output=1_024, known=True)
    unknown = with_limits(small, {"tools": True})
    assert (unknown.window, unknown.known) == (32_768, False)


# ---------------------------------------------------------------- asking


def ask(made: ModelSpec) -> Json | None:
    transport = load_asker(made, KEY, Settings(), no_log)
    try:
        return ask_limits(made, transport, cancel(), no_log)
    finally:
        transport.close()


def answering(body: object, status: int = 200, indent: int | None = None) -> Callable[[Exchange], bool]:
    def handle(exchange: Exchange) -> bool:
        packed = body if isinstance(body, bytes) else json.dumps(body, indent=indent).encode()
        exchange.reply(status, {"Content-Type": "application/json"}, packed)
        return True

    return handle


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_asked_and_read(form: str, indent: int | None) -> None:
    _, line, body, window = FORMS[form]
    with LoopbackServer(answering(body, indent=indent)) as server:
        limits = ask(spec(form, server.url))
        (received,) = server.requests
    assert limits is not None
    assert limits["window"] == window
    assert f"{received.method} {received.path}" == line
    assert "key-for-tests" in str(received.headers)
    if received.method == "GET":
        assert received.body == b""
        assert not {"content-type", "content-length"} & received.headers.keys()
    else:
        assert received.json() == {"model": "m"}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"error": "model 'm' not found"}, 404),
        ({"error": {"message": "no"}}, 401),
        (b"not JSON", 200),
        (b"<html>", 200),
        (b"", 200),
        ([1], 200),
        ({"model_info": "x"}, 200),
        ({"model_info": {"a.context_length": "many"}}, 200),
        ({"model_info": {"a.context_length": 10**30}}, 200),
        (b'{"model_info": {"a.context_length": 1e999}}', 200),
        (b'{"a":' * 100_000, 200),
        (b'{"license": "' + b"x" * (MAX_ANSWER_BYTES + 1) + b'", "model_info": {"a.context_length": 9999}}', 200),
        ({}, 200),
    ],
)
def test_a_missing_answer_does_no_harm(body: object, status: int) -> None:
    with LoopbackServer(answering(body, status)) as server:
        assert ask(spec(url=server.url)) is None


def test_no_server_is_running() -> None:
    assert ask(spec()) is None


def silent(exchange: Exchange) -> bool:
    return bool(exchange.wait_for_close())


def endless(exchange: Exchange) -> bool:
    """Bytes that never become an answer, one by one: no wait between two of them is long."""
    exchange.send(b"HTTP/1.1 200 OK\r\n\r\n{")
    with contextlib.suppress(OSError):
        while True:
            exchange.send(b" ")
            time.sleep(0.05)
    return False


@pytest.mark.parametrize("handle", [silent, endless])
def test_the_wait_for_an_answer_is_short(handle: Callable[[Exchange], bool]) -> None:
    with LoopbackServer(handle) as server:
        made = spec(url=server.url)
        brief = Timeouts(connect=0.2, first_byte=0.2, idle=0.2, total=0.2)
        transport = DirectTransport(TransportSettings(made.endpoint, KEY, {}, brief, {}, {}, no_log))
        with soon():
            assert ask_limits(made, transport, cancel(), no_log) is None
    assert {getattr(TIMEOUTS, name) for name in ("connect", "first_byte", "idle", "total")} == {ASK_SECONDS}


def test_a_stop_ends_the_wait() -> None:
    with LoopbackServer(lambda exchange: bool(exchange.wait_for_close())) as server:
        made, stop = spec(url=server.url), cancel()
        set_when(stop, lambda: server.requests)
        assert ask_limits(made, load_asker(made, KEY, Settings(), no_log), stop, no_log) is None
        assert stop.is_set()


def test_an_endpoint_without_limits_is_not_asked() -> None:
    with LoopbackServer(answering(SHOWN)) as server:
        mute = replace(spec(url=server.url), endpoint=replace(spec(url=server.url).endpoint, tells_limits=""))
        assert ask(mute) is None
        assert server.requests == []


# ---------------------------------------------------------------- keeping


class Kept:
    """Limits cached in a folder, with a clock that the test sets."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "home" / "facts.json"
        self.clock = FakeClock()

    def refine(self, made: ModelSpec) -> ModelSpec:
        """As a fresh process would do it."""
        return self.process().refine(made, KEY, cancel())

    def process(self, **settings: Any) -> LimitsCache:
        return LimitsCache(
            FactFile(str(self.file), self.clock.now, no_log), settings_with(**settings), self.clock.now, no_log
        )


def test_an_answer_is_kept_for_a_day(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    with LoopbackServer(answering(SHOWN)) as server:
        first = kept.refine(spec(url=server.url))
        assert (first.window, first.known) == (131_072, True)
        assert kept.refine(spec(url=server.url)) == first
        assert len(server.requests) == 1
        kept.clock.time += KEPT_SECONDS
        assert kept.refine(spec(url=server.url)) == first
        assert len(server.requests) == 2
    assert sorted(path.name for path in kept.file.parent.iterdir()) == ["facts.json", "facts.json.lock"]


def test_the_cache_contains_no_password(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    with LoopbackServer(answering(SHOWN)) as server:
        kept.refine(spec(url=server.url.replace("://", "://me:pass-word@")))
    assert "127.0.0.1" in kept.file.read_text()
    assert "pass-word" not in kept.file.read_text()


def test_a_process_asks_once_even_without_an_answer(tmp_path: Path) -> None:
    with LoopbackServer(answering({"error": "no"}, 404)) as server:
        process = Kept(tmp_path).process()
        for _ in range(2):
            assert process.refine(spec(url=server.url), KEY, cancel()) == spec(url=server.url)
        assert len(server.requests) == 1


def test_an_endpoint_that_timed_out_is_not_asked_for_a_while(tmp_path: Path) -> None:
    kept = Kept(tmp_path)

    def slow(exchange: Exchange) -> bool:
        kept.clock.time += SLOW_SECONDS + 1
        exchange.reply(404, {"Content-Type": "application/json"}, b'{"error": "no"}')
        return True

    with LoopbackServer(slow) as server:
        made = spec(url=server.url)
        assert kept.refine(made) == kept.refine(made) == made
        assert len(server.requests) == 1
        kept.clock.time += SILENCE_SECONDS
        assert kept.refine(made) == made
        assert len(server.requests) == 2


def test_an_endpoint_that_refused_at_once_is_asked_by_the_next_process(tmp_path: Path) -> None:
    """The model may have been fetched meanwhile."""
    with LoopbackServer(answering({"error": "no"}, 404)) as server:
        for _ in range(2):
            Kept(tmp_path).refine(spec(url=server.url))
        assert len(server.requests) == 2


def test_a_cancelled_question_is_asked_again(tmp_path: Path) -> None:
    with LoopbackServer(answering(SHOWN)) as server:
        process = Kept(tmp_path).process()
        stopped = cancel()
        stopped.set()
        assert process.refine(spec(url=server.url), KEY, stopped) == spec(url=server.url)
        assert process.refine(spec(url=server.url), KEY, cancel()).known


@pytest.mark.parametrize("name", ["m", "x/m"])
def test_what_the_config_file_says_is_not_overwritten(tmp_path: Path, name: str) -> None:
    with LoopbackServer(answering(SHOWN)) as server:
        process = Kept(tmp_path).process(models={name: {"tools": False, "temperature": 0.1}})
        made = process.refine(spec(url=server.url, tools=False), KEY, cancel())
    assert (made.window, made.tools, made.thinking) == (131_072, False, "adaptive")


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"k": 1}', b'{"k": []}', b'{"k": {"asked": {"at": "x", "value": {}}}}'],
)
def test_a_broken_file_is_replaced(tmp_path: Path, content: bytes) -> None:
    kept = Kept(tmp_path)
    kept.file.parent.mkdir()
    with LoopbackServer(answering(SHOWN)) as server:
        kept.file.write_bytes(content.replace(b'"k"', json.dumps(f"{server.url} m").encode()))
        assert kept.refine(spec(url=server.url)).known
        assert kept.refine(spec(url=server.url)).known
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    "limits",
    [
        {"window": "x"},
        {"window": -5},
        {"window": 10**20},
        {"max_output": None},
        {"tools": "no"},
        {"thinking": 7},
        {"efforts": [1]},
        {"efforts": "low"},
    ],
)
def test_impossible_limits_are_ignored(tmp_path: Path, limits: Json) -> None:
    kept = Kept(tmp_path)
    kept.file.parent.mkdir()
    with LoopbackServer(answering(SHOWN)) as server:
        made = spec(url=server.url)
        now = int(kept.clock.now())
        fact = {"at": now, "until": now + 60, "value": limits}
        kept.file.write_text(json.dumps({f"{server.url} m": {"asked": fact}}))
        assert kept.refine(made) == with_limits(made, read_ollama(SHOWN, made))
        assert len(server.requests) == 1


def test_a_clock_that_goes_back_does_no_harm(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    with LoopbackServer(answering(SHOWN)) as server:
        first = kept.refine(spec(url=server.url))
        kept.clock.time -= 1_000
        assert kept.refine(spec(url=server.url)) == kept.refine(spec(url=server.url)) == first
        assert len(server.requests) == 2


def test_a_folder_that_cannot_be_written_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    with LoopbackServer(answering(SHOWN)) as server:
        assert Kept(tmp_path).refine(spec(url=server.url)).known


def test_no_temporary_file_is_left_if_the_file_cannot_be_replaced(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    kept.file.mkdir(parents=True)
    with LoopbackServer(answering(SHOWN)) as server:
        assert kept.refine(spec(url=server.url)).known
    assert sorted(path.name for path in kept.file.parent.iterdir()) == ["facts.json", "facts.json.lock"]


def test_the_file_does_not_grow_for_ever(tmp_path: Path) -> None:
    kept = Kept(tmp_path)
    kept.file.parent.mkdir()
    now = int(kept.clock.now())
    fact = {"at": now - 1, "until": now + 60, "value": {"window": 9_999}}
    kept.file.write_text(json.dumps({f"http://x m{n}": {"asked": fact} for n in range(MAX_SUBJECTS)}))
    with LoopbackServer(answering(SHOWN)) as server:
        kept.refine(spec(url=server.url))
        entries = json.loads(kept.file.read_text())
        assert len(entries) == MAX_SUBJECTS
        assert entries[f"{server.url} m"]["asked"]["value"]["window"] == 131_072


# ---------------------------------------------------------------- the program


def run(url: str, home: Path, *argv: str) -> tuple[list[Any], int]:
    env = child.clean_environment(home, OLLAMA_HOST=url.removeprefix("http://"))
    script = [{"type": "user", "content": "Hello?"}]
    ended = child.run(["--provider", "ollama", "--model", "m", *argv], script, cwd=home, env=env)
    return ended.lines, ended.code


def window(lines: list[Any]) -> int:
    (result,) = [line for line in lines if line["type"] == "result"]
    found: int = result["modelUsage"]["m"]["contextWindow"]
    return found


@pytest.mark.skipif(sys.platform == "win32", reason="HOME is not where Windows keeps it")
def test_the_program_asks_before_its_first_request_and_remembers(tmp_path: Path) -> None:
    with ModelServer([say("Hi.")], [say("Hi.")], [say("Hi.")]) as server:
        for _ in range(2):
            lines, code = run(server.url, tmp_path)
            assert (code, window(lines)) == (0, 32_768)
        assert [request.path for request in server.requests] == ["/api/show", "/api/chat", "/api/chat"]
        for request in server.requests[1:]:
            assert request.json()["options"]["num_ctx"] == 32_768
            assert request.json()["think"] is True
        run(server.url, tmp_path, "--api", "openai-chat")
        assert server.requests[-1].path == "/v1/chat/completions"
    assert json.loads((tmp_path / ".yume" / "facts.json").read_text()).keys() == {f"{server.url} m"}


def test_a_missing_model_is_reported_with_a_hint(tmp_path: Path) -> None:
    with LoopbackServer(answering({"error": "model 'm' not found"}, 404)) as server:
        lines, code = run(server.url, tmp_path)
    (error,) = [line for line in lines if line["type"] == "error"]
    assert (code, error["code"]) == (1, "not_found")
    hint = "get it with `ollama pull m`; `yume-shim models` lists the known ones"
    assert error["message"].startswith(f"model 'm' not found; {hint} (ollama: not_found, status 404). Tried: 1 attempt")


def test_a_server_that_does_not_run_is_reported_with_a_hint(tmp_path: Path) -> None:
    with LoopbackServer(answering({})) as server:
        url = server.url
    lines, code = run(url, tmp_path, "--max-retries", "0")
    (error,) = [line for line in lines if line["type"] == "error"]
    assert (code, error["code"]) == (1, "network")
    assert "refused the connection; if it should run there, start it with `ollama serve` (" in error["message"]


def test_neither_the_first_line_nor_a_stop_waits_for_the_answer(tmp_path: Path) -> None:
    def story(attempt: int) -> None:
        home = tmp_path / str(attempt)
        home.mkdir()
        with LoopbackServer(silent) as server:
            env = child.clean_environment(home, OLLAMA_HOST=server.url.removeprefix("http://"))
            program = child.start(["--provider", "ollama", "--model", "m"], cwd=home, env=env)
            try:
                with soon(ASK_SECONDS):  # less than the wait for the limits
                    program.send({"type": "user", "content": "Hello?"})
                    program.wait_for("init")
                wait_until(lambda: server.requests, "the question for the limits")
                with soon(ASK_SECONDS / 2):
                    program.send({"type": "interrupt"})
                    assert program.wait_for("result")["subtype"] == "cancelled"
            finally:
                program.end()
        assert [request.path for request in server.requests] == ["/api/show"]

    in_one_of(3, story)


def test_known_models_are_not_asked_about(tmp_path: Path) -> None:
    (tmp_path / ".yume").mkdir()
    (tmp_path / ".yume" / "config.toml").write_text('[models."ollama/m"]\nwindow = 40960\n', "utf-8")
    with ModelServer([say("Hi.")]) as server:
        lines, code = run(server.url, tmp_path)
        assert (code, window(lines)) == (0, 40_960)
        assert [request.path for request in server.requests] == ["/api/chat"]
