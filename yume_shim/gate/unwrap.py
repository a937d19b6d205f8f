"""Finds the commands that other commands run: wrappers, `sh -c`, `find -exec`.

It serves deny and ask rules, so it prefers finding too much: of `nice -n 5 touch x` every tail is a candidate.
"""

from __future__ import annotations

import os
import re

from yume_shim.gate.shell import Simple, Word, parse
from yume_shim.gate.shell_builtins import hides_code, holds_code
from yume_shim.gate.word_set import word_set
from yume_shim.types.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.gate.shell import Script

MAX_NESTING = 6
"""`sh -c` inside `sh -c` is followed this deep; anything deeper is opaque."""

MAX_INNER = 64
"""Only this many scripts inside a command are parsed; a command with more is opaque."""

MAX_TAILS = 64
"""Only this many tails of a wrapper are checked; a wrapper with more words is opaque."""

WRAPPERS = word_set(
    "env command exec builtin nohup nice time timeout stdbuf setsid xargs sudo doas su runuser ionice chrt taskset "
    "watch strace ltrace unshare nsenter chroot flock script parallel busybox toybox coproc caffeinate entr "
    "sg gtimeout proot fakeroot winpty systemd-run dbus-run-session torsocks unbuffer arch setarch linux32 linux64 "
    "sandbox-exec xcrun chpst prlimit choom numactl rlwrap gnice gnohup gstdbuf genv gxargs"
)
TEXT_WRAPPERS = word_set("watch su runuser script flock parallel entr sg")
"""Wrappers that give a word to a shell: `watch 'ls; make'`."""
SHELLS = word_set("sh bash dash zsh ksh mksh ash fish csh tcsh pwsh powershell cmd")
OTHER_SHELLS = frozenset(("cmd", "powershell", "pwsh"))
"""Shells of Windows: their text is searched for commands, but it is no text of bash."""
STARTERS = word_set(
    "wsl start cygstart forfiles wscript cscript mshta rundll32 msiexec schtasks wmic conhost explorer bitsadmin "
    "ubuntu debian kali wslrun runas wt pcalua odbcconf regsvr32 msbuild installutil powershell_ise hh at sc control "
    "msdt ftp cmdkey dnscmd git-bash git-cmd mintty psexec psexec64 gsudo winrs winrm cmstp regasm regsvcs jsc "
    "scriptrunner syncappvpublishingserver presentationhost launchctl open osascript automator batch crontab login"
)
"""Programs of Windows and macOS that start what they are given, or run a script of their own language."""
_DISTRIBUTION = re.compile(r"(?:ubuntu|debian|kali-linux|opensuse-|sles-|fedora|almalinux|oraclelinux)[0-9a-z.-]*\Z")
"""WSL registers a program under the name of each distribution."""
_SPLITS = re.compile(r"-[A-Za-z0-9]*S|--s")
"""The flag of `env` that takes a whole command in one word."""
OPAQUE = word_set("eval source . trap alias bind enable hash mapfile readarray complete compgen fc coproc")
_INLINE_CODE = re.compile(
    r"(?:python|pythonw|py|pyw|pypy|perl|ruby|node|nodejs|deno|bun|php|lua|luajit|tclsh|osascript|rscript)[0-9.]*\Z"
)
_INLINE_FLAG = re.compile(r"-\w*[ceEprR]\Z|--(?:eval|print|execute)\b|eval\Z|-\Z")
_AWKS = frozenset(("awk", "gawk", "mawk", "nawk"))
FINDERS = frozenset(("find", "fd", "fdfind"))
FIND_RUNS = word_set("-exec -execdir -ok -okdir -x -X --exec --exec-batch")
_CALM_SED = re.compile(
    r"[0-9,$~+;p =dq]*\Z|s([/|#,])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gIip0-9]*\Z|/[^/]*/[dp]\Z"
)
_GIT_VALUED = frozenset(("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix"))


class Run(Value):
    """A command that runs: its words (the name without its folder), and its text as written."""

    words: tuple[str, ...]
    raw: str


class Unwrapped(Value):
    """The commands that a script runs, and whether there may be others. For rules about files: `commands`, those of the
    script and of all scripts inside (so are `assigned` and `repeats`); `parts`, the same and what wrappers among them
    run; `unparsed`: one of the scripts is not known completely."""

    runs: tuple[Run, ...]
    opaque: bool
    commands: tuple[Simple, ...] = ()
    parts: tuple[Simple, ...] = ()
    unparsed: bool = False
    assigned: frozenset[str] = frozenset()
    repeats: bool = False


def unwrap(script: Script) -> Unwrapped:
    """Everything that the script runs, as far as it can be found."""
    return _unwrap(script, 0, [MAX_INNER])


