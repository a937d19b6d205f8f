"""A conversation whose transcript is in a Redis server is continued on another machine with another vendor's model."""

from __future__ import annotations

import itertools
import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from claude_agent_sdk import get_session_messages_from_store, list_sessions_from_store, project_key_for_directory
from claude_agent_sdk.testing import run_session_store_conformance

from tests.helpers.host_world import ANTHROPIC, GOOGLE, HostWorld
from tests.helpers.redis_server import Redis, program, running
from tests.helpers.redis_sessions import RedisSessions
from tests.helpers.scripted_model import call, say
from tests.helpers.sdk_host import SdkHost, result_of, run, texts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.helpers.host_world import Vendor

pytestmark = pytest.mark.redis


@pytest.fixture
def redis() -> Iterator[Redis]:
    """A connection to a server for this test."""
    with running(program()) as address:
        connection = Redis(address)
        try:
            yield connection
        finally:
            connection.close()


def _machine(folder: Path, vendor: Vendor) -> Iterator[HostWorld]:
    """A world; no process of it may outlive it."""
    folder.mkdir()
    world = HostWorld(folder, vendor)
    yield world
    strays = world.strays()
    world.close()
    assert strays == []


@pytest.fixture
def here(tmp_path: Path) -> Iterator[HostWorld]:
    """The machine where the conversation begins."""
    yield from _machine(tmp_path / "here", ANTHROPIC)


@pytest.fixture
def there(tmp_path: Path) -> Iterator[HostWorld]:
    """The machine where it goes on: another home, another provider and no key of the first one."""
    yield from _machine(tmp_path / "there", GOOGLE)


def test_the_store_keeps_what_the_sdk_asks_of_stores(redis: Redis) -> None:
    numbers = itertools.count()
    run(run_session_store_conformance(lambda: RedisSessions(redis, f"case-{next(numbers)}")))


def test_a_conversation_in_redis_continues_on_another_machine(redis: Redis, here: HostWorld, there: HostWorld) -> None:
    project = str(here.cwd)
    (here.cwd / "a.txt").write_text("alpha", "utf-8")
    here.serve([say("Looking."), call("Read", file_path="a.txt")], [say("It says alpha.")])
    session = result_of(SdkHost(here).ask("first", session_store=RedisSessions(redis))).session_id
    assert _lines(redis, project, session) == _lines_on_disk(here, session)

    shutil.rmtree(here.home)
    shutil.rmtree(here.cwd)
    here.cwd.mkdir()
    there.cwd = here.cwd  # a store finds a project by its folder: it must have the same name everywhere
    model = there.serve([say("Alpha, again.")], [say("Still alpha.")])
    host = SdkHost(there)
    got = [host.ask(words, session_store=RedisSessions(redis), resume=session) for words in ("second", "third")]
    assert [(result_of(each).session_id, texts(each)) for each in got] == [
        (session, ["Alpha, again."]),
        (session, ["Still alpha."]),
    ]
    assert [request.json()["contents"] for request in model.requests] == [
        [*BEGINNING, _words("user", "second")],
        [*BEGINNING, _words("user", "second"), _words("model", "Alpha, again."), _words("user", "third")],
    ]
    [said] = host.stderr  # the first machine had a key for Claude, this one has none
    assert said.endswith(
        "no key for anthropic/claude-sonnet-5-5, the model of this session: continuing with google/gemini-3.5-flash"
    )

    kept = _lines(redis, project, session)
    assert {line["sessionId"] for line in kept} == {session}
    chain = [line for line in kept if line["type"] in ("user", "assistant")]
    assert [line["parentUuid"] for line in chain] == [None, *(line["uuid"] for line in chain[:-1])]
    assert {line["cwd"] for line in chain} == {project}
    assert run(_seen_by_the_sdk(RedisSessions(redis), project, session)) == (
        [session],
        [line["uuid"] for line in chain],
    )


def _words(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"text": text}]}


BEGINNING: list[dict[str, Any]] = [
    _words("user", "first"),
    {
        "role": "model",
        "parts": [
            {"text": "Looking."},
            {
                "functionCall": {"name": "Read", "args": {"file_path": "a.txt"}},
                # Google's marker for a call of another model, which has no signature.
                "thoughtSignature": "skip_thought_signature_validator",
            },
        ],
    },
    {"role": "user", "parts": [{"functionResponse": {"name": "Read", "response": {"output": "1\talpha"}}}]},
    _words("model", "It says alpha."),
]
"""The first machine's turn in the form that Google's API needs."""


def _lines(redis: Redis, project: str, session: str) -> list[dict[str, Any]]:
    """What the server holds, read without the store."""
    where = f"sessions:lines:{project_key_for_directory(project)}/{session}"
    return [json.loads(line) for line in redis("LRANGE", where, 0, -1)]


def _lines_on_disk(world: HostWorld, session: str) -> list[dict[str, Any]]:
    (file,) = (world.home / ".claude" / "projects").glob(f"*/{session}.jsonl")
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


async def _seen_by_the_sdk(store: RedisSessions, project: str, session: str) -> tuple[list[str], list[str]]:
    """The sessions of the project, and the messages of one of them."""
    listed = await list_sessions_from_store(store, directory=project)
    messages = await get_session_messages_from_store(store, session, directory=project)
    return [entry.session_id for entry in listed], [message.uuid for message in messages]
