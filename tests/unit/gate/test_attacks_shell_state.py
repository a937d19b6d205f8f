"""Attacks through the state of the shell: variables, the folder, the order of the parts, the spelling of words.

The rows are tested three times: here by the gate's verdict; here without a gate, where each must do harm; and in
`tests/test_attacks_on_disk.py` through the whole call pipeline, by what is on disk afterwards.
"""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.helpers.gates import bash, gate
from tests.helpers.hostile_state import OpenWorld, template
from tests.helpers.timing import cheap
from yume_shim.gate.read_only import reads
from yume_shim.gate.shell import Word
from yume_shim.gate.shell_builtins import BUILTINS
from yume_shim.types.settings import Rules

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a POSIX shell is spoken here")
ARABIC_THREE = "\u0663"

# ---------------------------------------------------------------- variables, no rules

ASSIGNED = [
    "printf 'abc%n' HOME; git status",
    "printf 'abc%n' HOME && git diff",
    "printf 'abc%ln' HOME; git status",
    "printf 'abc%5n' HOME; git status",
    "printf '%%ab%n' HOME; git status",
    "printf -- 'abc%n' HOME; git status",
    "printf 'abc%n' HOME; cd sub; cd ..; git status",
    'printf "abc%n" HOME\ngit status',
    "printf 'abc%n' PATH; ls",
    "printf 'abc%n' PATH && cat a.txt",
    "printf 'abc%n' PATH; git status",
    "printf 'abc%n' PATH; ls | head -1",
    "LANG=C printf 'abc%n' PATH; ls",
    "printf 'abc%n' PATH >/dev/null; ls",
    "printf -v PATH 3; ls",
    "printf -vPATH 3; ls",
    "printf -v HOME 3; git status",
    "printf -v PATH %s 3; head a.txt",
    "printf 'abc%n' CDPATH; cd sub; cat o.txt",
    "printf -v CDPATH 3; cd sub && cat o.txt",
    "printf -v 'a[$(touch C)]' x",
    "true {HOME}>/dev/null; git status",
    "echo x {PATH}>/dev/null; ls",
    "true {PATH}>/dev/null; cat a.txt",
    "true {PATH}</dev/null; ls",
    "true {PATH}>>/dev/null; ls",
    "true {PATH}>&1; ls",
    "true 2>/dev/null {PATH}>/dev/null; ls",
    "true {HOME}>/dev/null {PATH}>/dev/null; ls",
    "{PATH}>/dev/null true; ls",
    "PATH=3; ls",
    "PATH=3 HOME=3; ls",
    "export PATH=3; ls",
    "export HOME=3 && git status",
    "declare -x HOME=3; git status",
    "typeset PATH=3; ls",
    "readonly PATH=3; ls",
    "read PATH < path.txt; ls",
    "read -r HOME < home.txt; git status",
    "mapfile -t CDPATH < home.txt; cd sub; cat o.txt",
    "readarray -t CDPATH < home.txt; cd sub && cat o.txt",
    "let PATH=3; ls",
    "((PATH=3)); ls",
    ": $((PATH=3)); ls",
    "echo $((HOME=3)); git status",
    ": ${UNSET:=$(touch C)}",
    "for PATH in 3; do ls; done",
    "getopts x: PATH -x 3; true & wait -p PATH; unset PATH; PATH=3; ls",
    "hash -p ./evil.sh ls; ls",
    "BASH_CMDS[ls]=./evil.sh; ls",
    "set -- $(touch C); ls",
    "CDPATH=3 cd sub; cat o.txt",
    "CDPATH=3; cd sub && cat o.txt",
    "HOME=3 git status",
    "LANGUAGE=../../x PATH=3 ls",
]

# ---------------------------------------------------------------- variables, with rules that allow the builtin

