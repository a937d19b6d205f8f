"""Which tools a session has; listing them imports no tool module."""

from __future__ import annotations

import subprocess
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

from tests.helpers.fakes import cancel
from tests.helpers.tool_cases import call, toolbox
from tests.helpers.windows_bash import bash_for_windows
from yume_shim.engine.toolbox import Toolbox
from yume_shim.tools.dispatch import specs
from yume_shim.tools.dispatch.builtin import module_name, open_builtin_tools
from yume_shim.tools.dispatch.specs import chosen_specs
from yume_shim.types.blocks import ToolCall
from yume_shim.types.errors import Cancelled, ToolFailed
from yume_shim.types.settings import Rules, Settings

if TYPE_CHECKING:
    from pathlib import Path

ALL = (
    *("Bash", "Read", "Write", "Edit", "MultiEdit", "Glob", "Grep", "LS", "NotebookEdit", "TaskOutput", "TaskStop"),
    *("TodoWrite", "WebFetch", "WebSearch", "AskUserQuestion", "EnterPlanMode", "ExitPlanMode"),
)


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
        (("KillBash",), (), ("TaskStop",)),
        (("KillShell",), ("KillBash",), ()),
    ],
)
def test_choice(wanted: tuple[str, ...] | None, denied: tuple[str, ...], names: tuple[str, ...]) -> None:
    assert tuple(spec.name for spec in chosen_specs(wanted, denied, host_answers=True, searches=True)) == names


def test_facts_for_the_gate() -> None:
    facts = {spec.name: (spec.kind, spec.path_field, spec.parallel) for spec in specs.SPECS}
    assert facts == {
        "Bash": ("shell", "", False),
        "Read": ("read", "file_path", True),
        "Write": ("edit", "file_path", False),
        "Edit": ("edit", "file_path", False),
        "MultiEdit": ("edit", "file_path", False),
        "Glob": ("search", "path", True),
        "Grep": ("search", "path", True),
        "LS": ("search", "path", True),
        "NotebookEdit": ("edit", "notebook_path", False),
        "TaskOutput": ("other", "", False),
        "TaskStop": ("other", "", False),
        "TodoWrite": ("other", "", False),
        "WebFetch": ("other", "", True),
        "WebSearch": ("other", "", True),
        "AskUserQuestion": ("other", "", False),
        "EnterPlanMode": ("other", "", False),
        "ExitPlanMode": ("other", "", False),
    }


def test_schemas_are_strict_and_sound() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    for spec in specs.SPECS:
        jsonschema.Draft202012Validator.check_schema(spec.schema)
        assert spec.schema["additionalProperties"] is False
        assert set(spec.schema.get("required", ())) <= set(spec.schema["properties"])


def test_parameters_are_those_of_the_claude_cli() -> None:
    found = {spec.name: tuple(spec.schema["properties"]) for spec in specs.SPECS}
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
        "NotebookEdit": ("notebook_path", "cell_id", "new_source", "cell_type", "edit_mode"),
        "TaskOutput": ("task_id", "block", "timeout", "filter"),
        "TaskStop": ("task_id",),
        "TodoWrite": ("todos",),
        "WebFetch": ("url", "prompt", "offset"),
        "WebSearch": ("query", "allowed_domains", "blocked_domains"),
        "AskUserQuestion": ("questions", "answers", "annotations", "metadata"),
        "EnterPlanMode": (),
        "ExitPlanMode": ("plan", "allowedPrompts"),
    }


@pytest.mark.parametrize("host_answers", [False, True])
@pytest.mark.parametrize("searches", [False, True])
def test_offered_only_where_it_works(tmp_path: Path, host_answers: bool, searches: bool) -> None:
    tools = open_builtin_tools(
        Settings(cwd=str(tmp_path), env=bash_for_windows()),
        str(tmp_path / "scratch"),
        {},
        lambda _level, _text: None,
        host_answers=host_answers,
        search=(lambda _given, _cancel: "found") if searches else None,
    )
    asking = {"AskUserQuestion", "EnterPlanMode", "ExitPlanMode"}
    missing = (set() if host_answers else asking) | (set() if searches else {"WebSearch"})
    assert set(ALL) - {spec.name for spec in tools.specs()} == missing
    assert tools.specs() == chosen_specs(None, (), host_answers=host_answers, searches=searches)
    assert {spec.name for spec in tools.specs() if spec.needs_host} == (asking if host_answers else set())
    with pytest.raises(ToolFailed, match="No such tool available") if missing else nullcontext():
        for name in sorted(missing):
            call(tools, name, {"query": "x"})


def test_module_names() -> None:
    assert [module_name(name) for name in ALL] == [
        *("bash", "read", "write", "edit", "multi_edit", "glob", "grep", "ls", "notebook_edit", "task_output"),
        *("task_stop", "todo_write", "web_fetch", "web_search"),
        *("ask_user_question", "enter_plan_mode", "exit_plan_mode"),
    ]


def test_listing_imports_no_tool() -> None:
    program = (
        "import sys\n"
        "from yume_shim.tools.dispatch.builtin import open_builtin_tools\n"
        "from yume_shim.types.settings import Settings\n"
        f"open_builtin_tools(Settings(cwd='.', env={bash_for_windows()!r}), 'scratch', {{}}, print).specs()\n"
        "rooms = {name.rpartition('.')[2] for name in sys.modules if name.startswith('yume_shim.tools.')}\n"
        "print(sorted(rooms), sorted({'subprocess', 'difflib', 'pathspec', 'shutil', 'base64'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "['builtin', 'dispatch', 'session_state', 'specs'] []\n"


def test_complete_adds_defaults_and_nothing_else(tmp_path: Path) -> None:
    tools = toolbox(tmp_path, tmp_path / "scratch")
    edit = ToolCall("1", "Edit", {"file_path": "a", "old_string": "b", "new_string": "c"})
    box = Toolbox((tools,))
    assert box.complete(edit) == ToolCall("1", "Edit", {**edit.input, "replace_all": False})
    for same in (
        ToolCall("2", "Read", {"file_path": "a"}),
        ToolCall("3", "Nonsense", {"x": 1}),
        ToolCall("4", "Edit", {}, broken="{"),
    ):
        assert box.complete(same) is same


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


def test_a_path_with_nul_is_refused(tmp_path: Path) -> None:
    tools = toolbox(tmp_path, tmp_path / "scratch")
    with pytest.raises(ToolFailed, match="NUL"):
        call(tools, "Write", {"file_path": "a\0b", "content": ""}, "1")


def test_a_cancelled_call_does_nothing(tmp_path: Path) -> None:
    tools = toolbox(tmp_path, tmp_path / "scratch")
    stop = cancel()
    stop.set()
    with pytest.raises(Cancelled):
        call(tools, "Write", {"file_path": "a", "content": ""}, "1", stop=stop)
    assert list(tmp_path.iterdir()) == []
