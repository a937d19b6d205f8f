"""The catalogue of errors: each entry is reached, and its message says what happened, what was tried and what to do.

Failures of requests come over real sockets on all five APIs. Start refusals, failed tools and broken lines are caused
here; `tests/helpers/entry_tests.py` names the tests that cause the others, and proves that they do.
"""

from __future__ import annotations

import ast
import errno
import json
import re
import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import tool_cases
from tests.helpers.api_facts import FACTS
from tests.helpers.engine_fakes import (
    SPEC,
    Bench,
    FunctionTools,
    ScriptedAsker,
    ScriptedProvider,
    TableGate,
    answer,
    calls,
    fails,
    info,
    says,
)
from tests.helpers.entry_tests import ELSEWHERE
from tests.helpers.fake_server import FakeServer, LoopbackServer
from tests.helpers.fakes import FakeIds, cancel
from tests.helpers.reached_entries import reaching
from tests.helpers.refusals import TOOL, asking, refusal
from tests.helpers.settings import settings_with
from tests.helpers.wire_cases import no_log
from yume_shim.app.models import EndpointKeys, ModelResolver
from yume_shim.app.start import Startup, check_words
from yume_shim.cli.argv import parse
from yume_shim.config.build import build_settings
from yume_shim.config.setting_sources import SettingSources
from yume_shim.dialects.results import advised_errors
from yume_shim.engine.session import Session
from yume_shim.host.input_lines import parse_line
from yume_shim.providers.fitting.adaptations import Adaptations
from yume_shim.providers.fitting.refusal_actions import adapt
from yume_shim.providers.load import load_adapter, load_provider
from yume_shim.providers.wire.failures import (
    failure_auth,
    failure_config,
    failure_from_exception,
    failure_setup,
    failure_withdrawn,
)
from yume_shim.types.blocks import Message, Text, ToolResult
from yume_shim.types.commands import EndOfInput, UserInput
from yume_shim.types.error_entries.catalogue import ENTRIES
from yume_shim.types.errors import BadInvocation, BadLine, Failure, StoreFailed, TokenLimits, ToolFailed, Tried
from yume_shim.types.events import BlockDelta, BlockStarted, Notice, ResponseFailed, ResponseStarted, TurnEnded
from yume_shim.types.failure_text import entry_of
from yume_shim.types.models import Backoff, Quirks, Request, Usage
from yume_shim.types.outputs import Answer
from yume_shim.types.settings import Timeouts
from yume_shim.types.value import replace
from yume_shim.types.warning_text import with_advice

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.helpers.fake_server import Exchange
    from yume_shim.types.error_entries.entry import Entry
    from yume_shim.types.models import ModelSpec

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "yume_shim"
APIS = sorted(FACTS)
KEY = "sk-acme-0123456789abcdef"
SECRET_PLACE = "ACME_KEY"


def run(bench: Bench, spec: ModelSpec = SPEC) -> None:
    """One prompt."""
    session = Session(bench.services, spec, "s-1", lambda text: SPEC, info)
    session.submit(UserInput((Text("go"),), "go"))
    session.submit(EndOfInput())
    session.run()


# ---------------------------------------------------------------- failures of requests, on every API


class Desk:
    """The provider `acme`, which speaks one API at an address, with the real catalogue and keys."""

    def __init__(self, api: str, url: str, **env: str) -> None:
        row = {"api": api, "base_url": url, "key_vars": [SECRET_PLACE], "backoff": {"retries": 0}}
        self.settings = settings_with(
            env={SECRET_PLACE: KEY, **env},
            endpoints={"acme": row},
            transport="direct",
            timeouts=Timeouts(first_byte=0.3),
        )
        self.keys = EndpointKeys(self.settings)
        self.models = ModelResolver(self.settings, self.keys)
        self.spec = self.models.resolve("acme/m")

    def failure(self) -> Failure:
        """The failure of one request, as it reaches the user."""
        [key] = self.keys.at(self.spec.endpoint)
        provider = load_provider(self.spec, key.known(), self.settings, FakeIds(), no_log)
        try:
            last = list(provider.stream(Request(self.spec, (Message("user", (Text("Hi"),)),)), cancel()))[-1]
        finally:
            provider.close()
        assert isinstance(last, ResponseFailed)
        assert last.failure.kind in {entry.code for entry in ENTRIES if entry.group == "failure"}
        self.raw = last.failure
        return self.models.advise(replace(last.failure, tried=Tried(1)), self.spec)


