"""The goldens (golden/README.md says what they are).

    scripts/golden.py [PATTERN]            check them
    scripts/golden.py --update [PATTERN]   write what the program does now as EXPECTED, then read the diff
    scripts/golden.py --show CASE          one case, input and output side by side
    scripts/golden.py --new sessions/NAME  a skeleton to fill in

PATTERN and CASE are looked for in names such as `sessions/demo` or `providers/openai-chat/text`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import _progress
import _venv

GOLDEN = Path(_venv.ROOT) / "golden"
TESTS = {kind: os.path.join("tests", f"test_golden_{kind}.py") for kind in ("providers", "sessions", "tools")}
SKELETONS = {
    "sessions": {
        "case.toml": 'title = ""\nwhy = ""\napi = "anthropic-messages"\nmodel = "claude-sonnet-5-5"\n',
        "stdin.jsonl": '{"type":"user","content":""}\n',
        "wire/01.jsonl": "",
    },
    "providers": {"case.toml": 'title = ""\nwhy = ""\n', "history.json": '{"messages": []}\n', "wire.jsonl": ""},
    "tools": {"input.json": "{}\n"},
}


def main() -> int:
    """Do what was asked for."""
    _venv.ready()
    parser = argparse.ArgumentParser(description="Check, update, show or begin goldens.")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--update", action="store_true", help="write what the program does now as EXPECTED")
    what.add_argument("--show", metavar="CASE", help="print one case")
    what.add_argument("--new", metavar="KIND/NAME", help="make a skeleton")
    parser.add_argument("pattern", nargs="?", default="", help="only cases whose name holds this")
    given = parser.parse_args()
    os.chdir(_venv.ROOT)
    sys.path.insert(0, _venv.ROOT)
    if given.update:
        return update(given.pattern)
    if given.show:
        return show(given.show)
    if given.new:
        return begin(given.new)
    return check(given.pattern)


def cases(pattern: str) -> list[Path]:
    """The folders of all cases whose name holds the pattern."""
    marks = ("case.toml", "input.json")
    found = sorted({path.parent for mark in marks for path in GOLDEN.rglob(mark) if "workspace" not in path.parts})
    return [path for path in found if pattern in name_of(path)]


def name_of(path: Path) -> str:
    """`sessions/demo`"""
    return path.relative_to(GOLDEN).as_posix()


def check(pattern: str) -> int:
    """Run the golden tests of the kinds that the pattern touches."""
    chosen = cases(pattern)
    if not chosen:
        return none_found(pattern)
    kinds = sorted({name_of(path).split("/")[0] for path in chosen})
    words = ["-q", "-p", "no:randomly", *(TESTS[kind] for kind in kinds)]
    if pattern and pattern.rstrip("/") not in TESTS:
        names = sorted(name_of(path).split("/", 1)[1].replace("/", " and ") for path in chosen)
        words += ["-k", " or ".join(f"({name})" for name in names)]
    return _progress.run_pytest(words)


def update(pattern: str) -> int:
    """Rewrite EXPECTED files and say what changed."""
    from tests.helpers import session_cases, tool_cases, wire_cases

    chosen = cases(pattern)
    if not chosen:
        return none_found(pattern)
    complaints: list[str] = []
    with _progress.Progress("golden", len(chosen)) as progress:
        for path in chosen:
            match name_of(path).split("/")[0]:
                case "sessions":
                    complaints += session_cases.update(session_cases.load(path))
                case "providers":
                    wire_cases.update_case(path)
                case _:
                    with tempfile.TemporaryDirectory(prefix="yume-golden-") as scratch:
                        tool_cases.update(path, Path(scratch))
            progress.say(f"  {name_of(path)}")
            progress.step()
    if shutil.which("git"):
        subprocess.call(["git", "--no-pager", "diff", "--stat", "golden"])
    for complaint in complaints:
        print(f"! {complaint}", file=sys.stderr)
    print(f"{len(chosen)} cases written. Read the diff: nothing is right because it was written.")
    return 1 if complaints else 0


def show(pattern: str) -> int:
    """Print the files of one case, JSON lines one per row, dialects beside each other."""
    chosen = [path for path in cases(pattern) if name_of(path) == pattern] or cases(pattern)
    if len(chosen) != 1:
        print("\n".join(map(name_of, chosen)) or f"no case holds '{pattern}'")
        return 1
    width = shutil.get_terminal_size((160, 40)).columns
    files = sorted(path for path in chosen[0].rglob("*") if path.is_file() and "workspace" not in path.parts)
    left, right = (chosen[0] / "expected" / f"{dialect}.jsonl" for dialect in ("flat", "nested"))
    for path in files:
        if path not in (left, right):
            print(f"\n== {path.relative_to(chosen[0])}")
            print("\n".join(row[:width] for row in rows(path)))
    if left.exists() and right.exists():
        side_by_side(rows(left), rows(right), width)
    return 0


def side_by_side(left: list[str], right: list[str], width: int) -> None:
    """Two lists of lines in two columns."""
    half = width // 2 - 2
    print(f"\n{'== flat':<{half}} │ == nested")
    for place in range(max(len(left), len(right))):
        pair = [part[place] if place < len(part) else "" for part in (left, right)]
        print(f"{pair[0][:half]:<{half}} │ {pair[1][:half]}")


def rows(path: Path) -> list[str]:
    """The lines of a file; a JSON document is printed compactly."""
    text = path.read_text("utf-8", "replace")
    if path.suffix == ".json":
        return json.dumps(json.loads(text), ensure_ascii=False, indent=1).splitlines()
    return text.splitlines()


def begin(name: str) -> int:
    """Make a skeleton folder."""
    kind, _, rest = name.partition("/")
    folder = GOLDEN / name
    if kind not in SKELETONS or not rest or folder.exists():
        print(f"'{name}' must be new and begin with {', '.join(f'{known}/' for known in SKELETONS)}", file=sys.stderr)
        return 1
    for file, text in SKELETONS[kind].items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text, "utf-8")
    print(f"golden/{name}: fill in {', '.join(SKELETONS[kind])}, then scripts/golden.py --update {name}")
    return 0


def none_found(pattern: str) -> int:
    """Say that nothing matched."""
    print(f"no case holds '{pattern}'", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
