"""`yume-shim init`: the file it writes, what it refuses, the test of the key, directions for clients."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.helpers import child
from tests.helpers.fake_server import LoopbackServer
from yume_shim.cli.client_table import CLIENTS, directions
from yume_shim.cli.init_command import Answers, config_text
from yume_shim.config.known_settings import check_config
from yume_shim.types.errors import BadInvocation

if TYPE_CHECKING:
    from tests.helpers.fake_server import Exchange

ROOT = Path(__file__).parents[3]
KEY = "canary-key-77e0b1"


def init(home: Path, *words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    argv = [sys.executable, "-m", "yume_shim", "init", *words]
    env = child.clean_environment(home) | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(argv, input=stdin, cwd=home, env=env, capture_output=True, check=False)


@pytest.mark.parametrize(("status", "code"), [(200, 0), (401, 1)])
def test_the_key_is_stored_and_tested(tmp_path: Path, status: int, code: int) -> None:
    def answer(exchange: Exchange) -> bool:
        body = {"data": [{"id": "m"}], "error": {"message": f"Bad key {KEY}."}}
        exchange.reply(status, {"Content-Type": "application/json"}, json.dumps(body).encode())
        return False

    with LoopbackServer(answer) as server:
        words = ("--provider", "compatible", "--model", "m", "--api-base", f"{server.url}/v1", "--key-stdin")
        ended = init(tmp_path, *words, stdin=f"{KEY}\n".encode())
    path = tmp_path / ".yume" / "config.toml"
    written = tomllib.loads(path.read_text("utf-8"))
    assert ended.returncode == code, ended.stdout
    assert KEY not in ended.stdout.decode() + ended.stderr.decode()
    assert written["keys"] == {"compatible": KEY}
    assert written["aliases"]["sonnet"] == "compatible/m"
    assert [request.headers["authorization"] for request in server.requests] == [f"Bearer {KEY}"]
    assert ("✓ compatible: 1 model\n" in ended.stdout.decode()) is (code == 0)
    if sys.platform != "win32":
        assert path.stat().st_mode & 0o777 == 0o600


def test_nothing_is_overwritten_unasked(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text("# mine\n")
    refused = init(tmp_path, "--provider", "openai", "--model", "gpt-5.4", "--config", str(path), "--no-test")
    assert (refused.returncode, path.read_text()) == (2, "# mine\n")
    assert b"replace it with --force" in refused.stderr
    assert (
        init(
            tmp_path, "--provider", "openai", "--model", "gpt-5.4", "--config", str(path), "--no-test", "--force"
        ).returncode
        == 0
    )
    assert tomllib.loads(path.read_text("utf-8"))["provider"] == "openai"
    assert os.listdir(tmp_path).count("c.toml.new") == 0
    assert (tmp_path / "c.toml.old").read_text() == "# mine\n"


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX terminals")
def test_what_cannot_be_is_asked_for_again(tmp_path: Path) -> None:
    from tests.helpers.terminals import CTRL_D, Terminal

    dialogue = (
        ("Provider", "compatible\n"),
        ("Model", "m\n"),
        ("Address", "localhost\n"),
        ("bad base URL 'localhost'", "http://127.0.0.1:9\n"),
        ("Key", '"quoted"\n'),
        ("it is in quotation marks, which are sent with it\nKey", CTRL_D),
    )
    with Terminal(["init"], cwd=tmp_path, env=child.clean_environment(tmp_path)) as terminal:
        for question, answer in dialogue:
            terminal.wait_for(question)
            terminal.type(answer)
        assert terminal.end() == 1
    assert terminal.seen.endswith("\n")
    assert not (tmp_path / ".yume").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "stdin is not a terminal"),
        (("--provider", "opnai", "--no-test"), "Did you mean 'openai'?"),
        (("--provider", "openai", "--key-stdin"), "the key is empty"),
        (("--for", "nobody"), "'nobody' is not one of"),
    ],
)
def test_refusals_write_nothing(tmp_path: Path, words: tuple[str, ...], sentence: str) -> None:
    ended = init(tmp_path, *words)
    assert (ended.returncode, sentence in ended.stderr.decode()) == (2, True), ended.stderr
    assert not (tmp_path / ".yume" / "config.toml").exists()


def test_directions_alone(tmp_path: Path) -> None:
    ended = init(tmp_path, "--for", "zed", "--for", "opcode")
    assert ended.returncode == 0
    assert b"agent_servers" in ended.stdout
    assert b"opcode" in ended.stdout
    assert not (tmp_path / ".yume").exists()


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.key)
def test_every_client_has_directions(client: object) -> None:
    text = directions(client, "/bin/yume-shim")  # type: ignore[arg-type]  # a row of the table
    assert "{" + "{" not in text
    assert "{program}" not in text
    assert len(text.splitlines()) > 1


@pytest.mark.parametrize(
    "answers",
    [
        Answers("anthropic"),
        Answers("openai", "gpt-5.4", key='sk-"quoted\\'),
        Answers("my.server", "m", "https://h/v1", "", "MY_KEY"),
    ],
)
def test_the_file_is_valid_and_commented(answers: Answers) -> None:
    text = config_text(answers)
    data = tomllib.loads(text)
    assert check_config(data, "-") == []
    assert data["provider"] == answers.provider
    assert data["keys"] == ({answers.provider: answers.key} if answers.key else {})
    assert text.count("\n# ") >= 4


def test_text_that_cannot_be_printed_is_refused() -> None:
    with pytest.raises(BadInvocation):
        config_text(Answers("openai", "a\nb"))
