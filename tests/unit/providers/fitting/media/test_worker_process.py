"""The worker process: right results, killed in time, and no crash of it reaches the program."""

from __future__ import annotations

import os
import sys
import threading

import pytest

from tests.helpers.media_files import encrypted_pdf, noise, pdf, saved, slow_jpeg_file, slow_pdf_file
from tests.helpers.timing import soon, wait_until
from yume_shim.providers.fitting.media.convert_image import convert_image
from yume_shim.providers.fitting.media.fit_part import Accepted, fit_part
from yume_shim.providers.fitting.media.images import JPEG, PNG, Limits, MediaRefused
from yume_shim.providers.fitting.media.pdf_text import page_count, pdf_text
from yume_shim.providers.fitting.media.worker_pool import WorkerPool
from yume_shim.providers.fitting.media.worker_process import BOOT, CRASHED, WorkerProcess
from yume_shim.system.processes import process_exists
from yume_shim.types.blocks import Document, Image, Text
from yume_shim.types.events import Notice

LIMITS = Limits((PNG, JPEG), 0, 20)
ALL = Accepted(True, True, True, 0)
WORKER = "yume_shim.providers.fitting.media.worker"


def boot(code: str) -> WorkerProcess:
    """A worker that runs this instead."""
    return WorkerProcess(f"import sys; sys.path[:] = sys.argv[1:]; import os; {code}")


def is_reaped(pid: int) -> bool:
    """Is it gone, and not a zombie?"""
    if os.name == "nt":
        return not process_exists(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def pid_of(worker: WorkerProcess) -> int:
    assert worker._process is not None
    return worker._process.pid


def test_results_are_those_of_the_decoders_and_one_process_does_many_jobs() -> None:
    worker = WorkerProcess()
    picture, paper = saved(noise(60, 40), "BMP"), pdf("Hello", "", "ä")
    try:
        assert worker.convert_image(picture, "image/bmp", LIMITS) == convert_image(picture, "image/bmp", LIMITS)
        first = pid_of(worker)
        assert worker.pdf_text(paper) == pdf_text(paper)
        assert worker.page_count(paper) == page_count(paper) == 3
        locked = encrypted_pdf("secret", "x")
        assert worker.pdf_text(locked) == pdf_text(locked)
        with pytest.raises(MediaRefused, match="its image format is not supported"):
            worker.convert_image(b"hello", "", LIMITS)
        assert pid_of(worker) == first
        assert not worker.ended
    finally:
        worker.end()
    assert is_reaped(first)
    with pytest.raises(MediaRefused):
        worker.pdf_text(paper)


def test_no_process_is_started_for_what_is_sent_as_it_is() -> None:
    from tests.helpers.media_files import image, pdf_block

    worker = WorkerProcess()
    for part in (image(), pdf_block("x"), Document("text/plain", "x")):
        assert fit_part(part, ALL, LIMITS, worker).part is part
    assert worker._process is None
    worker.end()


@pytest.mark.parametrize("kind", ["pdf", "jpeg"])
def test_a_hostile_file_is_killed_in_time(kind: str) -> None:
    worker = WorkerProcess()
    assert worker.page_count(pdf("warm")) == 1
    hostile = slow_pdf_file() if kind == "pdf" else slow_jpeg_file()
    threading.Timer(0.3, worker.end).start()
    with soon(), pytest.raises(MediaRefused):
        worker.pdf_text(hostile) if kind == "pdf" else worker.convert_image(hostile, JPEG, LIMITS)
    assert is_reaped(pid_of(worker))


@pytest.mark.parametrize(
    "code",
    [
        "os._exit(3)",
        "os.abort()",
        "sys.stdin.buffer.readline(); os._exit(0)",
        r"os.write(1, b'garbage\n'); sys.stdin.buffer.read()",
        r"os.write(1, b'{\"size\": -1}\n'); sys.stdin.buffer.read()",
        r"os.write(1, b'{\"size\": 1099511627776}\n'); sys.stdin.buffer.read()",
        r"os.write(1, b'{\"size\": 9, \"note\": 1}\nabc'); os._exit(0)",
        r"os.write(1, b'[]\n'); sys.stdin.buffer.read()",
        r"os.write(1, b'{\"size\": 1, \"note\": \"\"}\n\xff'); sys.stdin.buffer.read()",
        r"os.write(1, b'x' * 100000); sys.stdin.buffer.read()",
        "import no_such_module",
    ],
)
def test_a_crash_is_a_note(code: str) -> None:
    paper = Document("application/pdf", "JVBERi0xLjQK", "a.pdf")
    worker = boot(code)
    fitted = fit_part(paper, Accepted(True, True, False, 0), LIMITS, worker)
    words = f"a.pdf is left out: {CRASHED}."
    assert (fitted.part, fitted.notice) == (Text(f"[{words}]"), Notice("document_left_out", words))
    worker.end()
    assert is_reaped(pid_of(worker))


def test_a_crash_while_pages_are_counted_leaves_the_file_to_the_endpoint() -> None:
    worker = boot("os._exit(3)")
    assert worker.page_count(pdf("x")) == 0
    assert worker.ended


def test_an_image_without_a_format_is_refused() -> None:
    worker = boot(r"os.write(1, b'{\"size\": 1}\nx'); sys.stdin.buffer.read()")
    with pytest.raises(MediaRefused, match="crashed"):
        worker.convert_image(b"x", PNG, LIMITS)
    worker.end()


def test_a_process_that_cannot_be_started_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    fitted = fit_part(Image("image/bmp", "Qk0="), ALL, LIMITS, WorkerProcess())
    assert fitted.part == Text(f"[An image is left out: {CRASHED}.]")


def test_output_of_decoders_does_not_reach_the_reply() -> None:
    noisy = "os.write(1, b'warning'); os.write(2, b'warning')"
    worker = boot(
        f"import {WORKER} as w; w.JOBS['page_count'] = lambda job, data: "
        f"(({noisy.replace(';', ',')}), ({{'pages': 7}}, b''))[1]; sys.exit(w.main())"
    )
    assert [worker.page_count(b""), worker.page_count(b"")] == [7, 7]
    worker.end()


def test_the_worker_gets_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "not-a-key")
    worker = boot(
        f"import {WORKER} as w; "
        "w.JOBS['pdf_text'] = lambda job, data: ({'note': ' '.join(os.environ)}, b''); sys.exit(w.main())"
    )
    assert "SOME_API_KEY" not in worker.pdf_text(b"").note.split()
    worker.end()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems may have no such limit")
