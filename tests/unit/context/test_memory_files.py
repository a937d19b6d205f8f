"""Standing instructions from real files."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from yume_shim.context.memory import INTRODUCTION, Memory, MemoryPlaces, later_note
from yume_shim.context.memory_files import (
    MAX_FILE_BYTES,
    MAX_FILES,
    MAX_IMPORT_DEPTH,
    MAX_TOTAL_BYTES,
    without_comments,
)


class Place:
    """A home and a project below it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.config = root / "home" / ".claude"
        self.cwd = root / "home" / "project"
        self.config.mkdir(parents=True)
        self.cwd.mkdir()

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def memory(self, *, hidden: Any = None, warn: Any = None, max_tokens: int | None = None, **places: Any) -> Memory:
        where = MemoryPlaces(str(self.cwd), str(self.config), **places)
        return Memory(where, hidden=hidden, warn=warn, max_tokens=max_tokens)

    def load(self, **more: Any) -> str:
        return self.memory(**more).note

    def sections(self, **more: Any) -> list[tuple[str, str]]:
        """(path below the root, text) of what was loaded, in order."""
        note = self.load(**more)
        found: list[tuple[str, str]] = []
        for section in note.split(f"\n\n{self.root}{os.sep}")[1:]:
            head, text = section.split("\n\n", 1)
            found.append((Path(head.split(" (")[0]).as_posix(), text.removesuffix("\n</system-reminder>")))
        return found


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_no_files_give_no_note(place: Place) -> None:
    assert place.load() == ""
    place.write("home/project/CLAUDE.md", " \n")
    assert place.load() == ""


def test_the_whole_note(place: Place) -> None:
    mine = place.write("home/.claude/CLAUDE.md", "Be kind.\n")
    ours = place.write("home/project/CLAUDE.md", "Use tabs.\n")
    assert place.load() == (
        f"<system-reminder>\n{INTRODUCTION}\n"
        f"\n{mine} (the user's, for all projects):\n\nBe kind.\n"
        f"\n{ours} (the project's):\n\nUse tabs.\n"
        "</system-reminder>"
    )


def test_files_are_read_from_the_root_to_the_working_directory(place: Place) -> None:
    place.write("CLAUDE.md", "root")
    place.write("home/.claude/CLAUDE.md", "user")
    place.write("home/CLAUDE.md", "parent")
    place.write("home/project/CLAUDE.local.md", "local")
    place.write("home/project/.claude/CLAUDE.md", "inner")
    place.write("home/project/CLAUDE.md", "project")
    assert [text for _, text in place.sections()] == ["user", "root", "parent", "project", "inner", "local"]


def test_agents_files_count_only_in_a_project_without_claude_files(place: Place) -> None:
    place.write("home/.claude/CLAUDE.md", "user")
    place.write("home/AGENTS.md", "above")
    place.write("home/project/AGENTS.md", "project")
    assert [text for _, text in place.sections()] == ["user", "above", "project"]
    place.write("CLAUDE.local.md", "local")
    assert [text for _, text in place.sections()] == ["user", "local"]


@pytest.mark.parametrize(
    ("sources", "texts"),
    [
        (("user",), ["user"]),
        (("project",), ["project"]),
        (("local",), ["local"]),
        ((), []),
        (("project", "local"), ["project", "local"]),
    ],
)
def test_sources(place: Place, sources: tuple[str, ...], texts: list[str]) -> None:
    place.write("home/.claude/CLAUDE.md", "user")
    place.write("home/project/CLAUDE.md", "project")
    place.write("home/project/CLAUDE.local.md", "local")
    assert [text for _, text in place.sections(sources=sources)] == texts


def test_imports_follow_their_file(place: Place) -> None:
    place.write(
        "home/project/CLAUDE.md", "See @docs/style.md, and\n@docs/a\\ b.md (also @nothing.md and me@example.org)."
    )
    place.write("home/project/docs/style.md", "style; more in @deep/x.md")
    place.write("home/project/docs/deep/x.md", "deep")
    place.write("home/project/docs/a b.md", "spaced")
    place.write("home/project/example.org", "not this one")
    assert [path for path, _ in place.sections()] == [
        "home/project/CLAUDE.md",
        "home/project/docs/style.md",
        "home/project/docs/deep/x.md",
        "home/project/docs/a b.md",
    ]
    assert "(the project's; imported by CLAUDE.md):" in place.load()


