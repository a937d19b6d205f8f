"""What a session remembers between turns: history, model, system prompt, totals."""

from __future__ import annotations

import os

from yume_shim.context.environment import facts
from yume_shim.context.memory_files import load_memory
from yume_shim.context.system_prompt import build_system
from yume_shim.engine.tally import Tally
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.engine.parts import Parts
    from yume_shim.types.blocks import Message
    from yume_shim.types.models import ModelSpec


class Conversation:
    """Mutable by design: the one place where a session's state lives. Only the session's own thread touches it."""

    def __init__(self, parts: Parts, spec: ModelSpec, session_id: str) -> None:
        self.parts = parts
        self.spec = spec
        self.session_id = session_id
        self.history: list[Message] = []
        self.used_ids: set[str] = set()
        self.tally = Tally(parts.cost)
        self.schema = parts.settings.json_schema
        self.thinking_budget = parts.settings.thinking_budget
        self.system_prompt = parts.settings.system_prompt
        self.append_system_prompt = parts.settings.append_system_prompt
        self._prepared = False
        self.system: tuple[str, ...] = ()
        self.preamble = ""

    def prepare(self) -> None:
        """Build system prompt and memory note once, before the first request; after that they stay as they are, so that
        the provider's prompt cache holds."""
        if self._prepared:
            return
        self._prepared = True
        settings = self.parts.settings
        surroundings = facts(settings.cwd, self.parts.clock.now(), settings.env)
        wishes = replace(settings, system_prompt=self.system_prompt, append_system_prompt=self.append_system_prompt)
        self.system = build_system(wishes, surroundings, self.parts.toolbox.specs())
        home = settings.env.get("HOME") or os.path.expanduser("~")
        config_dir = settings.env.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")
        self.preamble = load_memory(settings.cwd, config_dir, settings.setting_sources)

    def clear(self, session_id: str) -> None:
        """Forget everything and go on under a new id."""
        self.session_id = session_id
        self.history = []
        self.used_ids = set()
        self.tally = Tally(self.parts.cost)
        self._prepared = False
