"""A session resumed from its checkpoint asks the model what it would ask without: byte for byte, on every API."""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest

from tests.helpers import child
from tests.helpers.scripted_model import ModelServer, Refuse, call, cut, say, think
from yume_shim.store.checkpoint import HEAD, path_of
from yume_shim.store.layout import session_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.helpers.fake_server import Exchange
    from tests.helpers.scripted_model import Answer

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the transcripts hold POSIX paths")

BASE = {
    "anthropic-messages": "",
    "openai-responses": "/v1",
    "openai-chat": "/v1",
    "google-genai": "",
    "ollama-chat": "",
}
SESSION = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
STREAM = ("-p", "--output-format", "stream-json", "--input-format", "stream-json", "--verbose")
LONG = "A line of the file, with an ü.\n" * 330
TURNS = 12


class Place:
    """A home, a scripted model of one API, and a stored session of many turns."""

    def __init__(self, folder: Path, api: str) -> None:
        self.api, self.home, self.cwd = api, folder / "home", folder / "work"
        self.home.mkdir()
        self.cwd.mkdir()
        (self.cwd / "a.txt").write_text(LONG, "utf-8")
        self.env = child.clean_environment(self.home)
        self.transcript = Path(session_path(str(self.home / ".claude" / "projects"), str(self.cwd), SESSION))
        self.checkpoint = Path(path_of(str(self.transcript)))

    def run(
        self, *argv: str, lines: list[dict[str, Any]] | None = None, answers: list[Answer], clean: bool = True
    ) -> bytes:
        """Run the program; the body of its last request."""
        with ModelServer(*answers) as server:
            self.configure(server.url)
            ended = child.run(("--model", "mine/m1", *argv), lines or [], cwd=self.cwd, env=self.env)
            assert ended.code == 0 or not clean, ended.stderr
            assert server.left == 0
            return [request.body for request in server.requests if request.method == "POST"][-1]

    def configure(self, url: str) -> None:
        """Make the server at this address the provider."""
        config = self.home / ".yume" / "config.toml"
        config.parent.mkdir(exist_ok=True)
        config.write_text(
            f'[keys]\nmine = "sk"\n\n[retry]\nretries = 0\n\n[endpoints.mine]\napi = "{self.api}"\n'
            f'base_url = "{url}{BASE[self.api]}"\n',
            "utf-8",
        )

    def make(self) -> None:
        """A session as it comes about: calls, failed calls, reasoning, a broken answer, odd characters."""
        lines: list[dict[str, Any]] = []
        answers: list[Answer] = []
        for number in range(TURNS):
            lines += [_prompt(f"Question {number} \u2028 ü"), {"!after": "result"}]
            path = "a.txt" if number % 3 else "missing.txt"
            answers += [[think("Hm. "), say("I look."), call("Read", file_path=str(self.cwd / path))]]
            answers += [[say(f'Answer {number}: "quoted" \\ and é 🎉 done')]]
        self.run(*STREAM, "--session-id", SESSION, lines=lines, answers=answers)

    def resume(self, answer: Answer | None = None) -> bytes:
        """Continue it for one turn."""
        return self.run("-p", "--resume", SESSION, "Go on.", answers=[answer or [say("Yes.")]])

    def asked(self, *argv: str, answers: list[Answer] | None = None) -> bytes:
        """What the next resume would ask last; nothing is stored."""
        given = (*argv, "-p", "--resume", SESSION, "--no-session-persistence", "Go on.")
        return self.run(*given, answers=answers or [[say("Yes.")]])

    def asked_without(self, *argv: str, answers: list[Answer] | None = None) -> bytes:
        """The same without the checkpoint."""
        aside = self.checkpoint.with_suffix(".aside")
        os.replace(self.checkpoint, aside)
        try:
            return self.asked(*argv, answers=answers)
        finally:
            os.replace(aside, self.checkpoint)

    def asks_the_same(self, *argv: str) -> None:
        """Does the next resume ask what it asks without the checkpoint?"""
        assert self.asked(*argv) == self.asked_without(*argv)

    def mark(self) -> None:
        """Change a word in the checkpoint, so that its use can be seen."""
        body = self.checkpoint.read_bytes()[HEAD:]
        assert body.count(b"Question 1 ") == 1
        body = body.replace(b"Question 1 ", b"Question X ")
        self.checkpoint.write_bytes(b"%08x\n%b" % (crc32(body), body))


def _prompt(text: str) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": text}}


@pytest.fixture(scope="module", params=BASE)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    place = Place(tmp_path_factory.mktemp("checkpoint"), request.param)
    place.make()
    place.resume()
    yield place
    shutil.rmtree(place.home)