def _unwrap(script: Script, depth: int, left: list[int]) -> Unwrapped:
    runs: list[Run] = []
    commands: list[Simple] = []
    parts: list[Simple] = []
    assigned, repeats, unparsed = script.assigned, script.repeats, script.opaque
    opaque = script.opaque or any(map(holds_code, assigned))
    for command in script.commands:
        commands.append(command)
        parts.append(command)
        code = tuple(word for name, word in command.assigns if holds_code(name))
        if code:  # `PAGER='less x' man y`
            inner = _texts_run(code, depth, left)
            runs, commands, parts = [*runs, *inner.runs], [*commands, *inner.commands], [*parts, *inner.parts]
            opaque, unparsed = True, unparsed or inner.unparsed
        wraps = bool(command.words) and name_of(command.words[0]) in WRAPPERS
        opaque = opaque or (wraps and len(command.words) > MAX_TAILS)
        for place in range(min(len(command.words), MAX_TAILS) if wraps else len(command.words)):
            if place and not wraps and not _runs_its_tail(command.words, place):
                continue
            words = command.words[place:]
            runs += _spellings(words, command.raw if not place else "")
            inner = _inside(words, depth, left)
            parts += [*([Simple(words)] if place else []), *inner.parts]
            commands += inner.commands
            runs += inner.runs
            opaque = opaque or inner.opaque
            assigned, repeats = assigned | inner.assigned, repeats or inner.repeats
            unparsed = unparsed or inner.unparsed
    return Unwrapped(tuple(runs), opaque, tuple(commands), tuple(parts), unparsed, assigned, repeats)


_PROGRAM_ENDING = re.compile(r"(?:\.(?:exe|com|cmd|bat))?[. ]*\Z")
_DRIVE = re.compile(r"[a-z]:")
_BATCH_FILE = re.compile(r"\.(?:cmd|bat)[. ]*\Z", re.I)
_CMD_SIGNS = re.compile(r'[&|<>^%!"\r\n]')


def cmd_reads(words: tuple[Word, ...]) -> bool:
    """Whether a command starts a batch file with words that cmd.exe may take for commands: neither Git Bash nor WSL
    quotes them for it, so `x.cmd 'a&calc'` starts calc."""
    return _BATCH_FILE.search(words[0].text) is not None and any(
        word.kind != "plain" or _CMD_SIGNS.search(word.text) for word in words[1:]
    )


def written_name(word: Word) -> str:
    """The command's name without its folder, in the letters in which it was written."""
    return re.split(r"[/\\]" if os.name == "nt" else "/", word.text)[-1].removesuffix(".exe")


def name_of(word: Word) -> str:
    """The command's name as any system may find the program: Windows and macOS ignore case, Windows adds endings and
    removes dots and blanks at the end. For tables of commands that are guarded against, never for harmless ones."""
    name = written_name(word)
    return name if name.isascii() and name.isalnum() and name.islower() else _any_spelling(name) or name


def _any_spelling(name: str) -> str:
    bare = _PROGRAM_ENDING.sub("", name.casefold().rpartition("\\")[2], count=1)
    return _DRIVE.sub("", bare, count=1) if _DRIVE.match(bare) else bare


def _runs_its_tail(words: tuple[Word, ...], place: int) -> bool:
    """Whether the words from `place` on are a command that `find` or `fd` runs."""
    return words[place - 1].text in FIND_RUNS and name_of(words[0]) in FINDERS


def _spellings(words: tuple[Word, ...], raw: str) -> list[Run]:
    plain = tuple(word.text for word in words)
    name, bare = written_name(words[0]), name_of(words[0])
    found = [Run((name, *plain[1:]), raw or " ".join(plain))]
    found += [Run((other, *plain[1:]), raw) for other in dict.fromkeys((name.lower(), bare)) if other != name]
    if bare == "git":
        found.append(Run((bare, *without_git_options(plain[1:])), raw))
    return found


def without_git_options(words: tuple[str, ...]) -> tuple[str, ...]:
    """`push origin` of `-C x --no-pager push origin`."""
    place = 0
    while place < len(words) and words[place].startswith("-"):
        place += 2 if words[place] in _GIT_VALUED else 1
    return words[place:]


_SHELL_TEXT = re.compile(r"[\s;&|<>()$`]")
_NOTHING = Unwrapped((), False)
_HIDDEN = Unwrapped((), True)


def _inside(words: tuple[Word, ...], depth: int, left: list[int]) -> Unwrapped:
    """The commands that are inside a command's arguments, and whether there may be others."""
    name = name_of(words[0])
    rest = words[1:]
    if words[0].kind != "plain":
        return _HIDDEN
    if name == "eval":
        return _text_runs(" ".join(word.text for word in rest), all(w.kind == "plain" for w in rest), depth, left)
    if name in OTHER_SHELLS:
        return replace(_shell_runs(rest, depth, left), opaque=True, unparsed=True)
    if cmd_reads(words):
        return replace(_HIDDEN, unparsed=True)
    if name in STARTERS or _DISTRIBUTION.match(name) or (name == "env" and any(_SPLITS.match(w.text) for w in rest)):
        return replace(_HIDDEN, unparsed=True)
    if name in SHELLS:
        return _shell_runs(rest, depth, left)
    if name in OPAQUE or hides_code(words):
        return _HIDDEN
    if name in TEXT_WRAPPERS:
        return _texts_run(rest, depth, left)
    if name == "git":
        return replace(_texts_run(_git_code(rest), depth, left), opaque=_runs_unseen(name, rest))
    return _HIDDEN if _runs_unseen(name, rest) else _NOTHING


