"""What each builtin of the shell can do to the shell itself: one fact per builtin.

A part that changes the shell changes what the other parts of a command mean: with another PATH `ls` is another program,
with another HOME git reads another configuration, with another CDPATH `cd` leads elsewhere.
"""

from __future__ import annotations

import re

from yume_shim.gate.word_set import word_set

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    from yume_shim.gate.shell import Word

    Fact = Literal["calm", "moves", "assigns", "state", "runs"]


def _facts() -> Mapping[str, Fact]:
    table: dict[Fact, str] = {
        # neither variables nor options change
        "calm": ": [ bg break caller compgen continue dirs disown echo exit false fg help history jobs kill logout pwd "
        "return shift suspend test times true type",
        "moves": "cd popd pushd",
        # give a variable a value; a subscript in its name is evaluated, and can contain commands
        "assigns": "declare export getopts let local mapfile printf read readarray readonly typeset unset wait",
        # options, aliases, the table of command names, limits
        "state": "alias bind complete compopt enable hash set shopt ulimit umask unalias",
        # run code that they are given
        "runs": ". builtin command eval exec fc source trap",
    }
    return {name: fact for fact, names in table.items() for name in names.split()}


BUILTINS = _facts()
HARMLESS_VARIABLES = word_set(
    "LANG LANGUAGE LC_ALL LC_COLLATE LC_CTYPE LC_MESSAGES LC_NUMERIC LC_TIME TZ NO_COLOR FORCE_COLOR CLICOLOR CI "
    "NODE_ENV PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE RUST_BACKTRACE GIT_OPTIONAL_LOCKS"
)
"""Variables that may be set in front of a command: they change neither what it does to files nor what it runs."""
PLACE_VARIABLES = word_set("HOME PWD OLDPWD CDPATH DIRSTACK SHELLOPTS BASHOPTS POSIXLY_CORRECT")
"""Variables that decide where `cd` and `~` lead."""
_CODE_VARIABLES = word_set(
    "PS4 BASH_ENV ENV PROMPT_COMMAND BASH_CMDS BASH_ALIASES EDITOR VISUAL PAGER MANPAGER SYSTEMD_PAGER LESSOPEN "
    "LESSCLOSE SHELL BROWSER MAKEFLAGS PERL5OPT RUBYOPT NODE_OPTIONS PYTHONSTARTUP"
)
# A value with a slash could name a file: messages and time zones are loaded from files.
_PLAIN_VALUE = re.compile(r"[A-Za-z0-9_.,:@+=-]*\Z")
_TIME_ZONE = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z][A-Za-z0-9_+-]*){1,2}\Z")
_COUNT_TO_VARIABLE = re.compile(r"%[-+ #'*.$0-9hlLqjzt]*n")
_CALM_SET = re.compile(r"[-+](?:[eux]+o?|o)\Z|pipefail\Z|errexit\Z|nounset\Z|xtrace\Z")


def harmless_assignment(name: str, word: Word) -> bool:
    """Whether a variable set in front of a command changes nothing that matters."""
    if name not in HARMLESS_VARIABLES or word.kind != "plain":
        return False
    return bool(_PLAIN_VALUE.match(word.text) or (name == "TZ" and _TIME_ZONE.match(word.text)))


def holds_code(variable: str) -> bool:
    """Whether a program or the shell runs the value of the variable."""
    return variable in _CODE_VARIABLES or variable.startswith("GIT_")


def changes_shell(words: tuple[Word, ...]) -> bool:
    """Whether the command may change the state of the shell that runs the other parts. `cd` is not counted (it is
    followed), nor is code that the shell was told to run (it can do anything)."""
    name = words[0].text if words else ""
    fact = BUILTINS.get(name)
    rest = words[1:]
    if name == "printf":
        return printf_assigns(rest)
    if name == "wait":
        return any(word.kind != "plain" or word.text.startswith("-") for word in rest)
    if name == "set":
        return any(word.kind != "plain" or not _CALM_SET.match(word.text) for word in rest)
    return fact in ("assigns", "state")


def printf_assigns(rest: tuple[Word, ...]) -> bool:
    """Whether these arguments of printf assign a variable: `-v NAME`, or `%n` in the format."""
    if rest[:1] and rest[0].text == "--":
        rest = rest[1:]
    elif rest[:1] and rest[0].text.startswith("-"):
        return True
    if not rest:
        return False
    return rest[0].kind != "plain" or bool(_COUNT_TO_VARIABLE.search(rest[0].text.replace("%%", "")))


def hides_code(words: tuple[Word, ...]) -> bool:
    """Whether an argument contains code that the builtin would run: `read 'a[$(code)]'`, `test -v 'a[$(code)]'`."""
    name = words[0].text if words else ""
    if BUILTINS.get(name) != "assigns" and name not in ("test", "["):
        return False
    return any(
        "$" in word.text or "`" in word.text if word.kind == "plain" else "[" in word.text and "\\" in word.text
        for word in words[1:]
        if name != "printf" or "[" in word.text
    )
