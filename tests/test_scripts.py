"""The commands of the README, and what the checks must find."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import _venv
import check
import lock
import pytest
from privacy import private_parts

from tests.helpers import child

ROOT = Path(__file__).resolve().parents[1]


def run(script: str, *argv: str) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(ROOT / "scripts" / script), *argv]
    env = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, encoding="utf-8", check=False)


def test_the_demo_is_complete() -> None:
    done = run("demo.py")
    assert done.returncode == 0, done.stdout + done.stderr
    for caption in ("ready", "text", "tool call", "tool result", "tokens", "turn done", "end"):
        assert f"  {caption}" in done.stdout
    assert "sencha" in done.stdout


@pytest.mark.parametrize("script", ["check.py", "demo.py"])
def test_asking_for_help_starts_no_work(script: str) -> None:
    done = run(script, "--help")
    assert (done.returncode, f"python3 scripts/{script}" in done.stdout, done.stdout.count("\n") < 9) == (0, True, True)
    assert run(script, "--what").returncode == 2


def test_the_tables_of_the_documents_are_in_step() -> None:
    done = run("doc_tables.py", "--check")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        (["--show", "sessions/demo"], 0, "tool_result"),
        (["--show", "no-such-case"], 1, "no case"),
        (["--new", "sessions/demo"], 1, "must be new"),
        (["no-such-case"], 1, "no case"),
    ],
)
def test_golden_answers(argv: list[str], code: int, words: str) -> None:
    done = run("golden.py", *argv)
    assert (done.returncode, words in done.stdout + done.stderr) == (code, True)


def test_record_asks_before_it_sends_anything() -> None:
    done = run("record.py", "providers/openai-chat/new", "--provider", "openai", "--model", "m", "--prompt", "Hi")
    assert done.returncode == 1
    assert "--yes" in done.stderr
    assert not (ROOT / "golden" / "providers" / "openai-chat" / "new").exists()


KEY, HOME, TEMPORARY = "looks like a key", "a home folder", "a temporary folder"
REGISTRY, HERE = "the address of a package registry", "a folder of this machine"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("key = 'sk-" + "Zq8" * 12 + "'", KEY),
        ("key = 'sk-ant-example-" + "Zq8" * 12 + "'", ""),
        ("AI" + "zaSy" + "Bq7_-R" * 5 + "xyz", KEY),
        ("token: gl" + "pat-" + "Zq8w" * 5, KEY),
        ("gs" + "k_" + "Zq8w" * 10, KEY),
        ("disk-" + "Zq8" * 12, ""),
        ("cwd = '/hom" + "e/jsmith/project'", HOME),
        ("/User" + "s/jane.doe/Library", HOME),
        ("C:" + "\\\\Users" + "\\\\jsmith\\\\x", HOME),
        ("C:" + "/Users" + "/jsmith/x", HOME),
        ("cat /roo" + "t/.ssh/config", HOME),
        ("/home/ada/project, /Users/u, C:\\Users\\Ada, /home/<user>/x, /home/$USER/x, ${HOME}/x", ""),
        ("/tm" + "p/tmpab12cd_9/x", TEMPORARY),
        ("/tm" + "p/pytest-of-jsmith/pytest-3", TEMPORARY),
        ("/tm" + "p/some_jobs.7/out", TEMPORARY),
        ("/va" + "r/folders/x1/T/y", TEMPORARY),
        ("TMPDIR=/tmp, /tmp/out.txt", ""),
        ("--index-url https://pack" + "ages.artifactory.example.com/api", REGISTRY),
        ("https://reg" + "istry.example.org/simple/", REGISTRY),
        ("files.python" + "hosted.org", REGISTRY),
        ("pip install yume_shim  # from PyPI", ""),
        ("see /data/builds/x or so", HERE),
        ("see /data/builds/y, /usr/bin/env, a/b/c and https://example.org/a/b", ""),
        ("the root of every machine: '/../../..'", ""),
        ("nothing to see", ""),
    ],
)
def test_keys_and_machine_paths_are_noticed(line: str, found: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.path.lexists", lambda path: path in ("/data/builds/x", "/../../.."))
    assert [what for _, what in private_parts([line])] == ([found] if found else [])


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("__main__.py", False),
        ("tools/__init__.py", False),
        ("tools/_x.py", True),
        ("_x/y.py", True),
        ("a_b/c.py", False),
    ],
)
def test_underscore_modules_are_noticed(path: str, found: bool) -> None:
    assert check.has_underscore(path.replace("/", os.sep)) is found


def test_long_functions_are_noticed() -> None:
    long = "def f():\n" + "    x = 1\n" * check.MAX_FUNCTION_LINES
    assert list(check.long_functions("def g(): pass\n" + long)) == ["2: f has 61 lines (at most 60)"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("--no-binary claude-agent-sdk\na==1 \\\n    --hash=sha256:1\n", ""),
        ("--no-binary claude-agent-sdk\na==1 \\\n    --hash=sha256:1\nb==2\n", "no hashes for b==2"),
        ("--index-url https://example.org\n", "it names an address"),
        ("a==1 \\\n    --hash=sha256:1\n", "it does not ask for the sdist of claude-agent-sdk"),
    ],
)
def test_a_bad_lock_file_is_not_written(text: str, problem: str) -> None:
    assert lock.complaint(text) == problem


def test_an_old_python_is_refused(tmp_path: Path) -> None:
    code = "import sys; sys.version_info = (3, 8, 1); sys.argv = ['scripts/test.py']; import _venv; _venv.ready()"
    env = child.clean_environment(tmp_path, PYTHONPATH=str(ROOT / "scripts"))
    program = child.start(["-c", code], cwd=tmp_path, env=env, program=(sys.executable,))
    ended = program.end()
    assert ended.code == 2
    assert b"Python 3.11 or newer is needed, this is 3.8.1" in ended.stderr


def test_bytecode_is_written_before_the_tests_start_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "module.py").write_text("VALUE = 1\n")
    (tmp_path / "made" / "broken.py").write_text("VALUE =\n")
    monkeypatch.setattr(_venv, "ROOT", str(tmp_path))
    monkeypatch.setattr(_venv, "COMPILED", ("made", "absent"))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    _venv.compile_modules()
    assert [path.name.partition(".")[0] for path in tmp_path.rglob("*.pyc")] == ["module"]
