"""Tool goldens: one call in a copy of its workspace, the result and the files after it compared as a whole.

A case is a folder `golden/tools/TOOL/NAME` (format: golden/README.md). Its tool is the folder's name.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.helpers.fakes import cancel
from tests.helpers.settings import settings_with
from tests.helpers.windows_bash import NO_BASH, bash_for_windows
from yume_shim.engine.toolbox import Toolbox
from yume_shim.tools.dispatch.builtin import open_builtin_tools
from yume_shim.types.blocks import Document, Image, Text, ToolCall
from yume_shim.types.errors import ToolFailed
from yume_shim.types.outputs import ToolContext

if TYPE_CHECKING:
    from collections.abc import Mapping

    from yume_shim.tools.dispatch.builtin import BuiltinTools
    from yume_shim.types.outputs import ToolOutput
    from yume_shim.types.ports import Cancel

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / "golden" / "tools"
MOMENT = 1_700_000_000


def all_cases() -> list[Path]:
    """Every case folder, in order."""
    return sorted(path.parent for path in TOOLS.glob("*/*/input.json"))


def toolbox(workspace: Path, scratch: Path, env: Mapping[str, str] | None = None, **settings: Any) -> BuiltinTools:
    """All built-in tools in a folder; `settings` are fields of Settings."""
    shell_env = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8", **bash_for_windows(), **(env or {})}
    return open_builtin_tools(
        settings_with(cwd=str(workspace), **{"env": bash_for_windows(), **settings}),
        str(scratch),
        shell_env,
        lambda _level, _text: None,
        host_answers=True,
        search=lambda given, _cancel: f"One result for {given['query']}.",
    )


def missing(case: Path) -> str:
    """Why a case cannot be played here; "" if it can."""
    facts = json.loads((case / "input.json").read_text("utf-8"))
    used = {case.parent.name, *(step.get("tool") for step in facts.get("before", ()))}
    return NO_BASH if "Bash" in used else ""


def call(
    tools: BuiltinTools,
    name: str,
    given: dict[str, Any],
    id: str = "call_1",
    broken: str | None = None,
    stop: Cancel | None = None,
) -> ToolOutput:
    """One call as the engine makes it: completed, prepared, run."""
    box = Toolbox((tools,))
    prepared = box.prepare(box.complete_for_host(ToolCall(id, name, given, broken)))
    return box.run(prepared, ToolContext(id, stop or cancel()))


def play(case: Path, folder: Path, env: Mapping[str, str] | None = None) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Play a case below `folder`: what came out, and the files of the workspace after it."""
    facts = json.loads((case / "input.json").read_text("utf-8"))
    workspace, scratch = folder / "ws", folder / "scratch"
    _prepare(case, facts, workspace)
    names = {"{WS}": str(workspace), "{SCRATCH}": str(scratch)}
    tools = toolbox(workspace, scratch, {**(env or {}), **facts.get("env", {})})
    try:
        for count, step in enumerate(facts.get("before", ())):
            if "change" in step:
                (workspace / step["change"]).write_text(step["to"], "utf-8", newline="")
            else:
                call(tools, step["tool"], _filled(step["input"], names), f"before_{count}")
        try:
            output = call(tools, case.parent.name, _filled(facts.get("input", {}), names), broken=facts.get("broken"))
            result = {
                "content": _shown(output.content),
                "structured": output.structured,
                "is_error": output.is_error,
            }
        except ToolFailed as failed:
            result = {"failed": failed.message, "before_run": failed.before_run, "structured": failed.structured}
    finally:
        tools.close()
    return _blanked(result, names), files_of(workspace)


def without_ripgrep() -> dict[str, str]:
    """An environment in which only the fallback is found. (Other programs may be missing there too: ripgrep often
    lives in /usr/bin.)"""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return {"PATH": os.pathsep.join(folder for folder in folders if not os.path.exists(os.path.join(folder, "rg")))}


def usual_env(case: Path) -> dict[str, str]:
    """The environment in which a case's expectations are written: the fallback searches."""
    return without_ripgrep() if case.parent.name == "Grep" else {}


def files_of(folder: Path) -> dict[str, bytes]:
    """Content by path; a link is `-> target`."""
    found: dict[str, bytes] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}".encode()
        elif path.is_file():
            found[name] = path.read_bytes()
    return found


def expected(case: Path, folder: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """What the case promises. Without `expected/workspace` the files stay as they were."""
    result = json.loads((case / "expected" / "result.json").read_text("utf-8"))
    after = case / "expected" / "workspace"
    if after.exists():
        return result, files_of(after)
    _prepare(case, json.loads((case / "input.json").read_text("utf-8")), folder)
    return result, files_of(folder)


def update(case: Path, folder: Path) -> None:
    """Rewrite `expected/` by playing the case below `folder`."""
    result, files = play(case, folder / "play", usual_env(case))
    shutil.rmtree(case / "expected", ignore_errors=True)
    (case / "expected").mkdir()
    text = json.dumps(result, ensure_ascii=False, indent=1) + "\n"
    (case / "expected" / "result.json").write_text(text, "utf-8", newline="")
    _, before = expected(case, folder / "fresh")
    if files == before:
        return
    for name, data in files.items():
        path = case / "expected" / "workspace" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _prepare(case: Path, facts: dict[str, Any], workspace: Path) -> None:
    if (case / "workspace").exists():
        shutil.copytree(case / "workspace", workspace)
    else:
        workspace.mkdir(parents=True)
    for name, content in facts.get("files", {}).items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        match content:
            case {"$b64": packed}:
                path.write_bytes(base64.b64decode(packed))
            case {"$link": target}:
                path.symlink_to(target)
            case {"$repeat": [text, times]}:
                path.write_text(text * times, "utf-8", newline="")
            case _:
                path.write_text(content, "utf-8", newline="")
    for path in workspace.rglob("*"):
        moment = MOMENT + facts.get("times", {}).get(path.relative_to(workspace).as_posix(), 0)
        if not path.is_symlink():
            os.utime(path, (moment, moment))


def _filled(part: Any, names: Mapping[str, str]) -> Any:
    """The input with the real paths in it."""
    if isinstance(part, str):
        for name, path in names.items():
            part = part.replace(name, path)
        return part
    if isinstance(part, dict):
        return {key: _filled(item, names) for key, item in part.items()}
    return [_filled(item, names) for item in part] if isinstance(part, list) else part


def _blanked(part: Any, names: Mapping[str, str]) -> Any:
    """The output with names for paths, and without what differs from run to run."""
    if isinstance(part, str):
        for name, path in names.items():
            part = part.replace(path, name)
        return part
    if isinstance(part, dict):
        return {key: 0 if key == "durationMs" else _blanked(item, names) for key, item in part.items()}
    return [_blanked(item, names) for item in part] if isinstance(part, list) else part


def _shown(content: str | tuple[Text | Image | Document, ...]) -> Any:
    if isinstance(content, str):
        return content
    shown: list[dict[str, str]] = []
    for block in content:
        match block:
            case Text():
                shown.append({"text": block.text})
            case Image():
                shown.append({"image": block.media_type, "data": block.data})
            case Document():
                shown.append({"document": block.media_type, "title": block.title, "data": block.data})
    return shown