BUILTINS_ALLOWED = ("printf", "read", "mapfile", "readarray", "let", "hash", "test", "wait", "getopts", "true")
BUILTIN_RULES = Rules(allow=tuple(f"Bash({name}:*)" for name in BUILTINS_ALLOWED))
ASSIGNED_BY_RULE = [
    "printf -v PATH 3; ls",
    "printf 'abc%n' HOME; git status",
    "printf -v PATH 3; cat a.txt | head -1",
    "read PATH < path.txt; ls",
    "read HOME < home.txt && git status",
    "mapfile -t CDPATH < home.txt; cd sub; cat o.txt",
    "readarray -t CDPATH < home.txt && cd sub && cat o.txt",
    "let PATH=3; ls",
    "let HOME=3; git status",
    "let CDPATH=3; cd sub; cat o.txt",
    "hash -p ./evil.sh ls; ls",
    "hash -p ./evil.sh wc && wc a.txt",
    "let 'a[$(touch C)]=1'",
    "let 'a[`touch C`]=1'",
    "read 'a[$(touch C)]' < a.txt",
    "test -v 'a[$(touch C)]'",
    "printf -v 'a[$(touch C)]' x",
    "true & wait -n -p 'a[$(touch C)]'",
    "true {PATH}>/dev/null; ls",
]

# ---------------------------------------------------------------- the folder

MOVED = [
    "time cd rep && git status",
    "time -p cd rep && git status",
    "command cd rep && git status",
    "command -p cd rep && git status",
    "command -- cd rep; git status",
    "builtin cd rep && git status",
    "builtin -- cd rep; git status",
    "time command cd rep; git status",
    "time builtin cd rep; git status",
    "time time cd rep; git status",
    "cd rep && git status",
    "cd ./rep; git diff",
    "cd -P rep && git status",
    "cd -L rep && git status",
    "cd -- rep && git status",
    "cd -e -P rep; git status",
    "pushd rep && git status",
    "time pushd rep && git status",
    "cd rep/inner/.. && git status",
    "cd sub; cd ../rep; git status",
    "time cd ..; cat outside/o.txt",
    "time cd .. && time cat outside/o.txt",
    "command cd ..; cat outside/o.txt",
    "cd one/link/.. && cat x",
    "cd one/link/..; cat x",
    "cd ./one/link/../. && cat x",
    "cd one/link; cd ..; cat x",
    "cd one && cd link && cd .. && cat x",
    "cd one/link && cd .. && cat < x",
    "time cd one/link/.. && cat x",
    "cd one/link/../link/.. && head x",
    "cd one/link/.. && cat w/o.txt",
    "cd one/link/.. && cd w && cat o.txt",
    "cd sub; cd -; cd rep; git status",
    "cd\ncd -; cd rep; git status",
    "eval 'cd rep'; git status",
    "cd () { builtin cd rep; }; cd sub; git status",
    "pushd one/link/.. > /dev/null; cat x",
]
WRITES_WHERE_IT_MOVED = [
    "cd one/link/.. && echo y > w/new",
    "cd one/link/.. && touch w/new",
    "cd one/link; cd ..; touch w/new",
    "time cd .. && touch outside/new",
    "command cd .. ; touch outside/new",
    "builtin cd .. && mkdir outside/new",
    "cd one/link/.. && cp ../a.txt w/new",
    "cd one/link/.. && mv ../a.txt w/new",
    "cd one/link/.. && sed -i s/OUT/IN/ x",
    "cd -P one/link/..; cd -; touch one/w/new",
]

# ---------------------------------------------------------------- digits

ODD_DIGITS = [
    f"echo x >&{ARABIC_THREE}",
    f"echo x >& {ARABIC_THREE}",
    f"ls >&{ARABIC_THREE}",
    f"ls a.txt >&1{ARABIC_THREE}",
    f"git status >&{ARABIC_THREE}",
    "echo x >&\uff13",
    "echo x >&\u0967",
    "xxd a.txt 99999999999>/dev/null",
    f"echo x > /dev/null >&{ARABIC_THREE}{ARABIC_THREE}",
]

# ---------------------------------------------------------------- names, mode acceptEdits