def refusing(status: int, message: str = "no", code: str = "", **headers: str) -> Callable[[Exchange], bool]:
    def handle(exchange: Exchange) -> bool:
        body = json.dumps({"error": {"message": message, "type": code or "some_error"}}).encode()
        exchange.reply(status, {"Content-Type": "application/json", **headers}, body)
        return True

    return handle


def web_page(status: int) -> Callable[[Exchange], bool]:
    def handle(exchange: Exchange) -> bool:
        exchange.reply(status, {"Content-Type": "text/html"}, b"<html><head><title>Sign in</title></head></html>")
        return True

    return handle


def silent(exchange: Exchange) -> bool:
    exchange.wait_for_close()
    return False


def closing(exchange: Exchange) -> bool:
    return False


def foreign(exchange: Exchange) -> bool:
    exchange.reply(200, {"Content-Type": "application/json"}, b'{"hello": "world"}')
    return True


def garbage(exchange: Exchange) -> bool:
    exchange.reply(200, {"Content-Encoding": "gzip", "Content-Type": "text/event-stream"}, b"this is not gzip")
    return True


SERVED: dict[str, Callable[[Exchange], bool]] = {
    "auth": refusing(401, "invalid key"),
    "auth.not_permitted": refusing(403, "not for you"),
    "billing": refusing(402, "no credit"),
    "rate_limit": refusing(429, "slow down"),
    "overloaded": refusing(503, "busy"),
    "server": refusing(500, "oops"),
    "network.closed": closing,
    "timeout": silent,
    "context_length": refusing(400, "prompt is too long"),
    "context_length.too_large": refusing(413, "too many bytes"),
    "bad_request": refusing(422, "what is that"),
    "not_found": refusing(404, "no such model"),
    "refusal": refusing(400, "filtered", "content_filter"),
    "protocol": garbage,
    "protocol.wrong_api": foreign,
    "protocol.web_page": web_page(302),
    "not_found.web_page": web_page(404),
    "server.web_page": web_page(500),
    "bad_request.web_page": web_page(400),
}
"""Entry → what the endpoint does."""


def check(failure: Failure, id: str, desk: Desk) -> None:
    """The message names provider, code, what was tried, and the advice of the right entry; and no key."""
    assert entry_of(desk.raw).id == id
    assert f"(acme: {failure.kind}" in failure.message
    assert "Tried: 1 attempt at http" in failure.message or failure.case in ("header", "missing")
    assert KEY not in failure.message
    advice = entry_of(failure).advice.partition("{")[0]
    assert advice in failure.message
    assert "{" not in failure.message.partition("Tried")[2]


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("id", SERVED)
def test_what_an_endpoint_does(id: str, api: str) -> None:
    with LoopbackServer(SERVED[id]) as server:
        desk = Desk(api, server.url)
        failure = desk.failure()
    check(failure, id, desk)
    assert f"at {server.url}" in failure.message
    assert f"with the key of {SECRET_PLACE}" in failure.message


@pytest.mark.parametrize("api", APIS)
def test_nothing_listens(api: str) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        desk = Desk(api, f"http://127.0.0.1:{closed.getsockname()[1]}")
        check(desk.failure(), "network.refused", desk)


@pytest.mark.parametrize("api", APIS)
def test_a_cut_answer(api: str) -> None:
    def cut(exchange: Exchange) -> bool:
        head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        exchange.send(head.encode() + b"5\r\n: hi\n\r\n")
        return False

    with LoopbackServer(cut) as server:
        desk = Desk(api, server.url)
        check(desk.failure(), "stream_interrupted", desk)