@pytest.mark.parametrize(
    "text",
    [
        "`@x.md`",
        "``a ` @x.md ``",
        "```\n@x.md\n```",
        "~~~ sh\n@x.md\n~~~\n",
        "````\n```\n@x.md\n```\n````",
        "```\n@x.md",
        "a@x.md",
        "@",
        "@.",
        "@..",
    ],
)
def test_code_and_ordinary_words_import_nothing(place: Place, text: str) -> None:
    place.write("home/project/CLAUDE.md", text)
    place.write("home/project/x.md", "imported")
    assert len(place.sections()) == 1


@pytest.mark.parametrize("text", ["@x.md", "see @./x.md.", "- @x.md", "`code` @x.md `code`", "```\ncode\n```\n@x.md"])
def test_outside_of_code_it_is_imported(place: Place, text: str) -> None:
    place.write("home/project/CLAUDE.md", text)
    place.write("home/project/x.md", "imported")
    assert [text for _, text in place.sections()][1:] == ["imported"]


@pytest.mark.parametrize(("text", "imported"), [("```\r\n@x.md\r\n```\r\n", 0), ("a\r\n@x.md\r\nb", 1)])
def test_windows_line_ends_and_a_byte_order_mark(place: Place, text: str, imported: int) -> None:
    (place.cwd / "CLAUDE.md").write_bytes(b"\xef\xbb\xbf" + text.encode())
    place.write("home/project/x.md", "imported")
    sections = place.sections()
    assert len(sections) == 1 + imported
    assert sections[0][1] == text.replace("\r\n", "\n").strip()


def test_an_import_that_was_written_on_windows(place: Place) -> None:
    place.write("home/project/CLAUDE.md", "see @sub\\inc.md.")
    place.write("home/project/sub/inc.md", "imported")
    assert [text for _, text in place.sections()][1:] == ["imported"]


def test_cycles_are_read_once(place: Place) -> None:
    place.write("home/project/CLAUDE.md", "@a.md @CLAUDE.md")
    place.write("home/project/a.md", "@b.md")
    place.write("home/project/b.md", "@a.md @CLAUDE.md")
    assert len(place.sections()) == 3


def test_imports_have_a_depth_limit(place: Place) -> None:
    place.write("home/project/CLAUDE.md", "@1.md")
    for step in range(1, 9):
        place.write(f"home/project/{step}.md", f"@{step + 1}.md")
    assert [path for path, _ in place.sections()][-1] == f"home/project/{MAX_IMPORT_DEPTH}.md"


def test_a_project_imports_only_its_own_files(place: Place) -> None:
    secret = place.write("home/secret.txt", "key")
    place.write("home/project/CLAUDE.md", f"@../secret.txt @{secret} @link.txt")
    place.write("home/project/CLAUDE.local.md", "@../secret.txt")
    if sys.platform != "win32":
        (place.cwd / "link.txt").symlink_to(secret)
        (place.cwd / "AGENTS.md").symlink_to(secret)
    assert [path for path, _ in place.sections()] == ["home/project/CLAUDE.md", "home/project/CLAUDE.local.md"]


def test_a_repository_is_one_project(place: Place) -> None:
    (place.root / "home" / ".git").mkdir()
    place.write("home/shared.md", "shared")
    place.write("outside.md", "outside")
    place.write("home/project/CLAUDE.md", "@../shared.md @../../outside.md")
    assert [path for path, _ in place.sections()] == ["home/project/CLAUDE.md", "home/shared.md"]