def _runs_unseen(name: str, rest: tuple[Word, ...]) -> bool:
    """Whether an interpreter is given code that may run commands."""
    if _INLINE_CODE.match(name):
        return any(_INLINE_FLAG.match(word.text) for word in rest) or not rest
    if name in _AWKS:
        return any(word.kind != "plain" or re.search(r"system|\||getline|>", word.text) for word in rest)
    if name in ("sed", "gsed"):
        scripts = [word for word in rest if not word.text.startswith("-")][:1]
        return any(word.kind != "plain" or not _CALM_SED.match(word.text) for word in scripts)
    if name == "git":
        return any(re.match(r"-c\Z|-c.|--config-env|--exec-path=|alias\.", word.text) for word in rest)
    return False


def _git_code(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The values of `-c alias.x='!ls'` and `-c core.pager='less x'`."""
    texts = (
        replace(word, text=word.text.removeprefix("-c").partition("=")[2].removeprefix("!"))
        for before, word in zip((Word(""), *words), words, strict=False)
        if before.text == "-c" or word.text.startswith("-c")
    )
    return tuple(word for word in texts if word.text)


def _shell_runs(rest: tuple[Word, ...], depth: int, left: list[int]) -> Unwrapped:
    for place, word in enumerate(rest):
        if re.match(r"-\w*c\w*\Z|//?[cCkK]\Z|-[cC]ommand\Z", word.text):
            code = rest[place + 1 : place + 2]
            return _text_runs(code[0].text, code[0].kind == "plain", depth, left) if code else _HIDDEN
    if any(not word.text.startswith(("-", "+")) or word.text == "--version" for word in rest):
        return _HIDDEN  # it runs a file
    return replace(_HIDDEN, unparsed=True)  # it runs its stdin


def _text_runs(text: str, known: bool, depth: int, left: list[int]) -> Unwrapped:
    left[0] -= 1
    if depth >= MAX_NESTING or left[0] < 0:
        return replace(_HIDDEN, unparsed=True)
    seen = _unwrap(parse(text), depth + 1, left)
    return seen if known else replace(seen, opaque=True, unparsed=True)


def _texts_run(words: tuple[Word, ...], depth: int, left: list[int]) -> Unwrapped:
    """The commands in those words that only a shell could run."""
    runs: list[Run] = []
    commands: list[Simple] = []
    parts: list[Simple] = []
    opaque, unparsed, repeats, assigned = False, False, False, frozenset[str]()
    for word in words:
        if not _SHELL_TEXT.search(word.text):
            continue
        seen = _text_runs(word.text, word.kind == "plain", depth, left)
        runs, commands, parts = [*runs, *seen.runs], [*commands, *seen.commands], [*parts, *seen.parts]
        opaque, unparsed, repeats = opaque or seen.opaque, unparsed or seen.unparsed, repeats or seen.repeats
        assigned |= seen.assigned
    return Unwrapped(tuple(runs), opaque, tuple(commands), tuple(parts), unparsed, assigned, repeats)


def shell_words(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """The words without prefixes after which the shell itself still runs a builtin: `time cd x`, `command -p cd x`."""
    while words and words[0].text in ("time", "command", "builtin"):
        skip = 1
        while words[skip : skip + 1] and words[skip].text in ("-p", "--", "!"):
            skip += 1
        words = words[skip:]
    while words and words[0].text == "!":
        words = words[1:]
    return words


def without_wrappers(command: Simple) -> tuple[Word, ...]:
    """The words of the command without plain harmless wrappers in front, for allow rules. Any other wrapper stays,
    so that no rule about the wrapped command matches."""
    words = command.words
    while words:
        skip = _plain_wrapper(tuple(word.text for word in words))
        if not skip or any(word.kind != "plain" for word in words[:skip]):
            return words
        words = words[skip:]
    return words


def _plain_wrapper(words: tuple[str, ...]) -> int:
    """The number of words of a plain wrapper; 0 if there is none."""
    match words:
        case ("timeout", limit, _, *_) if re.fullmatch(r"[0-9]+(?:\.[0-9]+)?[smhd]?", limit):
            return 2
        case ("time", "-p", _, *_):
            return 2
        case ("time" | "nohup", follow, *_) if not follow.startswith("-"):
            return 1
        case ("nice", "-n", level, _, *_) if re.fullmatch(r"[0-9]+", level):
            return 3
        case ("nice", follow, *_) if not follow.startswith("-"):
            return 1
        case ("stdbuf", option, _, *_) if re.fullmatch(r"-[ioe][L0]", option):
            return 2
    return 0