@pytest.mark.parametrize("api", APIS)
def test_an_answer_without_its_end(api: str) -> None:
    from tests.helpers.scripted_model import say, wire_of

    wire = wire_of(api, [say("Half an answer")])
    half = next(number for number, frame in enumerate(wire) if "an answer"[-3:] in json.dumps(frame))
    with FakeServer(api, [wire[: half + 1]]) as server:
        desk = Desk(api, server.url)
        check(desk.failure(), "stream_interrupted.incomplete", desk)


@pytest.mark.parametrize("api", APIS)
def test_a_name_that_does_not_resolve(api: str) -> None:
    desk = Desk(api, "http://nowhere.invalid")
    check(desk.failure(), "dns", desk)


@pytest.mark.parametrize("api", APIS)
def test_a_key_that_cannot_be_sent(api: str) -> None:
    with LoopbackServer(closing) as server:
        desk = Desk(api, server.url, **{SECRET_PLACE: KEY + "\x01"})
        check(desk.failure(), "config.header", desk)


def answer_plainly(listener: socket.socket) -> None:
    peer, _ = listener.accept()
    with peer:
        peer.recv(1)
        peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        peer.recv(65536)


@pytest.mark.parametrize("api", APIS)
def test_tls_failures_name_the_variables(api: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    from tests.helpers.certificates import make_certificate

    certificate = make_certificate(tmp_path_factory.mktemp("tls"))
    with LoopbackServer(closing, tls=certificate.server) as server:
        desk = Desk(api, server.url)
        failure = desk.failure()
        check(failure, "tls.certificate", desk)
    with socket.create_server(("127.0.0.1", 0)) as listener:  # it does not speak TLS
        threading.Thread(target=answer_plainly, args=(listener,), daemon=True).start()
        desk = Desk(api, f"https://127.0.0.1:{listener.getsockname()[1]}")
        plain = desk.failure()
        check(plain, "tls", desk)
    for message in (failure.message, plain.message):
        assert all(name in message for name in ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"))


@pytest.mark.parametrize("api", APIS)
def test_a_proxy_that_refuses(api: str) -> None:
    def deny(exchange: Exchange) -> bool:
        exchange.send(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        return False

    with LoopbackServer(deny) as proxy:
        desk = Desk(api, "https://model.example", HTTPS_PROXY=proxy.url.replace("//", "//user:pass-word@"))
        failure = desk.failure()
    check(failure, "network.proxy", desk)
    assert "pass-word" not in failure.message


@pytest.mark.parametrize("api", APIS)
def test_a_proxy_that_is_not_there(api: str) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{closed.getsockname()[1]}"
        for scheme in ("http", "https"):
            desk = Desk(api, f"{scheme}://model.example", HTTP_PROXY=f"http://{place}", HTTPS_PROXY=f"http://{place}")
            failure = desk.failure()
            check(failure, "network.proxy", desk)
            assert failure.message.startswith(f"the proxy {place} refused the connection (acme: network, ECONNREFUSED)")
            assert failure.retryable
    desk = Desk(api, "https://model.example", HTTPS_PROXY="nowhere.invalid")
    unknown = desk.failure()
    check(unknown, "dns", desk)
    assert "the name of the proxy nowhere.invalid:80 could not be resolved" in unknown.message


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(("case", "days"), [("expired", (-9, -2)), ("expired", (5, 9)), ("wrong_host", (-1, 30))])
def test_a_certificate_that_is_not_the_right_one(
    case: str, days: tuple[int, int], api: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    from tests.helpers.certificates import Authority

    authority = Authority(tmp_path_factory.mktemp("tls"))
    names = ("elsewhere.test",) if case == "wrong_host" else ()
    with LoopbackServer(closing, tls=authority.issue(*names, start=days[0], end=days[1])) as server:
        desk = Desk(api, server.url, SSL_CERT_FILE=authority.trusted)
        failure = desk.failure()
    check(failure, f"tls.{case}", desk)
    assert "SSL_CERT_FILE or NODE_EXTRA_CA_CERTS" in failure.message


def test_root_certificates_that_cannot_be_read(tmp_path: Path) -> None:
    from tests.helpers.certificates import make_certificate

    (tmp_path / "junk.pem").write_text("not a certificate")
    with LoopbackServer(closing, tls=make_certificate(tmp_path).server) as server:
        missing = Desk(APIS[0], server.url, SSL_CERT_FILE="/no/such.pem", NODE_EXTRA_CA_CERTS="/no/other.pem").failure()
        junk = Desk(APIS[0], server.url, NODE_EXTRA_CA_CERTS=str(tmp_path / "junk.pem")).failure()
    names = "SSL_CERT_FILE names /no/such.pem and NODE_EXTRA_CA_CERTS names /no/other.pem, which does not exist"
    assert (missing.kind, names in missing.message) == ("tls", True)
    words = f"the root certificates of {tmp_path}/junk.pem cannot be used (it holds no certificate in PEM form)"
    assert (junk.kind, words in junk.message) == ("tls", True)


@pytest.mark.parametrize("api", APIS)
def test_an_address_without_login_and_query(api: str) -> None:
    with LoopbackServer(refusing(401)) as server:
        desk = Desk(api, server.url.replace("//", "//name:pass-word@") + "/v9?key=abc-secret")
        message = desk.failure().message
    assert "/v9" in message
    assert "pass-word" not in message
    assert "abc-secret" not in message


@pytest.mark.parametrize(
    ("failure", "id"),
    [
        (failure_setup("acme", BadInvocation("no key", kind="auth")), "auth.missing"),
        (failure_from_exception(OSError(errno.EHOSTUNREACH, "x"), "acme"), "network"),
        (failure_config("acme", "base URL: bad"), "config"),
        (failure_auth("acme", "expired"), "auth.sign_in"),
        (failure_from_exception(KeyError("x"), "acme"), "internal"),
        (failure_from_exception(StoreFailed("x"), "acme"), "internal.transcript"),
        (failure_withdrawn("acme"), "stream_interrupted.withdrawn"),
    ],
)
def test_failures_before_a_request(failure: Failure, id: str) -> None:
    desk = Desk("openai-chat", "http://127.0.0.1:1")
    desk.raw = failure
    told = desk.models.advise(replace(failure, tried=Tried(0)), desk.spec)
    assert entry_of(failure).id == id
    assert f"(acme: {failure.kind}" in told.message
    assert f". Tried: no request was sent. {entry_of(failure).advice.partition('{')[0]}" in told.message


def test_a_cancelled_request_is_not_explained() -> None:
    desk = Desk("openai-chat", "http://127.0.0.1:1")
    stopped = Failure("cancelled", "the request was stopped")
    assert desk.models.advise(stopped, desk.spec).message == "the request was stopped"


def test_attempts_and_models_that_failed_before_are_named() -> None:
    desk = Desk("openai-chat", "http://127.0.0.1:1")
    tried = Tried(3, models=("openai/a", "openai/b"))
    told = desk.models.advise(Failure("overloaded", "Busy.", 529, tried=tried, request_id="req_1"), desk.spec)
    assert told.message.startswith(
        "Busy (acme: overloaded, status 529, request req_1). Tried: 3 attempts at http://127.0.0.1:1 with the key of "
        "ACME_KEY, after openai/a, openai/b. Send the prompt again later"
    )


def test_the_engine_counts_what_it_tried() -> None:
    bench = Bench(ScriptedProvider(*[fails() for _ in range(30)]))
    seen: list[Failure] = []

    def advise(failure: Failure, spec: Any) -> Failure:
        seen.append(failure)
        return failure

    bench.services = replace(bench.services, advise=advise)
    run(bench)
    assert seen[0].tried is not None
    assert seen[0].tried.attempts == len(bench.provider.requests)


# ---------------------------------------------------------------- start refusals


BOTH = ("--output-format", "flat", "--provider", "openai")
STARTS: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "config.option": (("--no-such-option",), {}),
    "config.output": (("-p", "--input-format", "stream-json", "--output-format", "json"), {}),
    "config.value": (("--max-retries", "many"), {}),
    "config.settings_file": (("--settings", "/no/such/file.json"), {}),
    "config.profile": (("--profile", "nobody"), {}),
    "auth.key": (("--model", "openai/gpt-5.4"), {"OPENAI_API_KEY": ""}),
    "config.model": (("--provider", "opnai"), {}),
    "config.endpoint": (("--compat", "noSuchThing"), {}),
    "config.session": (("--resume", "aaaaaaaa-0000-4000-8000-000000000000"), {}),
    "config.cassette": (("--provider", "replay", "--cassette", "/no/such/folder"), {}),
    "config.mcp_config": (("--mcp-config", "/no/such/file.json"), {}),
    "config.agents": (("--agents", "not json"), {}),
}


def owner_of(error: BaseException, group: str) -> Entry:
    """The entry whose modules raised the error."""
    if isinstance(error, BadInvocation) and error.kind == "auth":  # made in one module, raised in another
        return next(entry for entry in ENTRIES if (entry.group, entry.id) == ("start", "auth.key"))
    step, found = error.__traceback__, None
    while step is not None:
        file = step.tb_frame.f_code.co_filename.replace("\\", "/")
        module = file.rpartition("/yume_shim/")[2].removesuffix(".py")
        found = next((entry for entry in ENTRIES if entry.group == group and module in entry.raised_in), found)
        step = step.tb_next
    assert found is not None, f"no entry of {group} is raised in the modules of {error!r}"
    return found


@pytest.mark.parametrize("id", STARTS)
def test_start_refusals(id: str, tmp_path: Path) -> None:
    argv, env = STARTS[id]
    parsed = parse(list(argv))
    here = {"HOME": str(tmp_path), "OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY, "PATH": "/usr/bin:/bin", **env}
    flat = "json" not in argv

    def start() -> None:
        check_words(parsed.errors)
        sources = SettingSources(parsed.values, parsed.words, flat=flat, env=here, cwd=str(tmp_path), log=no_log)
        Startup(build_settings(sources), flat)

    with pytest.raises(BadInvocation) as raised:
        start()
    assert owner_of(raised.value, "start").id == id
    assert raised.value.message.strip()
    assert KEY not in raised.value.message


# ---------------------------------------------------------------- ends, warnings


def ended(*scripts: Any, tools: FunctionTools | None = None, **settings: Any) -> tuple[TurnEnded, list[Notice]]:
    bench = Bench(ScriptedProvider(*scripts), tools, **settings)
    run(bench)
    return bench.of(TurnEnded)[-1], bench.of(Notice)


def test_ends_of_turns_say_what_to_do() -> None:
    tools = FunctionTools(Up=lambda given, _: "ok")
    reached, _ = ended(answer(calls("c", "Up")), tools=tools, max_turns=1)
    assert advised_errors(reached) == [
        "Reached maximum number of turns (1). Raise --max-turns, or send a further prompt to go on."
    ]
    spent, _ = ended(answer(calls("c", "Up")), answer(says("x")), tools=tools, max_budget_usd=0.000001)
    assert (spent.outcome, "Raise --max-budget-usd" in advised_errors(spent)[0]) == ("max_budget", True)


def not_kept() -> list[Notice]:
    def save(scope: str, rules: tuple[str, ...]) -> None:
        raise OSError(28, "No space left on device")

    scripts = ScriptedProvider(answer(calls("c", "Up")), answer(says("done")))
    asker = ScriptedAsker(Answer("allow", {}, remember="user"))
    bench = Bench(scripts, FunctionTools(Up=lambda given, _: "ok"), TableGate(Up="ask"), asker)
    bench.services = replace(bench.services, save_rules=save)
    run(bench)
    return bench.of(Notice)


def truncated() -> list[Notice]:
    model = Desk("ollama-chat", "http://127.0.0.1:1").spec
    request = Request(model, (Message("user", (Text("word " * 90_000),)),))
    decoder = load_adapter("ollama-chat").Decoder(request, {}, lambda: "id")
    frame = {"message": {"content": "Hi"}, "done": True, "done_reason": "stop", "prompt_eval_count": 100}
    return [event for event in decoder.feed(frame) if isinstance(event, Notice)]


def adapted(
    message: str = "no", limits: TokenLimits | None = None, quirks: Quirks | None = None, **more: Any
) -> list[Notice]:
    """What an adaptation to a refusal tells."""
    result = Message("user", (ToolResult("c", "done"),))
    request = asking(*((result,) if quirks else ()), quirks=quirks or Quirks(), **more)
    changed = adapt(Adaptations(), request, refusal(message, limits=limits), {})
    assert changed is not None
    return list(changed.adaptations.notices)


def deferred() -> list[Notice]:
    names = [f"Tool{number}" for number in range(9)]
    bench = Bench(ScriptedProvider(answer(says("x"))), FunctionTools(**{name: lambda given, _: "" for name in names}))
    run(bench, replace(SPEC, endpoint=replace(SPEC.endpoint, quirks=Quirks(max_tools=4))))
    return bench.of(Notice)


NOTICED: dict[str, Callable[[], list[Notice]]] = {
    "max_tokens": lambda: ended(*[answer(says("cut"), stop="length") for _ in range(5)])[1],
    "refusal": lambda: ended(answer(says("no"), stop="refusal"))[1],
    "empty_answer": lambda: ended(answer())[1],
    "budget": lambda: ended(answer(says("x")), max_budget_usd=0.00007)[1],
    "approval_not_kept": not_kept,
    "context_truncated": truncated,
    "credit_low": lambda: adapted(limits=TokenLimits(affordable=1_000)),
    "effort_changed": lambda: adapted(
        "no effort level 'xhigh'. Supported levels: high, low, max, medium.", effort="xhigh"
    ),
    "tools_deferred": deferred,
    "tools_left_out": lambda: adapted(quirks=Quirks(continuation_without_tools=True), tools=(TOOL,)),
}


@pytest.mark.parametrize("code", NOTICED)
def test_warnings_say_what_to_do(code: str) -> None:
    notice = next(notice for notice in NOTICED[code]() if notice.code == code)
    [entry] = [entry for entry in ENTRIES if (entry.group, entry.id) == ("warning", code)]
    assert with_advice(notice.text, code).endswith(f" {entry.advice}.")


def test_a_warning_with_its_advice_is_left_alone() -> None:
    once = with_advice("The answer is empty.", "empty_answer")
    assert with_advice(once, "empty_answer") == once
    assert with_advice("Something else.", "unknown_code") == "Something else."


# ---------------------------------------------------------------- lines, tools, store


CHOICES = [{"label": "a", "description": "A"}, {"label": "b", "description": "B"}]
QUESTION = {"questions": [{"question": "Which?", "header": "h", "options": CHOICES, "multiSelect": False}]}
CALLED: dict[str, tuple[str, dict[str, Any]]] = {
    "tool.input": ("Fly", {}),
    "tool.file": ("Read", {"file_path": "/no/such/file"}),
    "tool.notebook": ("NotebookEdit", {"notebook_path": "a.txt", "new_source": "", "cell_id": "a"}),
    "tool.search": ("Glob", {"pattern": "../*"}),
    "tool.command": ("Bash", {"command": "exit 3"}),
    "tool.web": ("WebFetch", {"url": "ftp://example.org/", "prompt": "x"}),
    "tool.task": ("TaskOutput", {"task_id": "no-such-task"}),
    "tool.question": ("AskUserQuestion", QUESTION),
}


@pytest.mark.parametrize("id", CALLED)
def test_tools(id: str, tmp_path: Path) -> None:
    name, given = CALLED[id]
    tools = tool_cases.toolbox(tmp_path, tmp_path / "scratch")
    try:
        with pytest.raises(ToolFailed) as raised:
            tool_cases.call(tools, name, given)
    finally:
        tools.close()
    assert owner_of(raised.value, "tool").id == id


def test_the_session() -> None:
    bench = Bench(ScriptedProvider())
    with pytest.raises(ToolFailed) as raised:
        Session(bench.services, SPEC, "s-1", lambda text: SPEC, info).rewind_files("u", dry_run=True)
    assert owner_of(raised.value, "tool").id == "tool.session"


def test_an_answer_that_breaks_again_and_again() -> None:
    begun = [ResponseStarted("msg_1", "m", Usage(3)), BlockStarted(0, Text(""))]
    parts = [[*begun, BlockDelta(0, "text", f"The part {word} of it. ")] for word in "abcdefgh"]
    scripts = [fails(*part, kind="stream_interrupted") for part in parts]
    bench = Bench(ScriptedProvider(*scripts))
    run(bench, replace(SPEC, endpoint=replace(SPEC.endpoint, backoff=Backoff(retries=20))))
    failure = bench.of(TurnEnded)[-1].failure
    assert (entry_of(failure).id, failure.tried.attempts) == ("stream_interrupted.again", 6)


def test_lines_of_the_host() -> None:
    with pytest.raises(BadLine) as raised:
        parse_line(b"not json", "flat")
    assert owner_of(raised.value, "line").id == "bad_input"
    assert "write one object per line" in raised.value.message


def test_the_store(tmp_path: Path) -> None:
    from yume_shim.store.changes import delete_session
    from yume_shim.store.load import load

    for work, id in ((load, "store.read"), (delete_session, "store.change")):
        with pytest.raises(StoreFailed, match="cannot be") as raised:
            work(str(tmp_path))
        assert owner_of(raised.value, "store").id == id


def test_mcp_servers(tmp_path: Path) -> None:
    from yume_shim.extensions.mcp.errors import McpError
    from yume_shim.extensions.mcp.peer import Peer
    from yume_shim.extensions.mcp.recording import open_place
    from yume_shim.extensions.mcp.tokens import save

    (tmp_path / "file").write_text("")
    no_home = {"HOME": str(tmp_path / "file")}
    deaf = Peer(lambda message: None, lambda method, params: {}, lambda method, params: None)
    for work, id in (
        (lambda: deaf.request("tools/list", {}, seconds=0.0, cancel=cancel()), "mcp.timeout"),
        (lambda: open_place(str(tmp_path), "docs"), "mcp.closed"),
        (lambda: save("https://mcp.example/", {"access_token": KEY}, no_home), "mcp.sign_in"),
    ):
        with pytest.raises(McpError) as raised:
            work()
        assert owner_of(raised.value, "mcp").id == id
        assert KEY not in raised.value.message


def test_requests_of_the_host() -> None:
    from tests.unit.app.test_control_requests import Host

    said = Host().ask("rewind_files", user_message_id="u-1")
    assert said.error_code == "rewind_failed"


# ---------------------------------------------------------------- completeness


def here() -> set[tuple[str, str]]:
    """The entries that the tests of this file reach."""
    tests = {
        "network.refused",
        "stream_interrupted",
        "stream_interrupted.incomplete",
        "dns",
        "config.header",
        "tls.certificate",
        "tls.expired",
        "tls.wrong_host",
        "tls",
        "network.proxy",
        "auth.missing",
        "network",
        "config",
        "auth.sign_in",
        "stream_interrupted.withdrawn",
        "stream_interrupted.again",
        "internal",
        "internal.transcript",
        "cancelled",
    }
    found = {("failure", id) for id in (*SERVED, *tests)} | {("start", id) for id in STARTS}
    found |= {("warning", code) for code in NOTICED} | {("tool", id) for id in CALLED}
    found |= {("outcome", id) for id in ("max_turns", "max_budget")}
    found |= {("mcp", "mcp.closed"), ("mcp", "mcp.sign_in"), ("mcp", "mcp.timeout"), ("request", "rewind_failed")}
    return found | {("line", "bad_input"), ("store", "store.read"), ("store", "store.change"), ("tool", "tool.session")}


def test_every_entry_is_reached() -> None:
    entries = [(entry.group, entry.id) for entry in ENTRIES]
    assert len(entries) == len(set(entries))
    reached = here() | set(ELSEWHERE)
    assert (set(entries) - reached, reached - set(entries)) == (set(), set())
    assert not here() & set(ELSEWHERE)


def test_the_tests_elsewhere_exist() -> None:
    """Each proves itself that it reaches its entry (`tests/conftest.py`)."""
    for named in ELSEWHERE.values():
        place, _, name = named.partition("[")[0].partition("::")
        assert f"\ndef {name}(" in (TESTS / place).read_text("utf-8"), named


def test_a_test_that_does_not_reach_its_entry_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    deferring = {("warning", "tools_deferred")}
    monkeypatch.delenv("YUME_BREAK_MESSAGES", raising=False)
    with reaching(deferring):
        assert deferred()[0].code == "tools_deferred"
    with pytest.raises(AssertionError, match="reaches"), reaching(deferring):
        truncated()
    monkeypatch.setenv("YUME_BREAK_MESSAGES", "1")
    with reaching(deferring):
        assert deferred()[0].code == "tools_deferred"
    with pytest.raises(AssertionError, match="passes all the same"), reaching(deferring):
        deferred()


CARRIERS = ("BadInvocation", "ToolFailed", "McpError", "ServerGone", "NoAnswer", "NeedsAuth", "StoreFailed")


def test_every_message_of_the_code_belongs_to_an_entry() -> None:
    """A module that raises an error of its own words is named by an entry; every code of a line is an entry."""
    owners = {module for entry in ENTRIES for module in entry.raised_in}
    assert {module for module in owners if not (PACKAGE / f"{module}.py").is_file()} == set()
    codes = {entry.code for entry in ENTRIES if entry.group in ("warning", "request")} | {"hook"}
    homeless, unknown = set(), set()
    for path in PACKAGE.rglob("*.py"):
        module = path.relative_to(PACKAGE).as_posix().removesuffix(".py")
        source = path.read_text("utf-8")
        if not any(name in source for name in (*CARRIERS, "Notice(", "BadLine(", "with_notice(")):
            continue
        for node in ast.walk(ast.parse(source)):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args):
                continue
            own_words = isinstance(node.args[0], ast.Constant | ast.JoinedStr | ast.Name)
            if node.func.id in CARRIERS and own_words and module not in owners:
                homeless.add(module)
            if node.func.id == "Notice" and isinstance(node.args[0], ast.Constant):
                unknown |= {node.args[0].value} - codes
            if node.func.id == "BadLine":
                given = [word.value for word in node.keywords if word.arg == "code"]
                unknown |= {word.value for word in given if isinstance(word, ast.Constant)} - codes
            if node.func.id == "with_notice" and len(node.args) > 2 and isinstance(node.args[2], ast.Constant):
                unknown |= {node.args[2].value} - codes
    assert (homeless, unknown) == (set(), set())


def test_every_kind_of_failure_is_an_entry() -> None:
    source = (PACKAGE / "types" / "errors.py").read_text("utf-8")
    kinds = set(re.findall(r'"(\w+)",', source.partition("ErrorKind = Literal[")[2].partition("]")[0]))
    assert kinds == {entry.code for entry in ENTRIES if entry.group == "failure"} | {"bad_input"}
