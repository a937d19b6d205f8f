"""The recipes of CONTRIBUTING.md are complete: a toy wire API and a toy tool are added to a copy of the checkout.

Only paths that the recipe names are touched, so a recipe that lacks a step fails here.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    pass

ROOT = Path(__file__).resolve().parents[1]
TOYS = ROOT / "tests" / "recipes"
TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
RECIPES = dict(re.findall(r"^### (.+?)\n(.*?)(?=^##|\Z)", TEXT, re.MULTILINE | re.DOTALL))
PLACEHOLDER = re.compile(r"foo[-_]?bar|foo|Foo|\*")

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="session goldens hold POSIX paths")


def paths_of(recipe: str, **names: str) -> list[str]:
    """The path at the beginning of each numbered step, with the new thing's names filled in."""
    found = re.findall(r"^\d+\. `([^`]+)`", recipe, re.MULTILINE)
    for name, real in names.items():
        found = [path.replace(name, real) for path in found]
    return found


@pytest.mark.parametrize("title", RECIPES)
def test_every_step_names_a_path_that_is_there_or_new(title: str) -> None:
    steps = re.findall(r"^\d+\. ", RECIPES[title], re.MULTILINE)
    paths = paths_of(RECIPES[title])
    assert len(paths) == len(steps) > 0
    assert [path for path in paths if not PLACEHOLDER.search(path) and not (ROOT / path).exists()] == []


def steps_for(path: str, named: list[str]) -> list[str]:
    """The named paths that allow this one to be touched."""
    matching = [pattern for pattern in named if fnmatch.fnmatch(path, pattern.rstrip("/"))]
    assert matching, f"CONTRIBUTING.md does not name {path}"
    return matching


def test_a_recipe_that_lacks_a_step_is_noticed() -> None:
    recipe = RECIPES["A tool called `Foo`"]
    assert steps_for("yume_shim/tools/foo.py", paths_of(recipe)) == ["yume_shim/tools/foo.py"]
    shorter = re.sub(r"^2\. .*\n", "", recipe, flags=re.MULTILINE)
    with pytest.raises(AssertionError, match=r"does not name yume_shim/tools/foo\.py"):
        steps_for("yume_shim/tools/foo.py", paths_of(shorter))


class Checkout:
    """A copy of all files that are or would be tracked. `change` refuses paths that no step names."""

    def __init__(self, folder: Path, allowed: list[str]) -> None:
        self.folder = folder
        self._allowed = allowed
        self.touched: set[str] = set()
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
            cwd=ROOT,
            capture_output=True,
            check=False,
        )
        if listed.returncode:
            pytest.skip("not a git checkout")
        for name in filter(None, listed.stdout.decode().split("\0")):
            if (ROOT / name).exists():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
                if name.endswith(".py"):  # its bytecode fits the copy: same time, same size
                    self._copy_bytecode(name)

    def _copy_bytecode(self, name: str) -> None:
        """Python's own, and pytest's."""
        source = ROOT / name
        for compiled in (source.parent / "__pycache__").glob(f"{source.stem}.*.pyc"):
            target = self.folder / compiled.relative_to(ROOT)
            target.parent.mkdir(exist_ok=True)
            shutil.copy2(compiled, target)

    def step(self, path: str) -> Path:
        """A file or folder that is about to be added or changed."""
        self.touched.update(steps_for(path, self._allowed))
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        return place

    def insert(self, path: str, before: str, text: str) -> None:
        """Put text before the first place where `before` occurs."""
        place = self.step(path)
        old = place.read_text("utf-8")
        assert before in old
        place.write_text(old.replace(before, text + before, 1), "utf-8")

    def run(self, *words: str) -> None:
        """Run a Python command there: the copy's modules come first."""
        env = {**os.environ, "PYTHONPATH": str(self.folder)}
        done = subprocess.run(
            [sys.executable, *words], cwd=self.folder, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout[-6000:]}\n{done.stderr[-3000:]}"

    def compile(self) -> None:
        """The programs that tests start must not compile the whole package each time."""
        self.run("-m", "compileall", "-q", "yume_shim")

    def test(self, *words: str) -> None:
        """Run tests there, without the plugins that only matter for the whole suite."""
        self.run("-m", "pytest", "-q", "-x", "-p", "no:randomly", "-p", "no:cacheprovider", *words)


# ---------------------------------------------------------------- a wire API

SOURCE = "ollama-chat"
"""The API whose goldens are translated for the toy."""


def toy_lines(line: dict[str, Any]) -> list[dict[str, Any]]:
    """A line of the source API as lines of the toy."""
    if "message" not in line:
        return [line]
    message, made = line["message"], []
    if message.get("thinking"):
        made.append({"think": message["thinking"]})
    if message.get("content"):
        made.append({"say": message["content"]})
    for call in message.get("tool_calls", ()):
        given = call["function"].get("arguments") or {}
        text = given if isinstance(given, str) else json.dumps(given, separators=(",", ":"))
        made.append({"call": {"id": call.get("id", ""), "name": call["function"]["name"], "arguments": text}})
    if line.get("done"):
        counts = {"read": "prompt_eval_count", "cached": "prompt_eval_cached_count", "written": "eval_count"}
        made.append({"end": line["done_reason"], **{name: line[old] for name, old in counts.items() if old in line}})
    return made or [{"say": ""}]


