"""The command line that runs a batch file (`.cmd`, `.bat`) of Windows, with arguments that stay arguments. Pure.

Windows starts a batch file with cmd.exe, which reads the command line by its own rules: quoted as for any other
program, an argument such as `"&calc` would run a command (CVE-2024-24576). The rules here are those of Rust's library.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_NEVER = frozenset("\r\n\0")
"""They end the command line, quoted or not."""
_AN_EMPTY_TEXT = "%%cd:~,%"
"""Written for each `%`: cmd.exe makes one `%` of it, and finds no name of a variable between two of them."""


def is_batch_file(program: str) -> bool:
    """Whether Windows gives this program to cmd.exe. It removes dots and blanks at the end of a name."""
    return program.rstrip(". ").lower().endswith((".cmd", ".bat"))


def batch_line(program: str, arguments: Sequence[str], system_root: str) -> str:
    """The whole command line. Raises ValueError if an argument cannot be passed on."""
    if set('"%\r\n\0') & set(program) or program.endswith("\\"):
        raise ValueError(f"the path of the batch file {program!r} has a character that cmd.exe would obey")
    for argument in arguments:
        if _NEVER & set(argument):
            raise ValueError(f"a batch file cannot get an argument with a line break: {argument!r}")
    words = " ".join((f'"{program}"', *map(_quoted, arguments)))
    return f'"{system_root}\\System32\\cmd.exe" /e:ON /v:OFF /d /c "{words}"'


def _quoted(argument: str) -> str:
    made, slashes = ['"'], 0
    for char in argument:
        if char == '"':  # doubled for cmd.exe; backslashes before it are doubled for the program
            made.append("\\" * slashes + '"')
        elif char == "%":
            made.append(_AN_EMPTY_TEXT[:-1])
        slashes = slashes + 1 if char == "\\" else 0
        made.append(char)
    return "".join((*made, "\\" * slashes, '"'))
