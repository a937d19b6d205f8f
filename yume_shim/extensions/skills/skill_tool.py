"""The Skill tool: the model reads the instructions of a skill, or has a child follow them."""

from __future__ import annotations

from yume_shim.types.calls import PreparedCall
from yume_shim.types.children import ChildRequest
from yume_shim.types.errors import ToolFailed
from yume_shim.types.models import ToolSpec
from yume_shim.types.outputs import ToolOutput
from yume_shim.types.prompt_files import SKILL_TOOL
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.types.blocks import ToolCall
    from yume_shim.types.models import ModelSpec
    from yume_shim.types.outputs import ToolContext
    from yume_shim.types.ports import PromptFiles
    from yume_shim.types.prompt_files import PromptFile

SPEC = ToolSpec(
    name=SKILL_TOOL,
    description=(
        "Uses a skill: instructions for a kind of task, written by the user or the project, with files beside them. A "
        "message lists the skills and what they are for. When one fits the task, use it before anything else; its "
        "instructions follow as the next message. Use only skills that are listed, and none whose instructions you "
        "have already been given for this task. A user's message that begins with /name has run that command already."
    ),
    schema={
        "type": "object",
        "properties": {
            "skill": {"type": "string", "description": "The name of the skill, as it is listed"},
            "args": {"type": "string", "description": "Arguments for it, if it takes any"},
        },
        "required": ["skill"],
        "additionalProperties": False,
    },
    source="skills",
    rule_field="skill",
    describing_field="skill",
)
HARMLESS = replace(SPEC, harmless=True)
"""A skill that grants nothing: reading its text needs no permission, as in the Claude CLI."""


class SkillTool:
    """Implements `types.ports.ToolSource`."""

    own_schemas = False

    def __init__(self, files: PromptFiles, model_of: Callable[[PromptFile], ModelSpec | None]) -> None:
        """`model_of` returns the model that a skill names, if it may use it."""
        self._files, self._model_of = files, model_of

    def specs(self) -> tuple[ToolSpec, ...]:
        return (SPEC,) if any(file.for_model for file in self._files.all()) else ()

    def find(self, name: str) -> ToolSpec | None:
        return SPEC if name == SKILL_TOOL and self.specs() else None

    def why_missing(self, name: str) -> str:
        return ""

    def complete(self, call: ToolCall, spec: ToolSpec, *, fix_arguments: bool = False) -> ToolCall:
        """The call with the name as rules write it."""
        named = call.input.get("skill")
        file = self._files.find(named.strip().removeprefix("/")) if isinstance(named, str) else None
        return call if file is None or named == file.name else replace(call, input={**call.input, "skill": file.name})

    def prepare(self, call: ToolCall, spec: ToolSpec) -> PreparedCall:
        file = self._file(call)
        return PreparedCall(call, SPEC if file.grants else HARMLESS, self)

    def run(self, prepared: PreparedCall, context: ToolContext) -> ToolOutput:
        call = prepared.call
        file = self._file(call)
        if context.expand is None:
            raise ToolFailed("Skills cannot be used here.")
        text = context.expand(file, str(call.input.get("args") or ""))
        if file.fork:
            return self._run_child(file, text, call.id, context)
        done = {"success": True, "commandName": file.name}
        return ToolOutput(f"Launching skill: {file.name}", done, notes=(text,))

    def _file(self, call: ToolCall) -> PromptFile:
        """The skill; raises ToolFailed(before_run=True)."""
        name = str(call.input.get("skill", "")).strip().removeprefix("/")
        file = self._files.find(name)
        if file is None:
            raise ToolFailed(f"Unknown skill: {name}", before_run=True)
        if not file.for_model:
            raise ToolFailed(
                f"Skill {name} is reserved for the user (disable-model-invocation): it can be run as /{name} by them, "
                "not by you. Do not do its work in another way; ask the user to run it.",
                before_run=True,
            )
        return file

    def _run_child(self, file: PromptFile, text: str, call_id: str, context: ToolContext) -> ToolOutput:
        if context.spawn is None:
            raise ToolFailed(f"Skill {file.name} runs as an agent of its own, and none can be started here.")
        result = context.spawn(child_request(file, text, self._model_of(file)), call_id, context.cancel)
        if result.outcome != "success":
            why = result.failure.message if result.failure is not None else result.outcome
            raise ToolFailed(f'Skill "{file.name}" failed: {why}')
        done = {
            "success": True,
            "commandName": file.name,
            "status": "forked",
            "agentId": result.agent_id,
            "result": result.text,
        }
        return ToolOutput(f'Skill "{file.name}" completed (forked execution).\n\nResult:\n{result.text}', done)


def child_request(file: PromptFile, text: str, model: ModelSpec | None) -> ChildRequest:
    """The task of a child that follows a skill."""
    return ChildRequest(
        text, agent_type=file.agent or "general-purpose", description=file.description or f"/{file.name}", model=model
    )
