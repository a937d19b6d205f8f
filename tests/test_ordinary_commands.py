"""200 ordinary commands of a coding session that only read: none is asked about, and each really runs, confined, with
the output that it has when it runs open."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.helpers.attack_world import World, call
from tests.helpers.gates import bash, gate, run, tree
from tests.helpers.hostile_repositories import git
from yume_shim.types.settings import Rules

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name == "nt", reason="commands of a POSIX shell")

GIT = """
git status
git status -s
git status --short --branch
git status -sb
git status --porcelain
git status --porcelain=v2 --branch
git status -uno
git status --ignored
git diff
git diff --stat
git diff --cached
git diff --staged --stat
git diff HEAD
git diff HEAD~1
git diff HEAD~1 HEAD -- src/app.py
git diff main...feature
git diff --name-only HEAD~1
git diff --name-status main feature
git diff -U1 HEAD~1 -- README.md
git diff --word-diff HEAD~1
git diff -w
git diff --check
git log
git log --oneline
git log --oneline -5
git log --oneline --graph --all
git log --oneline --decorate -n 10
git log -p -1
git log -1 --format=%H
git log --format='%h %an %s' -3
git log --pretty=format:'%h - %s (%cr)' --since=2.weeks
git log --stat -2
git log --follow -- src/app.py
git log -S total -- src
git log -G 'def .*:' --oneline
git log -L 1,3:src/app.py
git log --author=n --oneline
git log --grep=add -i --oneline
git log --since='1 year ago' --until=now --no-merges
git log main..feature --oneline
git log --all --oneline -- README.md
git log -n 3 --name-only
git log --reverse --oneline
git --no-pager log -3
git show
git show HEAD
git show --stat HEAD
git show HEAD:src/app.py
git show HEAD~1 --name-only
git show feature -- README.md
git show v1.0 --no-patch
git blame README.md
git blame -L 1,2 src/app.py
git blame -w -- src/app.py
git branch
git branch -a
git branch -vv
git branch --show-current
git branch --list 'feat*'
git branch --merged
git branch --contains HEAD~1
git tag
git tag -l 'v*'
git tag --sort=-creatordate
git remote -v
git stash list
git stash show -p
git reflog
git reflog -5
git rev-parse HEAD
git rev-parse --short HEAD
git rev-parse --abbrev-ref HEAD
git rev-parse --show-toplevel
git rev-parse --is-inside-work-tree
git rev-list --count HEAD
git ls-files
git ls-files -m
git ls-files --others --exclude-standard
git ls-files 'src/*.py'
git ls-tree -r HEAD --name-only
git grep -n total
git grep -in 'def ' -- 'src/*.py'
git grep -l total HEAD
git describe --tags --always
git describe --always --dirty
git shortlog -sn HEAD
git merge-base main feature
git for-each-ref --sort=-committerdate refs/heads/
git show-ref --heads
git cat-file -p HEAD
git cat-file -t HEAD
git diff-tree --no-commit-id --name-only -r HEAD
git check-ignore -v build/out.txt
git worktree list
git config --get user.name
git count-objects -vH
git symbolic-ref --short HEAD
git --version
"""

FILES = """
ls
ls -la
ls -lah src
ls -1 src tests
ls -R src
ls -lt
ls *.md
ls src/*.py
ls -d */
cat README.md
cat -n src/app.py
cat package.json Makefile
cat src/*.py
head README.md
head -20 src/app.py
head -n 5 README.md
head -n -1 README.md
head -c 100 README.md
tail README.md
tail -20 app.log
tail -n 5 app.log
tail -n +2 data.csv
wc -l README.md
wc -l src/*.py
wc -l *.md
wc -w README.md
grep -n total src/app.py
grep -rn total src
grep -rn 'def ' --include='*.py' .
grep -rl total .
grep -rn --include=*.py --exclude-dir=build total .
grep -i error app.log
grep -c ERROR app.log
grep -v INFO app.log
grep -E 'ERROR|WARN' app.log
grep -A 2 -B 2 ERROR app.log
grep -C3 ERROR app.log
grep -oE '[0-9]+' data.csv
grep -w total src/app.py
grep -q total src/app.py && echo found
grep total *.md
rg total
rg -n 'def ' src
rg -l total
rg --type py total
rg -g '*.py' total
rg --files
rg -i error app.log -C 2
find . -name '*.py'
find . -type f -name '*.md' -not -path './.git/*'
find src -type f
find . -maxdepth 1 -type d
find . -name node_modules -prune -o -name '*.json' -print
find . -mtime -7 -type f
find . -size +1k
find . -type f -empty
find . -iname 'readme*'
find . -path ./.git -prune -o -type f -print
tree
tree -L 2
tree -a -I .git
sed -n '1,3p' src/app.py
sed -n 2p README.md
sed -n '/def/,/return/p' src/app.py
sed 's/total/sum/g' src/app.py
awk '{print $1}' app.log
awk -F, '{print $2}' data.csv
awk 'NR==1' data.csv
sort data.csv
sort -t, -k2 -n data.csv
uniq -c data.csv
cut -d, -f1 data.csv
cut -d ' ' -f 1-2 app.log
tr a-z A-Z < README.md
nl README.md
diff README.md Makefile
diff -u src/app.py tests/test_app.py
cmp README.md README.md
file README.md
file src/*
stat README.md
stat -c '%s %n' README.md
du -sh .
du -sh src tests
du -h --max-depth=1
df -h .
md5sum README.md
sha256sum README.md
xxd -l 16 README.md
od -c README.md
hexdump -C README.md
strings README.md
base64 README.md
jq . package.json
jq -r '.name' package.json
jq '.scripts | keys' package.json
jq -r '.scripts | to_entries[] | "\\(.key)=\\(.value)"' package.json
realpath src
readlink -f src/app.py
basename src/app.py .py
dirname src/app.py
test -f README.md && echo yes
test -d build || echo no
column -t -s, data.csv
rev README.md
tac README.md
"""

SYSTEM = """
pwd
whoami
date
date +%Y-%m-%d
date -u '+%H:%M:%S'
uname -a
id
hostname
which git
which python3 bash
type git
command -v git
python3 --version
node --version
bash --version
ps aux
uptime
free -h
nproc
echo hello
echo "a b" 'c d'
printf '%s\\n' one two
seq 1 3
true
sleep 0
"""

TOGETHER = """
cat app.log | grep ERROR | wc -l
cat data.csv | sort | uniq -c | sort -rn | head -5
cd src && ls -la
cd src && cat app.py
cd src; grep -n total app.py; ls
ls -la && git status
git status && git diff --stat
git log --oneline -3 && git status --short
git diff | head -50
git log --oneline | head -3
git ls-files | wc -l
git diff --name-only HEAD~1 | sort
git show HEAD:README.md | head -2
find . -name '*.py' | wc -l
find src -type f | sort | head
ls src | grep py
ls nothing-here 2>/dev/null || echo missing
ls nothing-here 2>&1 | head -2
cat package.json | jq .name
grep -rn total src | cut -d: -f1 | sort -u
wc -l src/*.py | tail -1
head -5 README.md; tail -5 README.md
timeout 10 git status
time ls
LC_ALL=C sort data.csv
echo --- && cat README.md
cat README.md | sed 's/^/> /'
cat app.log | awk '{print $1}' | sort | uniq -c
git branch -a | grep feature
git log -1 --format=%cd --date=iso
"""

COMMANDS = [line for text in (GIT, FILES, SYSTEM, TOGETHER) for line in text.strip().splitlines()]
VARYING = ("date", "ps ", "uptime", "free", "df ", "time ", "stat ", "du ", "git blame -w")
"""What these print depends on the moment (lines that are not committed have the time of now)."""


def lay_project(space: Path) -> None:
    """A small project with some history."""
    files = {
        "README.md": "# Project\n\nAdds numbers.\ntotal\n",
        "Makefile": "all:\n\techo all\n",
        "package.json": '{"name": "project", "scripts": {"build": "tsc", "test": "jest"}}\n',
        "data.csv": "name,count\na,3\nb,1\na,3\n",
        "app.log": "INFO start\nERROR failed 12\nWARN slow\nINFO end\n",
        ".gitignore": "build/\n",
        "src/app.py": "def total(values):\n    result = sum(values)\n    return result\n",
        "src/util.py": "def one():\n    return 1\n",
        "tests/test_app.py": "from app import total\n",
        "build/out.txt": "x\n",
    }
    for name, text in files.items():
        (space / name).parent.mkdir(exist_ok=True)
        (space / name).write_text(text)
    for words in (
        ("config", "user.name", "n"),
        ("config", "user.email", "e@x"),
        ("checkout", "-q", "-B", "main"),
        ("add", "."),
        ("commit", "-qm", "add the project"),
        ("tag", "v1.0"),
        ("branch", "feature"),
        ("stash", "list"),
    ):
        git(space, *words)
    (space / "README.md").write_text("# Project\n\nAdds numbers.\ntotal of all\n")
    git(space, "commit", "-qam", "say more")
    (space / "src" / "util.py").write_text("def one():\n    return 2\n")
    git(space, "stash", "-q")
    (space / "src" / "app.py").write_text("def total(values):\n    return sum(values)\n")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = World(tmp_path_factory.mktemp("project"))
    lay_project(made.space)
    yield made
    made.close()


def test_there_are_200_of_them() -> None:
    assert len(COMMANDS) >= 200
    assert len(set(COMMANDS)) == len(COMMANDS)


@pytest.mark.parametrize("mode", ["default", "plan", "dontAsk", "acceptEdits"])
def test_none_is_asked_about(world: World, mode: str) -> None:
    guard = gate(world.space, mode)
    assert [
        (command, found.message) for command in COMMANDS if (found := bash(guard, command)).verdict != "allow"
    ] == []


def test_each_runs_confined_as_it_runs_open(world: World) -> None:
    runner, before = world.runner("default", Rules()), tree(world.space)
    different = []
    for number, command in enumerate(COMMANDS):
        if not all(shutil.which(name) for name in ("rg", "tree", "node", "jq") if name in command.split()):
            continue
        finished = call(runner, number, "Bash", command=command)
        if command.startswith("cd "):
            assert not call(runner, number, "Bash", command=f"cd {world.space}").result.is_error
        shown = finished.result.content
        opened = run(command, world.space)
        lines = opened.stdout.decode("utf-8", "replace").splitlines()  # rg does not keep an order
        same = isinstance(shown, str) and (set(lines) <= {*shown.splitlines(), ""} or command.startswith(VARYING))
        if not same or bool(finished.result.is_error) != bool(opened.returncode):
            different.append((command, shown, opened))
    assert not different, "\n\n".join(map(str, different))
    assert tree(world.space) == before
