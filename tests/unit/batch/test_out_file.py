"""OUT after kills, full disks, repeated and sorted runs."""

from __future__ import annotations

import errno
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from yume_shim.batch.out_file import OutFile
from yume_shim.types.errors import BadInvocation


def opened(path: Path, *, resume: bool = True, retry: bool = False) -> OutFile:
    return OutFile(str(path), resume=resume, keep=lambda row: not (retry and row.get("error")))


def rows(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def row(name: str, **more: Any) -> Any:
    return {"id": name, "result": f"answer {name}", **more}


def test_a_file_that_was_cut_anywhere_loads(tmp_path: Path) -> None:
    whole = b"".join(json.dumps(row(name)).encode() + b"\n" for name in "abc")
    path = tmp_path / "out"
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        out = opened(path)
        done = set(out.finished)
        for name in set("abc") - done:
            out.append(row(name))
        out.close()
        assert sorted(each["id"] for each in rows(path)) == ["a", "b", "c"]
        assert len(done) >= whole[:size].count(b"\n")


def test_rows_of_an_earlier_run_need_resume(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text('{"id":"a"}\n')
    with pytest.raises(BadInvocation, match="--resume"):
        opened(path, resume=False)
    assert path.read_text() == '{"id":"a"}\n'


def test_failed_rows_are_dropped_when_they_are_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "out"
    out = opened(path)
    out.append(row("a", error={"kind": "auth"}))
    out.append(row("b"))
    out.close()
    again = opened(path, retry=True)
    assert set(again.finished) == {"b"}
    again.append(row("a"))
    again.close()
    assert rows(path) == [row("b"), row("a")]


def test_the_later_of_two_rows_counts(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text(
        '{"id":"a","result":"","cost_usd":1}\n{"id":"b","result":""}\n{"id":"a","result":"","cost_usd":2}\n'
    )
    out = opened(path)
    out.close()
    assert [(each["id"], each.get("cost_usd")) for each in rows(path)] == [("a", 2), ("b", None)]


@pytest.mark.parametrize("end", [b"", b"\n", b"\n\n", b"\n\0\0\0", b'\n{"id":"c","inde'])
def test_what_an_editor_or_a_loss_of_power_leaves_at_the_end(end: bytes, tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b'{"id":"a","result":"","cost_usd":2}\n{"id":"b","result":""}' + end)
    out = opened(path)
    assert out.finished == {"a": 2.0, "b": 0.0}
    out.append(row("c"))
    out.close()
    assert [each["id"] for each in rows(path)] == ["a", "b", "c"]


def test_two_runs_cannot_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "out"
    first = opened(path)
    with pytest.raises(BadInvocation, match="another run writes"):
        opened(path)
    first.close()
    opened(path).close()


@pytest.mark.skipif(sys.platform == "win32", reason="there no file can be replaced that somebody has open")
def test_a_run_that_ends_while_out_is_opened_takes_no_row_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, sorted_rows = tmp_path / "out", tmp_path / "sorted"
    path.write_text('{"id":"b","result":""}\n')
    sorted_rows.write_text('{"id":"a","result":""}\n{"id":"b","result":""}\n')
    system_open = os.open

    def opens(name: str, flags: int, mode: int = 0o777) -> int:
        fd = system_open(name, flags, mode)
        if sorted_rows.exists():
            os.replace(sorted_rows, path)
        return fd

    monkeypatch.setattr(os, "open", opens)
    out = opened(path)
    out.append(row("c"))
    out.close()
    assert [each["id"] for each in rows(path)] == ["a", "b", "c"]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
def test_a_link_stays_one(tmp_path: Path) -> None:
    path, target = tmp_path / "out", tmp_path / "target"
    path.symlink_to(target)
    out = opened(path)
    for name in ("b", "a"):
        out.append(row(name))
    out.sort({"a": 0, "b": 1})
    out.close()
    assert (path.is_symlink(), [each["id"] for each in rows(target)]) == (True, ["a", "b"])


def test_the_order_of_the_input(tmp_path: Path) -> None:
    path = tmp_path / "out"
    out = opened(path)
    for name in ("c", "gone", "a", "b"):
        out.append(row(name))
    out.sort({"a": 0, "b": 1, "c": 2})
    out.close()
    assert [each["id"] for each in rows(path)] == ["a", "b", "c", "gone"]


def test_half_a_row_does_not_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out"
    out = opened(path)
    out.append(row("a"))
    write, calls = os.write, []

    def full(fd: int, data: bytes) -> int:
        calls.append(data)
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(fd, data[:5])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        out.append(row("b"))
    monkeypatch.setattr(os, "write", write)
    out.append(row("c"))
    out.close()
    assert [each["id"] for each in rows(path)] == ["a", "c"]


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(BadInvocation, match="cannot write"):
        opened(tmp_path / "none" / "out")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("my notes\n", 1),
        ('{"id":"a","prompt":"Hi"}\n', 1),
        ('{"id":"a","result":""}\nmy notes\n{"id":"b","result":""}\n', 2),
        ('{"id":"a","result":""}\n{"id":"b","resu\n{"id":"c","result":""}\n', 2),
        ('[{"id":"a","result":""}]', 1),
    ],
)
def test_a_file_that_is_not_ours_stays_as_it_is(tmp_path: Path, text: str, number: int) -> None:
    path = tmp_path / "out"
    path.write_text(text)
    with pytest.raises(BadInvocation, match=f"line {number} is no row of a batch; nothing was changed"):
        opened(path)
    assert path.read_text() == text


@pytest.mark.parametrize("torn", ["{", '{"id":"b","resu', '{"id":"b","result":"x', "\0" * 500, '{"id":"b"' + "\0" * 9])
def test_a_torn_last_row_is_forgotten(tmp_path: Path, torn: str) -> None:
    path = tmp_path / "out"
    path.write_text('{"id":"a","result":""}\n' + torn)
    out = opened(path)
    out.close()
    assert [each["id"] for each in rows(path)] == ["a"]


def test_out_is_an_ordinary_file(tmp_path: Path) -> None:
    paths = [Path(os.devnull)]
    if sys.platform != "win32":
        os.mkfifo(tmp_path / "pipe")
        paths.append(tmp_path / "pipe")
    for path in paths:
        with pytest.raises(BadInvocation, match="no ordinary file"):
            opened(path)