def test_the_user_imports_from_anywhere(place: Place) -> None:
    other = place.write("elsewhere/rules.md", "rules")
    place.write("home/.claude/CLAUDE.md", f"@{other} @mine.md")
    place.write("home/.claude/mine.md", "mine")
    assert [text for _, text in place.sections()][1:] == ["rules", "mine"]


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links need rights there")
def test_the_same_file_by_two_names_is_read_once(place: Place) -> None:
    place.write("home/project/AGENTS.md", "rules")
    (place.cwd / "CLAUDE.md").symlink_to("AGENTS.md")
    place.write("home/project/.claude/CLAUDE.md", "@../AGENTS.md")
    assert [text for _, text in place.sections()] == ["rules", "@../AGENTS.md"]


def test_long_files_are_cut(place: Place) -> None:
    place.write("home/project/CLAUDE.md", "x" * MAX_FILE_BYTES + "y")
    ((_, text),) = place.sections()
    assert text == "x" * MAX_FILE_BYTES + f"\n[cut: the file is longer than {MAX_FILE_BYTES} bytes]"


def test_all_files_together_have_a_limit(place: Place) -> None:
    place.write("home/project/CLAUDE.md", " ".join(f"@{number}.md" for number in range(MAX_FILES + 5)))
    for number in range(MAX_FILES + 5):
        place.write(f"home/project/{number}.md", "short")
    assert len(place.sections()) <= MAX_FILES
    for number in range(10):
        place.write(f"home/project/{number}.md", "x" * MAX_FILE_BYTES)
    assert len(place.load()) < MAX_TOTAL_BYTES + 20_000


def test_files_that_cannot_be_read_are_ignored(place: Place) -> None:
    place.write("home/project/CLAUDE.md", "ok @binary.md @folder @bad.md")
    (place.cwd / "binary.md").write_bytes(b"PK\0\1")
    (place.cwd / "folder").mkdir()
    (place.cwd / "bad.md").write_bytes("\ufeffGr\xfc\xdfe".encode("utf-8") + b"\xff")
    (place.cwd / "CLAUDE.local.md").mkdir()
    assert [text for _, text in place.sections()] == ["ok @binary.md @folder @bad.md", "Gr\xfc\xdfe\ufffd"]
    assert Memory(MemoryPlaces(str(place.cwd / "gone" / "deeper"), str(place.root / "nowhere"))).note == place.load()


@pytest.mark.skipif(sys.platform == "win32", reason="no named pipes in folders there")
def test_a_pipe_does_not_block(place: Place) -> None:
    os.mkfifo(place.cwd / "CLAUDE.md")
    place.write("home/project/CLAUDE.local.md", "@pipe")
    os.mkfifo(place.cwd / "pipe")
    done: list[str] = []
    thread = threading.Thread(target=lambda: done.append(place.load()), daemon=True)
    thread.start()
    thread.join(5)
    assert len(done) == 1


def test_it_is_quick(place: Place) -> None:
    """Long lines of backticks and fences do not slow down the patterns."""
    place.write("home/project/CLAUDE.md", ("`" * 3 + "\n") * 3_000 + "`a " * 20_000 + "@x.md")
    done: list[str] = []
    thread = threading.Thread(target=lambda: done.append(place.load()), daemon=True)
    thread.start()
    thread.join(10)
    assert len(done) == 1


# ---------------------------------------------------------------- more places


def names(memory: Memory, root: Path) -> list[tuple[str, str, str]]:
    """(path, kind, reason) of everything that was loaded."""
    return [(Path(file.path).relative_to(root).as_posix(), file.kind, file.reason) for file in memory.files]


def test_rules_of_user_and_project(place: Place) -> None:
    place.write("home/.claude/rules/mine.md", "my rule")
    place.write("home/project/CLAUDE.md", "project")
    place.write("home/project/CLAUDE.local.md", "local")
    place.write("home/project/.claude/rules/b.md", "---\ntitle: x\n---\nrule b")
    place.write("home/project/.claude/rules/sub/a.md", "rule a, see @../c.txt")
    place.write("home/project/.claude/rules/c.txt", "no rule")
    place.write("home/project/.claude/rules/python.md", "---\npaths: '*.py'\n---\nfor Python")
    assert [text for _, text in place.sections()] == [
        *("my rule", "project", "rule b", "rule a, see @../c.txt", "no rule", "local"),
    ]


