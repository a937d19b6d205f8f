"""The images and documents of a request: what is sent, the notices, and that the result never changes."""

from __future__ import annotations

import itertools
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.fakes import cancel
from tests.helpers.media_files import (
    b64,
    encrypted_pdf,
    image,
    noise,
    opened,
    pdf,
    pdf_block,
    saved,
    slow_jpeg_file,
    slow_pdf_file,
)
from tests.helpers.timing import cheap, soon, wait_until
from yume_shim.providers.fitting.media import fitter as fitting
from yume_shim.providers.fitting.media.fitter import MediaFitter
from yume_shim.providers.fitting.media.worker_pool import POOL, WorkerPool
from yume_shim.types.blocks import Document, Image, Message, Text, ToolCall, ToolResult
from yume_shim.types.errors import Cancelled
from yume_shim.types.events import Notice
from yume_shim.types.models import Endpoint, ModelSpec, Quirks, Request
from yume_shim.types.value import replace

UNSEEN = Notice("images_left_out", "Images are left out: this model sees none.")


def request(*blocks: Any, images: bool = True, **quirks: Any) -> Request:
    endpoint = Endpoint("e", "openai-chat", "http://127.0.0.1:1", quirks=Quirks(**quirks))
    spec = ModelSpec("m", endpoint, images=images)
    return Request(spec, tuple(Message("user", (block,)) for block in blocks))


def fit(asked: Request) -> tuple[list[Any], tuple[Notice, ...]]:
    ready, notices = MediaFitter().fit(asked)
    return [block for message in ready.messages for block in message.blocks], notices


def test_media_that_the_endpoint_takes_are_not_changed() -> None:
    asked = request(Text("x"), image(), pdf_block("x"), ToolResult("c", (Text("y"), image("JPEG"))))
    ready, notices = MediaFitter().fit(asked)
    assert ready is asked
    assert notices == ()


@pytest.mark.parametrize("how", [{"images": False}, {"quirks": False}])
def test_notes_where_images_are_not_accepted(how: dict[str, bool]) -> None:
    blocks = (image(), Image("", "", "https://example.org/a.png"), ToolResult("c", (Text("y"), image())))
    base = request(*blocks, images=how.get("images", True))
    endpoint = replace(base.model.endpoint, quirks=Quirks(images=how.get("quirks", True)))
    found, notices = fit(replace(base, model=replace(base.model, endpoint=endpoint)))
    words = Text("[An image is left out: this model sees no images.]")
    assert found == [
        words,
        Text("[An image at https://example.org/a.png is left out: this model sees no images.]"),
        ToolResult("c", (Text("y"), words)),
    ]
    assert notices == (UNSEEN,) * 3


def test_addresses_are_sent_where_the_endpoint_fetches_them() -> None:
    far = Image("", "", "https://example.org/a.png")
    near = image()
    inline = Image("", "", f"data:image/jpg;base64,{near.data}")
    assert fit(request(far, inline)) == ([far, near], ())
    words = "An image at https://example.org/a.png is left out: this endpoint does not fetch images by address."
    assert fit(request(far, inline, image_urls=False)) == (
        [Text(f"[{words}]"), near],
        (Notice("images_left_out", words),),
    )


def test_limits_of_the_endpoint() -> None:
    found, notices = fit(request(image("PNG", 300, 100), image("BMP"), image_side=200, image_formats=("image/jpeg",)))
    assert [(block.media_type, opened(block).size) for block in found] == [
        ("image/jpeg", (200, 66)),
        ("image/jpeg", (4, 3)),
    ]
    assert notices == ()


def test_an_unreadable_image_is_reported() -> None:
    words = "An image is left out: its image format is not supported."
    assert fit(request(Image("image/png", b64(b"hello")))) == (
        [Text(f"[{words}]")],
        (Notice("images_left_out", words),),
    )


# ---------------------------------------------------------------- documents


def test_pdfs_become_text_where_they_are_not_taken() -> None:
    notice = Notice("document_as_text", "a.pdf is sent as text: this endpoint does not take this PDF.")
    words = Text("[a.pdf: the text of the PDF]\n\n[page 1]\nHello")
    asked = request(pdf_block("Hello"), ToolResult("c", (pdf_block("Hello"),)), documents=False)
    assert fit(asked) == ([words, ToolResult("c", (words,))], (notice, notice))
    blind = request(pdf_block("Hello"), images=False)  # PDFs are looked at, page by page
    assert fit(blind) == ([words], (notice,))


def test_locked_pdfs_are_never_sent_as_they_are() -> None:
    readable = Document("application/pdf", b64(encrypted_pdf("", "Hello")), "r.pdf")
    locked = Document("application/pdf", b64(encrypted_pdf("secret", "Hello")), "l.pdf")
    words = "l.pdf is left out: it must be sent as text, but it is encrypted and needs a password."
    assert fit(request(readable, locked)) == (
        [Text("[r.pdf: the text of the PDF]\n\n[page 1]\nHello"), Text(f"[{words}]")],
        (
            Notice("document_as_text", "r.pdf is sent as text: this endpoint does not take this PDF."),
            Notice("document_left_out", words),
        ),
    )


