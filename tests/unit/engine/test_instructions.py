"""System prompt, standing instructions and output style as they reach the model."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.helpers.engine_fakes import SPEC, Bench, FunctionTools, NoHooks, ScriptedProvider, answer, calls, info, says
from yume_shim.context.system_prompt import ANSWERS, CONDUCT, IDENTITY, SMALL, SMALL_WINDOW
from yume_shim.engine.session import Session
from yume_shim.types.blocks import Text
from yume_shim.types.calls import PreparedCall
from yume_shim.types.commands import EndOfInput, UserInput
from yume_shim.types.events import NoteAdded, Notice
from yume_shim.types.models import ModelSpec, ToolSpec
from yume_shim.types.value import replace

if TYPE_CHECKING:
    from yume_shim.types.blocks import ToolCall
    from yume_shim.types.memory import MemoryFile
    from yume_shim.types.models import Request
    from yume_shim.types.ports import Cancel


class FileTools(FunctionTools):
    """Read and Write as the engine sees them: tools whose path is one file. Others have none."""

    def specs(self) -> tuple[ToolSpec, ...]:
        kinds: dict[str, Any] = {"Read": "read", "Write": "edit"}
        return tuple(replace(spec, kind=kinds.get(spec.name, "other")) for spec in super().specs())

    def prepare(self, call: ToolCall, spec: ToolSpec) -> PreparedCall:
        return PreparedCall(call, spec, self, path=call.input.get("file_path", ""))


def run(bench: Bench, *prompts: str, spec: ModelSpec = SPEC, **options: Any) -> Session:
    session = Session(bench.services, spec, "s-1", lambda name: spec, info)
    session.apply_initialize(**options)
    for prompt in prompts:
        session.submit(UserInput((Text(prompt),), prompt))
    session.submit(EndOfInput())
    session.run()
    return session


def tools(*names: str) -> FileTools:
    return FileTools(**dict.fromkeys(names, lambda given, context: "ok"))


def bench_in(folder: Path, provider: ScriptedProvider, **settings: Any) -> Bench:
    names = ("Bash", "NotebookEdit", "Read", "Write")
    places = {"cwd": str(folder), "env": {"HOME": str(folder.parent)}, "system_prompt": None}
    return Bench(provider, tools(*names), **{**places, **settings})


def texts(request: Request) -> list[list[str]]:
    """The texts of each message."""
    return [[block.text for block in message.blocks if isinstance(block, Text)] for message in request.messages]


def test_instructions_of_a_folder_follow_the_result_and_the_beginning_stays(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "sub").mkdir(parents=True)
    (work / "CLAUDE.md").write_text("Use tabs.")
    (work / "sub" / "CLAUDE.md").write_text("Use spaces here.")
    (work / ".claude" / "rules").mkdir(parents=True)
    (work / ".claude" / "rules" / "r.md").write_text("---\npaths: '*.txt'\n---\nTexts end with a newline.")
    file = str(work / "sub" / "x.txt")
    provider = ScriptedProvider(
        answer(calls("c1", "Read", file_path=file), stop="tool_calls"),
        answer(calls("c2", "Write", file_path=file), calls("c3", "Bash", index=1), stop="tool_calls"),
        answer(says("done")),
        answer(says("again")),
    )
    bench = bench_in(work, provider)
    loaded: list[MemoryFile] = []

    class Hooks(NoHooks):
        def instructions_loaded(self, file: MemoryFile, cancel: Cancel) -> None:
            loaded.append(file)

    hooks = Hooks()
    bench.services = replace(bench.services, hooks=lambda: hooks)
    session = run(bench, "hi", "more")
    sent = [texts(request) for request in provider.requests]
    rules, sub = os.path.join(work, ".claude", "rules", "r.md"), os.path.join(work, "sub")
    rule = f"Instructions from {rules} (the project's, for *.txt):\n\nTexts end with a newline."
    memory = os.path.join(sub, "CLAUDE.md")
    sub = f"Instructions from {memory} (the project's, for {sub}):\n\nUse spaces here."
    added = [f"<system-reminder>\n{text}\n</system-reminder>" for text in (rule, sub)]
    assert sent[1][2] == added
    assert sent[2][4] == []
    assert [event.text for event in bench.of(NoteAdded)] == added
    for before, after in zip(provider.requests, provider.requests[1:], strict=False):
        assert after.messages[: len(before.messages)] == before.messages
        assert (after.system, after.tools) == (before.system, before.tools)
    assert [(Path(each.path).name, each.reason, each.trigger) for each in loaded] == [
        ("CLAUDE.md", "session_start", ""),
        ("r.md", "path_glob_match", file),
        ("CLAUDE.md", "nested_traversal", file),
    ]
    usage = session.context_usage()
    assert [(each["path"], each["type"]) for each in usage["memoryFiles"]] == [(one.path, "Project") for one in loaded]
    assert all(each["tokens"] > 0 for each in usage["memoryFiles"])


def test_the_style_is_in_the_first_message_and_the_rules_stay(tmp_path: Path) -> None:
    folder = tmp_path / "work" / ".claude" / "output-styles"
    folder.mkdir(parents=True)
    (folder / "terse.md").write_text("Three words.")
    (folder / "free.md").write_text("---\nkeep-coding-instructions: false\n---\nSing.")
    for style, coding in (("terse", True), ("free", False), ("Concise", True)):
        provider = ScriptedProvider(answer(says("ok")))
        session = run(bench_in(tmp_path / "work", provider, output_style=style), "hi")
        [request] = provider.requests
        assert texts(request)[0][0].startswith(f"<system-reminder>\n# Output Style: {style}\n\n")
        assert IDENTITY in request.system[0]
        assert (CONDUCT in request.system[0], ANSWERS in request.system[0]) == (coding, coding)
        assert session.info().output_style == style
    session = Session(bench_in(tmp_path / "work", ScriptedProvider()).services, SPEC, "s-1", lambda name: SPEC, info)
    assert session.output_styles() == ["default", "Proactive", "Concise", "Explanatory", "Learning", "free", "terse"]


def test_an_unknown_style_is_echoed_and_reported(tmp_path: Path) -> None:
    provider = ScriptedProvider(answer(says("ok")))
    bench = bench_in(tmp_path, provider)
    session = run(bench, "hi", output_style="nope")
    assert session.info().output_style == "nope"
    assert texts(provider.requests[0]) == [["hi"]]
    assert ("warning", "there is no output style 'nope': the default one is used") in bench.logged


def test_without_dynamic_sections_the_system_prompt_is_the_same_in_every_folder(tmp_path: Path) -> None:
    sent: list[Request] = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        provider = ScriptedProvider(answer(says("ok")))
        run(bench_in(tmp_path / name, provider, exclude_dynamic=True), "hi")
        sent += provider.requests
    assert sent[0].system == sent[1].system
    assert str(tmp_path) not in json.dumps(sent[0].system)
    assert [
        f"Working directory: {tmp_path / name}" in texts(request)[0][0]
        for name, request in zip(("one", "two"), sent, strict=True)
    ] == [True, True]
    provider = ScriptedProvider(answer(says("ok")))
    run(bench_in(tmp_path, provider), "hi", system_prompt="mine", exclude_dynamic=True)
    assert (provider.requests[0].system, texts(provider.requests[0])) == (("mine",), [["hi"]])


def names(request: Request) -> list[str]:
    return [tool.name for tool in request.tools]


def test_a_small_model_gets_a_short_prompt_and_few_tools(tmp_path: Path) -> None:
    small = SPEC.with_window(SMALL_WINDOW)
    every, few = ["Bash", "NotebookEdit", "Read", "Write"], ["Bash", "Read", "Write"]
    for spec, settings, tool_names, short in (
        (SPEC, {}, every, False),
        (small, {}, few, True),
        (small, {"prompt_size": "full"}, every, False),
        (SPEC, {"prompt_size": "small"}, few, True),
        (small, {"names": ("default",)}, every, True),
    ):
        provider = ScriptedProvider(answer(says("ok")))
        bench = bench_in(tmp_path, provider, **settings)
        run(bench, "hi", spec=spec)
        [request] = provider.requests
        assert (names(request), request.system[0] == SMALL) == (tool_names, short)
        told = [notice for notice in bench.of(Notice) if notice.code == "small_model"]
        assert len(told) == (spec is small and "prompt_size" not in settings)


def test_a_change_to_a_model_of_another_size_changes_the_prompt(tmp_path: Path) -> None:
    provider = ScriptedProvider(answer(says("ok")), answer(says("ok")))
    bench = bench_in(tmp_path, provider)
    (tmp_path / "CLAUDE.md").write_text("Use tabs.")
    small = replace(SPEC.with_window(SMALL_WINDOW), id="small-model")
    session = Session(bench.services, SPEC, "s-1", lambda name: small, info)
    session.submit(UserInput((Text("hi"),), "hi"))
    provider.scripts[0].append(lambda: session.use_model("small-model"))
    session.submit(UserInput((Text("more"),), "more"))
    session.submit(EndOfInput())
    session.run()
    first, second = provider.requests
    assert (first.system[0] == SMALL, second.system[0] == SMALL) == (False, True)
    assert (names(first), names(second)) == (["Bash", "NotebookEdit", "Read", "Write"], ["Bash", "Read", "Write"])
    assert first.messages[0] == second.messages[0]


def test_instructions_take_at_most_a_quarter_of_the_window(tmp_path: Path) -> None:
    (tmp_path / "CLAUDE.md").write_text("word " * 20_000)
    provider = ScriptedProvider(answer(says("ok")))
    bench = bench_in(tmp_path, provider)
    session = run(bench, "hi", spec=SPEC.with_window(20_000))
    assert 4_500 < sum(each["tokens"] for each in session.context_usage()["memoryFiles"]) < 5_100
    assert [text for level, text in bench.logged if level == "warning" and "a quarter of" in text]
