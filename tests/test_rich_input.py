"""Images and documents through the whole program, over every API: from the host's lines and from Read."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.media_files import animated, b64, pdf, picture, saved
from tests.helpers.scripted_model import call, say
from tests.helpers.strict_model import StrictModel
from tests.helpers.vendor_place import FLAT, MODELS, NESTED, VendorPlace, media_in

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the transcripts hold POSIX paths")

SVG = '<svg xmlns="http://www.w3.org/2000/svg"/>'
FAR = "https://example.org/far.png"
NEAR = ("PNG", (4, 3))
CONTENT: list[dict[str, Any]] = [
    {"type": "text", "text": "Look at all of this."},
    {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": b64(saved(picture(), "BMP"))},
    },
    {"type": "image", "source": {"type": "url", "url": FAR}},
    {
        "type": "document",
        "title": "plan.pdf",
        "source": {"type": "base64", "media_type": "application/pdf", "data": b64(pdf("Ship on Friday."))},
    },
    {
        "type": "document",
        "title": "table.csv",
        "source": {"type": "base64", "media_type": "text/csv", "data": b64(b"north,7\n")},
    },
    {"type": "document", "title": "n", "source": {"type": "text", "media_type": "text/plain", "data": "just words"}},
]
LINES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "flat": ({"type": "user", "content": CONTENT}, FLAT),
    "claude": ({"type": "user", "message": {"role": "user", "content": CONTENT}}, NESTED),
}
PDF = ("PDF", (0, 0))
ARRIVES: dict[str, tuple[list[Any], list[Any]]] = {
    # of the prompt, and of Read: a wide PNG, a BMP, an animated GIF, a PDF
    "anthropic-messages": ([NEAR, PDF], [("PNG", (2000, 13)), ("PNG", (6, 5)), ("GIF", (8, 8)), PDF]),
    "google-genai": ([NEAR, PDF], [("PNG", (3000, 20)), ("PNG", (6, 5)), ("PNG", (8, 8)), PDF]),
    "ollama-chat": ([NEAR], [("PNG", (3000, 20)), ("PNG", (6, 5)), ("PNG", (8, 8))]),
    "openai-chat": ([NEAR, PDF], [("PNG", (2000, 13)), ("PNG", (6, 5)), ("GIF", (8, 8)), PDF]),
    "openai-responses": ([NEAR, PDF], [("PNG", (3000, 20)), ("PNG", (6, 5)), ("GIF", (8, 8)), PDF]),
}
FILES = ("wide.png", "old.bmp", "moves.gif", "doc.pdf", "drawing.svg")


@pytest.mark.parametrize("lines", LINES)
@pytest.mark.parametrize("api", MODELS)
def test_what_arrives(tmp_path: Path, api: str, lines: str) -> None:
    line, form = LINES[lines]
    with StrictModel([call("Read", file_path=name) for name in FILES], [say("Seen.")]) as server:
        place = VendorPlace(tmp_path, server)
        (place.cwd / "wide.png").write_bytes(saved(picture(3000, 20, "blue"), "PNG"))
        (place.cwd / "old.bmp").write_bytes(saved(picture(6, 5, "green"), "BMP"))
        (place.cwd / "moves.gif").write_bytes(animated())
        (place.cwd / "doc.pdf").write_bytes(pdf("Page of a file."))
        (place.cwd / "drawing.svg").write_text(SVG, "utf-8")
        printed = place.run("--model", MODELS[api], lines=[line], form=form)
        asked = [
            request.json() for request in server.requests if request.method == "POST" and request.path != "/api/show"
        ]
    assert server.refused == []
    (result,) = [item for item in printed if item["type"] == "result"]
    assert (result["is_error"], result["result"]) == (False, "Seen.")
    first, second = asked
    of_prompt, of_read = ARRIVES[api]
    assert media_in(first) == of_prompt
    assert media_in(second) == of_prompt + of_read
    text = json.dumps(second, ensure_ascii=False)
    for words in ("Look at all of this.", "north,7", "just words", FAR, "1\\t<svg"):
        assert words in text or words.replace("\\t", "\\\\t") in text, words
    told = {str(item.get("message", item.get("text", ""))) for item in printed if item["type"] == "system"}
    if PDF in of_prompt:
        assert "Ship on Friday." not in text
        assert not any("sent as text" in words for words in told)
    else:
        assert "Ship on Friday." in text
        assert "Page of a file." in text
        if lines == "flat":
            starts = (
                "plan.pdf is sent as text: this endpoint does not take this PDF. ",
                f"An image at {FAR} is left out: this endpoint does not fetch images by address. ",
            )
            assert [sum(words.startswith(start) for words in told) for start in starts] == [1, 1]


def test_where_images_stand(tmp_path: Path) -> None:
    """Inside the result where the API has room for it there, else in the user message behind it."""
    places: dict[str, str] = {}
    for api, model in MODELS.items():
        with StrictModel([call("Read", file_path="a.png")], [say("Seen.")]) as server:
            place = VendorPlace(tmp_path / api, server)
            (place.cwd / "a.png").write_bytes(saved(picture(), "PNG"))
            place.run("--model", model, lines=[{"type": "user", "content": "Look."}], form=FLAT)
            last = server.requests[-1].json()
        items = last.get("messages") or last.get("contents") or last["input"]
        (holder,) = [item for item in items if media_in(item)]
        inner = [part for part in holder.get("content") or holder.get("parts") or [] if media_in(part)] or [holder]
        places[api] = str(inner[0].get("type") or sorted(inner[0])[0])
    assert places == {
        "anthropic-messages": "tool_result",
        "google-genai": "functionResponse",
        "ollama-chat": "content",
        "openai-chat": "image_url",
        "openai-responses": "function_call_output",
    }


def test_a_model_that_sees_nothing_goes_on_with_words(tmp_path: Path) -> None:
    """A conversation with images is carried to a model without eyes; the host is told once, not in every request."""
    with StrictModel([call("Read", file_path="a.png")], [say("A dot.")], [say("As I said.")], [say("Yes.")]) as server:
        place = VendorPlace(tmp_path, server)
        place.env["DEEPSEEK_API_KEY"] = "sk-test"
        (place.cwd / "a.png").write_bytes(saved(picture(), "PNG"))
        session = "11111111-2222-4333-8444-555555555556"
        look = {"type": "user", "content": "Look."}
        place.run("--session-id", session, "--model", MODELS["openai-responses"], lines=[look], form=FLAT)
        blind = ("--provider", "deepseek", "--model", "deepseek-chat", "--api-base", f"{server.url}/v1")
        printed = place.run("--resume", session, *blind, lines=[look, look], form=FLAT)
        bodies = [request.json() for request in server.requests]
    assert server.refused == []
    assert [media_in(body) for body in bodies] == [[], [("PNG", (4, 3))], [], []]
    assert "this model sees no images" in json.dumps(bodies[-1])
    warnings = [item["message"] for item in printed if item.get("code") == "images_left_out"]
    assert warnings == [
        "Images are left out: this model sees none. Choose a model that sees images, or send fewer and smaller ones."
    ]