MOVED_NAMES = [
    "mv n n3 && echo x > n3/out/new",
    "mv n n3; echo x > n3/out/new",
    "mv n n3\necho x > n3/out/new",
    "mv n n3 && touch n3/out/new",
    "mv n n3 && mkdir n3/out/new",
    "mv n n3 && cp a.txt n3/out/new",
    "mv n n3 && cp a.txt n3/out",
    "mv n n3 && mv a.txt n3/out/new",
    "mv n n3 && cat n3/out/o.txt",
    "mv n n3 && cat n3/file",
    "mv n n3 && head < n3/file",
    "mv n n3 && sed -i s/OUT/IN/ n3/file",
    "mv n n3 && cd n3/out && cat o.txt",
    "mv n n3 && cat ./n3/file",
    "mv n n3 && cat sub/../n3/file",
    "mv n n3 && cat n3/in/../file",
    "mv n n3 && cat n3/*",
    "mv n n3 && cat n3/f*",
    "mv n n3 && mv n3 n4 && cat n4/file",
    "mv n sub && cat sub/n/file",
    "mv -T n n3 && cat n3/file",
    "mv n/file moved && cat moved",
    "mv n/file sub && cat sub/file",
    "mv n/file . && cat file",
    "mv n/file . && cat f*",
    "mv n/file sub && cat sub/*",
    "mv n/out moved && echo x > moved/new",
    "mv n m sub && cat sub/m/file",
    "time mv n n3 && cat n3/file",
    "cp -r n n3 && cat n3/file",
    "cp -R n n3 && echo x > n3/out/new",
    "cp -a n n3 && touch n3/out/new",
    "cp -P n/file copied && cat copied",
    "cp -a n/file sub && cat sub/file",
    "cp -r n sub && cat sub/n/file",
    "mkdir n3 && mv n n3 && cat n3/n/file",
    "cd sub && mv ../n n3 && cat n3/file",
    "mv n n3 && mv n3/file plain/q && cat plain/q",
    "mv n/file plain/q && mv plain moved && cat moved/q",
    "mv n/file plain/q && cp -r plain copied && cat copied/q",
    "mkdir objects refs && echo 'ref: refs/heads/x' > HEAD && rm -r rep/.git && git status && touch C",
    "mv n n3 & sleep 0.3; cat n3/file",
]
MAKER_RULES = Rules(allow=tuple(f"Bash({name}:*)" for name in ("ln", "mv", "tar", "cp", "unzip", "git checkout")))
LINKED_BY_RULE = [
    "ln -s ../outside new && cat new/o.txt",
    "ln -s ../outside/o.txt new; cat new",
    "ln -s ../outside/o.txt new; head < new",
    "ln -sfn ../outside sub/new && cat sub/new/o.txt",
    "ln -s ../../outside/o.txt sub && cat sub/o.txt",
    "ln -s ../outside/o.txt && cat o.txt",
    "ln -s ../outside/o.txt a2.txt && cat *.txt",
    "ln -t . -s ../outside/o.txt && cat o.txt",
    "ln --target-directory=. -s ../outside/o.txt && cat o.txt",
    "ln ../outside/o.txt hard && cat hard",
    "mv n n3 && cat n3/file",
    "cp -r n n3 && cat n3/file",
    "tar cf - n --transform s/^n/n5/ | tar xf - && cat n5/file",
    "ln -s ../outside new && cd new && cat o.txt",
]

# ---------------------------------------------------------------- words of an allowed command

OK_RULE = Rules(allow=("Bash(./ok.sh:*)",))
WORD_BOUNDARIES = [
    "time './ok.sh x/evil'",
    "time -p './ok.sh x/evil'",
    'time "./ok.sh x/evil"',
    "time ./ok.sh\\ x/evil",
    "nohup './ok.sh x/evil'",
    "nice './ok.sh x/evil'",
    "nice -n 5 './ok.sh x/evil'",
    "timeout 5 './ok.sh x/evil'",
    "timeout 5 nice './ok.sh x/evil' y",
    "stdbuf -oL './ok.sh x/evil'",
    "time timeout 5 './ok.sh x/evil'",
    "'./ok.sh x/evil'",
    "./ok.sh' 'x/evil",
    f"timeout {ARABIC_THREE} true; './ok.sh x/evil'",
]

# ---------------------------------------------------------------- bypassPermissions with denies

