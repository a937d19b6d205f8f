"""The HTML page: what it shows, and that no content becomes more than text."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

import pytest

from tests.helpers.page_samples import ATTACKS, KEY, Story, long_session, text, thought, ugly_session
from tests.helpers.timing import cheap
from yume_shim.pages.cleaning import Cleaner
from yume_shim.pages.html.coloured_code import coloured, terminal
from yume_shim.pages.html.diffs import diff
from yume_shim.pages.html.escaping import attribute, code, link_target, prose
from yume_shim.pages.html.index_page import IndexEntry, index_page
from yume_shim.pages.html.markdown import first_words, rendered
from yume_shim.pages.html.page import page
from yume_shim.pages.readers.prompt_words import pieces
from yume_shim.pages.readers.transcript import read_transcript
from yume_shim.pages.terminal import rendered as in_terminal

ELEMENTS = frozenset(
    {
        "html",
        "head",
        "meta",
        "title",
        "link",
        "style",
        "body",
        "a",
        "nav",
        "details",
        "summary",
        "ol",
        "ul",
        "li",
        "span",
        "div",
        "header",
        "main",
        "footer",
        "section",
        "article",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "p",
        "dl",
        "dt",
        "dd",
        "bdi",
        "b",
        "i",
        "code",
        "pre",
        "kbd",
        "em",
        "strong",
        "s",
        "br",
        "hr",
        "blockquote",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "figure",
        "figcaption",
        "img",
        "svg",
        "g",
        "rect",
        "polyline",
        "time",
        "button",
        "input",
        "output",
        "select",
        "option",
        "dialog",
        "form",
        "script",
        "label",
    }
)
ATTRIBUTES = frozenset(
    {
        "class",
        "id",
        "dir",
        "lang",
        "href",
        "rel",
        "target",
        "title",
        "name",
        "content",
        "charset",
        "http-equiv",
        "open",
        "data-kind",
        "data-tool",
        "data-filter",
        "data-turn",
        "datetime",
        "src",
        "alt",
        "width",
        "height",
        "loading",
        "decoding",
        "type",
        "placeholder",
        "aria-label",
        "aria-pressed",
        "autocomplete",
        "spellcheck",
        "for",
        "role",
        "value",
        "start",
        "viewbox",
        "preserveaspectratio",
        "x",
        "y",
        "points",
        "vector-effect",
        "method",
        "data-events",
        "checked",
    }
)
VOID = frozenset({"meta", "link", "br", "hr", "img", "input", "rect", "polyline"})


class Strict(HTMLParser):
    """Fails for anything that the page never writes itself, and for elements that are not closed in order."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.scripts = 0
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ELEMENTS, tag
        self.scripts += tag == "script"
        for name, value in attrs:
            assert name in ATTRIBUTES, f"{tag} {name}={value!r}"
            if name == "href":
                self.links.append(value or "")
            if name == "id":
                self.ids.append(value or "")
            if name == "src":
                assert re.fullmatch(r"data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+", value or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"comment {data!r}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"instruction {data!r}")


def check(html: str, *, whole: bool = True) -> Strict:
    parser = Strict()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    assert len(parser.ids) == len(set(parser.ids))
    assert parser.scripts == (1 if whole else 0)
    for link in parser.links:
        assert link.startswith(("#", "http://", "https://", "mailto:", "data:image/svg+xml;base64,PHN2Zy")), link
    return parser


def of(story: Story | bytes) -> str:
    data = story if isinstance(story, bytes) else story.save()
    return page(read_transcript(data.splitlines(), Cleaner()))


def test_an_ugly_session_stays_text() -> None:
    html = of(ugly_session())
    check(html)
    assert KEY not in html
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', html)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy[1]
    assert " style=" not in html


@pytest.mark.parametrize("attack", ATTACKS)
def test_each_attack_in_each_place(attack: str) -> None:
    story = Story(cwd=attack, session=attack)
    story.ask(attack, gitBranch=attack)
    story.answer(thought(attack), text(attack), model=attack)
    for name in (
        "Bash",
        "Write",
        "Edit",
        "TodoWrite",
        "Task",
        "ExitPlanMode",
        "AskUserQuestion",
        attack,
        f"mcp__{attack}__x",
    ):
        given = dict.fromkeys(
            ("command", "description", "file_path", "content", "old_string", "prompt", "plan", attack), attack
        )
        given["new_string"] = attack[::-1]
        lists = {
            "todos": [{"content": attack, "status": attack}],
            "questions": [{"question": attack, "options": [{"label": attack}]}],
        }
        story.tool(name, given | lists, attack, toolUseResult={"filePath": attack, "type": attack})
        story.tool(name, {"x": [attack, {attack: attack}]}, [{"type": attack, "name": attack}], error=True)
    story.system("api_error", error=attack, retryAttempt=1, maxRetries=2, retryInMs=5)
    story.system("informational", content=attack, level=attack)
    story.lines.append({"type": "custom-title", "customTitle": attack})
    check(of(story))
    row = IndexEntry(attack, attack, attack, 0.0, 1, attack, attack, attack, "x.html")
    parser = check(index_page([row]).replace('href="x.html"', 'href="#x"'))
    assert parser.ids


@pytest.mark.parametrize("attack", ATTACKS)
def test_pieces_of_html(attack: str) -> None:
    for made in (
        rendered(attack),
        rendered(f"**x** {attack}\n\n- {attack}\n\n`{attack}`"),
        coloured(attack, "html"),
        terminal(attack),
    ):
        check(made, whole=False)
    check(f'<a title="{attribute(attack)}">{prose(attack)}{code(attack)}</a>', whole=False)


@pytest.mark.parametrize("language", ["python", "js", "bash", "sql", "json", "diff", "unknown"])
def test_coloured_code_loses_nothing(language: str) -> None:
    source = "def f(x): # note\n    return \"a\\\"b\" + 'c' /* d */ // e\n-- 12.5\n+ `t`\n'''u\n"
    parts: list[str] = []

    class Texts(HTMLParser):
        def handle_data(self, data: str) -> None:
            parts.append(data)

    parser = Texts(convert_charrefs=True)
    parser.feed(coloured(source, language))
    parser.close()
    assert "".join(parts) == source


def test_links_lead_to_the_web_only() -> None:
    assert [
        link_target(url) for url in ("javascript:x", "data:text/html,x", "//x", "file:///etc", " http://x", "ftp://x")
    ] == [""] * 6
    assert link_target('https://x.test/?a="&b') == "https://x.test/?a=&quot;&amp;b"
    html = rendered("[a](https://x.test) https://y.test/path). ![pic](https://z.test/p.png) [b](javascript:1)")
    assert re.findall(r'href="([^"]+)"', html) == ["https://x.test", "https://y.test/path", "https://z.test/p.png"]
    assert "<img" not in html


def test_invisible_characters_are_shown() -> None:
    assert prose("a\u202eb\u200dc\u200fd") == 'a<span class="ctl">⟨U+202E⟩</span>b\u200dc\u200fd'
    assert "U+200F" in code("\u200f")
    assert "U+FEFF" in attribute("\ufeff")


def test_a_card_says_what_happened_in_one_line() -> None:
    story = Story()
    story.ask("Go")
    story.tool("Bash", {"command": "python3 app.py"}, "\n".join("x" * 3 for _ in range(14)), 1.2)
    story.tool("Bash", {"command": "false"}, "failed", 0.5, error=True)
    html = of(story)
    cards = re.findall(r"<details class=\"item card[^>]*>(.*?)</summary>", html)
    assert [re.sub(r"<[^>]+>", "|", card) for card in cards] == [
        "||✓||Bash||python3 app.py||14 lines · 1.2 s|",
        "||✗||Bash||false||1 line · 500 ms|",
    ]
    assert 'class="item card error" id="t1-2" data-kind="tool" data-tool="Bash" open' in html


def test_a_diff_has_numbers_and_signs() -> None:
    html = of(long_session(1))
    found = re.search(r'<pre class="diff".*?</pre>', html, re.DOTALL)
    assert found is not None
    lines = re.sub(r"<[^>]+>", "", found[0]).split("\n")
    assert lines == ["   12       -    litres = 4", "         12 +    litres = 1", "   13    13      return litres"]


@pytest.mark.parametrize(
    ("lines", "marked"),
    [
        (["-    litres = 4", "+    litres = 14", " end"], ["1"]),
        (["-a = f(x)", "-b", "+a = g(x)", "+b2"], ["f", "g", "2"]),
        (["-one thing", "+another matter"], []),
        (["-a = 1", "-b = 2", "+a = 2"], []),
        (["+a", "-b", " c"], []),
        (["-<b>&</b>", "+<i>&</b>"], ["b", "i"]),
        (["-", "+", "-x", "+x"], []),
    ],
)
def test_what_changed_in_a_line_is_marked(lines: list[str], marked: list[str]) -> None:
    html = diff([{"old": 1, "new": 1, "lines": lines}])
    assert re.findall(r"<em>(.*?)</em>", html) == marked
    text = unescape(re.sub(r"<span class=\"no\">.*?</span>|<[^>]+>", "", html))
    assert text.split("\n") == lines


def test_terminal_colours_become_classes() -> None:
    assert terminal("\x1b[1;31mred\x1b[0m plain\x1b[2K") == '<i class="a1 f1">red</i> plain'
    assert terminal("10%\r50%\r100%\r\nnext") == "100%\nnext"


def test_markdown() -> None:
    html = rendered(
        "# T\n\n- [x] a\n- b\n\n1. c\n\n> q\n\n| h |\n|--:|\n| 1 |\n\n~~s~~ **b** `c`\n\n---\n\n```py\nx\n```"
    )
    check(html, whole=False)
    for part in (
        '<h3 dir="auto">T',
        "☑",
        "<ol",
        "<blockquote",
        '<th dir="auto" class="r">',
        "<s>s</s>",
        "<hr>",
        '<span class="lang">py',
    ):
        assert part in html
    assert rendered("one\n\ntwo") == '<p dir="auto">one</p><p dir="auto">two</p>'
    assert rendered("<b>x</b>") == '<p dir="auto">&lt;b&gt;x&lt;/b&gt;</p>'


@pytest.mark.parametrize(
    ("markdown", "element"),
    [
        ("1. `plans.py` ثم الحوض\n2. second", '<ol dir="rtl">'),
        ("3. plans ثم الحوض", '<ol start="3" dir="ltr">'),
        ("- 12\n- نعم", '<ul dir="rtl">'),
        ("- 12\n- `x`", '<ul dir="ltr">'),
        ("> **ملاحظة** and more", '<blockquote dir="rtl">'),
        ("| اليوم | b |\n|---|---|\n| a | b |", '<table dir="rtl">'),
    ],
)
def test_what_holds_paragraphs_has_the_direction_of_its_first_words(markdown: str, element: str) -> None:
    """It decides on which side numbers, columns and the line of a quotation stand. Code says nothing about it."""
    assert element in rendered(markdown)


def test_the_only_turn_has_a_column_for_each_answer() -> None:
    story = Story()
    story.ask("Go")
    assert '<figure class="chart' not in of(story.save())
    for _ in range(3):
        story.tool("Bash", {"command": "true"}, "ok", 1.0)
    html = of(story.save())
    assert "Tokens per answer, and cost" in html
    assert "Time per turn" not in html
    assert "over 9.0 s: model 6.0 s, tools 3.0 s</span>" in html
    assert len(re.findall(r'<g data-turn="t1"><title>[\d.]+k? tokens</title>', html)) == 3


def test_the_time_until_an_answer_began_is_shown() -> None:
    story = Story()
    for first in (400, 1200, 900):
        story.ask("Go")
        story.answer(text("Done."), took=2.0)
        story.lines[-1]["yume"] = {"first_ms": first}
    html = of(story.save())
    assert '900 ms <span class="meta">until half of the answers began, 1.2 s until the slowest</span>' in html
    assert "answer began after 400 ms</span>" in html
    shown = re.search(r'<rect class="first" x="([\d.]+)" width="([\d.]+)"', html)
    assert shown is not None
    assert [round(float(number)) for number in shown.groups()] == [0, 200]
    assert "answer began after 1.2 s" in in_terminal(read_transcript(story.save().splitlines(), Cleaner()))
    assert "Latency" not in of(long_session(1))


def test_charts_say_how_many_turns_a_column_is() -> None:
    few, many = (page(read_transcript(long_session(count).splitlines(), Cleaner())) for count in (240, 241))
    assert ("<b>Time per turn</b>" in few, "<b>Tokens per turn, and cost</b>" in few) == (True, True)
    assert ("<b>Time per 2 turns</b>" in many, "<b>Tokens per 2 turns, and cost</b>" in many) == (True, True)


def test_the_terminal_gets_no_control_character() -> None:
    shown = in_terminal(read_transcript(ugly_session().splitlines(), Cleaner()), everything=True)
    assert re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", shown) is None
    assert KEY not in shown
    assert "✗ Bash make test … · 2 lines · 1 min 1 s" in shown


@pytest.mark.parametrize(
    "made",
    [
        lambda n: rendered("[" * n),
        lambda n: rendered("![[" * (n // 3)),
        lambda n: rendered("**a*" * (n // 4)),
        lambda n: first_words("![" * n + "- " * n + "> " * n, 6 * n),
        lambda n: coloured('"\\' * (n // 2), "py"),
        lambda n: coloured("/*" * (n // 2), "js"),
        lambda n: terminal("\x1b[1;" * (n // 4)),
        lambda n: pieces("<system-reminder>" * (n // 17)),
        lambda n: pieces("<command-name>" * (n // 14)),
    ],
    ids=["brackets", "images", "emphasis", "marks", "quotes", "comments", "sequences", "reminders", "commands"],
)
def test_hostile_texts_take_linear_time(made) -> None:  # type: ignore[no-untyped-def]
    with cheap(8.0):  # each takes less than a second
        made(30_000)


def test_a_long_session_takes_linear_time() -> None:
    data = long_session(100).splitlines()
    with cheap(4.0):  # 0.15 s
        html = page(read_transcript(data, Cleaner()))
    assert html.count('class="turn"') == 100