def test_memory_is_limited() -> None:
    worker = boot(
        f"import {WORKER} as w; w.JOBS['pdf_text'] = lambda job, data: ({{}}, bytes(w.MAX_MEMORY)); sys.exit(w.main())"
    )
    with pytest.raises(MediaRefused, match=r"it cannot be read \(MemoryError\)"):
        worker.pdf_text(b"")
    assert not worker.ended
    worker.end()


def test_a_worker_without_a_parent_ends_itself() -> None:
    """Even in code that never lets another thread run: an expression that backtracks without end."""
    worker = boot(
        f"import re; import {WORKER} as w; w.MAX_SECONDS = 0.3; "
        "w.JOBS['pdf_text'] = lambda job, data: re.match('(a+)+b', 'a' * 64); sys.exit(w.main())"
    )
    with pytest.raises(MediaRefused, match="crashed"):
        worker.pdf_text(b"")
    assert BOOT.endswith("sys.exit(main())")
    idle = WorkerProcess()
    assert idle.page_count(pdf("x")) == 1
    process = idle._process
    assert process is not None
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(10.0) == 0
    idle.end()


# ---------------------------------------------------------------- idle workers


def test_an_idle_worker_gets_the_next_job() -> None:
    pool = WorkerPool()
    worker = pool.take()
    assert worker.page_count(pdf("x")) == 1
    pool.give_back(worker)
    assert pool.take() is worker
    worker.end()


def test_an_idle_worker_without_a_job_is_ended() -> None:
    pool = WorkerPool(idle_seconds=0.05)
    worker = pool.take()
    assert worker.page_count(pdf("x")) == 1
    pool.give_back(worker)
    wait_until(lambda: is_reaped(pid_of(worker)), "the end of the worker")
    assert worker.ended
    assert pool.take() is not worker


def test_idle_workers_are_limited_and_useless_ones_not_kept() -> None:
    pool = WorkerPool(max_idle=1)
    unused, crashed, one, two = pool.take(), boot("os._exit(3)"), pool.take(), pool.take()
    assert [crashed.page_count(b""), one.page_count(pdf("x")), two.page_count(pdf("x"))] == [0, 1, 1]
    for worker in (unused, crashed, one, two):
        pool.give_back(worker)
    assert (one.ended, two.ended) == (False, True)
    pool.end()
    assert one.ended