TOUCH_RULE = Rules(deny=("Bash(touch:*)",))
HIDDEN_CODE = [
    "a[$(touch C)]=1",
    "read 'a[$(touch C)]' < a.txt",
    "printf -v 'a[$(touch C)]' x",
    "let 'a[$(touch C)]=1'",
    "test -v 'a[$(touch C)]'",
    "[ -v 'a[$(touch C)]' ]",
    "[[ -v 'a[$(touch C)]' ]]",
    "[[ 'a[$(touch C)]' -eq 0 ]]",
    "(( a[$(touch C)] ))",
    "(( 'a[$(touch C)]' ))",
    "declare 'a[$(touch C)]=1'",
    "export 'a[$(touch C)]=1'; declare -a 'a[$(touch C)]=1'",
    "a=(x); unset 'a[$(touch C)]'",
    "declare -i x='a[$(touch C)]'",
    "x='a[$(touch C)]'; (( x ))",
    "x='a[$(touch C)]'; echo $((x))",
    "x='a[$(touch C)]'; let x",
    "x='$(touch C)'; echo \"${x@P}\"",
    "PS4='$(touch C)'; set -x; true",
    "hash -p /usr/bin/touch ls; ls C",
    "BASH_CMDS[ls]=/usr/bin/touch; ls C",
    "shopt -s expand_aliases; BASH_ALIASES[t]=touch\nt C",
    "GIT_EXTERNAL_DIFF='touch C;' git diff --no-index --ext-diff a.txt sub/c.py",
    "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.fsmonitor GIT_CONFIG_VALUE_0='touch C' git status",
    "EDITOR='touch C;' git config --edit",
    "mapfile -C 'touch C; :' -c 1 < a.txt",
    "true {a[$(touch C)]}>/dev/null",
    "coproc touch C; sleep 0.2",
    "echo ${x:=$(touch C)}",
    "trap 'touch C' DEBUG; true",
]
EVIL_RULE = Rules(deny=("Bash(*evil*)",))
OUTSIDE_RULE = Rules(deny=("Edit(//**/outside/**)", "Edit(//**/outside)"))
DIGIT_RULE = Rules(deny=("Edit(./**)",))
READ_RULE = Rules(deny=("Read(./hid/**)", "Read(./secret.txt)"))
HIDDEN_FILES = [
    "time cat secret.txt",
    "time grep -r SECRET .",
    "nice grep -r SECRET .",
    "env grep -r SECRET hid",
    "command cat *",
    "time cat s*",
    "sh -c 'cat secret.txt'",
    "bash -c 'cd hid; cat secret.txt'",
    "bash -c 'cat s*'",
    "eval 'cat secret.txt'",
    "eval 'cd hid'; cat secret.txt",
    "time cd hid; cat secret.txt",
    "command cd hid && cat secret.txt",
    "builtin cd hid; cat secret.txt",
    "cd ..; cd work; cat secret.txt",
    "for i in 1; do cd hid; done; cat secret.txt",
    "f() { cd ..; }; f; cat work/secret.txt",
    "for i in 1 2; do cd ..; done; cat */work/secret.txt",
    "CDPATH=$PWD; cd sub; cd hid; cat secret.txt",
    "HOME=$PWD; cat ~/secret.txt",
    "HOME=$PWD; cd; cat secret.txt",
    "export HOME=$PWD; cat ~/hid/secret.txt",
    "read -r HOME <<< $PWD; cat ~/secret.txt",
    "printf -v HOME %s $PWD; cat ~/secret.txt",
    "F=secret.txt; cat < $F",
    "cat <> secret.txt",
    "cat 0<>secret.txt",
    "while read -r l; do echo $l; done < secret.txt",
    "mapfile l < secret.txt; echo ${l[0]}",
    "ln -s . e; cat e/secret.txt",
    "ln -s hid e && cat e/secret.txt",
    "ln -sn . sub/e; cat sub/e/../secret.txt",
    "env ln -s . e; cat e/secret.txt",
    "time ln -s hid e; cat e/*",
    "mv hid e && cat e/secret.txt",
    "sh -c 'ln -s hid e'; cat e/secret.txt",
    "C=cat; $C secret.txt",
    "echo $(<secret.txt)",
    'echo "$(< hid/secret.txt)"',
    "F=secret.txt; echo $(<$F)",
    "echo secret.txt | xargs cat",
    "ls | xargs -n 1 head",
    "exec 3< secret.txt; cat <&3",
    "(cd hid && cat secret.txt)",
    "env -C hid cat secret.txt",
    "env -iC hid /bin/cat secret.txt",
    "env --chdir=hid cat secret.txt",
    "git -C hid diff --no-index /dev/null secret.txt",
    "D=hid; env -C $D cat secret.txt",
    "echo 'cat secret.txt' | bash",
    "git -c alias.x='!cat secret.txt' x",
    "flock o -c 'cat secret.txt'",
    "script -qc 'cat secret.txt' /dev/null",
]
LOCK_RULE = Rules(deny=("Edit(./locked/**)",))
LOCKED_FILES = [
    "time touch locked/g",
    "sh -c 'echo x > locked/f'",
    "eval 'cd locked'; echo x > f",
    "time cd locked; echo x > f",
    "command cd locked && rm f",
    "ln -s locked e; echo x > e/f",
    "ln -s . e && rm e/locked/f",
    "mv locked e; echo x > e/f",
    "HOME=$PWD; echo x > ~/locked/f",
    "CDPATH=$PWD; cd sub; cd locked; echo x > f",
    "X=locked; cd $X; echo x > f",
    "for i in 1; do cd locked; done; echo x > f",
    "echo x >& locked/f",
    "rm -r *",
    "rm -rf ./*",
    "rm -r l*",
    "rm -rf $PWD/locked",
    "X=locked; rm -r $X",
    "X=locked/f; echo x > $X",
    "mv lo* e",
    "cd ..; rm -rf work",
    "time rm -r l*",
]

