"""Which tools a session has, and how cheaply it knows."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.helpers.fakes import cancel
from tests.helpers.tool_cases import call, toolbox
from yume_shim.tools import _specs
from yume_shim.tools.registry import chosen_specs, module_name
from yume_shim.types.blocks import ToolCall
from yume_shim.types.errors import Cancelled, ToolFailed
from yume_shim.types.outputs import ToolContext
from yume_shim.types.settings import Rules

if TYPE_CHECKING:
    from pathlib import Path

ALL = ("Bash", "Read", "Write", "Edit", "MultiEdit", "Glob", "Grep", "LS")


@pytest.mark.parametrize(
    ("wanted", "denied", "names"),
    [
        (None, (), ALL),
        (("default",), (), ALL),
        ((), (), ()),
        (("Read", "Bash"), (), ("Bash", "Read")),
        (("Nonsense", "Read"), (), ("Read",)),
        (None, ("Bash", "Read(./x)"), ALL[1:]),
        (("Bash",), ("Bash",), ()),
    ],
)
def test_choice(wanted: tuple[str, ...] | None, denied: tuple[str, ...], names: tuple[str, ...]) -> None:
    assert tuple(spec.name for spec in chosen_specs(wanted, denied)) == names


def test_facts_for_the_gate() -> None:
    facts = {spec.name: (spec.kind, spec.path_field, spec.parallel) for spec in _specs.SPECS}
    assert facts == {
        "Bash": ("shell", "", False),
        "Read": ("read", "file_path", True),
        "Write": ("edit", "file_path", False),
        "Edit": ("edit", "file_path", False),
        "MultiEdit": ("edit", "file_path", False),
        "Glob": ("search", "path", True),
        "Grep": ("search", "path", True),
        "LS": ("search", "path", True),
    }


def test_schemas_are_strict_and_sound() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    for spec in _specs.SPECS:
        jsonschema.Draft202012Validator.check_schema(spec.schema)
        assert spec.schema["additionalProperties"] is False
        assert set(spec.schema.get("required", ())) <= set(spec.schema["properties"])


def test_parameters_are_those_of_the_claude_cli() -> None:
    found = {spec.name: tuple(spec.schema["properties"]) for spec in _specs.SPECS}
    assert found == {
        "Bash": ("command", "timeout", "description", "run_in_background", "dangerouslyDisableSandbox"),
        "Read": ("file_path", "offset", "limit", "pages", "allow_large"),
        "Write": ("file_path", "content"),
        "Edit": ("file_path", "old_string", "new_string", "replace_all"),
        "MultiEdit": ("file_path", "edits"),
        "Glob": ("pattern", "path"),
        "Grep": (
            *("pattern", "path", "glob", "output_mode", "-B", "-A", "-C", "context", "-n", "-i", "-o"),
            *("type", "head_limit", "offset", "multiline"),
        ),
        "LS": ("path", "ignore"),
    }


def test_module_names() -> None:
    assert [module_name(name) for name in ("LS", "MultiEdit", "Read")] == ["ls", "multi_edit", "read"]


def test_listing_imports_no_tool() -> None:
    program = (
        "import sys\n"
        "from yume_shim.tools.registry import open_toolbox\n"
        "from yume_shim.types.settings import Settings\n"
        "open_toolbox(Settings(cwd='.'), 'scratch', {}, print).specs()\n"
        "rooms = {name.rpartition('.')[2] for name in sys.modules if name.startswith('yume_shim.tools.')}\n"
        "print(sorted(rooms), sorted({'subprocess', 'difflib', 'pathspec', 'shutil', 'base64'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "['_ledger', '_specs', '_state', 'registry'] []\n"


def test_complete_adds_defaults_and_nothing_else(tmp_path: Path) -> None:
    tools = toolbox(tmp_path, tmp_path / "scratch")
    edit = ToolCall("1", "Edit", {"file_path": "a", "old_string": "b", "new_string": "c"})
    assert tools.complete(edit) == ToolCall("1", "Edit", {**edit.input, "replace_all": False})
    for same in (
        ToolCall("2", "Read", {"file_path": "a"}),
        ToolCall("3", "Nonsense", {"x": 1}),
        ToolCall("4", "Edit", {}, broken="{"),
    ):
        assert tools.complete(same) is same


def test_a_tool_switched_off_is_not_there(tmp_path: Path) -> None:
    tools = toolbox(tmp_path, tmp_path / "scratch", rules=Rules(deny=("Write",)))
    assert tools.find("Write") is None
    with pytest.raises(ToolFailed) as failed:
        call(tools, "Write", {"file_path": "a", "content": ""})
    assert (failed.value.message, failed.value.before_run, failed.value.structured) == (
        "Error: No such tool available: Write. It is switched off in this session.",
        True,
        "Error: No such tool available: Write",
    )


def test_input_changed_after_the_check_is_checked_again(tmp_path: Path) -> None:
    tools = toolbox(tmp_path, tmp_path / "scratch")
    with pytest.raises(ToolFailed, match="NUL"):
        tools.run(ToolCall("1", "Write", {"file_path": "a\0b", "content": ""}), ToolContext("1", cancel()))


def test_a_cancelled_call_does_nothing(tmp_path: Path) -> None:
    tools = toolbox(tmp_path, tmp_path / "scratch")
    stop = cancel()
    stop.set()
    with pytest.raises(Cancelled):
        tools.run(ToolCall("1", "Write", {"file_path": "a", "content": ""}), ToolContext("1", stop))
    assert list(tmp_path.iterdir()) == []
