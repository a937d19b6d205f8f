"""Rules: their text, and the commands and paths that they match."""

from __future__ import annotations

import pytest

from tests.helpers.gates import SPECS
from tests.helpers.timing import cheap
from yume_shim.gate.paths import MACOS, POSIX, WINDOWS, Flavour
from yume_shim.gate.rules import (
    Rule,
    command_matches,
    escape_command,
    escape_path,
    is_exact,
    joined,
    names_tool,
    parse_rule,
    path_pattern,
)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Bash", Rule("Bash")),
        (" Bash ", Rule("Bash")),
        ("Bash(git status:*)", Rule("Bash", "git status:*")),
        ("Bash(echo (x))", Rule("Bash", "echo (x)")),
        ("Bash()", Rule("Bash", "")),
        ("mcp__box__open", Rule("mcp__box__open")),
        ("Bash(git", None),
        ("", None),
        ("(x)", None),
        ("rm -rf", None),
        ("Bash,Read", None),
    ],
)
def test_the_text_of_a_rule(text: str, rule: Rule | None) -> None:
    assert parse_rule(text) == rule


@pytest.mark.parametrize(
    ("rule", "tools"),
    [
        ("Bash", {"Bash"}),
        ("Edit", {"Edit", "Write", "MultiEdit", "NotebookEdit"}),
        ("Write", {"Write"}),
        ("Read", {"Read", "Grep", "Glob", "LS"}),
        ("Grep", {"Grep"}),
        ("mcp__box", {"mcp__box__open"}),
        ("mcp__box__*", {"mcp__box__open"}),
        ("mcp__box__open", {"mcp__box__open"}),
        ("mcp__bo", set()),
        ("mcp__box__op", set()),
        ("Agent", {"Task"}),
        ("*", set(SPECS)),
        ("Nothing", set()),
    ],
)
def test_the_tools_that_a_rule_names(rule: str, tools: set[str]) -> None:
    assert {name for name, spec in SPECS.items() if names_tool(Rule(rule), spec)} == tools


@pytest.mark.parametrize(
    ("content", "command", "matches"),
    [
        ("git status", "git status", True),
        ("git status", "git status -s", False),
        ("git status:*", "git status", True),
        ("git status:*", "git status -s", True),
        ("git status:*", "git statusx", False),
        ("git status:*", "git  status", True),
        ("git *", "git push", True),
        ("git *", "git", True),
        ("git *", "gitk", False),
        ("ls*", "lsof", True),
        ("npm run * --silent", "npm run build --silent", True),
        ("npm run * --silent", "npm run build", False),
        ("git * main:*", "git push origin main --force", True),
        ("git * main:*", "git push origin mainline", False),
        ("echo \\*", "echo *", True),
        ("echo \\*", "echo x", False),
        ("echo \\\\", "echo \\", True),
        ("grep \\d x", "grep \\d x", True),
        ("*", "anything", True),
        (":*", "anything", True),
        ("a.c", "abc", False),
    ],
)
def test_command_patterns(content: str, command: str, matches: bool) -> None:
    assert command_matches(content, command, tuple(command.split())) is matches


def test_a_word_with_blanks_does_not_pass_for_several() -> None:
    assert not command_matches("git * main", "git 'push main'", ("git", "push main"))
    assert not command_matches("git push:*", "'git push' x", ("git push", "x"))
    assert command_matches("git commit:*", "git commit -m 'a b'", ("git", "commit", "-m", "a b"))
    assert joined(("a", "b c", "d'e", "")) == "a 'b c' 'd'\\''e' ''"


@pytest.mark.parametrize(
    "command", ["echo *", "echo \\*", "find . -name '*.py' -exec rm {} \\;", "a:*", "a *", "\\", "*"]
)
def test_an_exact_rule_matches_only_its_command(command: str) -> None:
    content = escape_command(command)
    assert is_exact(content, command)
    assert command_matches(content, command, tuple(command.split()))
    assert not is_exact(content, command + " x")
    assert not command_matches(content, command.replace("*", "x") + " y", ("q",))