def test_a_resume_asks_the_same_with_its_checkpoint(made: Place) -> None:
    assert made.checkpoint.stat().st_mode & 0o777 == 0o600
    for answer in ([say("One.")], [think("Hm."), say("Two.")]):
        made.asks_the_same()
        made.resume(answer=answer)
    answers: list[Answer] = [[call("Read", file_path=str(made.cwd / "a.txt"))], [say("Seen.")]]
    begun, without = made.asked(answers=answers), made.asked_without(answers=answers)
    assert _with_plain_ids(begun) == _with_plain_ids(without), "in the second request of a turn"
    kept = made.checkpoint.read_bytes()
    made.mark()
    assert b"Question X " in made.asked(), "the checkpoint was not used"
    made.checkpoint.write_bytes(kept)


@pytest.mark.parametrize("made", ["google-genai"], indirect=True)
def test_what_is_wrong_with_a_checkpoint_only_costs_time(made: Place) -> None:
    kept, expected = made.checkpoint.read_bytes(), made.asked_without()
    changed = kept.replace(b"Question 1 ", b"Question X ")
    empty = [b"%08x\n%b" % (crc32(body), body) for body in (b"{}\n", b"[]\n", b'{"format":"1 0.1.0"}\n')]
    for data in (b"", kept[: len(kept) // 2], changed, b"[" * 100_000, b"\xff" * 99, *empty):
        made.checkpoint.write_bytes(data)
        assert made.asked() == expected
    made.checkpoint.write_bytes(kept)
    made.mark()
    made.checkpoint.chmod(0o666)  # anyone may have written it
    assert made.asked() == expected
    made.checkpoint.chmod(0o600)
    made.transcript.write_bytes(made.transcript.read_bytes())  # the same bytes, but nothing says so
    assert made.asked() == expected
    made.resume()
    made.asks_the_same()


@pytest.mark.parametrize("made", ["openai-responses"], indirect=True)
def test_another_model_and_a_fork_go_without(made: Place) -> None:
    """What is stored is how the history was sent to one model."""
    made.resume()
    for argv in (("--model", "mine/m2"), ("--append-system-prompt", "Be brief."), ("--tools", "Read,Grep")):
        made.asks_the_same(*argv)
    assert made.asked("--fork-session").count(b"Question ") >= TURNS


@pytest.mark.parametrize("api", ["anthropic-messages", "openai-chat"])
def test_a_history_that_must_be_repaired_goes_without(tmp_path: Path, api: str) -> None:
    """What another program adds or changes is read; two prompts in a row must be joined, a cut answer ends in none."""
    place = Place(tmp_path, api)
    place.make()
    place.resume()
    lines = place.transcript.read_bytes().splitlines(keepends=True)
    last = [line for line in lines if b'"type":"assistant"' in line][-1]
    uuid = last.split(b'"uuid":"')[1].split(b'"')[0]
    line = b'{"type":"user","uuid":"elsewhere","parentUuid":"%b","message":{"role":"user","content":"Added."}}\n' % uuid
    with place.transcript.open("ab") as file:
        file.write(line)
    assert b"Added." in place.asked()
    place.transcript.write_bytes(place.transcript.read_bytes().replace(b"Question 2 ", b"Question Y "))
    for answer in ([say("One.")], [say("Half an ans"), cut()], [say("Three.")]):
        place.run("-p", "--resume", SESSION, "Once more.", answers=[answer], clean=False)
        place.asks_the_same()
        assert b"Question Y " in place.asked()


def test_a_transcript_that_is_changed_under_a_turn_is_named(tmp_path: Path) -> None:
    """The turn needs its messages only when the prompt is too long; by then another program has changed them."""
    place = Place(tmp_path, "anthropic-messages")
    place.make()
    place.resume()

    class Editor(ModelServer):
        def _play(self, exchange: Exchange) -> bool:
            place.transcript.write_bytes(place.transcript.read_bytes().replace(b"Question 2 ", b"Question Y "))
            return super()._play(exchange)

    with Editor([Refuse(400, message="prompt is too long: 2000 tokens > 1000 maximum")]) as server:
        place.configure(server.url)
        words = ("--model", "mine/m1", "-p", "--resume", SESSION, "Go on.")
        ended = child.run(words, [], cwd=place.cwd, env=place.env)
    assert ended.code == 1
    assert b"Question 2 " in server.requests[0].body, "the checkpoint was not used"
    said = ended.stdout.decode()
    assert "another program changed the transcript" in said
    assert "Resume the session again" in said
    assert "defect" not in said
    assert b"Question Y " in place.resume()


def _with_plain_ids(body: bytes) -> bytes:
    return re.sub(rb"(?:call|toolu)_[A-Za-z0-9_-]+", b"call", body)
