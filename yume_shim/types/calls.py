"""A tool call on its way through the pipeline: the values that its steps pass on."""

from __future__ import annotations

from yume_shim.types.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import Json, ToolCall
    from yume_shim.types.confinement import Confinement
    from yume_shim.types.models import ToolSpec
    from yume_shim.types.outputs import Decision, ToolOutput
    from yume_shim.types.ports import ToolSource


class PreparedCall(Value):
    """A call that was found, completed and validated. Later steps decide on exactly this value and run it."""

    call: ToolCall
    spec: ToolSpec
    source: ToolSource
    path: str = ""
    """The absolute path that the call names; "" if its tool takes no path."""
    real_path: str = ""
    """Where that path leads, links resolved: as the gate saw it when it decided, else when the call was prepared. The
    tool opens this and nothing else."""
    confinement: Confinement | None = None
    """How the command must be confined, as the gate decided."""

    @property
    def shown_input(self) -> Json:
        """The input as hooks and the host see it: a file is named by its absolute path, without `..`."""
        field = self.spec.path_field
        if not self.path or self.spec.kind not in ("read", "edit") or field not in self.call.input:
            return self.call.input
        return {**self.call.input, field: self.path}

    def at(self, judged: str) -> PreparedCall:
        """The call bound to the path that the gate decided on; "" if it decided on no path."""
        return replace(self, real_path=judged) if judged else self


class BeforeCall(Value):
    """What the before-hooks say about a call. The default value changes nothing."""

    decision: Decision | None = None
    """Deny and ask hold in every mode; allow replaces a question but never a rule that denies."""
    input: Json | None = None
    """Input to use instead; it is validated again."""
    notes: tuple[str, ...] = ()
    """Text that the model reads together with the results."""
    stop: str | None = None
    """Why the turn ends after these calls; None = it does not. The call itself still runs."""


class AfterCall(Value):
    """What the after-hooks make of a finished call: its output, possibly replaced, and text for the model."""

    output: ToolOutput
    notes: tuple[str, ...] = ()
    stop: str | None = None


class BatchVerdict(Value):
    """What hooks say when all calls of an answer have their results."""

    notes: tuple[str, ...] = ()
    stop: str | None = None
    """Why the turn ends here; None = it does not."""


class ModelSwitch(Value):
    """The host chooses another model: the ids before and after, what it asked for, and the size of the history."""

    before: str
    after: str
    asked: str
    context_tokens: int


class PromptVerdict(Value):
    """What hooks say about a prompt. `blocked` is why it does not run (None = it does); with `keeps` it stays in the
    history all the same."""

    blocked: str | None = None
    keeps: bool = False
    notes: tuple[str, ...] = ()


class StopVerdict(Value):
    """What hooks say when the model is done: `feedback` sends it back to work, `prevented` ends the turn at once."""

    feedback: str = ""
    prevented: bool = False
    counts: bool = True
    """The feedback counts as a step of the turn."""
