"""`yume-shim watch`: who may look, what is sent, and that nothing is unbounded."""

from __future__ import annotations

import http.client
import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.page_samples import KEY, Story, text
from tests.helpers.timing import wait_until
from yume_shim.app.watch import follower as following
from yume_shim.app.watch import server as watching
from yume_shim.app.watch.follower import RELOAD, Follower
from yume_shim.app.watch.server import MAX_CONNECTIONS, MAX_STREAMS, WatchServer
from yume_shim.app.watch.session_list import SessionList, key_of
from yume_shim.text.codec import loads

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOKEN = "a-token-for-tests"
SECRET = "hunter2-hunter2"


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    story = Story(cwd="/w")
    story.ask(f"First prompt {SECRET}")
    story.answer(text(f"First answer with {SECRET} and {KEY}"))
    path = tmp_path / "projects" / "-w" / f"{story.session}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(story.save())
    return path


@pytest.fixture
def server(transcript: Path) -> Iterator[WatchServer]:
    made = WatchServer(0, TOKEN, SessionList(str(transcript.parents[1]), "", (SECRET,)), (SECRET,))
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield made
    made.close()
    thread.join(20)


def ask(server: WatchServer, path: str, method: str = "GET", **headers: str) -> tuple[int, str, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    data = answer.read().decode()
    connection.close()
    return answer.status, data, dict(answer.headers)


@contextmanager
def stream(server: WatchServer, path: str) -> Iterator[Iterator[Any]]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    connection.request("GET", path)
    answer = connection.getresponse()
    assert answer.status == 200

    def events() -> Iterator[Any]:
        while line := answer.readline():
            if line.startswith(b"data: "):
                yield loads(line[6:])

    yield events()
    answer.close()
    connection.close()


def test_only_who_knows_the_token_and_names_the_host_may_look(server: WatchServer, transcript: Path) -> None:
    port = server.server_port
    session = f"/{TOKEN}/s/{key_of(str(transcript))}/"
    assert ask(server, f"/{TOKEN}/")[0] == 200
    assert ask(server, f"/{TOKEN}/", Host=f"localhost:{port}")[0] == 200
    for path in (
        "/",
        "/events",
        f"/{TOKEN}",
        f"/{TOKEN}x/",
        f"/{TOKEN[:-1]}/",
        "/%61-token-for-tests/",
        f"/x/../{TOKEN}/",
    ):
        assert ask(server, path)[:2] == (404, "Nothing here.\n")
    for host in (
        "",
        "evil.test",
        f"evil.test:{port}",
        "127.0.0.1",
        f"127.0.0.1:{port + 1}",
        f"127.0.0.1.evil.test:{port}",
    ):
        assert ask(server, f"/{TOKEN}/", Host=host)[0] == 403
        assert ask(server, session + "events", Host=host)[0] == 403
    assert ask(server, f"/{TOKEN}/", Origin="http://evil.test")[0] == 403
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH"):
        status, _, headers = ask(server, f"/{TOKEN}/", method)
        assert (status, headers["Allow"]) == (405, "GET")
    for path in ("s/", "s/x/", "s/../../etc/passwd", f"s/{key_of(str(transcript))}/x", "s/%2e%2e/", "other"):
        assert ask(server, f"/{TOKEN}/{path}")[0] == 404


def test_pages_are_sealed_and_without_keys(server: WatchServer, transcript: Path) -> None:
    status, page, headers = ask(server, f"/{TOKEN}/s/{key_of(str(transcript))}/")
    assert status == 200
    assert "First answer with [redacted] and [redacted]" in page
    assert SECRET not in page
    assert SECRET not in ask(server, f"/{TOKEN}/")[1]
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert policy.endswith("connect-src 'self'; frame-ancestors 'none'")
    assert "unsafe" not in policy
    assert (headers["Cache-Control"], headers["Referrer-Policy"], headers["X-Frame-Options"]) == (
        "no-store",
        "no-referrer",
        "DENY",
    )
    assert (headers["X-Content-Type-Options"], headers["Cross-Origin-Resource-Policy"]) == ("nosniff", "same-origin")
    assert "Access-Control-Allow-Origin" not in headers


def test_changes_are_sent_as_they_are_written(server: WatchServer, transcript: Path) -> None:
    with stream(server, f"/{TOKEN}/s/{key_of(str(transcript))}/events?offset=0&turn=1") as events:
        first = next(events)["parts"]
        assert [part.get("item", "head") for part in first] == ["head", "t1-p", "t1-1"]
        story = Story(cwd="/w", first=100)
        story.ask("Second prompt")
        with transcript.open("ab") as file:
            file.write(story.save())
        second = next(events)
        assert [part.get("item", "head") for part in second["parts"]] == ["head", "t2-p"]
        story.answer(text("Second answer"))
        with transcript.open("ab") as file:
            line = story.save().splitlines(keepends=True)[-1]
            file.write(line[:50])
            file.flush()
            file.write(line[50:])
        third = next(events)
        assert [part.get("item", "head") for part in third["parts"]] == ["head", "t2-1"]
        assert "Second answer" in third["parts"][1]["html"]
        transcript.unlink()
        assert next(events) == {"gone": True}


def test_the_list_is_live(server: WatchServer, transcript: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "LIST_SECONDS", 0.05)
    with stream(server, f"/{TOKEN}/events") as events:
        assert "First prompt" in next(events)["list"]
        other = Story(cwd="/other", session="0ther")
        other.ask("Another session")
        path = transcript.parents[1] / "-other" / "0ther.jsonl"
        path.parent.mkdir()
        path.write_bytes(other.save())
        assert "Another session" in next(events)["list"]


def test_a_transcript_that_is_another_one_is_loaded_again(transcript: Path) -> None:
    follower = Follower(str(transcript), ())
    follower.document()
    assert follower.changes() not in (None, RELOAD)
    data = transcript.read_bytes()
    other = transcript.with_suffix(".new")
    other.write_bytes(data + data)
    other.replace(transcript)
    assert follower.changes() is RELOAD
    late = Follower(str(transcript), (), offset=len(data) * 3)
    assert late.changes() is RELOAD


def test_a_turn_that_grows_for_ever_stays_live(transcript: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is behind the most that is read at once is shown, too: by a page that begins later."""
    monkeypatch.setattr(following, "MAX_READ", 20_000)
    monkeypatch.setattr(following, "FIRST_READ", 10_000)
    story = Story(cwd="/w", first=100)
    shown, reloads = [], 0
    follower = Follower(str(transcript), ())
    follower.document()
    for count in range(60):
        story.answer(text(f"Answer {count}. " + "x" * 400))
        with transcript.open("ab") as file:
            file.write(story.save().splitlines(keepends=True)[-1])
        changes = follower.changes()
        if changes is RELOAD:
            reloads += 1
            follower = Follower(str(transcript), ())
            assert follower.document().turns
            assert follower.cut
            changes = follower.changes()
        assert changes is not None
        shown.append(f"Answer {count}." in changes["parts"][-1]["html"])
    assert all(shown)
    assert 2 <= reloads <= 6


def test_large_changes_come_in_portions(server: WatchServer, transcript: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "EVENT_CHARACTERS", 1_000)
    monkeypatch.setattr(watching, "MAX_ITEM", 5_000)
    story = Story(cwd="/w", first=100)
    story.answer(*(text(str(size) + "x" * size) for size in (600, 600, 6_000)))
    with transcript.open("ab") as file:
        file.write(story.save())
    with stream(server, f"/{TOKEN}/s/{key_of(str(transcript))}/events?offset=0&turn=1") as events:
        found = [next(events)["parts"] for _ in range(3)]
    assert [[part.get("item", "head") for part in parts] for parts in found] == [
        ["head", "t1-p", "t1-1"],
        ["t1-2"],
        ["t1-3", "t1-4"],
    ]
    assert "too large to be sent" in found[2][1]["html"]


def test_a_request_has_to_arrive_in_time(server: WatchServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one of which a piece comes now and then."""
    monkeypatch.setattr(watching, "READ_SECONDS", 0.2)
    slow = socket.create_connection(("127.0.0.1", server.server_port), timeout=20)
    sent = 0

    def is_closed() -> bool:
        nonlocal sent
        try:
            slow.sendall(b"G")
            sent += 1
            return sent > 10_000
        except OSError:
            return True

    wait_until(is_closed, "the end of the connection")
    slow.close()
    assert sent <= 10_000
    assert ask(server, f"/{TOKEN}/")[0] == 200


def test_the_browser_is_not_started_with_the_key(transcript: Path, tmp_path: Path) -> None:
    """The words of a command are seen by every user of the machine."""
    seen, program = tmp_path / "seen", tmp_path / "browser"
    program.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$1" > {seen}.new\ncat "${{1#file://}}" >> {seen}.new\nmv {seen}.new {seen}\n'
    )
    program.chmod(0o755)
    env = child.clean_environment(tmp_path, YUME_SESSION_DIR=str(transcript.parents[1]), BROWSER=str(program))
    running = child.start(["watch"], cwd=tmp_path, env=env)
    try:
        wait_until(lambda: running.out and seen.exists(), "the browser")
        address = running.out[0].decode().strip()
        first, _, rest = seen.read_text().partition("\n")
        door = tmp_path / ".yume" / "pages" / first.rpartition("/")[2]
        assert (first, address in rest, door.stat().st_mode & 0o777) == (door.as_uri(), True, 0o600)
        running.process.send_signal(2)
        assert running.process.wait(60) == 0
        assert not door.exists()
    finally:
        running.kill()


def test_lines_that_are_settled_in_place_are_sent_again(transcript: Path) -> None:
    follower = Follower(str(transcript), ())
    assert follower.document().turns[0].cost_usd == 0.004
    assert follower.changes() is not None
    assert follower.changes() is None
    data = transcript.read_bytes()
    transcript.write_bytes(data.replace(b'"costUSD":0.004', b'"costUSD":0.005') + b'{"half a line')
    changed = follower.changes()
    assert changed is not None
    assert [part.get("item", "head") for part in changed["parts"]] == ["head"]
    assert "$0.00500" in changed["parts"][0]["head"]


def test_streams_and_connections_are_limited(server: WatchServer) -> None:
    open_sockets = []
    request = f"GET /{TOKEN}/events HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n\r\n".encode()

    def connect(data: bytes) -> socket.socket:
        made = socket.create_connection(("127.0.0.1", server.server_port), timeout=20)
        made.sendall(data)
        open_sockets.append(made)
        return made

    try:
        for _ in range(MAX_STREAMS):
            assert connect(request).recv(12) == b"HTTP/1.0 200"
        assert connect(request).recv(12) == b"HTTP/1.0 503"
        for _ in range(MAX_CONNECTIONS - MAX_STREAMS):
            connect(b"GET /slow")  # requests that never end
        refused: list[bytes] = []

        def is_refused() -> bool:
            try:
                refused.append(connect(request).recv(12))
            except ConnectionError:
                refused.append(b"")
            return refused[-1] == b""

        wait_until(is_refused, "a refused connection")
    finally:
        for each in open_sockets:
            each.close()


def test_the_command_prints_its_address_and_ends_with_ctrl_c(transcript: Path, tmp_path: Path) -> None:
    env = child.clean_environment(tmp_path, YUME_SESSION_DIR=str(transcript.parents[1]))
    running = child.start(["watch", "--no-open"], cwd=tmp_path, env=env)
    try:
        wait_until(lambda: running.out, "the address")
        host, _, token = running.out[0].decode().strip().removeprefix("http://").rstrip("/").partition("/")
        assert host.startswith("127.0.0.1:")
        assert len(token) >= 32
        connection = http.client.HTTPConnection(host, timeout=20)
        connection.request("GET", f"/{token}/")
        assert b"First prompt" in connection.getresponse().read()
        connection.close()
        running.process.send_signal(2)
        assert running.process.wait(60) == 0
    finally:
        running.kill()