@pytest.mark.parametrize(
    ("paths", "fits"),
    [
        ("'*.ts'", True),
        ("src/*.ts", False),
        ("src/**/*.ts", True),
        ("/src/**", True),
        ("./src/**", True),
        ("src", True),
        ("**/x.ts", True),
        ("'src/**/*.{ts,js}, other/**'", True),
        ("[lib/**, 'src/deep/*']", True),
        ("\n  - lib\n  - src/deep", True),
        ("'!src/**'", False),
        ("['src/**', '!*.ts']", False),
        ("lib/**", False),
        ("'{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}'", False),
    ],
)
def test_a_rule_with_paths_is_loaded_with_a_file_that_it_is_about(place: Place, paths: str, fits: bool) -> None:
    rule = place.write("home/project/.claude/rules/r.md", f"---\npaths: {paths}\n---\nThe rule.\n")
    memory = place.memory()
    used = str(place.cwd / "src" / "deep" / "x.ts")
    assert memory.note == ""
    assert memory.below(str(place.cwd / "readme")) == ()
    loaded = memory.below(used)
    assert [file.text for file in loaded] == (["The rule."] if fits else [])
    assert memory.below(used) == ()
    if fits:
        assert (loaded[0].reason, loaded[0].trigger, loaded[0].path) == ("path_glob_match", used, str(rule))
        about = ", ".join(loaded[0].globs)
        head = f"Instructions from {rule} (the project's, for {about}):"
        assert later_note(loaded[0]) == f"<system-reminder>\n{head}\n\nThe rule.\n</system-reminder>"


def test_folders_below_are_loaded_when_a_file_there_is_used(place: Place) -> None:
    place.write("home/project/CLAUDE.md", "project")
    place.write("home/project/.git/HEAD", "x")
    place.write("home/project/sub/CLAUDE.md", "sub @more.md")
    place.write("home/project/sub/more.md", "more")
    place.write("home/project/sub/CLAUDE.local.md", "local")
    place.write("home/project/sub/AGENTS.md", "unused")
    place.write("home/project/sub/.claude/rules/r.md", "rule")
    place.write("home/project/sub/.claude/rules/t.md", "---\npaths: deep/*.txt\n---\nabout texts")
    place.write("home/project/sub/deep/.claude/CLAUDE.md", "deep")
    place.write("home/other/CLAUDE.md", "elsewhere")
    memory = place.memory()
    note = memory.note
    assert memory.below(str(place.cwd / "x.txt")) == memory.below(str(place.root / "home/other/x")) == ()
    memory.below(str(place.cwd / "sub" / "deep" / "x.txt"))
    expected = [
        ("home/project/CLAUDE.md", "Project", "session_start"),
        ("home/project/sub/CLAUDE.md", "Project", "nested_traversal"),
        ("home/project/sub/more.md", "Project", "include"),
        ("home/project/sub/CLAUDE.local.md", "Local", "nested_traversal"),
        ("home/project/sub/.claude/rules/r.md", "Project", "nested_traversal"),
        ("home/project/sub/.claude/rules/t.md", "Project", "path_glob_match"),
        ("home/project/sub/deep/.claude/CLAUDE.md", "Project", "nested_traversal"),
    ]
    assert names(memory, place.root) == expected
    assert memory.below(str(place.cwd / "sub" / "deep" / "y.txt")) == ()
    assert memory.note == note  # the beginning of every request stays the same
    memory.forget_later()
    assert names(memory, place.root) == expected[:1]
    memory.below(str(place.cwd / "sub" / "deep" / "y.txt"))
    assert names(memory, place.root) == expected


def test_a_linked_folder_does_not_bring_files_from_elsewhere(place: Place) -> None:
    place.write("home/secret/CLAUDE.md", "SECRET")
    (place.cwd / "sub").symlink_to(place.root / "home" / "secret")
    assert place.memory().below(str(place.cwd / "sub" / "x")) == ()
    rules = place.cwd / ".claude" / "rules"
    rules.mkdir(parents=True)
    (rules / "link.md").symlink_to(place.root / "home" / "secret" / "CLAUDE.md")
    (rules / "folder").symlink_to(place.root / "home" / "secret")
    assert place.load() == ""


