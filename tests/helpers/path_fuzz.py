"""Random trees of links and odd names, and random paths through them: what the gate judged against what is opened.

The kernel is the judge: it opens the path as written, before the tools do. A call may run unasked only if that file is
in the workspace and no rule hides it, and then the tool must have touched that file and no other. Some calls are raced:
after the decision, folders are replaced by links, as a program of a hostile model could do while a person is asked.

The calls are real and hunt for mistakes that write elsewhere, so the tree must contain them even then: it lies below a
long chain of folders, deeper than any path here can climb, and a call that would leave the chain is not run.
"""

from __future__ import annotations

import os
import random
import shutil
import stat
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.helpers.fakes import cancel
from tests.helpers.settings import settings_with
from yume_shim.engine.toolbox import Toolbox
from yume_shim.gate.permissions import Permissions
from yume_shim.tools.dispatch.builtin import open_builtin_tools
from yume_shim.types.blocks import ToolCall
from yume_shim.types.errors import ToolFailed
from yume_shim.types.outputs import ToolContext
from yume_shim.types.settings import Rules

if TYPE_CHECKING:
    from pathlib import Path

NAMES = (
    *("a", "b", "c", "d", "e", "F", "f", "a b", "ü", "u\u0308", "-n", "~", "~root", "*", "[a]", "{b}", "$HOME", "a\nb"),
    *("..a", "a..", "...", " ", "'", '"', "\\", "a\\b", ".hidden", "%2e%2e", "\udcff", "x" * 60, "C:", "nul"),
)
SECRET, OUTSIDE, HOME, PLAIN, NEW = "SECRET", "OUTSIDE", "HOME", "PLAIN", "written by the tool"
CHAIN = 80
"""Folders above the tree: 64 links are followed, each climbs at most 1 above the tree, a path has at most 8 `..`."""
EDITING = ("Write", "Edit")
MODES = ("default", "acceptEdits", "plan", "dontAsk", "bypassPermissions")
PATHS_PER_TREE = 40
RACED = 0.15
"""The share of calls between whose decision and run the tree is changed."""


class Found(NamedTuple):
    """What a run found: how often each thing happened, and every disagreement."""

    counts: Counter[str]
    problems: list[str]


