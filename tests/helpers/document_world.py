"""A scratch home in which the shell blocks of the documents run: the program against a loopback vendor, and stand-ins
for what a test cannot run. Each stand-in has its reason here, and notes what it was called with."""

from __future__ import annotations

import importlib
import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from tests.helpers.child import DEADLINE, Ended, clean_environment
from tests.helpers.fake_server import FakeServer
from tests.helpers.scripted_model import api_of, say, wire_of

if TYPE_CHECKING:
    from tests.helpers.fake_server import Exchange

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHELL = ("sh", "bash", "console")

PROGRAMS = {
    "uv": "installs from an index",
    "pipx": "installs from an index",
    "pip": "installs from an index",
    "claude-agent-acp": "a client from npm; tests/hosts runs it",
    "man": "shows a file; not every machine has it",
}
"""Programs that are stood in for, and why."""
CALLS = {
    "uv": r"(tool|pip) install (--compile-bytecode )?PACKAGES",
    "pipx": r"(install|runpip yume_shim install) PACKAGES",
    "pip": r"install (--no-deps )?PACKAGES",
    "man": r"docs/yume-shim\.1",
    "claude-agent-acp": "",
}
"""How they are called; PACKAGES are this project, its extras and what it depends on."""
SCRIPTS = {
    ".ci/run": "runs this test",
    "scripts/test.py": "runs this test",
    "scripts/check.py": "takes minutes; .ci/run runs it",
    "scripts/golden.py": "takes minutes, and writes into the checkout; tests/test_golden_*.py run its cases",
    "scripts/record.py": "writes into the checkout; tests/test_scripts.py runs it",
    "scripts/bundle.py": "fetches a Python and packages",
    "scripts/chaos.py": "takes minutes; tests/test_chaos.py runs some sessions",
    "scripts/fuzz.py": "takes minutes; tests/test_fuzz.py runs some inputs",
    "docs/examples/gui/bridge.py": "serves until Ctrl-C; tests/hosts/test_gui_example.py runs it",
    "-m tests.chaos.fault_server": "serves until Ctrl-C; with --list it is run",
    "-m pytest": "runs this test",
    "-m compileall": "writes into the checkout",
}
"""What `python3` does not run, and why. The rest runs."""
VALUES = {"=…": "=not-a-key"}
"""What a reader fills in."""
GIVEN = {
    "build.log": "error: expected ';' before '}'\n",
    "names.txt": "do_it\nhandle2\n",
    "prompts.txt": 'One line\nIt\'s "another"; $HOME\n',
    "src/a.py": "print(1)\n",
    "src/a b.py": "print(2)\n",
    "in.jsonl": '{"id": "a", "prompt": "One?"}\n{"id": "b", "prompt": "Two?"}\n',
}
"""Files that the blocks read."""
VARIABLES = {"SLURM_ARRAY_TASK_ID": "1", "SLURM_ARRAY_TASK_COUNT": "2", "JOB_COMPLETION_INDEX": "1"}
"""What a cluster sets for the process of a share."""
PROMPT = json.dumps({"type": "user", "content": "What does main.py do?"}) + "\n"


def shell_blocks(path: Path) -> list[str]:
    """The shell blocks of a document, as they are run."""
    blocks = [body for language, body in FENCE.findall(path.read_text("utf-8")) if language in SHELL]
    for shown, given in VALUES.items():
        blocks = [block.replace(shown, given) for block in blocks]
    return blocks


class Vendor(FakeServer):
    """Answers every prompt on every API with the same words, and lists one model."""

    def __init__(self) -> None:
        self.prompts = 0
        super().__init__("", [])

    def _play(self, exchange: Exchange) -> bool:
        api = api_of(exchange.request.path)
        if api:
            self.prompts += 1
            return self.play(exchange, api, wire_of(api, [say("An answer.")]))
        exchange.reply(200, {"Content-Type": "application/json"}, b'{"data":[{"id":"gpt-5.4","object":"model"}]}')
        return True


