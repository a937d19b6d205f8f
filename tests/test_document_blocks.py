"""Every shell block of the documents is run: what is written there works, against a loopback vendor."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.helpers.document_world import (
    DOCUMENTS,
    ROOT,
    DocumentWorld,
    Vendor,
    commands_in_yaml,
    needs_cluster,
    program_of,
    shell_blocks,
)

if sys.platform == "win32":
    pytest.skip("the blocks are for POSIX shells", allow_module_level=True)

from tests.helpers.terminals import Terminal

if TYPE_CHECKING:
    from pathlib import Path

PROMPTS = {
    ("README.md", ""): 5,
    ("docs/examples/README.md", "node"): 1,
    ("docs/fleet.md", ""): 11,
    ("docs/fleet.md", "parallel"): 4,
}
"""How many prompts the blocks of a document send: those that every machine can run, and those that need a program."""
WITH_BLOCKS = [
    pytest.param(
        name, program, marks=[getattr(pytest.mark, program)] if program else [], id=f"{name} {program}".strip()
    )
    for name, path in ((path.relative_to(ROOT).as_posix(), path) for path in DOCUMENTS)
    for program in sorted({program_of(block) for block in shell_blocks(path)})
]
DIALOGUE = (("Provider", "opneai"), ("Did you mean 'openai'?", "openai"), ("Model", "gpt-5.4"), ("Key", "not-a-key"))
"""What `yume-shim init` asks, and what is answered."""


@pytest.mark.parametrize(("name", "program"), WITH_BLOCKS)
def test_blocks_run(name: str, program: str, tmp_path: Path) -> None:
    with Vendor() as vendor:
        world = DocumentWorld(tmp_path, vendor)
        for block in (block for block in shell_blocks(ROOT / name) if program_of(block) == program):
            if block.startswith("yume-shim init\n"):
                with_dialogue(block, world)
            elif not needs_cluster(block):
                ended = world.run(block)
                assert (ended.code, b"Traceback" in ended.stderr) == (0, False), (block, ended)
        assert vendor.prompts == PROMPTS.get((name, program), 0)
    assert world.mistakes() == []


def test_commands_in_yaml_run(tmp_path: Path) -> None:
    pytest.importorskip("yaml", reason="PyYAML not installed")
    with Vendor() as vendor:
        world = DocumentWorld(tmp_path, vendor)
        found = commands_in_yaml(ROOT / "docs" / "fleet.md")
        assert [(name, len(commands)) for name, commands in found] == [
            ("name: prompts", 2),
            ("apiVersion: batch/v1", 1),
        ]
        for command in (command for _, commands in found for command in commands):
            ended = world.run(command.replace("/data/", f"{world.cwd}/"))
            assert (ended.code, b"Traceback" in ended.stderr) == (0, False), (command, ended)
        assert vendor.prompts == 3  # both tasks of the workflow, and a pod's share of them
    assert (world.cwd / "answers.jsonl").read_bytes().count(b"\n") == 2
    assert (world.cwd / "out.1.jsonl").read_bytes().count(b"\n") == 1


def with_dialogue(block: str, world: DocumentWorld) -> None:
    """Run a block that asks a person."""
    program = ("bash", "-e", "-c", block)
    with Terminal([], cwd=world.cwd, env=world.environment, program=program) as terminal:
        for question, answer in DIALOGUE:
            terminal.wait_for(question)
            terminal.type(f"{answer}\n")
        assert terminal.end() == 0, terminal.seen  # doctor's too
    assert "✓" in terminal.seen
    assert "Next: yume-shim doctor" in terminal.seen


def test_a_wrong_block_is_noticed(tmp_path: Path) -> None:
    with Vendor() as vendor:
        world = DocumentWorld(tmp_path, vendor)
        assert world.run("yume-shim --no-such-flag -p x").code != 0
        world.run("python3 scripts/chaos.py --sesions 3\npython scripts/gone.py || true")
        world.run(
            "pip install .\npip --instal .\npip install 'yume_shim[otle]'\npipx install left-pad\nman docs/gone.1"
        )
        world.run("python -m tests.chaos.fault_server --lst\npython -m compileall --quite yume_shim")
    assert world.mistakes() == [
        "--sesions of: python3 scripts/chaos.py --sesions 3",
        "not how it is called: pip --instal .",
        "not how it is called: pip install yume_shim[otle]",
        "not how it is called: pipx install left-pad",
        "not how it is called: man docs/gone.1",
        "--lst of: python -m tests.chaos.fault_server --lst",
        "not how it is called: python -m compileall --quite yume_shim",
    ]
