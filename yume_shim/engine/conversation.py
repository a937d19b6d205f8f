"""What a session remembers between turns: history, model, system prompt, totals."""

from __future__ import annotations

import os
import threading

from yume_shim.context.estimate import Measured
from yume_shim.context.result_trimming import TrimPlan
from yume_shim.engine.tally import Tally
from yume_shim.types.blocks import ToolCall
from yume_shim.types.errors import BadInvocation
from yume_shim.types.value import replace_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from yume_shim.engine.services import EngineServices
    from yume_shim.types.blocks import Message
    from yume_shim.types.events import ModelUsage
    from yume_shim.types.models import ModelSpec
    from yume_shim.types.ports import Cancel


class Conversation:
    """Mutable by design: the one place where a session's state lives. Only the session's own thread changes it."""

    def __init__(
        self,
        services: EngineServices,
        spec: ModelSpec,
        session_id: str,
        fallback: Callable[[str], ModelSpec] | None = None,
    ) -> None:
        self.services = services
        self._fallback = fallback
        self.spec = spec
        self.session_id = session_id
        self._begin()
        self._fallbacks = self._chain()
        """Models that take over, in order; each is used up when its turn has come."""
        self.schema = services.settings.instructions.json_schema
        self.thinking_budget = services.settings.model.thinking_budget
        self.system_prompt = services.settings.instructions.system_prompt
        self.append_system_prompt = services.settings.instructions.append_system_prompt
        self._prepared = False
        self._preparing = threading.Lock()
        self.system: tuple[str, ...] = ()
        self.preamble = ""

    def _begin(self) -> None:
        self.history: list[Message] = []
        self.used_ids: set[str] = set()
        self.tally = Tally(self.services.cost)
        self.measured: Measured | None = None
        """What the provider counted last; None if the history is no longer what it counted."""
        self.trimming = TrimPlan()
        """How old tool results are cut on their way out; stays the same from step to step."""
        self.reasoning_stale_before = 0
        """So many messages were written behind another beginning: their reasoning is no longer sent."""
        self.beginning: object = None
        """System prompt, memory note and tools of the last request."""
        self.dropped_tokens = 0
        self.warned_of: set[str] = set()
        """What the user was told once: it is not told again."""

    def restore(
        self, history: Iterable[Message], spent: Iterable[ModelUsage] = (), counted: tuple[int, int, str] = (0, 0, "")
    ) -> None:
        """Go on with a conversation that was stored. `counted` = (tokens, messages, origin) of its last answer."""
        self.history = list(history)
        self.used_ids = {block.id for entry in self.history for block in entry.blocks if isinstance(block, ToolCall)}
        self.tally.carry(spent)
        tokens, messages, origin = counted
        self.measured = Measured(tokens, messages, origin) if tokens else None

    def refined(self, cancel: Cancel) -> ModelSpec:
        """The model of the next turn, with what its endpoint tells about it."""
        spec = self.spec
        known = self.services.refine(spec, cancel)
        if self.spec is spec:  # the host may have chosen another one meanwhile
            self.spec = known
        return known

    def choose(self, spec: ModelSpec) -> None:
        """The host wants another model: all that could take over for it are there again."""
        self.spec, self._fallbacks = spec, self._chain()

    def has_fallback(self, now: ModelSpec) -> bool:
        """Is there another model to turn to, one that could really be asked?"""
        return self._upcoming(now) is not None

    def next_fallback(self, now: ModelSpec) -> ModelSpec | None:
        """The next model of the chain that is another one and can be resolved."""
        spec = self._upcoming(now)
        if spec is not None:
            self._fallbacks.pop(0)
        return spec

    def _chain(self) -> list[str]:
        return self.services.settings.model.fallback.replace(",", " ").split()

    def _upcoming(self, now: ModelSpec) -> ModelSpec | None:
        chain = self._fallbacks
        while chain and self._fallback is not None:
            try:
                spec = self._fallback(chain[0])
            except BadInvocation as error:
                self.services.log("warning", f"fallback model {chain[0]}: {error.message}")
            else:
                if (spec.origin, spec.endpoint.base_url) != (now.origin, now.endpoint.base_url):
                    return spec
            chain.pop(0)
        return None

    def prepare(self) -> None:
        """Build system prompt and memory note once, before the first request; after that they stay as they are, so that
        the provider's prompt cache holds."""
        with self._preparing:  # a host may ask how full the context is before the first turn
            if not self._prepared:
                self._prepare()
                self._prepared = True

    def _prepare(self) -> None:
        from yume_shim.context.environment import facts
        from yume_shim.context.memory_files import load_memory
        from yume_shim.context.system_prompt import build_system

        settings = self.services.settings
        surroundings = facts(settings.cwd, self.services.clock.now(), settings.env)
        wishes = replace_in(
            settings, "instructions", system_prompt=self.system_prompt, append_system_prompt=self.append_system_prompt
        )
        self.system = build_system(wishes, surroundings, self.services.toolbox.specs())
        home = settings.env.get("HOME") or os.path.expanduser("~")
        config_dir = settings.env.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")
        self.preamble = (
            load_memory(settings.cwd, config_dir, settings.setting_sources) if settings.instructions.memory else ""
        )

    def clear(self, session_id: str) -> None:
        """Forget everything and go on under a new id."""
        self.session_id = session_id
        self._begin()
        self._prepared = False
