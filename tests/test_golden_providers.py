"""Wire goldens: every case four ways, all of which must give the same events."""

from __future__ import annotations

import ssl
import zlib
from functools import cache
from typing import TYPE_CHECKING

import pytest

from tests.helpers.api_facts import FACTS
from tests.helpers.fake_server import FakeServer
from tests.helpers.fakes import FakeIds, cancel
from tests.helpers.settings import settings_with
from tests.helpers.wire_cases import HAZARDS, cases, encode, events_to_json, no_log, play
from yume_shim.providers.cassettes.replay import ReplayProvider
from yume_shim.providers.load import known_apis, load_adapter, load_provider
from yume_shim.providers.sdk.clients import OPENERS
from yume_shim.types.models import Credential
from yume_shim.types.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.helpers.wire_cases import Case
    from yume_shim.types.blocks import Json

CASES = cases()
KEY = Credential("key-for-tests", "key", "test")

each_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@pytest.fixture(scope="module", autouse=True)
def _certificates_are_read_once() -> Iterator[None]:
    """Each client of an SDK reads all authorities of the web, 17 ms of processor time; here it speaks plain HTTP."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", cache(ssl.create_default_context))
        yield


@each_case
def test_request(case: Case) -> None:
    assert encode(case) == case.expected_requests()


@each_case
def test_decoder(case: Case) -> None:
    assert play(case) == case.expected_events()


@each_case
def test_replay(case: Case, tmp_path: Path) -> None:
    (tmp_path / "wire").mkdir()
    for number, file in enumerate(case.wire_files(), 1):
        (tmp_path / "wire" / f"{number:02}.jsonl").write_bytes(file.read_bytes())
    (tmp_path / "cassette.toml").write_text(f'api = "{case.api}"\nmodel = "{case.model.id}"\n', "utf-8")
    provider = ReplayProvider(str(tmp_path), FakeIds(), no_log)
    got = events_to_json(provider.stream(case.request, cancel()))
    assert _named(got, case.endpoint.name) == case.expected_events()


@each_case
def test_direct_transport(case: Case) -> None:
    assert _over_socket(case, settings_with(transport="direct")) == (case.expected_events(), case.expected_bodies())


@each_case
def test_sdk_transport(case: Case) -> None:
    if case.api not in OPENERS:
        pytest.skip(f"no vendor SDK speaks {case.api}")
    if case.sdk_skip:
        pytest.skip(case.sdk_skip)
    assert _over_socket(case, settings_with(transport="sdk")) == (case.expected_events(), case.expected_bodies())


@pytest.mark.parametrize("api", known_apis())
def test_every_hazard_is_shown(api: str) -> None:
    missing = set(HAZARDS) - {case.folder.name for case in CASES if case.api == api}
    assert missing == set(load_adapter(api).NOT_APPLICABLE)


def test_cases_belong_to_adapters() -> None:
    assert {case.api for case in CASES} == set(known_apis()) == set(FACTS)


def _over_socket(case: Case, settings: Settings) -> tuple[list[Json], list[Json]]:
    """(events, bodies that arrived) over a real connection whose bytes are split differently for every case."""
    seed = zlib.crc32(case.name.encode())
    with FakeServer(case.api, case.wires(), seed) as server:
        request = case.at(server.url)
        provider = load_provider(request.model, KEY, settings, FakeIds(), no_log)
        try:
            got = events_to_json(provider.stream(request, cancel()))
        finally:
            provider.close()
        return got, [received.json() for received in server.requests]


def _named(events: list[Json], provider: str) -> list[Json]:
    """A cassette's endpoint is called replay, also in the failures that it plays."""
    for event in events:
        if "failure" in event and event["failure"].get("provider") == "replay":
            event["failure"]["provider"] = provider
    return events
