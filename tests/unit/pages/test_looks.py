"""What a reader sees of a page: figures, titles, folds, colours."""

from __future__ import annotations

import re

import pytest

from tests.helpers.page_samples import Story, text
from yume_shim.pages.cleaning import Cleaner
from yume_shim.pages.html.markdown import first_words
from yume_shim.pages.html.page import page
from yume_shim.pages.html.skeleton import asset
from yume_shim.pages.readers.transcript import read_transcript


def of(story: Story) -> str:
    return page(read_transcript(story.save().splitlines(), Cleaner()))


def test_a_card_counts_all_lines_of_a_result_that_was_cut() -> None:
    story = Story()
    story.ask("Go")
    story.tool("Bash", {"command": "cat huge.log"}, "x" * 99 + "\n" + "short\n" * 40_000, 1.2)
    html = of(story)
    assert "40,001 lines · 1.2 s</span>" in html
    assert "200,100 characters are not shown" in html


def test_numbers_of_lines_are_apart_from_the_file() -> None:
    story = Story()
    story.ask("Go")
    story.tool("Read", {"file_path": "a.py"}, "     9\tdef <a>\n    10→    b\n\n<system-reminder>x")
    story.tool("Read", {"file_path": "b"}, "empty")
    html = of(story)
    assert "<code><u> 9</u>def &lt;a&gt;\n<u>10</u>    b\n\n&lt;system-reminder&gt;x</code>" in html
    assert '<pre dir="auto"><code>empty</code></pre>' in html


def test_long_to_do_lists_are_folded() -> None:
    story = Story()
    story.ask("Go")
    for count in (2, 60):
        story.tool("TodoWrite", {"todos": [{"content": "Step", "status": "pending"}] * count}, "ok")
    opened = re.findall(r'data-tool="TodoWrite"( open)?>', of(story))
    assert opened == [" open", ""]


def test_a_turn_names_its_models() -> None:
    story = Story()
    story.ask("Go")
    story.answer(text("a"), model="first-model")
    story.answer(text("b"), model="<b>second")
    assert "<bdi>first-model</bdi> · <bdi>&lt;b&gt;second</bdi>" in of(story)


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("Let me **think** about `a_b.py`.\n\n- first\n- second", "Let me think about a_b.py. first second"),
        ("## Title\n> said [here](http://a.test) and 2 * 3", "Title said here and 2 * 3"),
        ("**", ""),
        ("اقرأ `water()`.", "اقرأ \u2068water()\u2069."),
        ("a" * 99, "a" * 39 + "…"),
    ],
)
def test_first_words_are_without_marks(markdown: str, shown: str) -> None:
    assert first_words(markdown, 40) == shown


def test_the_title_of_the_window_is_plain() -> None:
    """Nothing in it is markup, not even ours."""
    story = Story()
    story.ask("a\u202eb <i>c")
    assert "<title>a⟨U+202E⟩b &lt;i&gt;c</title>" in of(story)


def luminance(colour: str) -> float:
    """Of WCAG 2."""
    digits = "".join(2 * digit for digit in colour[1:]) if len(colour) == 4 else colour[1:]
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_colours_have_the_contrast_of_wcag_aa() -> None:
    schemes = re.split(r"@media ?screen", asset("page.css"))[:3]
    assert len(schemes) == 3
    for scheme in schemes:
        found = dict(re.findall(r"--([\w-]+):(#[0-9a-f]{3,6})\b", scheme))
        grounds = [found[name] for name in ("paper", "card", "code", "tint", "accent-tint", "bad-tint", "good-tint")]
        for name in ("ink", "soft", "accent", "bad", "good", "warn", "link", "k", "s", "c", "n", "blue"):
            assert min(contrast(found[name], ground) for ground in grounds) >= 4.5, name
        for name in ("model", "tool", "wait", "retry", "input", "output", "cache_read", "cache_write"):
            assert contrast(found[name], found["paper"]) >= 3, name
