"""Compares the gate's decision about a command with what bash really does with it.

A command that the gate allows is run in a workspace full of traps, inside bubblewrap: only the trial's own folder can
be written. Programs on the PATH are recorders: each writes its folder and arguments in one write, then runs the real
program. Afterwards: everything that ran must be what the gate saw, in a folder that it expected; and the disk and the
output must be what the mode and the rules promise.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from tests.helpers.gates import bash, gate, tree
from tests.helpers.hostile_state import template
from tests.helpers.shell_snippets import Snippets
from yume_shim.gate.command_flow import follow
from yume_shim.gate.paths import POSIX
from yume_shim.gate.shell import parse
from yume_shim.gate.unwrap import shell_words, without_wrappers
from yume_shim.gate.word_set import word_set
from yume_shim.gate.workspace import Workspace
from yume_shim.types.settings import Rules

if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.gate.shell import Word

RECORDED = word_set(
    "ls cat head tail wc sort stat grep file diff git touch mkdir rm rmdir mv cp ln date whoami pwd echo sed uniq"
)
DENIES = Rules(deny=("Bash(touch:*)", "Read(./hid/**)", "Read(./secret.txt)", "Edit(./locked/**)"))
MODES = {"default": Rules(), "acceptEdits": Rules(), "bypassPermissions": DENIES}
"""Each mode with its rules."""
SECONDS = 20.0
FIELD, END = "\x1f", "\x1e"


class Ran(NamedTuple):
    """A program that ran."""

    folder: str
    argv: tuple[str, ...]


class Finding(NamedTuple):
    """A command that was allowed and did what it must not do."""

    seed: int
    number: int
    mode: str
    command: str
    what: str


class Tally(NamedTuple):
    """How many commands were generated, and how many of them were allowed and run."""

    generated: int
    allowed: int
    programs: int
    findings: tuple[Finding, ...]


class Trial:
    """A workspace with traps and recorders, restored after every command that changed it."""

    def __init__(self, folder: Path, allow: tuple[str, ...] = ()) -> None:
        """`allow`: rules of the gate, for a gate that is more open than it should be."""
        self._folder = folder
        self._allow = allow
        self._base = template(folder)
        self._space = self._base / "work"
        self._home = self._base / "home"
        self._home.mkdir()
        self._kept = folder / "kept"
        shutil.copytree(self._base, self._kept, symlinks=True)
        self._log = folder / "programs.log"
        self._bin = folder / "bin"
        self._bin.mkdir()
        for name in RECORDED:
            self._record(name)
        self._before = self._look()

    def _record(self, name: str) -> None:
        real = shutil.which(name)
        if real is None:
            return
        path = self._bin / name
        write = f"cd -P . && printf '%s{FIELD}' \"$PWD\" {name} \"$@\" '{END}' >> {self._log}"
        path.write_text(f'#!/bin/sh\n{write}\nexec {real} "$@"\n')
        path.chmod(0o755)

    def _look(self) -> tuple[dict[str, bytes | str], dict[str, bytes | str]]:
        return tree(self._space), tree(self._base / "outside")

    def check(self, mode: str, command: str) -> tuple[bool, int, str]:
        """Whether the gate allows the command, how many programs ran, and what it did that it must not do."""
        rules = MODES[mode]
        guard = gate(self._space, mode, allow=self._allow, deny=rules.deny, home=str(self._home), flat=False)
        if bash(guard, command).verdict != "allow":
            return False, 0, ""
        self._log.write_bytes(b"")
        output = self._run(command)
        ran = self._programs()
        after = self._look()
        what = self._wrong(mode, command, ran, output, after)
        if after != self._before:
            shutil.rmtree(self._base)
            shutil.copytree(self._kept, self._base, symlinks=True)
        return True, len(ran), what

    def _run(self, command: str) -> bytes:
        env = {"PATH": f"{self._bin}:{os.environ['PATH']}", "HOME": str(self._home), "LANG": "C.UTF-8"}
        wall = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", *[str(self._folder)] * 2]
        wall += ["--unshare-pid", "--unshare-net", "--die-with-parent", "--chdir", str(self._space)]
        try:
            return subprocess.run(
                [*wall, "bash", "-c", 'eval "$1"; wait', "bash", command],
                env=env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=SECONDS,
                check=False,
            ).stdout
        except subprocess.TimeoutExpired as error:
            return error.stdout or b""

    def _programs(self) -> list[Ran]:
        text = self._log.read_bytes().decode("utf-8", "replace")
        rows = [entry.split(FIELD)[:-1] for entry in text.split(END + FIELD) if entry]
        return [Ran(folder, tuple(argv)) for folder, *argv in rows]

    def _wrong(
        self,
        mode: str,
        command: str,
        ran: list[Ran],
        output: bytes,
        after: tuple[dict[str, bytes | str], dict[str, bytes | str]],
    ) -> str:
        space, outside = after
        if mode == "bypassPermissions":
            return self._passes_denies(ran, output, space)
        if b"OUTSIDE" in output:
            return "it showed a file outside"
        if outside != self._before[1]:
            return "it changed something outside"
        if "C" in space:
            return "it ran a program of the workspace"
        if mode == "default" and space != self._before[0]:
            return "it changed the workspace"
        return self._unexpected(command, ran)

    def _passes_denies(self, ran: list[Ran], output: bytes, space: dict[str, bytes | str]) -> str:
        if any(one.argv[0] == "touch" for one in ran):
            return "it ran a denied program"
        if b"SECRET" in output:
            return "it showed a hidden file"
        locked = {name: content for name, content in self._before[0].items() if name.startswith("locked/")}
        if any(space.get(name) != content for name, content in locked.items()):
            return "it changed a locked file"
        return ""

    def _unexpected(self, command: str, ran: list[Ran]) -> str:
        """The first program that the gate did not see, or not in this folder."""
        script = parse(command)
        flow = follow(script.commands, Workspace(str(self._space), str(self._home), POSIX), str(self._space))
        folders = {os.path.realpath(base) for base in flow.bases}
        judged = [without_wrappers(one) for one in script.commands]
        judged += [shell_words(words) for words in judged]
        for one in ran:
            if not any(self._explains(words, one.argv) for words in judged):
                return f"it ran {one.argv}"
            # a folder that was moved meanwhile has another name
            if one.folder not in folders and os.path.realpath(one.folder) not in folders and not flow.unknown:
                return f"it ran {one.argv} in {one.folder}"
        return ""

    def _explains(self, words: tuple[Word, ...], argv: tuple[str, ...]) -> bool:
        """Whether these words can become these arguments: a pattern becomes one argument or more."""
        if not words or not argv:
            return not words and not argv
        word, text = words[0], words[0].text
        if word.kind == "plain":
            if text == "~" or text.startswith("~/"):
                text = str(self._home) + text[1:]
            text = text.removeprefix("./") if text.startswith("./~") else text  # how the gate writes a quoted ~
            return text == argv[0].removeprefix("./" if argv[0].startswith("./~") else "") and self._explains(
                words[1:], argv[1:]
            )
        return word.kind == "glob" and any(self._explains(words[1:], argv[end:]) for end in range(1, len(argv) + 1))


def fuzz(
    trial: Trial,
    seed: int,
    numbers: range,
    modes: tuple[str, ...] = tuple(MODES),
    report: Callable[[Finding], None] | None = None,
) -> Tally:
    """Check the commands of these numbers in every mode. A number and a seed always give the same command."""
    allowed = programs = 0
    findings: list[Finding] = []
    for number in numbers:
        command = snippet(seed, number)
        for mode in modes:
            ran, count, what = trial.check(mode, command)
            allowed += ran
            programs += count
            if what:
                findings.append(Finding(seed, number, mode, command, what))
                if report is not None:
                    report(findings[-1])
    return Tally(len(numbers) * len(modes), allowed, programs, tuple(findings))


def snippet(seed: int, number: int) -> str:
    return Snippets(Random(f"{seed}/{number}")).next()
