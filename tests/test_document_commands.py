"""Commands in the running text of the documents name sub-commands and flags that exist; configurations are valid."""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
import tomllib

import pytest

from tests.helpers.child import DEADLINE
from tests.helpers.document_world import DOCUMENTS, FENCE, ROOT
from yume_shim.cli.argv import parse
from yume_shim.cli.commands import command_group
from yume_shim.cli.flags import CLAUDE_SUBCOMMANDS, FORMATS, SUBCOMMAND_HELP, SUBCOMMANDS
from yume_shim.cli.help import grouped, help_text
from yume_shim.config.known_settings import check_config


def blocks(*languages: str) -> list[tuple[str, str]]:
    found = []
    for path in DOCUMENTS:
        for language, body in FENCE.findall(path.read_text("utf-8")):
            if language in languages:
                found.append((path.relative_to(ROOT).as_posix(), body))
    return found


def shim_lines() -> list[tuple[str, str]]:
    """Every `yume-shim …` in running text, and in blocks that show how commands are written."""
    lines = []
    for name, body in blocks(""):
        lines += [(name, line) for line in body.splitlines() if line.startswith("yume-shim ")]
    for path in DOCUMENTS:
        text = FENCE.sub("", path.read_text("utf-8"))
        lines += [(path.relative_to(ROOT).as_posix(), code) for code in re.findall(r"`(yume-shim [^`…|\n]+)`", text)]
    return sorted(set(lines))


def words_of(line: str) -> list[str]:
    """The words up to the first redirection or pipe."""
    words = shlex.split(line.removeprefix("$ "), comments=True)
    for place, word in enumerate(words):
        if word[:1] in "<>|&;" or word.startswith("2>"):
            return words[1:place]
    return words[1:]


@pytest.mark.parametrize(("name", "line"), shim_lines())
def test_flags_and_sub_commands_exist(name: str, line: str) -> None:
    words = words_of(line)
    if words and words[0] in command_group().commands:
        command = command_group().commands[words[0]]
        known = {option for param in command.params for option in (*param.opts, *param.secondary_opts)}
        deeper = getattr(command, "commands", {})
        if len(words) > 1 and words[1] in deeper:
            known |= {option for param in deeper[words[1]].params for option in param.opts}
        own_parser = command.context_settings.get("ignore_unknown_options", False) or words[0] in ("mcp", "batch")
        unknown = [word for word in words if word.startswith("--") and word.partition("=")[0] not in known | {"--help"}]
        assert own_parser or not unknown, f"{name}: {line}"
        return
    assert words[:1] != ["docter"]
    if words and (words[0] in CLAUDE_SUBCOMMANDS or words[0] == "acp"):
        words = words[1:]
    errors = [error for error in parse(words).errors if "unknown option" in str(error).lower()]
    assert errors == [], f"{name}: {line}"


@pytest.mark.parametrize(("name", "body"), blocks("toml"))
def test_configurations_are_valid(name: str, body: str) -> None:
    assert check_config(tomllib.loads(body), "-") == [], name


def test_examples_in_other_languages_can_be_read() -> None:
    """Protocol documents have tests of their own."""
    for name, body in blocks("python"):
        compile(body, name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    for name, body in (block for block in blocks("json") if not block[0].startswith("docs/protocol/")):
        assert json.loads(body), name


@pytest.mark.node
@pytest.mark.parametrize(("name", "body"), blocks("js"))
def test_examples_for_node_can_be_read(name: str, body: str) -> None:
    words = ["node", "--input-type=module", "--check"]
    checked = subprocess.run(words, input=body.encode(), capture_output=True, timeout=DEADLINE, check=False)
    assert checked.returncode == 0, (name, checked.stderr)


def test_every_document_that_readme_names_is_a_link() -> None:
    text = FENCE.sub("", (ROOT / "README.md").read_text("utf-8"))
    assert re.findall(r"(?<!\[)`(docs/[\w/]+\.md)`", text) == []
    assert [link for link in re.findall(r"\]\(((?:docs|golden)/[^)#]+)", text) if not (ROOT / link).exists()] == []


def test_help_names_every_sub_command_and_flag() -> None:
    text = help_text()
    assert {name for name in command_group().commands if f"\n  {name} " not in text} <= {"auth"}
    assert set(SUBCOMMANDS) <= set(SUBCOMMAND_HELP)
    assert len({flag.key for _, flags in grouped() for flag in flags}) > 60


def test_completion(monkeypatch: pytest.MonkeyPatch) -> None:
    import click

    group = command_group()
    context = click.Context(group)
    assert "doctor" in [item.value for item in group.shell_complete(context, "do")]
    assert "--permission-mode" in [item.value for item in group.shell_complete(context, "--perm")]
    for line, place, found in (
        ("yume-shim --output-format s", "2", [("plain", "stream-json")]),
        ("yume-shim -p x --output-format ", "4", [("plain", form) for form in FORMATS]),
        ("yume-shim --output-format te", "te", [("plain", "text")]),
        ("yume-shim --add-dir ", "2", [("dir", "")]),
        ("yume-shim --model ", "2", []),
    ):
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", place)
        words = [(item.type, item.value) for item in group.shell_complete(context, line.rpartition(" ")[2])]
        assert words == found, line


def test_the_recipes_for_hosted_ci_run_what_there_is() -> None:
    recipes = sorted((ROOT / ".ci" / "recipes").glob("*.yml"))
    table = (ROOT / ".ci" / "recipes" / "README.md").read_text("utf-8")
    assert [path.name for path in recipes] == sorted(re.findall(r"^\| `(\w+\.yml)`", table, re.MULTILINE))
    for path in recipes:
        lines = re.findall(r"^ +- run: (.+)$", path.read_text("utf-8"), re.MULTILINE)
        named = [word for line in lines for word in line.split() if word.startswith(("scripts/", ".ci/"))]
        assert named, f"{path.name} runs nothing of ours"
        assert [word for word in named if not (ROOT / word).is_file()] == []
