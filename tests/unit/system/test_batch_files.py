r"""Batch files get their arguments as they are: nothing in one is a command of cmd.exe (CVE-2024-24576)."""

from __future__ import annotations

import re

import pytest

from yume_shim.system.batch_files import batch_line, is_batch_file

NPX = "C:\\Program Files\\nodejs\\npx.cmd"
ARGUMENTS = [
    *("plain", "", "a b", "&calc", '"&calc.exe', 'a"b&calc', '"" & calc & "', "|calc", ">own.txt", "^&calc", "(calc)"),
    *("%PATH%", "%CMDCMDLINE:~-1%&calc", "50%", "%", "!x!", "\\", "a\\", 'a\\"b', '\\\\"&calc&\\\\"', '{"a":"b & c"}'),
    *("-y", "--x=1,2;3", "@file", "C:\\x y\\", "tab\tand", "\u00e9 & \u4f60", '"^%&calc|x<y>z'),
]


def words_of(text: str) -> list[str]:
    """How a program of Windows splits its command line: `\\"` is a quote, `""` inside quotes too."""
    words: list[str] = []
    word, quoted, begun, place = "", False, False, 0
    while place < len(text):
        slashes = len(text[place:]) - len(text[place:].lstrip("\\"))
        char = text[place + slashes : place + slashes + 1]
        if char == '"':
            word, place, begun = word + "\\" * (slashes // 2), place + slashes + 1, True
            if slashes % 2 or (quoted and text[place : place + 1] == '"'):
                word, place = word + '"', place + (slashes % 2 == 0)
            else:
                quoted = not quoted
        elif slashes or (char and (quoted or char not in " \t")):
            word, place, begun = word + "\\" * slashes + ("" if slashes else char), place + (slashes or 1), True
        else:
            words, word, begun, place = [*words, word] if begun else words, "", False, place + 1
    return [*words, word] if begun else words


def obeyed(text: str) -> str:
    """What cmd.exe sees outside its quotes: it knows no backslash, each quote begins or ends a quoted text."""
    return "".join(text.split('"')[::2])


def inside(line: str) -> str:
    """The text that cmd.exe takes after `/c`: it removes the first and the last quote."""
    head, _, rest = line.partition(" /c ")
    assert head == '"C:\\Windows\\System32\\cmd.exe" /e:ON /v:OFF /d'
    assert (rest[0], rest[-1]) == ('"', '"')
    return rest[1:-1]


@pytest.mark.parametrize("argument", ARGUMENTS)
def test_an_argument_stays_one(argument: str) -> None:
    text = inside(batch_line(NPX, ["-y", argument, "last"], "C:\\Windows"))
    text = text.replace("%%cd:~,%", "\0")  # an empty text between two signs of percent
    assert "%" not in text
    assert not set("&|<>^()!\r\n") & set(obeyed(text))
    assert words_of(text.replace("\0", "%")) == [NPX, "-y", argument, "last"]


def test_what_cannot_be_passed_on_is_refused() -> None:
    for argument in ("a\nb", "a\rb", "a\0b"):
        with pytest.raises(ValueError, match="line break"):
            batch_line(NPX, [argument], "C:\\Windows")
    for program in ('C:\\a"b.cmd', "C:\\%x%\\a.cmd", "C:\\a.cmd\\"):
        with pytest.raises(ValueError, match="batch file"):
            batch_line(program, [], "C:\\Windows")


def test_what_windows_gives_to_cmd() -> None:
    assert all(map(is_batch_file, ("a.cmd", "A.BAT", "C:\\x\\a.Cmd", "a.bat.", "a.cmd . ", "a.b.bat")))
    assert not any(map(is_batch_file, ("a.exe", "cmd", "bat", "a.cmd.exe", "a.ps1")))
    assert not re.search(r"\.cmd", inside(batch_line("C:\\a.bat", [], "C:\\Windows")))
