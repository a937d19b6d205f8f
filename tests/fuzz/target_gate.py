"""Shell commands and permission rules: the judge gives a verdict on everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fuzz.harness import Target
from tests.helpers.gates import SPECS, gate
from tests.helpers.shell_snippets import PLAIN, READING, WRAPPERS
from yume_shim.gate.rules import is_exact, parse_rule
from yume_shim.types.blocks import ToolCall
from yume_shim.types.errors import BadLine

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.gate.permissions import Permissions

NAMES = ("bash", "rules")
SHELL_WORDS = (
    *(
        b"$(",
        b"`",
        b"<<'E'\n",
        b"<<E\n",
        b"<(",
        b">|",
        b"&>",
        b"2>&1",
        b";;",
        b"&&",
        b"||",
        b"|&",
        b"\\\n",
        b"$'\\x41'",
    ),
    *(
        b"${x@P}",
        b"$((1+",
        b"[[ ",
        b"{a,b}",
        b"~",
        b"!",
        b"function f {",
        b"case x in",
        b"eval ",
        b"git -C / ",
        b"env ",
    ),
    *(
        b"xargs ",
        b"find . -exec ",
        b"sudo ",
        b"cd .. && ",
        b"IFS=x ",
        b"alias a=b\n",
        b"trap 'x' EXIT",
        b"#",
        b"\xc2\xa0",
    ),
)
COMMANDS = (
    b"ls -la src | grep -v '^d' > out.txt 2>&1",
    b"cd sub && git log --oneline -n 5 && git diff HEAD~1 -- 'a b.txt'",
    b'for f in *.py; do sed -n \'1,5p\' "$f"; done; echo "${X:-y}" $(date +%s)',
    b"if [ -f a.txt ]; then cat a.txt; else rm -rf /tmp/x; fi & wait",
    b"cat <<'EOF' | tee -a notes.md\nline $HOME\nEOF\nprintf '%s' x",
    b"f() { local a=1; eval \"$1\"; }; f 'touch z'; X=1 Y=2 env -i sh -c 'echo hi'",
    b"find . -name '*.txt' -exec grep -l x {} + -o -delete",
    b"git -c core.pager=x -C .. status; time nice -n 5 timeout 3 xargs -n1 rm < list",
    b"case $x in a|b) echo 1;; *) ((i++));; esac; [[ $a =~ ^b ]] && while read l; do :; done < <(ls)",
    b"echo {a,b}{1..3} ~/x $'\\x41' `pwd`; arr=(1 2); echo ${arr[@]}; exec 3>f",
)
RULES = (
    b"Bash\nBash(git *)\nBash(npm run test:*)\nRead\nRead(./**)\nRead(//etc/**)\nRead(~/.ssh/**)",
    b"Edit(/src/**/*.py)\nWrite(*)\nWebFetch(domain:example.com)\nmcp__box\nmcp__box__*\nTask(x)\nSkill(a:b)",
    b"Bash(a\\*b)\nBash(**)\nRead([a-z]{1,2}?.txt)\nGlob\nBash()\nBash(",
)
RULE_WORDS = (b"Bash(", b"Read(", b"**/", b":*)", b"*)", b"domain:", b"mcp__", b"[!", b"{", b"\\*", b"//", b"~/", b"..")
CALLS = (
    ("Bash", {"command": "git status && rm -rf build"}),
    ("Read", {"file_path": "/etc/passwd"}),
    ("Edit", {"file_path": "src/a/b.py", "old_string": "a", "new_string": "b"}),
    ("WebFetch", {"url": "https://sub.example.com/x", "prompt": "p"}),
    ("mcp__box__open", {"a": 1}),
    ("Glob", {"pattern": "**/*.txt"}),
)
VERDICTS = ("allow", "ask", "deny")


def open_target(name: str, folder: Path) -> Target:
    """The target of this name."""
    (folder / "a.txt").write_text("alpha\n")
    (folder / "src").mkdir()
    if name == "rules":
        return Target(name, lambda data: check_rules(data, folder), RULES, RULE_WORDS)
    guards = [gate(folder, mode) for mode in ("default", "acceptEdits")]
    guards.append(gate(folder, allow=("Bash(git *)", "Bash(echo:*)"), deny=("Bash(rm *)", "Read(./secret/**)")))
    denies = gate(folder, "deny")
    words = (*SHELL_WORDS, *(f"{word} ".encode() for word in (*PLAIN, *READING, *WRAPPERS)))
    return Target(name, lambda data: check_bash(data, guards, denies), COMMANDS, words, has_limit=True)


def check_bash(data: bytes, guards: list[Permissions], denies: Permissions) -> None:
    """A command gets a verdict; a gate that denies everything denies it."""
    call = ToolCall("c", "Bash", {"command": data.decode("utf-8", "surrogateescape")})
    for guard in guards:
        assert guard.decide(call, SPECS["Bash"]).verdict in VERDICTS
    assert denies.decide(call, SPECS["Bash"]).verdict == "deny"


def check_rules(data: bytes, folder: Path) -> None:
    """Rules of any text are rules or are left out; with more deny rules nothing more is allowed."""
    lines = tuple(data.decode("utf-8", "surrogateescape").split("\n"))[:12]
    for line in lines:
        rule = parse_rule(line)
        if rule is not None and rule.content is not None:
            is_exact(rule.content, "git status")
    loose, strict = gate(folder, allow=lines), gate(folder, allow=lines, deny=lines)
    for tool, given in CALLS:
        call = ToolCall("c", tool, given)
        verdict, with_denies = (guard.decide(call, SPECS[tool]).verdict for guard in (loose, strict))
        assert verdict in VERDICTS
        assert with_denies == "deny" or with_denies == verdict or with_denies == "ask", "a deny rule allows a call"
    try:
        loose.apply(({"type": "addRules", "behavior": "allow", "rules": [{"toolName": line} for line in lines]},))
    except BadLine as bad:
        assert bad.message
