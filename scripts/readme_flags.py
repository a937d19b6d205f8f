"""Keep the flag list of README.md in step with yume_shim/cli/flags.py: rewrites it, or with `--check` only looks."""

from __future__ import annotations

import os
import sys

import _venv

README = os.path.join(_venv.ROOT, "README.md")
BEGIN = "<!-- flags: written by scripts/readme_flags.py -->"
END = "<!-- end of flags -->"


def main() -> int:
    """Exit code 1 when the list was out of step and only looked at."""
    _venv.ready()
    with open(README, encoding="utf-8") as file:
        old = file.read()
    if BEGIN not in old or END not in old:
        print("README.md has no place for the flag list", file=sys.stderr)
        return 1
    head, rest = old.split(BEGIN, 1)
    new = head + BEGIN + "\n" + section() + END + rest.split(END, 1)[1]
    if new == old:
        return 0
    if "--check" in sys.argv[1:]:
        print("README.md: the flag list is out of step; run scripts/readme_flags.py", file=sys.stderr)
        return 1
    with open(README, "w", encoding="utf-8", newline="\n") as file:
        file.write(new)
    print("README.md: flag list rewritten")
    return 0


def section() -> str:
    """The tables: our own flags, the Claude CLI's that do something, and one line each for the rest."""
    from yume_shim.cli.flags import FLAGS

    ours = [flag for flag in FLAGS if flag.ours]
    theirs = [flag for flag in FLAGS if not flag.ours and flag.status == "honoured"]
    lines = ["", "Flags of this program:", "", "| flag | meaning |", "|---|---|"]
    lines += [row(flag.usage, flag.help, flag.choices) for flag in ours]
    lines += ["", "Flags of the Claude CLI that work here:", "", "| flag | meaning |", "|---|---|"]
    lines += [row(flag.usage, flag.help, flag.choices) for flag in theirs]
    for status, words in (("accepted", "Taken without effect"), ("refused", "Refused with a clear message")):
        names = [f"`{flag.names[0]}`" for flag in FLAGS if flag.status == status]
        lines += ["", f"{words}: {', '.join(names)}."]
    return "\n".join(lines) + "\n\n"


def row(usage: str, meaning: str, choices: tuple[str, ...]) -> str:
    """One line of a table."""
    listed = f" ({', '.join(choices)})" if choices else ""
    return f"| `{usage}` | {meaning}{listed} |"


if __name__ == "__main__":
    sys.exit(main())