def test_the_type_of_a_document_is_read_from_its_bytes() -> None:
    table = Document("text/csv", b64("a,b\nä,1\n".encode()), "t.csv")
    plain = Document("text/plain", "as it is", "n.txt")
    unnamed = Document("application/octet-stream", b64(pdf("x")), "u.pdf")
    hidden = Document("application/pdf", image().data, "i.pdf")
    assert fit(request(table, plain, unnamed, hidden)) == (
        [
            Document("text/plain", "a,b\nä,1\n", "t.csv"),
            plain,
            Document("application/pdf", b64(pdf("x")), "u.pdf"),
            image(),
        ],
        (),
    )


def test_blank_documents_become_a_note() -> None:
    blank = (Document("text/plain", " \n", "n.txt"), Document("text/csv", "", ""))
    assert fit(request(*blank)) == ([Text("[n.txt is empty.]"), Text("[A document is empty.]")], ())


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (Document("application/zip", b64(b"PK\x03\x04\0\0"), "z.zip"), "application/zip is not supported"),
        (Document("application/pdf", b64(b"hello"), "h.pdf"), "it is not a PDF"),
        (Document("application/pdf", "%%%", "b.pdf"), "its data is not base64"),
    ],
)
def test_other_documents_are_left_out(document: Document, why: str) -> None:
    words = f"{document.title} is left out: {why}."
    assert fit(request(document)) == ([Text(f"[{words}]")], (Notice("document_left_out", words),))


# ---------------------------------------------------------------- many of them


def test_each_is_fitted_once() -> None:
    fitter = MediaFitter()
    large = Image("image/bmp", b64(saved(noise(1500, 1500), "BMP")))
    asked = request(large, image_side=1000)
    first, _ = fitter.fit(asked)
    with cheap(1.0):  # decoding it once takes a tenth of that, 200 times twenty times
        for _ in range(200):
            again, _ = fitter.fit(replace(asked, messages=(*asked.messages, Message("user", (Text("more"),)))))
            assert again.messages[0].blocks[0] is first.messages[0].blocks[0]


def test_loops_that_run_side_by_side_share_a_fitter() -> None:
    fitter = MediaFitter(max_kept=3)
    failed: list[BaseException] = []
    before = sys.getswitchinterval()

    def work(first: int) -> None:
        try:
            for number in range(60):
                fitter.fit(request(*(image("PNG", 1 + (first + number + more) % 9, 2) for more in range(3))))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert failed == []
    assert fitter._chars == sum(
        fitting._size(key[0]) + fitting._size(fitted.part) for key, fitted in fitter._kept.items()
    )


def test_the_memory_is_limited() -> None:
    fitter = MediaFitter(max_kept=10)
    for number in range(1, 40):
        fitter.fit(request(image("PNG", number, 2)))
    assert len(fitter._kept) == 10
    fitter = MediaFitter(max_chars=2_000)
    for number in range(1, 40):
        fitter.fit(request(image("PNG", number, 2)))
        kept = sum(fitting._size(key[0]) + fitting._size(fitted.part) for key, fitted in fitter._kept.items())
        assert fitter._chars == kept <= 2_000


def test_the_oldest_are_left_out_in_steps() -> None:
    """100 images that together are far too large: the cut moves now and then, not in every request."""
    pictures = [image("PNG", 40 + number, 40) for number in range(100)]
    size = sum(len(picture.data) for picture in pictures) // 100
    limit = round(size * 20 / fitting.MEDIA_SHARE)
    fitter = MediaFitter()
    cuts: list[int] = []
    for count in range(1, 101):
        ready, notices = fitter.fit(request(*pictures[:count], request_bytes=limit))
        blocks = [message.blocks[0] for message in ready.messages]
        gone = sum(isinstance(block, Text) for block in blocks)
        assert all(isinstance(block, Text) for block in blocks[:gone])
        assert blocks[gone:] == pictures[gone:count]
        assert (
            sum(len(block.data) for block in blocks[gone:] if isinstance(block, Image)) <= limit * fitting.MEDIA_SHARE
        )
        assert bool(notices) == bool(gone)
        cuts.append(gone)
    assert cuts[-1] >= 80
    assert len(set(cuts)) <= 20
    assert cuts == sorted(cuts)


def test_the_newest_is_kept_while_it_fits() -> None:
    small, large = image("PNG", 5, 5), Image("image/png", b64(saved(noise(40, 40), "PNG")))
    limit = round((len(large.data) + 10) / fitting.MEDIA_SHARE)
    found, _ = fit(request(small, large, request_bytes=limit))
    assert found == [Text("[An image is left out: the request would be too large.]"), large]
    found, _ = fit(request(large, request_bytes=round(len(large.data) / 2)))
    assert found == [Text("[An image is left out: the request would be too large.]")]


def slow_pdf() -> Document:
    """One page whose text takes half a minute to extract."""
    return Document("application/pdf", b64(slow_pdf_file()), "slow.pdf")


