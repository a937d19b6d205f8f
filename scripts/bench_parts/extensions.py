"""With extensions: three MCP servers, two hooks, ten skills and five agents, configured the same way for every program
that reads the Claude CLI's files."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING

import bench_mcp

if TYPE_CHECKING:
    from pathlib import Path

    from bench_parts.programs import Program, Start

SERVERS, SKILLS, AGENTS = 3, 10, 5
HOOKS = ("SessionStart", "UserPromptSubmit")
NAME = "{}, with extensions"


def extended(program: Program) -> Program:
    """The same program with all of them."""

    def start(prompt: str, url: str, home: Path) -> Start:
        servers = configure(home)
        made = program.start(prompt, url, home)
        return made._replace(argv=[*made.argv, "--mcp-config", str(servers)])

    return program._replace(name=NAME.format(program.name), start=start)


def configure(home: Path) -> Path:
    """Write hooks, skills and agents below this home folder; returns the file that names the servers."""
    claude = home / ".claude"
    for number in range(SKILLS):
        folder = claude / "skills" / f"skill-{number}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: skill-{number}\ndescription: Does {number}.\n---\nDo it.\n")
    (claude / "agents").mkdir()
    for number in range(AGENTS):
        text = f"---\nname: agent-{number}\ndescription: Does {number}.\n---\nYou do {number}.\n"
        (claude / "agents" / f"agent-{number}.md").write_text(text)
    hook = [{"hooks": [{"type": "command", "command": "true"}]}]
    (claude / "settings.json").write_text(json.dumps({"hooks": dict.fromkeys(HOOKS, hook)}))
    (home / "stub.py").write_text(bench_mcp.STUB)
    stub = {"command": sys.executable, "args": ["-I", str(home / "stub.py")]}
    servers = home / "servers.json"
    servers.write_text(json.dumps({"mcpServers": {f"s{number}": stub for number in range(SERVERS)}}))
    return servers


def bare_name(name: str) -> str:
    """The program's name without what `extended` adds."""
    return re.sub(re.escape(NAME.format("")) + "$", "", name)