def translate(case: Path) -> None:
    """Make a golden of the source API one of the toy, without what is EXPECTED."""
    for wire in [*case.glob("wire*.jsonl"), *case.glob("wire*/*.jsonl")]:
        lines = [json.loads(line) for line in wire.read_text("utf-8").splitlines() if line]
        made = [json.dumps(toy, ensure_ascii=False) for line in lines for toy in toy_lines(line)]
        wire.write_text("".join(f"{line}\n" for line in made), "utf-8")
    facts = case / "case.toml"
    facts.write_text(facts.read_text("utf-8").replace(SOURCE, "toy-lines"), "utf-8")


def copied(source: Path, target: Path) -> None:
    """A golden's inputs."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("expected", "events.jsonl", "request*.json"))
    translate(target)


def comparable(events: Path) -> list[dict[str, Any]]:
    """Expected events without the names in which the two APIs differ."""
    made = [json.loads(line) for line in events.read_text("utf-8").splitlines()]
    for event in made:
        event.get("block", {}).pop("opaque", None)
    return made


@pytest.mark.slow
def test_a_wire_api(tmp_path: Path) -> None:
    paths = paths_of(RECIPES["A wire API called `foo-bar`"], **{"foo-bar": "toy-lines", "foo_bar": "toy_lines"})
    checkout = Checkout(tmp_path / "copy", paths)
    shutil.copy(TOYS / "toy_lines.py", checkout.step("yume_shim/providers/apis/toy_lines.py"))
    checkout.insert(
        "pyproject.toml",
        '    "yume_shim.providers.apis.openai_responses",\n',
        '    "yume_shim.providers.apis.toy_lines",\n',
    )
    checkout.insert(
        "tests/helpers/api_facts.py",
        '    "openai-responses": ApiFacts',
        '    "toy-lines": ApiFacts(_json_line, "turns"),\n',
    )
    providers, sessions = checkout.folder / "golden" / "providers", checkout.folder / "golden" / "sessions"
    from tests.helpers.wire_cases import HAZARDS
    from tests.recipes.toy_lines import NOT_APPLICABLE

    shown = [hazard for hazard in HAZARDS if hazard not in NOT_APPLICABLE]
    checkout.step("golden/providers/toy-lines").mkdir()
    for hazard in shown:
        copied(providers / SOURCE / hazard, providers / "toy-lines" / hazard)
    for source in sorted(sessions.glob(f"{SOURCE}-*")):
        copied(source, checkout.step(f"golden/sessions/{source.name.replace(SOURCE, 'toy-lines')}"))
    row = '  "toy": {"api": "toy-lines", "base_url": "http://localhost:9", "key_optional": true},\n'
    checkout.insert("yume_shim/catalog/endpoints.json", '  "ollama": {', row)
    checkout.step("docs/providers.md")
    checkout.run("scripts/doc_tables.py")
    assert checkout.touched == set(paths)

    checkout.compile()
    checkout.run("scripts/golden.py", "--update", "toy-lines")
    for hazard in shown:  # the two APIs differ in shape, not in what they say
        wanted = comparable(providers / SOURCE / hazard / "events.jsonl")
        assert comparable(providers / "toy-lines" / hazard / "events.jsonl") == wanted, hazard
    files = "architecture golden_providers golden_sessions invariants degradation scripts"
    checkout.test(
        *(f"tests/test_{name}.py" for name in files.split()),
        "-k",
        "toy or contract or every_ or no_module or belong or tables",
    )


# ---------------------------------------------------------------- a tool

TOY_SPEC = """    ToolSpec(
        "Toy",
        "Say a word several times.",
        _schema(("word",), word=_field("string", "The word"), times=_field("integer", "How often (default 1)")),
        kind="read",
    ),
"""
TOY_CASES = {"twice": {"word": "tea", "times": 2}, "too-often": {"word": "tea", "times": 101}}


@pytest.mark.slow
def test_a_tool(tmp_path: Path) -> None:
    paths = paths_of(RECIPES["A tool called `Foo`"], Foo="Toy", foo="toy")
    checkout = Checkout(tmp_path / "copy", paths)
    checkout.insert("yume_shim/tools/dispatch/specs.py", '    ToolSpec(\n        "Read",', TOY_SPEC)
    shutil.copy(TOYS / "toy.py", checkout.step("yume_shim/tools/toy.py"))
    cases = checkout.step("golden/tools/Toy")
    for name, given in TOY_CASES.items():
        (cases / name).mkdir(parents=True)
        (cases / name / "input.json").write_text(json.dumps({"input": given}), "utf-8")
    checkout.step("golden/sessions/demo/expected")
    assert checkout.touched == set(paths)

    checkout.compile()
    checkout.run("scripts/golden.py", "--update", "tools/Toy")
    checkout.run("scripts/golden.py", "--update", "sessions/demo")
    result = json.loads((cases / "twice" / "expected" / "result.json").read_text("utf-8"))
    assert (result["content"], result["structured"]) == ("tea tea", {"times": 2})
    assert "between 1 and 100" in (cases / "too-often" / "expected" / "result.json").read_text("utf-8")
    for name in ("flat", "nested"):
        changed = checkout.folder / "golden" / "sessions" / "demo" / "expected" / f"{name}.jsonl"
        original = ROOT / "golden" / "sessions" / "demo" / "expected" / f"{name}.jsonl"
        assert only_init_differs(original, changed)
    files = "architecture golden_tools golden_sessions"
    checkout.test(
        *(f"tests/test_{name}.py" for name in files.split()), "-k", "toy or contract or demo or every_tool or module"
    )


def only_init_differs(before: Path, after: Path) -> bool:
    """Whether the lines differ in nothing but the tools that an init line lists."""

    def without_tools(path: Path) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        for line in lines:
            if line.get("subtype") == "init":
                line.pop("tools")
        return lines

    return without_tools(before) == without_tools(after)