class DocumentWorld:
    """A folder that looks like the checkout, a home, and a PATH that begins with our programs."""

    def __init__(self, folder: Path, vendor: Vendor) -> None:
        self.home, self.cwd, programs = folder / "home", folder / "checkout", folder / "bin"
        self._calls = folder / "calls"
        for made in (self.home, self.cwd, programs):
            made.mkdir()
        for name in ("scripts", "docs", "golden", "tests"):
            (self.cwd / name).symlink_to(ROOT / name)
        for name, text in GIVEN.items():
            (self.cwd / name).parent.mkdir(exist_ok=True)
            (self.cwd / name).write_text(text)
        noted = f'echo "$(basename "$0") $*" >> {shlex.quote(str(self._calls))}\n'
        _program(programs / "yume-shim", f'exec {shlex.quote(sys.executable)} -m yume_shim "$@"\n')
        for name in PROGRAMS:
            _program(programs / name, noted)
        (self.cwd / ".ci").mkdir()
        _program(self.cwd / ".ci" / "run", noted)
        cases = "".join(f"'{script}'*) {noted.strip()}; exit;;\n" for script in SCRIPTS)
        runs = f'case "$*" in *"fault_server --list") ;;\n{cases}esac\nexec {shlex.quote(sys.executable)} "$@"\n'
        for name in ("python", "python3"):
            _program(programs / name, runs)
        self.environment = clean_environment(
            self.home,
            ANTHROPIC_BASE_URL=vendor.url,
            OPENAI_BASE_URL=f"{vendor.url}/v1",
            ANTHROPIC_API_KEY="not-a-key",
            OPENAI_API_KEY="not-a-key",
            **VARIABLES,
        )
        self.environment["PATH"] = f"{programs}:{self.environment['PATH']}"

    def run(self, block: str, typed: str = PROMPT) -> Ended:
        """Run a block in bash, which stops at the first command that fails."""
        done = subprocess.run(
            ["bash", "-e", "-c", block],
            cwd=self.cwd,
            env=self.environment,
            input=typed.encode(),
            capture_output=True,
            timeout=DEADLINE,
            check=False,
        )
        return Ended(done.stdout, done.stderr, done.returncode)

    def mistakes(self) -> list[str]:
        """Calls of stand-ins that the real thing would refuse: flags that its source does not name, missing files."""
        found = []
        for call in self._calls.read_text().splitlines() if self._calls.exists() else ():
            name, *words = call.rstrip().split(" ")
            if name in CALLS and not re.fullmatch(CALLS[name].replace("PACKAGES", _packages()), " ".join(words)):
                found.append(f"not how it is called: {call}")
            source = next((ROOT / word for word in words if word.endswith(".py")), None)
            if words[:1] == ["-m"] and words[1].startswith("tests."):
                source = ROOT / f"{words[1].replace('.', '/')}.py"
            elif words[:2] == ["-m", "compileall"] and words[2:-1] != ["-q"]:
                found.append(f"not how it is called: {call}")
            if source is None:
                continue
            if not source.is_file():
                found.append(f"no such file: {call}")
                continue
            text = source.read_text("utf-8")
            found += [f"{word} of: {call}" for word in words if word.startswith("--") and f'"{word}"' not in text]
        return found


def _packages() -> str:
    """An expression for one or more of what an installer may be given."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = (re.match(r"[\w-]+", line) for line in project["dependencies"])
    names = "|".join(re.escape(match[0]) for match in needed if match)
    one = rf"(\.|yume_shim(\[({'|'.join(project['optional-dependencies'])})\])?|{names})"
    return f"{one}( {one})*"


def program_of(block: str) -> str:
    """The marker of the program that a block starts and that not every machine has; "" if there is none."""
    found = re.search(r"^(node|parallel) ", block, re.MULTILINE)
    return found[1] if found else ""


def commands_in_yaml(path: Path) -> list[tuple[str, list[str]]]:
    """(first line, commands) of each YAML block of a document: of a workflow's steps, or of a Job's containers."""
    yaml = importlib.import_module("yaml")  # not on every system

    found = []
    for language, body in FENCE.findall(path.read_text("utf-8")):
        if language == "yaml":
            given = yaml.safe_load(body)
            steps = [step for job in given.get("jobs", {}).values() for step in job["steps"]]
            pods = given.get("spec", {}).get("template", {}).get("spec", {}).get("containers", ())
            commands = [step["run"] for step in steps if "run" in step]
            commands += [text for pod in pods if pod["command"] == ["bash", "-ec"] for text in pod["args"]]
            found.append((body.partition("\n")[0], commands))
    return found


def needs_cluster(block: str) -> bool:
    """Is a block about a Ray cluster? tests/test_batch_ray.py runs those."""
    return "--engine ray" in block


def _program(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/bash\n{body}")
    path.chmod(0o755)