def test_a_stop_ends_the_decoding_of_a_document() -> None:
    before = children()
    stop, pool = cancel(), WorkerPool()
    threading.Timer(0.5, stop.set).start()
    with soon(), pytest.raises(Cancelled):
        MediaFitter(workers=pool).fit(request(slow_pdf(), documents=False), stop)
    assert_nothing_runs(pool, before)


@pytest.mark.parametrize(
    ("part", "name", "code"),
    [
        (slow_pdf(), "slow.pdf", "document_left_out"),
        (Image("image/jpeg", b64(slow_jpeg_file())), "An image", "images_left_out"),
    ],
)
def test_a_file_that_takes_too_long_is_left_out(part: Document | Image, name: str, code: str) -> None:
    before = children()
    pool = WorkerPool()
    fitter = MediaFitter(max_seconds=0.5, workers=pool)
    with soon():
        ready, notices = fitter.fit(request(part, image("BMP"), documents=False, image_side=1000))
    words = f"{name} is left out: reading it takes too long."
    assert ready.messages[0].blocks == (Text(f"[{words}]"),)
    assert notices[:1] == (Notice(code, words),)
    assert_nothing_runs(pool, before)


def assert_nothing_runs(pool: WorkerPool, before: set[str]) -> None:
    """No thread decodes any more, and no new child process is left, not even as a zombie."""
    pool.end()
    POOL.end()
    wait_until(lambda: all(thread.name != "media" for thread in threading.enumerate()), "the end of the threads")
    assert children() - before == set()


def children() -> set[str]:
    """The child processes of this one; other tests may have some."""
    if sys.platform != "linux":
        return set()
    lists = [path.read_text("utf-8", "replace") for path in Path("/proc/self/task").glob("*/children")]
    return set(" ".join(lists).split())


def test_a_stop_is_noticed_between_many_small_ones() -> None:
    """Each is done before `result` waits for it."""
    stop = cancel()
    stop.set()
    fitter = MediaFitter()
    with pytest.raises(Cancelled):
        fitter.fit(request(*(image("BMP", number, 2) for number in range(1, 9))), stop)
    assert fitter._kept == {}


def test_all_of_a_request_are_remembered_beyond_the_limits() -> None:
    """Otherwise each would be forgotten before the next request."""
    fitter = MediaFitter(max_kept=3, max_chars=100)
    asked = request(*(image("BMP", number, 2) for number in range(1, 9)))
    first, _ = fitter.fit(asked)
    again, _ = fitter.fit(asked)
    for before, after in zip(first.messages, again.messages, strict=True):
        assert after.blocks[0] is before.blocks[0]
    fitter.fit(request(image("BMP", 99, 2)))
    assert len(fitter._kept) == 1


@pytest.mark.parametrize("url", ["file:///etc/passwd", "data:image/svg+xml,<svg/>", "blob:1", "a.png"])
def test_addresses_that_cannot_be_fetched_are_not_sent(url: str) -> None:
    words = "An image is left out: its address cannot be fetched."
    assert fit(request(Image("", "", url))) == ([Text(f"[{words}]")], (Notice("images_left_out", words),))


def test_long_pdfs_are_sent_as_text() -> None:
    short, long = pdf_block("a", "b"), pdf_block("c", "d", "e", title="long.pdf")
    notice = Notice("document_as_text", "long.pdf is sent as text: this endpoint does not take this PDF.")
    found, notices = fit(request(short, long, pdf_pages=2))
    assert (found[0], notices) == (short, (notice,))
    assert found[1].text.startswith("[long.pdf: the text of the PDF]\n\n[page 1]\nc")
    assert fit(request(short, long, pdf_pages=3))[0][1] == long


def test_a_large_window_has_its_own_limit() -> None:
    long = pdf_block("c", "d", "e")
    asked = request(long, pdf_pages=2, pdf_pages_large=3)
    assert fit(replace(asked, model=replace(asked.model, window=1_000_000)))[0] == [long]
    assert fit(asked)[0] != [long]


def test_pages_are_counted_over_all_documents() -> None:
    """The oldest documents are left out; the images between them stay."""
    first, picture, second = pdf_block("a", "b", title="1.pdf"), image(), pdf_block("c", "d", title="2.pdf")
    found, notices = fit(request(picture, first, picture, second, pdf_pages=3))
    assert found == [picture, Text("[1.pdf is left out: the request would be too large.]"), picture, second]
    assert [notice.code for notice in notices] == ["images_left_out"]


def test_the_earlier_history_never_changes() -> None:
    """Growing requests: what was sent before is sent again, byte for byte."""
    fitter = MediaFitter()
    blocks: list[Any] = []
    sent: list[tuple[Message, ...]] = []
    for number in range(6):
        blocks += [image("BMP", 30 + number, 10), ToolCall(f"c{number}", "Read", {})]
        blocks += [ToolResult(f"c{number}", (Text("a"), Image("image/png", b64(saved(noise(60, 60), "PNG")))))]
        ready, _ = fitter.fit(request(*blocks, image_side=20, documents=False))
        sent.append(ready.messages)
    for before, after in itertools.pairwise(sent):
        assert after[: len(before)] == before
    assert [opened(block).size for block in sent[0][0].blocks if isinstance(block, Image)] == [(20, 6)]