def test_hidden_rules_are_not_read(place: Place) -> None:
    rule = place.write("home/project/.claude/rules/r.md", "---\npaths: '*.ts'\n---\nsecret")
    nested = place.write("home/project/sub/CLAUDE.md", "secret")
    warnings: list[str] = []
    memory = place.memory(hidden=lambda path: True, warn=warnings.append)
    assert memory.below(str(place.cwd / "sub" / "x.ts")) == ()
    assert [text.split(" is left out")[0] for text in warnings] == [str(rule), str(nested)]


def test_additional_folders_names_and_managed_instructions(place: Place) -> None:
    place.write("managed/CLAUDE.md", "policy")
    place.write("home/.claude/CLAUDE.md", "user")
    place.write("home/project/GEMINI.md", "gemini")
    place.write("home/extra/CLAUDE.md", "extra @../project/x.md")
    place.write("home/extra/.claude/rules/r.md", "extra rule")
    place.write("home/extra/CLAUDE.local.md", "extra local")
    place.write("home/project/x.md", "not from there")
    memory = place.memory(
        managed_folder=str(place.root / "managed"),
        more_folders=(str(place.root / "home" / "extra"),),
        more_names=("GEMINI.md",),
    )
    assert [(file.kind, file.text) for file in memory.files] == [
        ("Managed", "policy"),
        ("User", "user"),
        ("Project", "gemini"),
        ("Project", "extra @../project/x.md"),
        ("Project", "extra rule"),
        ("Local", "extra local"),
    ]


def test_excluded_files(place: Place) -> None:
    place.write("home/.claude/CLAUDE.md", "user")
    place.write("home/CLAUDE.md", "parent")
    place.write("home/project/CLAUDE.md", "project")
    place.write("home/project/.claude/rules/a.md", "rule")
    excludes = ("**/rules/*", str(place.root / "home" / "CLAUDE.md"), "**/.claude/CLAUDE.md")
    assert [text for _, text in place.sections(excludes=excludes)] == ["project"]


def test_instructions_take_at_most_their_share_of_the_window(place: Place) -> None:
    place.write("home/.claude/CLAUDE.md", "word " * 300)
    place.write("home/project/CLAUDE.md", "word " * 3000)
    place.write("home/project/CLAUDE.local.md", "left out")
    warnings: list[str] = []
    memory = place.memory(max_tokens=1000, warn=warnings.append)
    assert [file.kind for file in memory.files] == ["User", "Project"]
    assert memory.files[1].text.endswith("\n[cut: no room in the context window]")
    assert 900 < sum(file.tokens for file in memory.files) < 1050
    assert [text.split(": ")[0] for text in warnings] == [
        f"{place.cwd / 'CLAUDE.md'} is cut",
        "some instruction files are left out",
    ]
    assert memory.below(str(place.cwd / "x")) == ()


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a\n<!-- note -->\nb", "a\nb"),
        ("a <!-- in a line --> b", "a <!-- in a line --> b"),
        ("<!-- two\nlines -->\nb", "b"),
        ("```\n<!-- code -->\n```\n<!-- x -->\nend", "```\n<!-- code -->\n```\nend"),
        ("<!-- open\nb", "<!-- open\nb"),
        ("<!-- a --> <!-- b -->\nc", "<!-- a --> <!-- b -->\nc"),
        ("  <!-- a -->", ""),
        ("<!--\n" * 3 + "-->\nrest", "rest"),
    ],
)
def test_comments_on_lines_of_their_own_are_left_out(text: str, kept: str) -> None:
    assert without_comments(text) == kept


def test_many_comments_take_linear_time() -> None:
    begun = time.process_time()
    for text in ("<!--\n" * 25_000, "<!-- x --> y\n" * 9_000, "```\n<!-- x -->\n```\n" * 5_000):
        without_comments(text)
    assert time.process_time() - begun < 2.0
