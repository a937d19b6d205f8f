"""Makes the text of a command or skill: arguments filled in, and its shell commands judged as calls of Bash and run."""

from __future__ import annotations

from yume_shim.engine.call_pipeline import CallPipeline
from yume_shim.text.placeholders import fill, has_placeholder, run_commands
from yume_shim.types.blocks import Text, ToolCall
from yume_shim.types.errors import ToolFailed
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.engine.services import EngineServices
    from yume_shim.types.ports import Cancel
    from yume_shim.types.prompt_files import PromptFile

SHELL = "Bash"
SWITCHED_OFF = "[not run: the settings disable shell commands in commands and skills]"
MAX_COMMANDS = 50
"""Shell commands in one file."""


def expand(services: EngineServices, file: PromptFile, arguments: str, cancel: Cancel) -> str:
    """The text for the model. What the file may grant holds from here on until the turn ends. Raises ToolFailed if a
    shell command is not allowed or fails, or Cancelled."""
    if file.grants:
        services.gate.grant(file.grants)
    shell = _Shell(services, cancel)

    def filled(text: str) -> str:
        return fill(text, arguments, file.arguments)

    text = run_commands(file.body, lambda command, written: shell.run(filled(command), written), filled)
    if arguments and not has_placeholder(file.body, file.arguments):
        text += f"\n\nARGUMENTS: {arguments}"
    return f"Base directory for this skill: {file.folder}\n\n{text}" if file.folder else text


class _Shell:
    """Runs the commands of one file, one after the other. Nobody is asked: what would need a question is refused."""

    def __init__(self, services: EngineServices, cancel: Cancel) -> None:
        self._services, self._cancel = services, cancel
        # hooks guard these calls as any other; what they add for the model would come before the turn has begun
        self._pipeline = CallPipeline(replace(services, emit=_not_emitted), cancel)
        self._count = 0

    def run(self, command: str, written: str) -> str:
        if not self._services.settings.prompts.prompt_shell:
            return SWITCHED_OFF
        self._count += 1
        if self._count > MAX_COMMANDS:
            raise ToolFailed(f"More than {MAX_COMMANDS} shell commands are in one file.")
        call = ToolCall(self._services.ids.call_id(), SHELL, {"command": command})
        judged = self._pipeline.judge(self._services.toolbox.complete(call))
        refusal = judged.failed.message if judged.failed is not None else judged.decision.message
        if judged.failed is not None or judged.decision.verdict != "allow":
            raise ToolFailed(f'Shell command permission check failed for pattern "{written}": {refusal}')
        result = self._pipeline.complete(judged).result
        content = result.content
        text = content if isinstance(content, str) else "\n".join(b.text for b in content if isinstance(b, Text))
        if result.is_error:
            raise ToolFailed(f'Shell command failed for pattern "{written}": {text}')
        return text


def _not_emitted(event: object) -> str:
    return ""