@pytest.mark.parametrize(
    ("content", "path", "matches"),
    [
        ("./secret.txt", "/w/secret.txt", True),
        ("./secret.txt", "/w/sub/secret.txt", False),
        ("secret.txt", "/w/sub/secret.txt", True),
        ("secret.txt", "/elsewhere/secret.txt", False),
        ("/src/x", "/w/src/x", True),
        ("src/**", "/w/src/a/b", True),
        ("src/**", "/w/src", True),
        ("src/**", "/w/srcx/a", False),
        ("src/*", "/w/src/a", True),
        ("src/*.py", "/w/src/a/b.py", False),
        ("**/*.pem", "/w/a/b/c.pem", True),
        ("**/*.pem", "/w/c.pem", True),
        ("*.pem", "/w/a/c.pem", True),
        ("secrets/", "/w/secrets/a", True),
        ("secrets", "/w/a/secrets/b", True),
        ("//etc/**", "/etc/passwd", True),
        ("//etc/passwd", "/etc/passwd", True),
        ("//etc/**", "/w/etc/x", False),
        ("~/.ssh/**", "/home/u/.ssh/id", True),
        ("~/.ssh/**", "/w/.ssh/id", False),
        ("../x/**", "/x/y", True),
        ("a?c", "/w/abc", True),
        ("[ab].txt", "/w/a.txt", True),
        ("[!ab].txt", "/w/a.txt", False),
        ("\\*.txt", "/w/a.txt", False),
        ("\\*.txt", "/w/*.txt", True),
        ("a.c", "/w/abc", False),
        ("Secret.txt", "/w/secret.txt", False),
    ],
)
def test_path_patterns(content: str, path: str, matches: bool) -> None:
    assert path_pattern(content, "/w", "/home/u", POSIX).matches(path) is matches


@pytest.mark.parametrize(
    ("flavour", "content", "path", "matches"),
    [
        (MACOS, "./Secret.txt", "/w/secret.TXT", True),
        (WINDOWS, "./secret.txt", "C:\\w\\Secret.txt", True),
        (WINDOWS, "src/**", "C:\\w\\src\\a\\b", True),
        (WINDOWS, "//c/Windows/**", "C:\\Windows\\x", True),
        (WINDOWS, "//d/x", "C:\\x", False),
    ],
)
def test_path_patterns_of_other_flavours(flavour: Flavour, content: str, path: str, matches: bool) -> None:
    base, home = ("C:\\w", "C:\\Users\\u") if flavour.windows else ("/w", "/Users/u")
    assert path_pattern(content, base, home, flavour).matches(path) is matches


@pytest.mark.parametrize(
    ("content", "folder", "overlaps"),
    [
        ("./secret.txt", "/w", True),
        ("./secret.txt", "/", True),
        ("./secret.txt", "/w/sub", False),
        ("./sub/**", "/w/sub/deep", True),
        ("*.pem", "/w/sub", True),
        ("src/*.pem", "/w/src", True),
        ("src/*.pem", "/w/other", False),
        ("//etc/**", "/w", False),
    ],
)
def test_folders_that_a_pattern_overlaps(content: str, folder: str, overlaps: bool) -> None:
    assert path_pattern(content, "/w", "/home/u", POSIX).overlaps(folder) is overlaps


@pytest.mark.parametrize("path", ["/w/a.txt", "/w/*.txt", "/w/[a].txt", "/w/a?b", "/w/a\\b"])
def test_an_exact_rule_matches_only_its_path(path: str) -> None:
    pattern = path_pattern(escape_path(path, POSIX), "/other", "/home/u", POSIX)
    assert pattern.matches(path)
    assert not pattern.matches("/w/x.txt")
    assert not pattern.matches("/w/a")


def test_the_time_for_a_pattern_grows_with_its_length() -> None:
    with cheap(2.5, this_thread=True):
        assert not path_pattern(f"./{'[' * 50_000}/]", "/w", "/home/u", POSIX).matches("/w/a")
