"""Parsing commands: examples, and a comparison with bash itself."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from yume_shim.gate.shell import Redirect, Script, Simple, Word, parse


def words(*texts: str) -> tuple[Word, ...]:
    return tuple(Word(text) for text in texts)


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("", Script(())),
        ("ls", Script((Simple(words("ls"), "ls"),))),
        ("git  status\t-s", Script((Simple(words("git", "status", "-s"), "git status -s"),))),
        ("a;b&&c||d|e", Script(tuple(Simple(words(name), name) for name in "abcde"))),
        ("a\nb # c\nd &", Script(tuple(Simple(words(name), name) for name in "abd"))),
        (
            "echo 'a b' \"c d\" e\\ f g'h'\"i\" ''",
            Script((Simple(words("echo", "a b", "c d", "e f", "ghi", ""), "echo 'a b' \"c d\" e\\ f g'h'\"i\" ''"),)),
        ),
        ('echo "\\$x \\`y\\` \\"z\\""', Script((Simple(words("echo", '$x `y` "z"'), 'echo "\\$x \\`y\\` \\"z\\""'),))),
        ("ls *.py", Script((Simple((Word("ls"), Word("*.py", "glob")), "ls *.py"),))),
        ("ls ~/x '~/y'", Script((Simple(words("ls", "~/x", "./~/y"), "ls ~/x '~/y'"),))),
        ("X=1 Y='a b' ls", Script((Simple(words("ls"), "ls", (("X", Word("1")), ("Y", Word("a b")))),))),
        ("X= ls", Script((Simple(words("ls"), "ls", (("X", Word("")),)),))),
        (
            "ls >x 2>&1 </dev/null",
            Script(
                (
                    Simple(
                        words("ls"),
                        "ls",
                        (),
                        (
                            Redirect(">", Word("x")),
                            Redirect(">&", Word("1"), descriptor=True),
                            Redirect("<", Word("/dev/null")),
                        ),
                    ),
                )
            ),
        ),
        ("a | b > x", Script((Simple(words("a"), "a"), Simple(words("b"), "b", (), (Redirect(">", Word("x")),))))),
        (
            "git stash show stash@{0}",
            Script((Simple(words("git", "stash", "show", "stash@{0}"), "git stash show stash@{0}"),)),
        ),
        ("a \\\n b", Script((Simple(words("a", "b"), "a b"),))),
    ],
)
def test_plain_commands(text: str, script: Script) -> None:
    assert parse(text) == script


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("echo $X", "it contains a variable"),
        ('echo "$X"', "it contains a variable"),
        ("echo ${X:-y}", "it contains a parameter expansion"),
        ("echo $(id)", "it contains a command substitution"),
        ("cat <(id)", "it contains a process substitution"),
        ("echo $((1+1))", "it contains an arithmetic expansion"),
        ("echo $'x'", "it contains an ANSI-C string"),
        ("echo {a,b}", "it contains a word that is not plain"),
        ("cat << E\nx\nE", "it contains a here-document"),
        ("cat <<< x", "it contains a here-string"),
        ("(ls)", "it contains a subshell"),
        ("f() { ls; }", "it contains a function"),
        ("X=1", "it contains an assignment"),
        ("if a; then b; fi", "it contains a if statement"),
        ("[[ -f a ]]", "it contains a test"),
        ("ls >&x", "it contains the redirect '>&'"),
        ("ls >&-", "it contains the redirect '>&-'"),
        ("ls > x y", "it has words after a redirect"),
        ("ls ~'a b'", "it contains a word that is not plain"),
        ("ls ~root/x", "it contains a word that is not plain"),
        ("ls a=~/x", "it contains a word that is not plain"),
    ],
)
def test_a_command_that_is_not_plain_says_why(text: str, problem: str) -> None:
    assert parse(text).problem == problem


@pytest.mark.parametrize(
    "text",
    [
        "ls 'x",
        'ls "x',
        "ls )",
        "ls\r",
        "ls\u00a0x",
        "ls\u200bx",
        "\x1b[1mls",
        "echo a'b'\\c",
        "\\ zz",
        ">]\\;",
        "-x2>zz",
        "echo a\\\nb",
        "$X y",
        "l? x",
        "{a,b}",
        "'' x",
        "coproc a",
        "\ud800",
        "(" * 5000,
        "$(" * 5000,
    ],
)
def test_commands_that_cannot_be_trusted_are_opaque(text: str) -> None:
    script = parse(text)
    assert script.problem
    assert script.opaque


def test_nested_commands_are_found() -> None:
    text = "if a; then b $(c); else (d | e); fi; for i in 1; do f; done; g() { h; }; i <(j) <<E\n$(k)\nE"
    names = {command.words[0].text for command in parse(text).commands if command.words}
    assert set("abcdefhijk") <= names


PIECES = [
    *["zz", "zy", "a", "b", "1", "2", "-x", "é"],
    *[" ", " ", " ", "\t", "\n", "\\\n", " \\\n"],
    *["'", '"', "\\", "'a b'", '"a b"', "\\ ", "\\;"],
    *[";", "&&", "||", "|", "|&", "&", "#", " #"],
    *["$", "`", "*", "?", "[", "]", "{", "}", ",", "~", "=", "(", ")", "!", "%", "^", "@", "+"],
    *["<", ">", ">>", "2>", ">&", "&>", "<<", "<<<", "1<>"],
]
HANDLER = 'command_not_found_handle() { printf \'%s\\0\' "$#" "$@" >> "$SEEN/$BASHPID"; }\n'


def as_bash_sees(text: str) -> str:
    """Expands a ~, and removes the mark in front of a quoted one."""
    return "/nowhere" + text[1:] if text.startswith("~") else text.removeprefix("./")


def what_bash_runs(text: str) -> tuple[set[tuple[str, ...]], set[str]]:
    """The commands that bash tries to run (none of them exists), and the files that it created."""
    with tempfile.TemporaryDirectory() as folder:
        seen = Path(folder, "seen")
        work = Path(folder, "work")
        work.mkdir()
        seen.mkdir()
        script = Path(folder, "script")
        script.write_bytes((HANDLER + text + "\nwait\n").encode())
        env = {"PATH": "/nowhere", "HOME": "/nowhere", "SEEN": str(seen), "LANG": "C.UTF-8"}
        subprocess.run(
            ["/bin/bash", "-f", str(script)],
            cwd=work,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=10,
            check=False,
        )
        fields = [field for note in seen.iterdir() for field in note.read_bytes().decode().split("\0")[:-1]]
        files = set(os.listdir(work))
    runs: set[tuple[str, ...]] = set()
    while fields:
        count = int(fields.pop(0))
        runs.add(tuple(fields[:count]))
        del fields[:count]
    return runs, files


@settings(
    max_examples=250,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=14).map("".join))
@pytest.mark.skipif(sys.platform == "win32", reason="needs bash of Linux")
def test_bash_runs_a_plain_command_as_it_was_parsed(text: str) -> None:
    """If a command counts as plain, bash runs and writes nothing that the parser did not find."""
    script = parse(text)
    if script.problem:
        return
    runs, files = what_bash_runs(text)
    read = {tuple(as_bash_sees(word.text) for word in command.words) for command in script.commands}
    targets = {as_bash_sees(redirect.target.text) for command in script.commands for redirect in command.redirects}
    assert runs <= read
    assert files <= targets
