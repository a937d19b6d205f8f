"""`yume-shim sessions`, run as users run it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.transcripts import answer, chain, question, save
from yume_shim.store.layout import session_path
from yume_shim.text import codec

if TYPE_CHECKING:
    from tests.helpers.child import Ended

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the transcripts hold POSIX paths")

GOLDENS = Path(__file__).parents[3] / "golden" / "sessions"
ONE = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"
TWO = "aaaabbbb-bbbb-4ccc-8ddd-eeeeeeeeeeee"
CALL = {"type": "tool_use", "id": "t", "name": "Read", "input": {"file_path": "a.txt"}}
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "alpha ``` <b>", "is_error": True}


class Home:
    """A home with two sessions: one of this folder, one of another."""

    def __init__(self, folder: Path) -> None:
        self.home, self.cwd, self.other = folder / "home", folder / "work", folder / "other"
        for made in (self.home, self.cwd, self.other):
            made.mkdir()
        self.one = self._store(
            ONE,
            self.cwd,
            question("1", "What does a.txt say?"),
            answer("2", [{"type": "thinking", "thinking": "Look.", "signature": "s"}], message_id="m"),
            answer("3", [{"type": "text", "text": "Let me see."}], message_id="m"),
            answer("4", [CALL], message_id="m"),
            question("5", [RESULT]),
            question("6", [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "eA=="}}]),
            answer("7", [{"type": "text", "text": "It says **alpha**."}]),
        )
        with self.one.open("ab") as file:
            file.write(save({"type": "custom-title", "customTitle": "Greek letters"}))
        (self.one.with_suffix("") / "tool-results").mkdir(parents=True)
        self.two = self._store(TWO, self.other, question("1", "Somewhere else"))

    def _store(self, session: str, cwd: Path, *lines: dict[str, Any]) -> Path:
        path = Path(session_path(str(self.home / ".claude" / "projects"), str(cwd), session))
        path.parent.mkdir(parents=True)
        path.write_bytes(save(*(line | {"cwd": str(cwd)} for line in chain(*lines))))
        return path

    def run(self, *words: str) -> Ended:
        return child.run(["sessions", *words], [], cwd=self.cwd, env=child.clean_environment(self.home))

    def said(self, *words: str) -> str:
        ended = self.run(*words)
        assert (ended.code, ended.stderr) == (0, b"")
        return ended.stdout.decode()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_the_list_covers_this_folder(home: Home) -> None:
    (row,) = home.said("list").splitlines()
    assert row.startswith(ONE)
    assert row.endswith("Greek letters")
    both = home.said("list", "--all").splitlines()
    assert {row.split()[0] for row in both} == {ONE, TWO}
    assert home.run("list", "--all", "--limit", "1").stderr == b"yume-shim: 1 more: --limit 2\n"
    assert home.said("list", "--limit", "0") == "No sessions. Other folders have 1: --all.\n"


def test_the_list_as_json(home: Home) -> None:
    (entry,) = codec.loads(home.said("list", "--json"))
    status = home.one.stat()
    assert entry == {
        "sessionId": ONE,
        "title": "Greek letters",
        "firstPrompt": "What does a.txt say?",
        "lastPrompt": "",
        "cwd": str(home.cwd),
        "gitBranch": "",
        "created": "2026-01-02T03:04:05.000Z",
        "modified": status.st_mtime,
        "size": status.st_size,
        "path": str(home.one),
    }


MARKDOWN = """\
# Greek letters

Session `{id}` · `claude-x` · 2026-01-02 03:04 UTC in `{cwd}`

## User

What does a.txt say?

## Assistant (claude-x)

> Look.

Let me see.

**✗ Read** `a.txt` · 1 line

```json
{{"file_path":"a.txt"}}
```

Error:

````
alpha ``` <b>
````

## User

*[image image/png no image, 1 bytes]*

## Assistant (claude-x)

It says **alpha**.
"""


@pytest.mark.parametrize("name", [ONE, ONE[:6], "greek LETTERS"])
def test_show_finds_a_session_by_any_name(home: Home, name: str) -> None:
    assert home.said("export", name) == MARKDOWN.format(id=ONE, cwd=home.cwd)


SHOWN = """\
Greek letters
session {id} · {cwd} · claude-x · 2026-01-02 03:04 UTC

── #1 · 03:04:05 ──
› What does a.txt say?
~ Look. …
  Let me see.
✗ Read a.txt · 1 line
  alpha ``` <b>

── #2 · 03:04:05 ──
› [image image/png no image, 1 bytes]
  It says **alpha**.
