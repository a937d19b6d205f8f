"""Recordings can be played, and contain no secrets."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.fake_server import FakeServer
from tests.helpers.fakes import FakeIds, cancel
from tests.helpers.wire_cases import cases, events_to_json, no_log
from yume_shim.providers.cassettes.record import Recorder
from yume_shim.providers.cassettes.replay import ReplayProvider, read_cassette
from yume_shim.providers.load import load_provider
from yume_shim.types.errors import BadInvocation
from yume_shim.types.models import Credential, WireRequest
from yume_shim.types.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

    from tests.helpers.wire_cases import Case

KEY = "my-own-key-0123456789"
CASES = [case for case in cases("anthropic-messages") if not case.sdk_skip]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_recording_plays_as_it_was(case: Case, tmp_path: Path) -> None:
    recorder = Recorder(str(tmp_path), case.api, case.model.id, (KEY,))
    with FakeServer(case.api, case.wires()) as server:
        request = case.at(server.url)
        provider = load_provider(request.model, Credential(KEY, "key", "t"), Settings(), FakeIds(), no_log, recorder)
        live = events_to_json(provider.stream(request, cancel()))
        provider.close()
    played = events_to_json(ReplayProvider(str(tmp_path), FakeIds(), no_log).stream(request, cancel()))
    for event in played:
        if "failure" in event:
            event["failure"]["provider"] = case.endpoint.name
    assert played == live == case.expected_events()
    assert json.loads((tmp_path / "requests" / "01.json").read_bytes()) == case.expected_bodies()[0]
    assert read_cassette(str(tmp_path)).id == case.model.id


def _recorded(folder: Path, *frames: Any, body: Any = None) -> str:
    recorder = Recorder(str(folder), "openai-chat", "m", (KEY,))
    recorder("request", WireRequest("/x", body or {}))
    recorder("headers", {"content-type": "text/event-stream", "openai-organization": "org-abc", "set-cookie": "s"})
    for frame in frames:
        recorder("frame", frame)
    return "".join(path.read_text("utf-8") for path in sorted(folder.rglob("*.json*")))


@pytest.mark.parametrize(
    "secret",
    [
        KEY,
        "sk-ant-api03-abcdefghijklmnop",
        "sk-proj-abcdefghijklmnop1234",
        "AIzaSyA1234567890abcdefghijklmnop",
        "gsk_abcdefghijklmnop",
        "xai-abcdefghijklmnop",
        "org-abcdefghijklmnop",
        "ghp_abcdefghijklmnopqrstuvwx",
        "Bearer abcdefghijklmnop.qrst",
    ],
)
def test_secrets_are_removed(tmp_path: Path, secret: str) -> None:
    text = _recorded(tmp_path, {"text": f"the key is {secret}!", "deep": [{"x": secret}]}, body={"say": secret})
    assert secret not in text
    assert "org-abc" not in text
    assert "[redacted]" in text


def test_a_placeholder_for_a_key_leaves_the_recording_whole(tmp_path: Path) -> None:
    recorder = Recorder(str(tmp_path), "openai-chat", "m", ("none", "x", KEY, KEY + "-and-more"))
    recorder("request", WireRequest("/x", {}))
    recorder("frame", {"text": f"none of it: {KEY}-and-more"})
    assert (tmp_path / "wire" / "01.jsonl").read_text("utf-8") == '{"text":"none of it: [redacted]"}\n'


def test_fields_with_keys(tmp_path: Path) -> None:
    text = _recorded(tmp_path, {"Authorization": "abc", "api_key": "abc", "x": {"X-Api-Key": "abc"}, "tokens": 3})
    assert "abc" not in text
    assert '"tokens":3' in text


def test_a_line_that_still_looks_like_a_key_is_not_written(tmp_path: Path) -> None:
    text = _recorded(tmp_path, {"sk-proj-abcdefghijklmnop1234": "as a name"}, {"fine": 1})
    assert "sk-proj" not in text
    assert '{"!redacted":true}\n{"fine":1}\n' in text


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_files_are_private(tmp_path: Path) -> None:
    _recorded(tmp_path / "new", {"a": 1})
    modes = {oct(path.stat().st_mode & 0o777) for path in (tmp_path / "new").rglob("*") if path.is_file()}
    assert modes == {"0o600"}


def test_numbers_continue_in_the_next_process(tmp_path: Path) -> None:
    _recorded(tmp_path, {"a": 1})
    _recorded(tmp_path, {"a": 2})
    assert sorted(path.name for path in (tmp_path / "wire").iterdir()) == ["01.jsonl", "02.jsonl"]


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(BadInvocation, match="cannot record"):
        Recorder(str(tmp_path / "file"), "openai-chat", "m")


def test_a_disk_that_fails_stops_the_recording_only(tmp_path: Path) -> None:
    said: list[str] = []
    recorder = Recorder(str(tmp_path), "openai-chat", "m", log=lambda level, text: said.append(f"{level}: {text}"))
    os.rmdir(tmp_path / "wire")
    recorder("request", WireRequest("/x", {}))
    recorder("frame", {"a": 1})
    assert len(said) == 1
    assert said[0].startswith("warning: recording stopped")


def test_two_processes_may_record_to_one_folder(tmp_path: Path) -> None:
    recorders = [Recorder(str(tmp_path), "openai-chat", "m") for _ in range(2)]
    for number, recorder in enumerate(recorders):
        recorder("request", WireRequest("/x", {"number": number}))
    for number, recorder in enumerate(recorders):
        recorder("frame", {"number": number})
    for folder, name in (("wire", "jsonl"), ("requests", "json")):
        files = sorted((tmp_path / folder).iterdir())
        assert [file.name for file in files] == [f"01.{name}", f"02.{name}"]
        assert [json.loads(file.read_bytes()) for file in files] == [{"number": 0}, {"number": 1}]