class Tree:
    """A workspace `work` with a denied folder, and a folder next to it."""

    def __init__(self, base: Path, rng: random.Random) -> None:
        self.top, self.rng = os.path.realpath(base), rng
        self.base = self.top + "/n" * CHAIN
        self.work, self.outside, self.home = (f"{self.base}/{name}" for name in ("work", "outside", "home"))
        self.secret = f"{self.work}/secret"
        self.folders = [self.work, self.secret, self.outside, self.home]
        for folder in self.folders:
            os.makedirs(folder)
        self.names = rng.sample(NAMES, 6)  # few, so that the same name is found in several folders
        self._count = 0
        for _ in range(rng.randint(4, 10)):
            self._folder()
        for _ in range(rng.randint(6, 14)):
            self._file()
        for _ in range(rng.randint(4, 14)):
            self._link()

    def _place(self) -> str:
        return os.path.join(self.rng.choice(self.folders), self.rng.choice(self.names))

    def _folder(self) -> None:
        path = self._place()
        if not os.path.lexists(path):
            os.mkdir(path)
            self.folders.append(path)

    def _file(self) -> None:
        path = self._place()
        if os.path.lexists(path):
            return
        self._count += 1
        zones = ((self.secret, SECRET), (self.work, PLAIN), (self.home, HOME), (self.outside, OUTSIDE))
        kind = next(kind for folder, kind in zones if below(folder, path))
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{kind} {self._count}")

    def _link(self) -> None:
        path, rng = self._place(), self.rng
        if os.path.lexists(path):
            return
        target = rng.choice([*self.folders, self._place(), self._place()])
        if rng.random() < 0.5:
            target = os.path.relpath(target, os.path.dirname(path))
        if rng.random() < 0.3:
            target = os.path.join(target, rng.choice(("..", ".", rng.choice(self.names))))
        os.symlink(target, path)

    def path(self) -> str:
        """A path as a model might write it."""
        rng = self.rng
        start = rng.choice(("", "", "", "./", f"{self.work}/", f"{self.work}//", "~/", f"{self.outside}/", "../work/"))
        here = {"~/": self.home, f"{self.outside}/": self.outside}.get(start, self.work)
        steps: list[str] = []
        for _ in range(rng.randint(1, 7)):
            steps.append(self._step(here))
            here = os.path.join(here, steps[-1])
            if os.path.isfile(here) and rng.random() < 0.8:
                break
        if not steps[0]:
            steps[0] = "."  # nothing here starts at the root
        return start + "/".join(steps) + rng.choice(("", "", "", "", "", "/", "/."))

    def _step(self, here: str) -> str:
        """Mostly a name that is there, so that paths lead somewhere; after a link often `..`."""
        if os.path.islink(here) and self.rng.random() < 0.5:
            return ".."
        if self.rng.random() < 0.7:
            try:
                names = sorted(os.listdir(here))
            except (OSError, ValueError):
                names = []
            if names:
                return self.rng.choice(names)
        return self.rng.choice((self.rng.choice(self.names), "..", "..", "..", ".", "", "secret"))

    def race(self, judged: str) -> None:
        """Replace the folder of the judged file by a link to a folder outside that has a file of the same name."""
        folder, name = os.path.split(judged)
        if (
            folder == self.work
            or not below(self.work, folder)
            or below(folder, self.secret)
            or not os.path.isdir(folder)
        ):
            return
        self._count += 1
        os.rename(folder, f"{folder}-{self._count}")
        trap = f"{self.outside}/{name}"
        if not os.path.lexists(trap):
            with open(trap, "w", encoding="utf-8") as file:
                file.write(f"{OUTSIDE} {self._count}")
        os.symlink(self.outside, folder)

    def contains(self, path: str) -> bool:
        """Whether a call with this path stays below the chain, read in each way in which a program could read it."""
        full = os.path.join(self.work, path)
        forms = (os.path.realpath(full), os.path.realpath(os.path.normpath(full)), os.path.normpath(full))
        return all(below(self.top, form) for form in forms)

    def leaks(self) -> list[str]:
        """What was made in the chain of folders above the tree."""
        made = (f"{self.top}{'/n' * depth}" for depth in range(CHAIN))
        return [f"{folder}/{name}" for folder in made for name in os.listdir(folder) if name != "n"]

    def contents(self, *folders: str) -> dict[str, str]:
        """Every file below the folders, without following links."""
        found: dict[str, str] = {}
        for top in folders:
            for folder, _, names in os.walk(top):
                for name in names:
                    path = os.path.join(folder, name)
                    if stat.S_ISREG(os.lstat(path).st_mode):
                        with open(path, encoding="utf-8") as file:
                            found[path] = file.read()
        return found


def below(folder: str, path: str) -> bool:
    return path == folder or path.startswith(folder + "/")


def kernel_reads(path: str, cwd: str, home: str) -> str | None:
    """What is in the file that the kernel opens for a path; None if it opens none."""
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    here = os.open(cwd, os.O_RDONLY)
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK, dir_fd=here)
    except OSError:
        return None
    finally:
        os.close(here)
    try:
        return os.read(handle, 1_000).decode() if stat.S_ISREG(os.fstat(handle).st_mode) else None
    finally:
        os.close(handle)


