"""Attacks through flags and operands of single commands: what looks like a value is a flag, an operand is an output
file, a pattern expands to a flag, a folder is merged with another.

The rows are also called through the whole pipeline in `tests/test_attacks_on_disk.py`.
"""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.helpers.gates import bash, gate, run, tree

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a POSIX shell is spoken here")
IDENTITY = ("-c", "user.name=n", "-c", "user.email=e@x", "-c", "commit.gpgsign=false")


def lay_traps(space: Path, outside: Path) -> None:
    """Files and folders that make the rows below work."""
    (space / "ab.txt").write_text("alpha\n")
    (space / "list").write_text(f"{outside}/o.txt\n")
    for name in ("one", "two"):
        (space / name).mkdir()
        (space / name / "o.txt").write_text("inside\n")
    (space / "two" / "o.txt").unlink()
    (space / "two" / "o.txt").symlink_to(outside / "o.txt")
    (space / "dash").mkdir()
    (space / "dash" / "magic").write_text("0 string alpha letters\n")
    for name in ("-C", "-mmagic", "--files0-from=names"):
        (space / "dash" / name).write_text("")
    (space / "evil" / ".vscode").mkdir(parents=True)
    (space / "evil" / ".vscode" / "tasks.json").write_text("{}")
    (space / "evil" / "o.txt").write_text("EVIL\n")
    (space / "evil" / "x\\o.txt").write_text("EVIL\n")
    (space / "plain" / "git").mkdir(parents=True)
    (space / "plain" / "git" / "config").write_text("[core]\n")
    (space / "evil" / "h.txt").write_text("EVIL\n")
    (outside / "h.txt").write_text("OUTSIDE\n")
    (space / "hard").mkdir()
    (space / "hard.txt").hardlink_to(outside / "h.txt")
    (space / "hard" / "h.txt").hardlink_to(outside / "h.txt")
    (space / "full").mkdir()
    (space / "full" / "o.txt").symlink_to(outside / "o.txt")
    (space / "full" / "x\\o.txt").symlink_to(outside / "o.txt")
    for words in (("add", "a.txt"), ("commit", "-qm", "m"), ("commit", "-qm", "n", "--allow-empty")):
        subprocess.run(["git", *IDENTITY, *words], cwd=space, check=True)
    (space / "a.txt").write_text("alpha\nbeta\ngamma\n")
    subprocess.run(["git", *IDENTITY, "stash", "-q"], cwd=space, check=True)


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One workspace for all rows: none may change it."""
    base = tmp_path_factory.mktemp("flags")
    folder, outside = base / "work", base / "outside"
    (folder / "sub").mkdir(parents=True)
    outside.mkdir()
    (folder / "a.txt").write_text("alpha\nbeta\n")
    (outside / "o.txt").write_text("OUTSIDE\n")
    subprocess.run(["git", "init", "-q", "."], cwd=folder, check=True)
    lay_traps(folder, outside)
    return folder


WRITING = [
    "git stash list -pn --output=C",
    "git log -n1 --output=C",
    "git show --output=C",
    "git diff HEAD~1 --output=C",
    "git diff-tree -p --output=C HEAD",
    "git reflog --output=C -p",
    "git whatchanged --output=C",
    "git stash show -p --output=C",
    "xxd -pl a.txt C",
    "xxd -pc a.txt C",
    "xxd -ul a.txt C",
    "xxd -pg a.txt C",
    "xxd a.txt C",
    "xxd -p a.txt C",
    "xxd a*",
    "uniq a*",
    "uniq -c a*",
    "uniq a.txt -c C",
    "uniq -- a.txt C",
    "sort a.txt -oC",
    "sort -no C a.txt",
    "sort -u a.txt --outp=C",
    "sort -t, -oC a.txt",
    "git branch -q new",
    "git symbolic-ref refs/x refs/y",
    "git reflog delete HEAD@{0}",
    "git reflog expire --expire=now --all",
    "git config x.y z",
    "git config --get-all x.y; git config --add x.y z",
    "sed 's/a/b/w C' a.txt",
    "sed -n '/[/]/w C' a.txt; sed -n '$!w C' a.txt",
    "sed -e 1p -e 'w C' a.txt",
    "sed -n '1,2w C' a.txt",
    "sed --expression='w C' a.txt",
    "sed '1e touch C' a.txt",
    "sed 's/alpha/touch C/e' a.txt",
    "sed -n '1{p;w C\n}' a.txt",
    "sed -i.bak 1d a.txt",
    "awk '{print > \"C\"}' a.txt",
    "awk '{print $1 > \"C\"}' a.txt",
    "awk '{print $1 | \"cat > C\"}' a.txt",
    "awk 'BEGIN{system(\"touch C\")}'",
    'awk \'NR==1{print "x" >"C"}\' a.txt',
    'awk -F: -f list; awk \'BEGIN{printf "x" > "C"}\'',
    "awk '{print $1} END{print > \"C\"}' a.txt",
    "awk -v x=1 'BEGIN{print 1 > \"C\"}'",
    "find . -maxdepth 0 -fprint C",
    "find . -maxdepth 0 -fprintf C x",
]
"""Each makes or changes a file, if it runs."""

LEAKING = [
    "strings @list",
    "strings -n 3 @list",
    "strings -- @list",
    "strings a.txt @list",
    "diff one two",
    "diff -u one two/",
    "diff two one",
    "diff one/o.txt two",
    "diff two one/o.txt",
    "diff -N one two",
    "grep -f list -c a.txt; cat two/o.txt",
    "cat two/*",
    "head -n 5 two/*",
    "jq -nR --rawfile x two/o.txt '$x'",
    "date -f two/o.txt",
    "sed -n p two/o.txt",
    "awk '{print}' two/o.txt",
    "awk '{print $1}' ../outside/o.txt",
    "awk 'BEGIN{while((getline l < \"../outside/o.txt\")>0) print l}'",
    "sed 1r../outside/o.txt a.txt",
    "sed -n 'R ../outside/o.txt' a.txt",
    "test -e ../outside/o.txt && cat ../outside/o.txt",
    "git diff --no-index one two/o.txt; cat two/o.txt",
    "git blame --contents ../outside/o.txt a.txt",
    "git blame --contents=two/o.txt a.txt",
]
"""Each reads a file outside, if it runs."""

ASKED = [
    "git log -p -n --output=C",
    "git log -1 --outp=C",
    "git log -1 -p --outpu=C -- a.txt",
    "git stash show --outpu=C",
    "cd dash && file *",
    "cd dash; file -- magic -C -m magic; file *",
    "git branch --list x -f --no-list new",
    "git tag new -n",
    "git tag -mx new",
    "find . -name -fprint C -fprint C",
    "find . -maxdepth 0 -newermt -fls C -o -fls C",
    "wc --files0-from=list",
    "file -f list",
    "file -flist",
    "file -bf list",
    "du --files0-from=list",
    "sort --files0-from=list",
    "xxd -p two/o.txt",
    "base64 -- ../outside/o.txt",
    "git grep --no-index OUTSIDE ../outside",
    "git grep -f ../outside/o.txt",
    "git log -gS --output=C",
    "git log -iG --output=C",
    "git log -S --output=C",
    "git log -n -- --output=C",
    "git log --author --output=C",
    "git log --since --output=C HEAD",
    "git log --max-count --output=C",
    "git rev-list -n --output=C HEAD",
    "git blame -lL --contents=x a.txt",
    "git shortlog -sno C",
    "git diff -RS --output=C",
    "git grep -nO x",
    "git grep -nOcat x",
    "git grep -e --open-files-in-pager=x",
    "git grep -A --open-files-in-pager x",
    "git branch -vD main",
    "git branch --contains -D main",
    "git branch --sort -D main",
    "git tag -ld x",
    "git tag --sort -d v1",
    "git branch --format='%G?'",
    "git ls-files -ox --exclude-from=list",
    "git cat-file -p --batch-all-objects",
    "git rev-parse --disambiguate=0000",
    "git config --get url.x.insteadof",
    "git config --get-regexp .",
    "git config --list",
    "git config -l",
    "git config --get http.extraheader",
    "git config --get alias.x",
    "tree -Lo 2 C",
    "tree -LR 2 C",
    "tree -aL 2 C",
    "tree -Io x C",
    "tree -Ifoo C",
    "tree -PR x",
    "tree --fromfile list",
    "tree -L -o C",
    "date -Id 01010000",
    "date -uId 01010000",
    "date -us 12:00",
    "date -d now 01010000",
    "date --date now 01010000",
    "date -d -s12:00",
    "head -n --retry a.txt",
    "tail -n -f a.txt",
    "tail -n --follow a.txt",
    "tail -nf a.txt -F",
    "sort -k -oC a.txt",
    "sort -t -oC a.txt",
    "sort -k --output=C a.txt",
    "sort --key --output=C a.txt",
    "sort --field-separator -oC a.txt",
    "sort -k --compress-program=x a.txt",
    "cut -d --output-delimiter=x -f1 a.txt --complemen",
    "rg -g --pre=x y",
    "rg -A --pre=x y",
    "rg -e --pre=./x",
    "rg --type --pre=x y",
    "rg --glob -z y",
    "rg -nz y",
    "rg --search-zip y",
    "rg --hostname-bin=x y",
    "rg --follow y",
    "rg -nL y",
    "rg --pre-glob=x y",
    "grep -e -f list a.txt",
    "grep -A -f list a.txt",
    "grep --regexp --file=list a.txt",
    "grep -nR x .",
    "grep -rS x",
    "grep --exclude-from=list x a.txt",
    "grep --dereference-recursive x .",
    "ls -L two",
    "ls -H two",
    "ls --dereference two",
    "ls -I --dereference two",
    "du -L .",
    "du -X list .",
    "file -z a.txt",
    "file -s a.txt",
    "file -kC a.txt",
    "file -m list a.txt",
    "file --compile -m magic",
    "od -w --traditional a.txt",
    "hexdump -f list a.txt",
    "hexdump -e '1/1 \"%x\"' a.txt",
    "hexdump -n -flist a.txt",
    "xxd -r a.txt",
    "xxd -revert a.txt",
    "xxd -l -r a.txt",
    "xxd -len a.txt C",
    "xxd -seek a.txt C",
    "xxd -cols a.txt C",
    "xxd -s -r a.txt",
    "column -t --table-header-repeat=x a.txt",
    "diff -l a.txt ab.txt",
    "diff --paginate a.txt ab.txt",
    "diff -ul a.txt ab.txt",
    "diff -r one two",
    "diff -U -r one two",
    "diff --from-file=../outside/o.txt a.txt",
    "diff -X list one two",
    "cmp a.txt ab.txt ../outside/o.txt",
    "jq -nL . x",
    "jq --arg x --rawfile y two/o.txt",
    "jq --arg a -f list",
    "jq -n '\"x\"|modulemeta'",
    "jq -n 'include \"x\"; 1'",
    "jq -n '$__prog_args'",
    "jq -n '[env]'",
    "jq --slurpfile x two/o.txt . b.json",
    "jq --from-file list",
    "jq -nf list",
    "base64 -di a.txt C",
    "uniq -f -c a.txt C",
    "sha256sum --check list",
    "md5sum -c list",
    "cksum -c list",
    "b2sum -bc list",
    "stat -c --help -L two/o.txt",
    "realpath two/o.txt",
    "printf '%n' PATH",
    "printf 'abc%n' HOME",
    "printf '%5n' x",
    "printf '%s%ln' a PATH",
    "printf '%%%n' PATH",
    "printf -v PATH .",
    "printf -- '%n' PATH",
    "printf *",
    "command ls",
    "command -p ls",
    "command -v -p x",
    "command -vp ls",
    "test -v x",
    "test -v 'a[$(touch C)]'",
    "test a -eq b",
    "test -f a.txt -o -v x",
    "test -R x",
    "test a.txt -nt ../outside/o.txt",
    "test -f ../outside/o.txt",
    "sed -f list a.txt",
    "sed --file=list a.txt",
    "sed -nf list a.txt",
    "sed -s -i 1d a.txt",
    "sed 's/a/b/;w C' a.txt",
    "sed 'y/a/b/;e' a.txt",
    "sed 'a\\\nx' a.txt",
    "sed '$r list' a.txt",
    "sed 's/a/b/m;e' a.txt",
    "sed -n '/x/{e touch C\n}' a.txt",
    "sed -e",
    "sed -e -i a.txt",
    "awk '@include \"x\"' a.txt",
    "awk '@load \"x\"' a.txt",
    "awk -i x '{print}' a.txt",
    "awk -l x '{print}' a.txt",
    "awk -E list",
    "awk --file=list",
    "awk -F -f list",
    "awk '{print ENVIRON[\"HOME\"]}' a.txt",
    "awk '{print $1; system(\"x\")}' a.txt",
    'awk \'{print "a" | "sh"}\' a.txt',
    "awk '\"date\" | getline' a.txt",
    "awk '' a.txt; gawk '{print > \"C\"}' a.txt",
    "find . -name -delete -delete",
    "find . -name -delete",
    "find . -path -exec touch C \\;",
    "find . -printf -fprint C",
    "find -D exec . ",
    "find -O3 .",
    "find -H two",
    "find . -follow",
    "find . -newer two/o.txt",
    "find . -samefile two/o.txt",
    "find . -execdir x \\;",
    "find two/o.txt",
    "hostname -F list",
    "hostname -f",
    "cargo --version",
    "go version",
    "yarn --version",
    "pnpm --version",
    "java -version -jar x",
    "node -v x.js",
]
"""Each looks like reading, and may do more with some version of its program."""

MERGING = [
    "cp -rT evil sub",
    "cp -rT evil full",
    "cp -r -T evil full",
    "cp -aT evil full",
    "cp -RT evil full",
    "cp -r --no-target-directory evil full",
    "cp -rT evil .",
    "cp -T evil/o.txt full/o.txt",
    "cp -r evil/. full",
    "cp -r evil/. .",
    "cp -r evil/. sub",
    "cp -r evil/./ full",
    "cp -r evil/../evil/. full",
    "cp -r evil new",
    "cp -r evil sub",
    "cp -a evil sub/new",
    "cp -r evil/.vscode sub/x",
    "cp -r evil/.vscode .",
    "cp evil/o.txt full",
    "cp evil/o.txt full/",
    "cp evil/o.txt evil/x\\\\o.txt full",
    "cp 'evil/x\\o.txt' full",
    "mv 'evil/x\\o.txt' full",
    "cp -f 'evil/x\\o.txt' full/",
    "mv -T evil sub",
    "mv -fT evil sub",
    "mv --no-target-directory evil sub",
    "mv evil new",
    "mv evil sub",
    "mv evil/.vscode .",
    "mv evil/.vscode sub",
    "mv evil/.vscode sub/vscode",
    "mv plain .config",
    "cp -r plain .config",
    "cp -r plain sub/.config",
    "cp -r plain/git .config/git",
    "mv evil/o.txt full",
    "install evil/o.txt full",
    "install -T evil/o.txt full/o.txt",
    "install -D evil/o.txt new/o.txt",
    "install -t full evil/o.txt",
    "ln -s ../outside link",
    "ln -sf ../outside/o.txt a.txt",
    "ln -T evil/o.txt new",
    "ln evil/o.txt full",
    "ln -sT ../outside new",
    "cp -s evil/o.txt new",
    "cp -l evil/o.txt new",
    "cp -t full evil/o.txt",
    "cp --target-directory=full evil/o.txt",
    "cp --parents evil/o.txt full",
    "cp -b evil/o.txt a.txt",
    "cp -L two/o.txt new",
    "cp two/o.txt new",
    "cp -r --remove-destination evil full",
    "mv -t full evil/o.txt",
    "mv -b evil/o.txt a.txt",
    "mv -S x evil/o.txt a.txt",
    "touch -r ../outside/o.txt a.txt",
    "echo x > hard.txt",
    "echo x >> hard.txt",
    "echo x >| hard.txt",
    "cat < a.txt > hard.txt",
    "cp a.txt hard.txt",
    "cp -f a.txt hard.txt",
    "cp -T a.txt hard.txt",
    "cp evil/h.txt hard",
    "cp a.txt evil/h.txt hard/",
    "touch hard.txt",
    "touch hard.txt new",
    "touch -m hard/h.txt",
    "touch -t 01010000 two/o.txt",
]
"""Each writes outside or plants a protected name with some layout of the folders; asked about in acceptEdits too."""


PROGRAMS = sorted({row.split()[0] for row in (*WRITING, *LEAKING, *ASKED, *MERGING)} - {"cd"} | {"file", "git"})
DENIES = tuple(f"Bash({name}:*)" for name in PROGRAMS)
"""What protects in bypassPermissions, where nothing is asked about."""


@pytest.mark.parametrize("command", [*WRITING, *LEAKING, *ASKED, *MERGING])
def test_a_command_that_does_more_than_it_seems_to_is_refused_in_every_mode(space: Path, command: str) -> None:
    for mode in ("default", "plan", "acceptEdits"):
        assert bash(gate(space, mode), command).verdict == "ask"
    assert bash(gate(space, "dontAsk"), command).verdict == "deny"
    assert bash(gate(space, "bypassPermissions", deny=DENIES), command).verdict != "allow"


def test_the_rows_really_write_and_leak(space: Path, tmp_path: Path) -> None:
    """Without the gate each row does what it says, so the tables test attacks that work."""
    dead: list[str] = []
    before: object = None
    place = tmp_path / "work"
    run(f"cp -a {space.parent}/outside {tmp_path}/", tmp_path)
    for command in [*WRITING, *LEAKING]:
        if not place.exists():
            run(f"cp -a {space} {tmp_path}/", tmp_path)
            before = tree(place), tree(place / ".git")
        said = run(command, place)
        changed = (tree(place), tree(place / ".git")) != before
        if not (changed if command in WRITING else b"OUTSIDE" in said.stdout + said.stderr):
            dead.append(command)
        if changed:
            run(f"rm -rf {place}", tmp_path)
    assert not dead, "\n".join(dead)


HARMLESS = [
    "head -n -5 a.txt",
    "head -c -1 a.txt",
    "tail -n -5 a.txt",
    "tail -n +2 a.txt",
    "cut -d' ' -f -3 a.txt",
    "find . -mtime -7",
    "find . -size -100k -mmin -5",
    "find . -perm -u+x -type f",
    "git log -n -1",
    "git log -n 5 -p",
    "git log -n5",
    "git log -Salpha",
    "git log -S alpha -- a.txt",
    "git log --author n --since 2.weeks",
    "git diff -U5 HEAD~1",
    "git diff -M90% HEAD~1",
    "git status -sb",
    "git status -uno",
    "git branch -avv",
    "git branch --merged",
    "git branch --merged HEAD",
    "git branch --list 'ma*'",
    "git tag -l 'v*'",
    "git tag -n5",
    "git shortlog -sn HEAD",
    "git blame -L1,2 a.txt",
    "git config --get user.name",
    "git symbolic-ref --short HEAD",
    "ls -la",
    "grep -rn alpha .",
    "grep -nC3 alpha a.txt",
    "grep alpha *.txt",
    "wc -l *.txt",
    "sort -rnk2 a.txt",
    "xxd -l 16 a.txt",
    "xxd -c8 a.txt",
    "date -Iseconds",
    "date -d yesterday +%F",
    "diff a.txt ab.txt",
    "diff one sub",
    "diff a.txt /dev/null",
    "strings -n 8 a.txt",
    "sed 's/a/b/g' a.txt",
    "sed -n '/alpha/,/beta/p' a.txt",
    "sed -E 's/(a|b)+/[\\1]/' a.txt",
    "awk '{print $1}' a.txt",
    "awk -F: '{print $1, $NF}' a.txt",
    "awk 'NR>=1 && NR<=2' a.txt",
    "test -f a.txt && echo yes",
    "command -v git",
    "jq --arg n 1 -n '$n'",
    "printf '%s\\n' a b",
    "printf '100%%n'",
]


@pytest.mark.parametrize("command", HARMLESS)
def test_ordinary_flags_and_values_stay_unasked(space: Path, command: str) -> None:
    before = tree(space)
    assert bash(gate(space), command).verdict == "allow"
    run(command, space)
    assert tree(space) == before


@pytest.mark.parametrize(
    "command",
    [
        "cp -r sub new",
        "mv sub new",
        "mv one/o.txt sub",
        "cp -rT sub new",
        "mkdir -p x/y",
        "cp a.txt sub",
        "echo x > a.txt",
    ],
)
def test_plain_copies_stay_unasked_in_accept_edits(space: Path, command: str) -> None:
    assert bash(gate(space, "acceptEdits"), command).verdict == "allow"


def test_a_pattern_that_would_become_a_flag_is_asked_about(space: Path) -> None:
    guard = gate(space, shell_cwd=lambda: str(space / "dash"))
    for command in ("ls *", "cat *", "wc -l *", "head *", "file *", "stat *", "md5sum *", "grep x *", "cat ?*"):
        assert bash(guard, command).verdict == "ask", command
    assert bash(guard, "cat mag*").verdict == "allow"


def test_a_backslash_does_not_separate_names_of_programs(space: Path) -> None:
    """`x\\ls` is a program called so, not `ls`, which never shows files."""
    guard = gate(space, "bypassPermissions", deny=("Read(./a.txt)",))
    assert bash(guard, "'x\\ls' a.txt").verdict == "deny"
