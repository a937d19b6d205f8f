"""The text of PDFs: complete, limited, and never an exception."""

from __future__ import annotations

import random

import pytest

from tests.helpers.media_files import encrypted_pdf, pdf
from yume_shim.providers.fitting.media import pdf_text as limits
from yume_shim.providers.fitting.media.pdf_text import PdfText, is_encrypted, is_pdf, page_count, pdf_text


def test_pages_are_numbered() -> None:
    assert pdf_text(pdf("Hello there", "", "The end")) == PdfText("[page 1]\nHello there\n\n[page 3]\nThe end")


def test_no_text_and_no_pages() -> None:
    assert pdf_text(pdf("", "")) == PdfText("", "it contains no text, only images")
    assert pdf_text(pdf()) == PdfText("", "it has no pages")


def test_a_password_is_needed_only_for_locked_files() -> None:
    locked, open_to_all = encrypted_pdf("secret", "Hidden"), encrypted_pdf("", "Not hidden")
    assert pdf_text(locked) == PdfText("", "it is encrypted and needs a password")
    assert pdf_text(open_to_all) == PdfText("[page 1]\nNot hidden")
    assert is_encrypted(locked)
    assert is_encrypted(open_to_all)
    assert not is_encrypted(pdf("Plain"))


def test_pages_are_limited() -> None:
    count = limits.MAX_PAGES + 2
    found = pdf_text(pdf(*(f"p{number}" for number in range(1, count + 1))))
    assert found.note == f"only the first {limits.MAX_PAGES} of its {count} pages"
    assert found.text.endswith(f"[page {limits.MAX_PAGES}]\np{limits.MAX_PAGES}")


def test_characters_are_limited() -> None:
    page = "x" * 150_000
    found = pdf_text(pdf(page, page, page, page))
    assert found.note == f"only the first {limits.MAX_CHARACTERS} characters, 3 of its 4 pages"
    assert found.text.count("x") == limits.MAX_CHARACTERS


def test_time_is_limited() -> None:
    assert pdf_text(pdf("one", "two"), seconds=-1.0) == PdfText("", "reading it took too long")
    pages = ["many words on a page " * 20] * 250
    found = pdf_text(pdf(*pages), seconds=0.05)
    read = found.text.count("[page ")
    assert 0 < read < 250
    assert found.note == f"only the first {read} of its 250 pages: reading it took too long"


def test_pages_are_counted() -> None:
    assert page_count(pdf("one", "", "three")) == 3
    assert page_count(encrypted_pdf("", "one")) == 1
    assert page_count(b"%PDF-1.7 nothing more") == page_count(pdf("one")[:300]) == 0


@pytest.mark.parametrize("seed", range(40))
def test_broken_files_give_a_note_and_never_raise(seed: int, capfd: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(seed)
    data = bytearray(pdf("Some words", "More words"))
    for _ in range(chance.choice((1, 5, 50))):
        data[chance.randrange(5, len(data))] = chance.randrange(256)
    del data[chance.randrange(5, len(data)) :]
    found = pdf_text(bytes(data))
    assert bool(found.text) or found.note.startswith("it ")
    assert capfd.readouterr() == ("", "")


def test_is_pdf() -> None:
    assert is_pdf(pdf("x"))
    assert is_pdf(b"\xef\xbb\xbf\n" + pdf("x"))
    assert not is_pdf(b"PK\x03\x04")
    assert pdf_text(b"%PDF-1.7 nothing more").text == ""