class Fuzz:
    """One tree, and calls in it."""

    def __init__(self, base: Path, seed: int) -> None:
        self.tree = Tree(base, random.Random(seed))
        self.seed, self.found = seed, Found(Counter(), [])
        self.base = base

    def run(self, paths: int) -> Found:
        modes = self.tree.rng.sample(MODES, 2)
        for mode in sorted(modes, key=MODES.index):  # bypassPermissions last: it may write above the tree
            self._run_mode(mode, paths // 2)
        return self.found

    def _run_mode(self, mode: str, paths: int) -> None:
        tree = self.tree
        env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": tree.home}
        deny = ("Read(./secret/**)", "Edit(./secret/**)", f"Read(/{tree.outside}/**)", f"Edit(/{tree.outside}/**)")
        settings = settings_with(
            cwd=tree.work, env=env, permission_mode=mode, rules=Rules(deny=deny), allow_bypass=True
        )
        tools = open_builtin_tools(settings, f"{tree.base}/scratch", env, lambda *_: None)
        self.gate = Permissions(settings, tree.work, tree.home, False, lambda *_: None)
        self.box = Toolbox((tools,))
        try:
            for _ in range(paths):
                tool = tree.rng.choice(("Read", "Read", "Write", "Edit", "LS", "Glob"))
                self._one(mode, tool, tree.path(), tree.rng.random() < RACED)
        finally:
            tools.close()
        if mode != "bypassPermissions":
            self.found.problems.extend(f"seed {self.seed}, {mode}: made above the tree: {p}" for p in tree.leaks())

    def _one(self, mode: str, tool: str, path: str, raced: bool) -> None:
        tree = self.tree
        try:
            expected = kernel_reads(path, tree.work, tree.home)
        except ValueError:
            return
        if not tree.contains(path):
            self.found.counts["not run: it leaves the chain of folders"] += 1
            return
        call = ToolCall("c", tool, self._input(tool, path))
        try:
            prepared = self.box.prepare(self.box.complete(call))
            decision = self.gate.decide(prepared.call, prepared.spec)
        except ToolFailed as failed:
            self.found.counts[f"not prepared: {failed.message.rpartition(chr(10))[2][:60]}"] += 1
            return
        self.found.counts[f"{mode}: {decision.verdict}"] += 1
        if decision.judged and not below(tree.top, decision.judged):
            self._problem(mode, call, f"the gate judged {decision.judged}, which is not in the tree")
            return
        if decision.verdict != "allow":
            inside = tool == "Read" and mode != "bypassPermissions" and (expected or "").startswith(PLAIN)
            if inside and not self._reached_from_outside(path):
                self._problem(mode, call, "a question too many")
            return
        if raced:
            self.found.counts["raced"] += 1
            tree.race(decision.judged)
        before = tree.contents(tree.outside, tree.secret) if tool in EDITING else {}
        shown = ""
        try:
            shown = str(self.box.run(prepared.at(decision.judged), ToolContext("c", cancel())).content)
            self.found.counts["ran"] += 1
        except ToolFailed:
            self.found.counts["failed"] += 1
        if mode != "bypassPermissions" or tool in ("Read", "Edit", "Write"):
            self._check(mode, call, shown, expected if not raced else None)
        if tool in EDITING and tree.contents(tree.outside, tree.secret) != before:
            self._problem(mode, call, "a file outside or hidden was changed")

    def _input(self, tool: str, path: str) -> dict[str, Any]:
        match tool:
            case "Write":
                return {"file_path": path, "content": f"{PLAIN} {NEW}"}
            case "Edit":
                return {"file_path": path, "old_string": " ", "new_string": " edited "}
            case "LS":
                return {"path": path}
            case "Glob":
                return {"path": path, "pattern": "**/*"}
            case _:
                return {"file_path": path}

    def _reached_from_outside(self, path: str) -> bool:
        """The path leaves the workspace as text or on the way, or names something hidden: then a question is right."""
        tree = self.tree
        text = os.path.normpath(os.path.join(tree.work, tree.home + path[1:] if path.startswith("~/") else path))
        return (
            not below(tree.work, text)
            or below(tree.secret, text)
            or path.startswith("~")
            or os.path.islink(text)
            or "\udcff" in path
        )

    def _check(self, mode: str, call: ToolCall, shown: str, expected: str | None) -> None:
        if call.name == "Read" and shown and (OUTSIDE in shown or SECRET in shown):
            self._problem(mode, call, "it showed a file that is outside or hidden")
        if call.name == "Read" and shown and expected is not None and expected not in shown:
            self._problem(mode, call, f"it showed another file than the kernel opens ({expected!r})")
        if call.name == "Read" and not shown and (expected or "").startswith(PLAIN):
            self._problem(mode, call, "it did not open the file that the kernel opens")
        if call.name == "Write" and shown and expected is not None:
            written = kernel_reads(call.input["file_path"], self.tree.work, self.tree.home)
            if written != call.input["content"]:
                self._problem(mode, call, "it wrote another file than the kernel opens")

    def _problem(self, mode: str, call: ToolCall, what: str) -> None:
        self.found.problems.append(f"seed {self.seed}, {mode}: {call.name} {dict(call.input)}: {what}")


def fuzz(base: Path, seeds: range, paths: int = PATHS_PER_TREE) -> Found:
    """One tree per seed."""
    counts: Counter[str] = Counter()
    problems: list[str] = []
    for seed in seeds:
        folder = base / str(seed)
        found = Fuzz(folder, seed).run(paths)
        counts.update(found.counts)
        problems += found.problems
        shutil.rmtree(folder)
    return Found(counts, problems)