CAREFUL = ("default", "plan", "dontAsk", "acceptEdits")
EVERY = (*CAREFUL, "bypassPermissions")
TABLES = {
    "assigned": (ASSIGNED, Rules(), CAREFUL),
    "assigned by rule": (ASSIGNED_BY_RULE, BUILTIN_RULES, CAREFUL),
    "moved": (MOVED, Rules(), CAREFUL),
    "writes where it moved": (WRITES_WHERE_IT_MOVED, Rules(), CAREFUL),
    "writes where it moved, denied": (WRITES_WHERE_IT_MOVED, OUTSIDE_RULE, EVERY),
    "digits": (ODD_DIGITS, Rules(), CAREFUL),
    "digits, denied": (ODD_DIGITS, DIGIT_RULE, EVERY),
    "names": (MOVED_NAMES, Rules(), CAREFUL),
    "linked by rule": (LINKED_BY_RULE, MAKER_RULES, CAREFUL),
    "words": (WORD_BOUNDARIES, OK_RULE, CAREFUL),
    "words, denied": (WORD_BOUNDARIES, EVIL_RULE, EVERY),
    "hidden code": (HIDDEN_CODE, TOUCH_RULE, EVERY),
    "hidden files": (HIDDEN_FILES, READ_RULE, EVERY),
    "locked files": (LOCKED_FILES, LOCK_RULE, EVERY),
}
"""Rows, rules, and the modes in which each row must be refused."""


@pytest.fixture(scope="module")
def traps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return template(tmp_path_factory.mktemp("traps"))


@pytest.mark.parametrize(
    ("table", "command"), [(name, command) for name, (rows, _, _) in TABLES.items() for command in rows]
)
def test_the_command_is_refused_or_asked_about_in_every_mode(traps: Path, table: str, command: str) -> None:
    _, rules, modes = TABLES[table]
    for mode in modes:
        guard = gate(traps / "work", mode, allow=rules.allow, deny=rules.deny)
        decision = bash(guard, command)
        assert decision.verdict != "allow", (mode, decision)


def test_every_row_does_harm_without_a_gate(tmp_path: Path) -> None:
    """The tables would be worthless if their rows did nothing."""
    world = OpenWorld(tmp_path)
    rows = dict.fromkeys(command for commands, _, _ in TABLES.values() for command in commands)
    assert [command for command in rows if not world.do_harm(command)] == []


# ---------------------------------------------------------------- ordinary commands stay unasked