"""


@pytest.mark.parametrize("name", [ONE, "last"])
def test_show_in_the_terminal(home: Home, name: str) -> None:
    assert home.said("show", name) == SHOWN.format(id=ONE, cwd=home.cwd)


def test_colours_are_asked_for(home: Home) -> None:
    for colours, coloured in (
        ({"FORCE_COLOR": "1"}, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({}, False),
    ):
        env = child.clean_environment(home.home, **colours)
        shown = child.run(["sessions", "show", ONE], [], cwd=home.cwd, env=env).stdout
        assert (b"\x1b[1mGreek letters\x1b[0m" in shown) is coloured, colours


def test_show_as_json(home: Home) -> None:
    shown = codec.loads(home.said("show", ONE, "--json"))
    assert [(message["role"], message["text"]) for message in shown["messages"]] == [
        ("user", "What does a.txt say?"),
        ("assistant", 'Look.\nLet me see.\nRead {"file_path":"a.txt"}'),
        ("user", "alpha ``` <b>"),
        ("user", ""),
        ("assistant", "It says **alpha**."),
    ]


def test_search(home: Home) -> None:
    row, first, second = home.said("search", "ALPHA").splitlines()
    assert row.startswith(ONE)
    assert [first.strip(), second.strip()] == ["… alpha ``` <b> …", "… It says **alpha**. …"]
    assert home.said("search", "elsewhere nobody was") == "Nothing found. Other folders have 1: --all.\n"
    assert home.said("search", "elsewhere nobody was", "--all") == "Nothing found.\n"
    (hit,) = codec.loads(home.said("search", "somewhere", "--all", "--json"))
    assert (hit["sessionId"], hit["found"]) == (TWO, ["Somewhere else"])


def test_export(home: Home, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    assert home.said("export", ONE, "-o", str(target)) == ""
    page = target.read_text("utf-8")
    assert "<title>Greek letters</title>" in page
    assert "alpha ``` &lt;b&gt;" in page
    assert target.stat().st_mode & 0o077 == 0
    assert home.said("export", ONE, "--format", "html") == page
    assert codec.loads(home.said("export", ONE, "--format", "json"))["title"] == "Greek letters"
    assert home.said("export", ONE, "--format", "text").startswith("Greek letters\nsession ")
    assert home.run("export", ONE, "-o", str(tmp_path / "no" / "where")).code == 2


def test_a_page_takes_the_place_of_what_was_there(home: Home, tmp_path: Path) -> None:
    """What others may read, or have open, does not get the content."""
    target, kept = tmp_path / "page.html", tmp_path / "kept.html"
    target.write_text("old")
    target.chmod(0o666)
    with target.open() as opened:
        home.said("export", ONE, "-o", str(target))
        assert opened.read() == "old"
    assert target.stat().st_mode & 0o777 == 0o600
    link = tmp_path / "link.html"
    link.symlink_to(kept)
    home.said("export", ONE, "-o", str(link))
    assert (link.is_symlink(), kept.read_bytes()) == (True, target.read_bytes())
    shown = home.said("export", ONE, "-o", "/dev/stdout", "--format", "html")
    assert shown.encode() == target.read_bytes()
    assert [path.name for path in tmp_path.iterdir() if "tmp" in path.suffix] == []
    assert home.run("export", ONE, "-o", str(tmp_path)).code == 2


@pytest.mark.root
def test_a_link_of_somebody_else_is_not_followed(home: Home, tmp_path: Path) -> None:
    link, theirs = tmp_path / "link.html", tmp_path / "theirs"
    theirs.write_text("theirs")
    link.symlink_to(theirs)
    os.lchown(link, 12345, 12345)
    home.said("export", ONE, "-o", str(link))
    assert (link.is_symlink(), theirs.read_text()) == (False, "theirs")


def test_open_writes_a_page_and_starts_the_browser(home: Home, tmp_path: Path) -> None:
    shown, program = tmp_path / "shown", tmp_path / "browser"
    program.write_text(f'#!/bin/sh\nprintf %s "$1" > {shown}\n')
    program.chmod(0o755)
    env = child.clean_environment(home.home, BROWSER=str(program))
    ended = child.run(["sessions", "show", "last", "--open"], [], cwd=home.cwd, env=env)
    page = home.home / ".yume" / "pages" / f"{ONE}.html"
    assert (ended.code, ended.stdout.decode()) == (0, f"{page}\n")
    assert shown.read_text() == page.as_uri()
    assert "<title>Greek letters</title>" in page.read_text("utf-8")


def test_an_index_of_all_sessions(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    odd = home.two.with_name("javascript:alert(1)#x.jsonl")
    odd.write_bytes(home.two.read_bytes())
    assert home.said("index", "--all", "-o", str(folder)) == f"{folder}/index.html\n"
    names = [f"{ONE}.html", f"{TWO}.html", "index.html", "javascript:alert(1)#x.html"]
    assert sorted(path.name for path in folder.iterdir()) == names
    page = (folder / "index.html").read_text("utf-8")
    assert f'<a href="{ONE}.html">Greek letters</a>' in page
    assert f'<a href="{TWO}.html">Somewhere else</a>' in page
    assert '<a href="javascript%3Aalert%281%29%23x.html">' in page
    # a page is kept as long as it is newer than its transcript and made by this version
    one, two = folder / f"{ONE}.html", folder / f"{TWO}.html"
    two.write_text(two.read_text("utf-8").replace("yume-shim 0", "yume-shim older 0"))
    kept = one.stat().st_ino
    home.said("index", "--all", "-o", str(folder))
    assert (one.stat().st_ino, "yume-shim older" in two.read_text("utf-8")) == (kept, False)


def test_replay_shows_files_sessions_and_goldens(home: Home, tmp_path: Path) -> None:
    def replay(*words: str) -> str:
        ended = child.run(["replay", *words], [], cwd=home.cwd, env=child.clean_environment(home.home))
        assert (ended.code, ended.stderr) == (0, b"")
        return ended.stdout.decode()

    shown = SHOWN.format(id=ONE, cwd=home.cwd)
    assert replay(str(home.one)) == replay("greek letters") == shown
    golden = GOLDENS / "overloaded-retries-with-backoff"
    stream = replay(str(golden / "expected" / "flat.jsonl"))
    assert "› Hello?\n[Request failed, attempt 1 of 3 (waits 1.0 s)]\n  529 Overloaded\n" in stream
    assert "› Hello?\n" in replay(str(golden))
    assert codec.loads(replay(str(golden), "--json"))["source"] == "transcript"
    assert replay(ONE, "--html").startswith("<!doctype html>")
    assert replay(ONE, "-o", str(tmp_path / "x.html")) == ""
    for bad in ("nobody", str(tmp_path), str(tmp_path / "no.jsonl"), __file__):
        ended = child.run(["replay", bad], [], cwd=home.cwd, env=child.clean_environment(home.home))
        assert (ended.code, ended.stdout, ended.stderr.count(b"\n")) == (2, b"", 1)


def test_hostile_sessions_are_clean_everywhere(home: Home) -> None:
    """A title, a prompt and a result with a key and with what steers terminals, in every command that shows them."""
    key, steering = "sk-ant-" + "api03-" + "Abcdefgh1234567890Abcdefgh", "\x1b]0;owned\x07\x9b2J\u202e"
    bad = f"alpha {key} {steering}"
    lines = chain(question("1", bad), answer("2", [CALL], message_id="m"), question("3", [RESULT | {"content": bad}]))
    title = {"type": "custom-title", "customTitle": f"Title {bad}"}
    home.one.write_bytes(save(*(line | {"cwd": str(home.cwd)} for line in lines), title))
    for words in (
        ("list",),
        ("list", "--json"),
        ("search", "alpha"),
        ("search", "alpha", "--json"),
        ("show", "last"),
        ("show", "last", "--full"),
        ("show", "last", "--json"),
        *(("export", "last", "--format", form) for form in ("markdown", "text", "json", "html")),
    ):
        shown = home.said(*words)
        assert "alpha [redacted]" in shown, words
        assert "\x1b" not in shown, words
        if "--json" not in words and "json" not in words:
            assert not {"\x9b", "\x07", "\u202e"} & set(shown), words
    home.said("index")
    asked = home.run("delete", "last").stderr.decode()
    assert "Title alpha [redacted]" in asked
    assert "\x1b" not in asked
    pages = home.home / ".yume" / "pages"
    assert all(key not in page.read_text("utf-8") for page in pages.iterdir())


def test_delete(home: Home) -> None:
    kept = home.run("delete", ONE)  # stdin has no answer
    assert kept.code != 0
    assert home.one.exists()
    assert home.said("delete", ONE, "--yes") == f"Deleted {ONE}.\n"
    assert [path.name for path in home.one.parent.iterdir()] == []
    assert home.two.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("show", "nobody"), "no session 'nobody'"),
        (("show", "aaaa"), "'aaaa' matches more than one session: "),
        (("show", "../../x"), "no session '../../x'"),
    ],
)
def test_missing_sessions_are_reported(home: Home, words: tuple[str, ...], message: str) -> None:
    ended = home.run(*words)
    assert (ended.code, ended.stdout) == (2, b"")
    assert ended.stderr.decode().startswith(f"yume-shim: {message}")
