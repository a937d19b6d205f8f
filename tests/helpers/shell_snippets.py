"""Generates shell commands that try to mean something else than they seem to: the same ones for the same seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yume_shim.gate.word_set import word_set

if TYPE_CHECKING:
    from random import Random

PATHS = sorted(
    word_set(
        "a.txt secret.txt sub sub/c.py . .. ../outside/o.txt n n3 n/file n3/file n/out/o.txt n3/out n3/out/new m "
        "sub/n/file one one/link one/link/.. one/link/../x x w w/new deep deep/x deep/er rep rep/inner/.. plain "
        "plain/p.txt moved moved/q hid hid/secret.txt locked/f e e/secret.txt e/f new new/f 3 3/sub file later o.txt "
        "~/x ~ sub/../a.txt ./a.txt c.py p.txt"
    )
)
GLOBS = ("*.txt", "sub/*", "n3/*", "f*", "*", "[a]*", "?.txt", "plain/*", "*/c.py")
VARIABLES = ("PATH", "HOME", "CDPATH", "IFS", "X", "PWD", "GIT_DIR")
READING = (
    "ls",
    "ls -la",
    "cat",
    "head",
    "head -n 1",
    "wc -l",
    "sort",
    "tail -n 2",
    "stat",
    "grep -n a",
    "file",
    "diff",
)
WORKING = ("touch", "mkdir", "mkdir -p", "rm", "rm -r", "mv", "cp", "cp -r", "cp -a", "ln -s", "mv -T", "rmdir", "ln")
PLAIN = (
    "git status",
    "git diff --stat",
    "git log --oneline",
    "pwd",
    "true",
    "ls",
    "date +%Y",
    "git ls-files",
    "whoami",
)
WRAPPERS = (
    "time",
    "time -p",
    "command",
    "builtin",
    "nice",
    "nohup",
    "timeout 5",
    "env",
    "nice -n 1",
    "!",
    "exec",
    "command -p",
    "eval",
    "stdbuf -oL",
)
JOINTS = ("; ", " && ", " || ", " | ", "\n", " & ", ";", "&&", " |& ", " # x\n", " \\\n && ")
NOISE = "'\"\\$`{}()<>&|;#~*?[]! \t\n=:,%+-^@\u0663\u00a03x/."
REDIRECTS = (
    ">/dev/null",
    "2>&1",
    "2>/dev/null",
    "< {path}",
    "> {path}",
    ">> {path}",
    "{{{name}}}>/dev/null",
    "{{{name}}}<a.txt",
    ">&\u0663",
    ">& {path}",
    "<> {path}",
    "&> {path}",
    "3>/dev/null",
    ">| {path}",
    "<<< {path}",
    "99999999999>/dev/null",
)


class Snippets:
    """One generator; `next` returns a command."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def next(self) -> str:
        """The next command: parts with joints between them, sometimes in a compound, sometimes with noise."""
        pick = self._random
        if pick.random() < 0.5:
            return self._recipe()
        text = self._part()
        for _ in range(pick.choice((0, 0, 1, 1, 1, 2, 2, 3))):
            text += pick.choice(JOINTS) + self._part()
        if pick.random() < 0.08:
            text = pick.choice(
                ("({})", "{{ {}; }}", "if true; then {}; fi", "for X in 1 2; do {}; done", "f() {{ {}; }}; f", "$({})")
            ).format(text)
        for _ in range(pick.choice((0, 0, 0, 0, 1, 2))):
            place = pick.randrange(len(text) + 1)
            text = text[:place] + pick.choice(NOISE) + text[place + pick.choice((0, 0, 1)) :]
        return text

    def _recipe(self) -> str:
        """A part that changes the shell, its folder or a name, and a part that depends on it; little else."""
        pick = self._random
        kind = pick.randrange(3)
        if kind == 0:
            name = pick.choice(("PATH", "HOME"))
            assigns = (
                f"printf 'abc%n' {name}",
                f"printf -v {name} 3",
                f"true {{{name}}}>/dev/null",
                f"read {name} < a.txt",
            )
            first, second = pick.choice((*assigns, self._assigning())), self._use("")
        elif kind == 1:
            wrapper = pick.choice(("", "", "time ", "command ", "builtin ", "time -p ", "nice "))
            folder = pick.choice(("one/link/..", "one/link", "rep", "..", "sub", "n", "hid", "locked", "3", "deep/er"))
            first = f"{wrapper}cd {self._quoted(folder)}"
            second = self._use("") if pick.random() < 0.5 else f"{pick.choice(('cd ..', 'cd -'))}; {self._use('')}"
        else:
            sure = pick.random() < 0.7
            target = "n3" if sure else pick.choice(("moved", "e", "sub", "plain", "."))
            source = pick.choice(("n", "m") if sure else ("n/out", "hid", "locked", "plain", ".", "3", "n/file"))
            maker = pick.choice(("mv", "cp -r", "cp -a", "mv -T") if sure else ("ln -s", *WORKING))
            first = f"{maker} {self._quoted(source)} {self._quoted(target)}"
            second = self._use(target, ("/file", "/out/o.txt", "/out/new") if sure else ())
        if pick.random() < 0.15:
            second = f"{self._part()}; {second}"
        return f"{first}{pick.choice(JOINTS)}{second}"

    def _use(self, target: str, below: tuple[str, ...] = ()) -> str:
        """A part that works on what a name leads to; without a name, on what folder or variables decide."""
        pick = self._random
        if not target and pick.random() < 0.5:
            return pick.choice(PLAIN)
        tails = below or ("/file", "/out/o.txt", "/n/file", "/*", "/secret.txt", "/f", "/out/new")
        tail = pick.choice(tails)
        path = target + tail if target else pick.choice(("x", "w/new", "w/o.txt", "secret.txt", "f", "~/secret.txt"))
        path = self._quoted(path) if "*" not in path else path
        return pick.choice((f"{pick.choice(READING)} {path}", f"echo x > {path}", f"touch {path}", f"head < {path}"))

    def _part(self) -> str:
        pick = self._random
        text = self._command()
        if pick.random() < 0.2:
            text = f"{pick.choice(WRAPPERS)} {text}"
        if pick.random() < 0.06:
            text = f"{pick.choice((*VARIABLES, 'LANG', 'TZ'))}={pick.choice(('3', 'C', 'sub', '.'))} {text}"
        if pick.random() < 0.25:
            redirect = pick.choice(REDIRECTS).format(path=self._path(), name=pick.choice(VARIABLES))
            text = f"{redirect} {text}" if pick.random() < 0.1 else f"{text} {redirect}"
        return text

    def _command(self) -> str:
        pick = self._random
        kind = pick.randrange(10)
        if kind < 3:
            return f"{self._quoted(pick.choice(READING))} {self._words(1, 2)}"
        if kind == 3:
            return f"{pick.choice(WORKING)} {self._words(1, 3)}"
        if kind == 4:
            return f"cd {self._words(1, 1)}"
        if kind == 5:
            return self._assigning()
        if kind == 6:
            return f"echo {self._words(0, 2)}"
        return pick.choice(PLAIN)

    def _assigning(self) -> str:
        pick = self._random
        name, value = pick.choice(VARIABLES), pick.choice(("3", "sub", ".", "$PWD"))
        return pick.choice(
            (
                f"printf 'abc%n' {name}",
                f"printf -v {name} {value}",
                "printf '%s\\n' x",
                "printf 'x%%n' HOME",
                f"read {name} < a.txt",
                f"{name}={value}",
                f"export {name}={value}",
                f"let {name}=3",
                f"(({name}=3))",
                f": ${{{name}:={value}}}",
                f"unset {name}",
                f"mapfile -t {name} < a.txt",
                f"declare -x {name}={value}",
                "set -e",
                "shopt -s nullglob",
                f"pushd {self._path()}",
                "popd",
                "hash -r",
                "test -v X",
                "[ -f a.txt ]",
            )
        )

    def _words(self, least: int, most: int) -> str:
        return " ".join(self._word() for _ in range(self._random.randint(least, most)))

    def _word(self) -> str:
        pick = self._random
        if pick.random() < 0.12:
            return pick.choice(GLOBS)
        if pick.random() < 0.04:
            return pick.choice(("$X", '"$X"', "$(echo a.txt)", "{a.txt,x}", "$'a.txt'", "-", "--", "-n", "${X:-a.txt}"))
        return self._quoted(self._path())

    def _path(self) -> str:
        return self._random.choice(PATHS)

    def _quoted(self, text: str) -> str:
        """The text in one of the ways to write it."""
        pick = self._random
        way = pick.randrange(14)
        if way == 0 and " " not in text:
            return f"'{text}'"
        if way == 1 and " " not in text:
            return f'"{text}"'
        if way == 2:
            return f"{text[0]}''{text[1:]}"
        if way == 3 and text[0] not in "~*":
            return f"\\{text}"
        if way == 4 and len(text) > 2:
            return f'{text[:1]}"{text[1:2]}"{text[2:]}'
        if way == 5:
            return f"{text[:1]}\\\n{text[1:]}"
        return text
