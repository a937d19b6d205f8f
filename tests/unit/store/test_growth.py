"""What `grown` reads of the new lines of a transcript is what reading the whole transcript gives, or nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers.transcripts import answer, question, save
from yume_shim.store.growth import grown
from yume_shim.store.load import load
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from yume_shim.types.blocks import Json
    from yume_shim.types.stored_session import StoredSession

GOLDEN = Path(__file__).parents[3] / "golden" / "sessions"
USAGE = dict.fromkeys(("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens"), 3)
CALL = [{"type": "tool_use", "id": "call", "name": "Read", "input": {}}]
RESULT = [{"type": "tool_result", "tool_use_id": "call", "content": "text"}]
PRIVATE: tuple[Json, ...] = ({}, {"joined": True}, {"asks": True}, {"provider": "p", "origin": "openai-chat/m"})


@st.composite
def transcripts(draw: st.DrawFn) -> list[bytes]:
    """Lines of any kind; most follow the one before them, as nearly all do in a real file."""
    lines: list[bytes] = []
    uuids: list[str | None] = [None]
    for number in range(draw(st.integers(2, 12))):
        usual = draw(st.integers(0, 5)) > 0
        parent = uuids[-1] if usual else draw(st.sampled_from([*uuids, "missing"]))
        uuid = f"u{number}" if draw(st.integers(0, 9)) else draw(st.sampled_from(["u0", "u1"]))
        lines.append(_line(draw, uuid, parent))
        if b'"uuid"' in lines[-1]:
            uuids.append(uuid)
    return lines


def _line(draw: st.DrawFn, uuid: str, parent: str | None) -> bytes:
    more: dict[str, Any] = {"yume": draw(st.sampled_from(PRIVATE))}
    if not draw(st.integers(0, 9)):
        more["isSidechain"] = True
    match draw(st.sampled_from(["prompt", "prompt", "said", "said", "call", "result", "cost", "system", "odd"])):
        case "prompt":
            return save(
                question(uuid, draw(st.sampled_from(["words", "", [{"type": "text", "text": "x"}]])), parent, **more)
            )
        case "said":
            line = answer(uuid, [{"type": "text", "text": "said"}], parent, draw(st.sampled_from(["", "m1"])), **more)
            line["message"]["usage"] = draw(st.sampled_from([USAGE, None]))
            return save(line | {"requestedModel": "m", "costUSD": 0.5})
        case "call":
            return save(answer(uuid, CALL, parent, draw(st.sampled_from(["", "m1"])), **more))
        case "result":
            return save(question(uuid, RESULT, parent, **more))
        case "cost":
            return save({"type": "cost-state", "modelUsage": {"m": {"inputTokens": 3, "costUSD": 1.5}}})
        case "system":
            kind = draw(st.sampled_from(["compact_boundary", "api_error"]))
            return save(question(uuid, "", parent) | {"type": "system", "subtype": kind})
        case _:
            titles = [{"type": "custom-title", "customTitle": "t"}, {"type": "last-prompt", "lastPrompt": "p"}]
            return draw(st.sampled_from([*map(save, titles), b"half a li", b"\n", b"[]\n", b"\xff\n"]))


@given(transcripts(), st.data())
def test_any_growth(tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "growing.jsonl"
    check(path, lines, data.draw(st.integers(1, len(lines))))


def test_an_ordinary_turn_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    turns = [save(*_turn(number)) for number in range(4)]
    for cut in (1, 2, 3):
        assert check(path, turns, cut)


def _turn(number: int) -> tuple[Json, ...]:
    names = [f"t{number}-{place}" for place in range(4)]
    above = f"t{number - 1}-3" if number else None
    return (
        question(names[0], f"question {number}", above),
        answer(names[1], CALL, names[0]),
        question(names[2], RESULT, names[1]),
        answer(names[3], [{"type": "text", "text": "done"}], names[2]) | {"costUSD": 0.25},
    )


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*/expected/session.jsonl")), ids=lambda path: path.parts[-3])
def test_the_transcripts_of_all_sessions(tmp_path: Path, path: Path) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    for cut in range(1, len(lines) + 1):
        check(tmp_path / "a.jsonl", lines, cut)


def check(path: Path, lines: list[bytes], cut: int) -> bool:
    """Compare both ways of reading; was there anything to compare?"""
    path.write_bytes(b"".join(lines[:cut]))
    before = load(str(path))
    path.write_bytes(b"".join(lines))
    if before is None:
        return False
    found = grown(str(path), before)
    if found is None:
        return False
    assert _facts(found) == _facts(load(str(path)))
    return True


def _facts(session: StoredSession | None) -> StoredSession:
    assert session is not None
    return replace(session, chain=())


def test_lines_that_were_changed_are_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(save(*_turn(0)))
    before = load(str(path))
    assert before is not None
    changed = path.read_bytes().replace(b"question 0", b"question X")
    path.write_bytes(changed + save(*_turn(1)))
    assert grown(str(path), before) is None
