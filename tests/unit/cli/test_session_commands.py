"""`yume-shim sessions`, run as users run it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.transcripts import answer, chain, question, save
from yume_shim.store.layout import session_path
from yume_shim.text import codec

if TYPE_CHECKING:
    from pathlib import Path

    from tests.helpers.child import Ended

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the transcripts hold POSIX paths")

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
        from pathlib import Path

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
    assert home.said("list", "--limit", "0") == "No sessions.\n"


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

Session `{id}` in `{cwd}`

## User

What does a.txt say?

## Assistant (claude-x)

> Look.

Let me see.

**Read**

```json
{{"file_path":"a.txt"}}
```

## Tool

Error:

````
alpha ``` <b>
````

## User

*[image image/png]*

## Assistant (claude-x)

It says **alpha**.
"""


@pytest.mark.parametrize("name", [ONE, ONE[:6], "greek LETTERS"])
def test_show_finds_a_session_by_any_name(home: Home, name: str) -> None:
    assert home.said("show", name) == MARKDOWN.format(id=ONE, cwd=home.cwd)


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
    assert home.said("search", "elsewhere nobody was") == "Nothing found.\n"
    (hit,) = codec.loads(home.said("search", "somewhere", "--all", "--json"))
    assert (hit["sessionId"], hit["found"]) == (TWO, ["Somewhere else"])


def test_export(home: Home, tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    assert home.said("export", ONE, "--format", "html", "-o", str(target)) == ""
    page = target.read_text("utf-8")
    assert "<title>Greek letters</title>" in page
    assert "<pre>alpha ``` &lt;b&gt;</pre>" in page
    assert "<script" not in page
    assert home.said("export", ONE) == home.said("show", ONE)
    assert home.run("export", ONE, "-o", str(tmp_path / "no" / "where")).code == 2


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
