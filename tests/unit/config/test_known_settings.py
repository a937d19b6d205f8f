"""The config file: unknown keys at every level, and that the table knows every setting and variable that is read."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from yume_shim.cli.flags import BY_NAME
from yume_shim.config.known_settings import OTHER_VARIABLES, SETTINGS, check_config

ROOT = Path(__file__).parents[3] / "yume_shim"
READERS = ("conf", "conf_texts", "conf_number", "table", "table_of", "get")
VARIABLE = re.compile(r'"((?:YUME|CLAUDE_CODE|ANTHROPIC|MAX_THINKING|MAX_MCP|MCP|DISABLE)_[A-Z_]+)"')
ELSEWHERE = {
    *("ANTHROPIC_BASE_URL", "ANTHROPIC_VERTEX_PROJECT_ID"),  # of providers, which have a table of their own
    "YUME_API_KEY",
    *("CLAUDE_CODE_EXECUTABLE", "CLAUDE_CODE_COMMAND"),  # of clients, in the directions of `yume-shim init`
    *("CLAUDE_CODE_MCP_SERVER_NAME", "CLAUDE_CODE_MCP_SERVER_URL"),  # set for programs that we start
}


@pytest.mark.parametrize(
    ("config", "warning"),
    [
        ({"modle": "m"}, "unknown setting `modle`. Did you mean 'model'?"),
        ({"provder": "openai"}, "unknown setting `provder`. Did you mean 'provider'?"),
        ({"retri": {"initial": 1}}, "unknown setting [retri]. Did you mean 'retry'?"),
        ({"retry": {"initail": 1}}, "unknown setting `retry.initail`. Did you mean 'initial'?"),
        ({"timeouts": {"idel": 1}}, "unknown setting `timeouts.idel`. Did you mean 'idle'?"),
        (
            {"secrets": {"keys_for_tool": True}},
            "unknown setting `secrets.keys_for_tool`. Did you mean 'keys_for_tools'?",
        ),
        ({"web": {"allow_privat": []}}, "unknown setting `web.allow_privat`. Did you mean 'allow_private'?"),
        ({"models": {"m": {"windw": 1}}}, "unknown setting `models.m.windw`. Did you mean 'window'?"),
        (
            {"profiles": {"w": {"key_comand": "x"}}},
            "unknown setting `profiles.w.key_comand`. Did you mean 'key_command'?",
        ),
        ({"zzz": 1}, "unknown setting `zzz`."),
    ],
)
def test_unknown_keys_are_named(config: dict[str, Any], warning: str) -> None:
    assert check_config(config, "config.toml") == [f"config.toml: {warning}"]


def test_names_of_the_user_are_not_keys() -> None:
    free = {"aliases": {"modle": "m"}, "env": {"X": "1"}, "keys": {"opnai": "k"}, "endpoints": {"acme": {"api": "x"}}}
    assert check_config(free, "config.toml") == []


def test_every_setting_that_is_read_is_in_the_table() -> None:
    known = {setting.key.split(".")[0] for setting in SETTINGS}
    read: set[str] = set()
    for path in (ROOT / "config").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
                continue
            owner = ast.unparse(node.func.value)
            reads = owner in ("sources", "self") if node.func.attr != "get" else owner.endswith(".config")
            if node.func.attr in READERS and reads and isinstance(node.args[0], ast.Constant):
                read.add(str(node.args[0].value))
    assert len(read) > 20
    assert read <= known


def test_every_variable_that_is_read_is_in_the_table() -> None:
    known = {*OTHER_VARIABLES, *ELSEWHERE, *(setting.variable for setting in SETTINGS)}
    read = {name for path in ROOT.rglob("*.py") for name in VARIABLE.findall(path.read_text("utf-8"))}
    assert read - known == set()


def test_the_flags_of_the_table_exist() -> None:
    assert {setting.flag for setting in SETTINGS if setting.flag} <= set(BY_NAME)