ORDINARY = [
    "time ls",
    "time -p ls sub",
    "time cd sub && ls",
    "cd sub && ls -la",
    "cd plain && cat p.txt | head -1",
    "cd deep/er && pwd",
    "printf '%s\\n' x && ls",
    "printf '100%%\\n'; ls",
    "printf '%5d|%-3s\\n' 3 n; git status",
    "echo {HOME} > /dev/null; ls",
    "echo x{PATH} >/dev/null; ls",
    "echo x 2>&1; ls 1>&2",
    "ls 3>/dev/null",
    "TZ=Europe/Berlin date",
    "LC_ALL=en_US.UTF-8 sort a.txt",
    "LANG=C ls && git status",
    "git status && git diff --stat && git log --oneline -3",
    "cat a.txt | sort | uniq -c | head -5",
    "echo it costs 5% now; ls",
]
ORDINARY_EDITS = [
    "mkdir new && echo x > new/f",
    "mkdir -p new/deep && touch new/deep/f && ls new",
    "mv a.txt b.txt && cat b.txt",
    "cp a.txt b.txt && sed -i s/alpha/x/ b.txt && head b.txt",
    "cp -r plain copied && cat copied/p.txt",
    "mv plain moved && ls moved && cat moved/p.txt",
    "rm -rf plain && mkdir plain && echo x > plain/q",
    "touch new.txt && git status",
    "echo x > new.txt && cat new.txt && rm new.txt",
    "mv n n3 && ls",
    "mv n n3 && cat a.txt",
    "rm -r n && cat a.txt sub/c.py",
    "mv a.txt sub && cat sub/*",
]


@pytest.mark.parametrize("command", ORDINARY)
def test_ordinary_commands_stay_unasked(traps: Path, command: str) -> None:
    for mode in ("default", "plan", "dontAsk", "acceptEdits"):
        decision = bash(gate(traps / "work", mode), command)
        assert decision.verdict == "allow", (mode, decision)


@pytest.mark.parametrize("command", ORDINARY_EDITS)
def test_ordinary_edits_stay_unasked_in_accept_edits(traps: Path, command: str) -> None:
    assert bash(gate(traps / "work", "acceptEdits"), command).verdict == "allow"


ORDINARY_UNDER_DENIES = [
    'for f in *.py; do stat "$f"; done',
    "for i in 1 2 3; do echo $i; done",
    "x=5; echo $((x + 1))",
    "if [ -f a.txt ]; then cat a.txt; fi",
    "[[ -n $HOME ]] && ls",
    "awk '{print $1}' a.txt",
    "export NODE_ENV=test && ls",
    "cd sub && cat c.py",
    "bash -c 'ls sub'",
    "time cat a.txt",
    "mv plain moved && cat moved/p.txt",
    "printf '%s' x > out.txt",
    "git checkout -b x && npm test",
    "git stash && git log --oneline && make",
    "unzip x.zip && ./configure",
    "rm -rf plain",
    "cp a.txt plain",
    "rm sub/*.pyc",
    "echo x > new.txt && rm new.txt",
    'read -r line < a.txt && echo "$line"',
    "git commit -m '" + "a long message " * 400 + "'",
]


@pytest.mark.parametrize("command", ORDINARY_UNDER_DENIES)
def test_denies_of_other_things_do_not_make_ordinary_commands_ask(traps: Path, command: str) -> None:
    guard = gate(traps / "work", "bypassPermissions", deny=("Bash(touch:*)", "Read(./hid/**)", "Edit(./locked/**)"))
    decision = bash(guard, command)
    assert decision.verdict == "allow", decision


def test_a_single_part_that_changes_the_shell_is_allowed_by_its_rule(traps: Path) -> None:
    guard = gate(traps / "work", allow=BUILTIN_RULES.allow)
    assert [bash(guard, c).verdict for c in ("read x", "let x=1", "printf '%s' x; ls", "set -e; ls")] == [
        "allow",
        "allow",
        "allow",
        "ask",
    ]


def test_an_allow_rule_matches_behind_a_wrapper_word_by_word(traps: Path) -> None:
    guard = gate(traps / "work", allow=("Bash(./ok.sh:*)", "Bash(npm run *)", "Bash(./fix.sh x)"))
    allowed = (
        "time ./ok.sh x/evil",
        "timeout 5 ./ok.sh 'a b'",
        "nice ./ok.sh",
        "time npm run 'a b'",
        "time ./fix.sh x",
    )
    refused = ("time './ok.sh' && './ok.sh y'", "time npm 'run x'", "time 'npm run' x", "time './fix.sh x'")
    assert [bash(guard, c).verdict for c in (*allowed, *refused)] == ["allow"] * 5 + ["ask"] * 4


