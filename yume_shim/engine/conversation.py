"""What a conversation remembers between requests: history, model, system prompt, totals.

Threads: only the thread of its loop changes it (the session's thread, or the thread of the call that started a child),
with one exception: `prepare` may also run on the stdin reader's thread, and has a lock. What the host may change from
the reader's thread is in `models` and `options`, which have their own locks. The reader may also read `history` (copied
in one step), `measured` and `session_id` for its answers.
"""

from __future__ import annotations

import threading

from yume_shim.context.estimate import Measured
from yume_shim.context.result_trimming import TrimPlan
from yume_shim.engine.budget import Budget
from yume_shim.engine.host_options import HostOptions
from yume_shim.engine.model_choice import ModelChoice
from yume_shim.engine.tally import Tally
from yume_shim.types.blocks import ToolCall
from yume_shim.types.folders import claude_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from yume_shim.engine.services import EngineServices
    from yume_shim.types.blocks import Message
    from yume_shim.types.events import ModelUsage
    from yume_shim.types.models import ModelSpec


SKILLS = "Skill"
"""The tool whose list of skills is a part of the first message."""


class Conversation:
    """Mutable by design: the one place where the state of a session, or of a child, is kept."""

    def __init__(
        self,
        services: EngineServices,
        spec: ModelSpec,
        session_id: str,
        fallback: Callable[[str], ModelSpec] | None = None,
        parent: Conversation | None = None,
    ) -> None:
        """`parent` is set for a child: it has its own history and shares the parent's tally and budget."""
        self.services = services
        self.session_id = session_id
        self.models = ModelChoice(services, spec, fallback)
        self.options = HostOptions(services.settings)
        self._parent = parent
        self._reset()
        self._prepared = False
        self._preparing = threading.Lock()
        self.system: tuple[str, ...] = ()
        self.preamble = ""

    def _reset(self) -> None:
        """The state of a conversation without messages."""
        self.history: list[Message] = []
        self.used_ids: set[str] = set()
        if self._parent is None:
            self.tally = Tally(self.services.cost)
            self.budget = Budget(self.services.settings.limits.max_budget_usd, self.tally, self.services.emit)
        else:
            self.tally, self.budget = self._parent.tally, self._parent.budget
        self.measured: Measured | None = None
        """What the provider counted last; None if the history is no longer what it counted."""
        self.trimming = TrimPlan()
        """How old tool results are trimmed when they are sent. It changes in few, large steps, so that the provider's
        prompt cache holds."""
        self.reasoning_stale_before = 0
        """Reasoning in the messages before this index followed another system prompt, tool list or history; it is no
        longer sent."""
        self.beginning: object = None
        """System prompt, memory note and tools of the last request."""
        self.dropped_tokens = 0
        self.notices_given: set[str] = set()
        """Notices that are sent only once, and have been."""

    def restore(
        self, history: Iterable[Message], spent: Iterable[ModelUsage] = (), counted: tuple[int, int, str] = (0, 0, "")
    ) -> None:
        """Continue a stored conversation. `counted` = (tokens, messages, origin) of its last answer."""
        self.history = list(history)
        calls = [block for entry in self.history for block in entry.blocks if isinstance(block, ToolCall)]
        self.used_ids = {call.id for call in calls}
        self.services.toolbox.found[:] = dict.fromkeys(call.name for call in calls)
        self.tally.carry(spent)
        tokens, messages, origin = counted
        self.measured = Measured(tokens, messages, origin) if tokens else None

    def prepare(self) -> None:
        """Build system prompt and memory note once, before the first request; after that they stay as they are, so that
        the provider's prompt cache holds."""
        with self._preparing:  # the reader's thread: a host may ask how full the context is before the first turn
            if not self._prepared:
                self._prepare()
                self._prepared = True

    def _prepare(self) -> None:
        from yume_shim.context.environment import facts
        from yume_shim.context.memory_files import load_memory
        from yume_shim.context.system_prompt import build_system

        settings, options = self.services.settings, self.options.get()

        def warn(text: str) -> None:
            self.services.log("warning", text)

        surroundings = facts(settings.cwd, self.services.clock.now(), settings.env, warn)
        tools = self.services.toolbox.specs()
        self.system = build_system(surroundings, tools, options.system_prompt, options.append_system_prompt)
        if settings.instructions.memory:
            hidden, folder = self.services.gate.hides, claude_folder(settings.env)
            self.preamble = load_memory(settings.cwd, folder, settings.setting_sources, hidden=hidden, warn=warn)
        if self.services.skill_list is not None and self.services.toolbox.find(SKILLS) is not None:
            listed = self.services.skill_list(self.models.current().window)
            self.preamble = "\n".join(filter(None, (self.preamble, listed)))

    def clear(self, session_id: str) -> None:
        """Forget everything and continue under a new id."""
        self.session_id = session_id
        self._reset()
        self._prepared = False
