"""Text of models and files: partial JSON, tool arguments, front matter of agents, skills and commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fuzz.harness import Target
from yume_shim.extensions.agents.definition_reader import BadDefinition, narrowed, read_definition
from yume_shim.extensions.commands.files import _file
from yume_shim.text import codec
from yume_shim.text.clean import clean_model_text
from yume_shim.text.frontmatter import as_text, read_frontmatter
from yume_shim.text.loops import LoopDetector
from yume_shim.text.partial_json import FieldReader
from yume_shim.text.placeholders import fill, run_commands
from yume_shim.text.tool_arguments import parse_arguments
from yume_shim.types.prompt_files import PromptFolder

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("partial-json", "front-matter")
JSON = (
    b'{"file_path":"a.py","old_string":"x\\n\\u00e9\\"","new_string":"y","replace_all":true,"n":1.5e3}',
    b'{"command":"ls -la | grep \'x\'","description":"d","timeout":null}',
    b'{"a":{"b":[1,{"c":"d"}]},"e":""}',
    b'```json\n{"a": 1}\n```',
)
AGENT = b"""---
name: reviewer
description: >
  Reads code
  and says what is wrong
tools: Read, Grep(*), "Bash(git log:*)"
model: openai/gpt-5
maxTurns: 4
effort: high
background: true
skills: [a, 'b']
mcpServers:
  - docs
  - own: {command: run, args: ["-x"], env: {A: "b"}}
hooks:
  PreToolUse:
    - matcher: Bash
      hooks:
        - type: command
          command: "echo hi" # a comment
initialPrompt: |
  Begin.
color: blue
---
You review $ARGUMENTS.
"""
COMMAND = b"""---
description: "Fix an issue"
argument-hint: [number] [priority]
allowed-tools: Bash(git add:*), Read
arguments: number priority
model: inherit
disable-model-invocation: yes
user-invocable: no
context: fork
---
Fix $1 with priority $2 and $number. !`git status` ```!
ls
``` @src/a.py $ARGUMENTS
"""
WORDS = (
    *(b"---\n", b": ", b"- ", b"\n  ", b"|", b">", b">-", b"[", b"{a: ", b"#", b"&a", b"*a", b"!!str", b"''", b'"\\x'),
    *(b"$ARGUMENTS", b"$ARGUMENTS[9]", b"$99999999999", b"!`", b"```!\n", b"yes", b"~", b"name: ", b"description: x\n"),
)


def open_target(name: str, folder: Path) -> Target:
    """The target of this name."""
    if name == "partial-json":
        return Target(name, check_partial_json, JSON, (b'"\\u', b'":"', b'",', b"```", b"\\"))
    return Target(name, check_front_matter, (AGENT, COMMAND, AGENT.replace(b"\n", b"\r\n")), WORDS)


def check_partial_json(data: bytes) -> None:
    """Fields that were read early are those of the whole object; arguments are an object or named as broken."""
    text = data.decode("utf-8", "replace")
    reader, loops = FieldReader(), LoopDetector()
    for at in range(0, len(text), 5):
        reader.feed(text[at : at + 5])
        loops.feed(text[at : at + 5])
    whole = codec.loads_object(text)
    if whole is not None and reader.done:
        early = {key: item for key, item in reader.fields.items() if key in whole}
        assert all(codec.dumps(whole[key]) == codec.dumps(item) for key, item in early.items()), (
            "an early field differs"
        )
    given, broken = parse_arguments(text)
    assert isinstance(given, dict)
    assert broken is None or isinstance(broken, str)
    codec.dumps(given)
    codec.dumps(clean_model_text(text)).decode("utf-8")


def check_front_matter(data: bytes) -> None:
    """A file with front matter is a definition, or the reason why it is none."""
    text = data.decode("utf-8", "replace")
    fields, body, problem = read_frontmatter(text)
    assert isinstance(problem, str)
    codec.dumps(fields)
    warnings: list[str] = []
    try:
        made = read_definition(as_text(fields.get("name")) or "x", fields, body.strip(), "project", warnings.append)
        narrowed(made, starts=False)
    except BadDefinition as bad:
        assert str(bad)
    prompt = _file("fix", fields, body, "/w/.claude/commands/fix.md", PromptFolder("/w", "command", "project"))
    filled = fill(prompt.body, "12 'high prio' \"x", prompt.arguments)
    run_commands(filled, lambda command, _: command[:3], lambda plain: plain)