def test_a_rule_for_git_does_not_make_reading_git_commands_ask(traps: Path) -> None:
    guard = gate(traps / "work", allow=("Bash(git checkout:*)", "Bash(git log:*)"))
    commands = ("git log merge && cat a.txt", "git checkout x && git status", "git checkout x && cat a.txt")
    assert [bash(guard, command).verdict for command in commands] == ["allow", "allow", "ask"]


def test_no_builtin_that_changes_the_shell_counts_as_reading() -> None:
    reading = {name for name in BUILTINS if reads((Word(name), Word("x"))) is not None}
    assert {BUILTINS[name] for name in reading - {"printf"}} <= {"calm"}


def test_every_builtin_of_bash_has_its_fact() -> None:
    listed = subprocess.run(["bash", "-c", "compgen -b"], capture_output=True, text=True, check=True).stdout.split()
    assert set(listed) - set(BUILTINS) == set()


# ---------------------------------------------------------------- the gate's own time

WORDS = " ".join(f"w{number}" for number in range(20_000))
SLOW = {
    "open case arms": "case x in " + "a) " * 20_000,
    "case arms": "case x in\n" + "".join(f"a{number}) ls x{number};;\n" for number in range(4_500)) + "esac",
    "angles": "<" * 60_000,
    "functions": "a() " * 15_000,
    "words after cds": "; ".join(f"cd s{number}" for number in range(14)) + "; cat " + WORDS,
    "words": "cat " + WORDS,
    "shells": "; ".join(f"sh -c 'ls {number}'" for number in range(2_000)),
    "wrappers": "; ".join(["env " + "a " * 60] * 300),
    "pipes": "a|" * 30_000 + "a",
    "moves": "; ".join(f"mv a{number} b{number}" for number in range(1_000)),
    "here-documents": "cat <<E\n" * 5_000,
    "stars": "x " * 30_000,
}


@pytest.mark.parametrize("name", SLOW)
def test_a_command_that_takes_too_long_to_judge_is_asked_about(traps: Path, name: str) -> None:
    denies = ("Bash(touch:*)", "Bash(* rm * -rf * x)", "Read(./hid/**)", "Edit(./locked/**)")
    bash(gate(traps / "work"), "ls")  # loads the parser
    for mode in ("bypassPermissions", CAREFUL[list(SLOW).index(name) % len(CAREFUL)]):  # each mode has its rows
        guard = gate(traps / "work", mode, deny=denies)
        with cheap(2.0, this_thread=True):
            verdict = bash(guard, SLOW[name]).verdict
        assert verdict != "allow", (name, mode)


def test_a_command_of_many_parts_takes_no_longer_where_no_rule_denies(traps: Path) -> None:
    with cheap(2.0, this_thread=True):
        assert bash(gate(traps / "work"), "echo x; " + ">|" * 16_000).verdict == "ask"


def test_a_denied_command_is_still_found_in_a_text_that_is_too_long_to_parse(traps: Path) -> None:
    guard = gate(traps / "work", "bypassPermissions", deny=("Bash(touch:*)",))
    assert bash(guard, "case x in " + "a) " * 20_000 + "\ntouch C").verdict == "deny"
    assert bash(guard, "true; " * 40_000 + "touch C").verdict == "ask"


def test_a_word_that_is_too_long_for_a_path_is_asked_about(traps: Path) -> None:
    assert [
        bash(gate(traps / "work", mode), "cat " + "x/" * 40_000).verdict for mode in ("default", "acceptEdits")
    ] == [
        "ask",
        "ask",
    ]


def test_a_long_command_with_nothing_to_protect_runs_in_bypass(traps: Path) -> None:
    text = "cat > big.txt <<'END'\n" + "it's a `line` of $text (with) {marks}\n" * 3_000 + "END\n"
    assert bash(gate(traps / "work", "bypassPermissions"), text).verdict == "allow"
    assert bash(gate(traps / "work", "bypassPermissions", deny=("Bash(touch:*)",)), text).verdict == "allow"
