"""What a conversation remembers between requests: history, model, system prompt, totals.

Threads: only the thread of its loop changes it (the session's thread, or the thread of the call that started a child),
with one exception: `prepare` may also run on the stdin reader's thread, and has a lock. What the host may change from
the reader's thread is in `models` and `options`, which have their own locks. The reader may also read `history` (copied
in one step), `measured` and `session_id` for its answers.
"""

from __future__ import annotations

import threading

from yume_shim.context.estimate import Measured, frame_size, size_of
from yume_shim.context.repair import LegalPrefix
from yume_shim.context.trim_plan import TrimPlan
from yume_shim.engine.budget import Budget
from yume_shim.engine.host_options import HostOptions
from yume_shim.engine.model_choice import ModelChoice
from yume_shim.engine.tally import Tally
from yume_shim.types.blocks import calls_in
from yume_shim.types.token_estimate import GrowingSize

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from yume_shim.context.memory import Memory
    from yume_shim.engine.instructions import Instructions
    from yume_shim.engine.services import EngineServices
    from yume_shim.types.blocks import Json, Message
    from yume_shim.types.events import ModelUsage
    from yume_shim.types.memory import MemoryFile
    from yume_shim.types.models import ModelSpec, ToolSpec
    from yume_shim.types.ports import Cancel


class Conversation:
    """Mutable by design: the one place where the state of a session, or of a child, is kept."""

    def __init__(
        self,
        services: EngineServices,
        spec: ModelSpec,
        session_id: str,
        fallback: Callable[[str], ModelSpec] | None = None,
        parent: Conversation | None = None,
        chain: tuple[str, ...] | None = None,
    ) -> None:
        """`parent` is set for a child: it has its own history and shares the parent's tally and budget. `chain`: the
        models that take over; None = those of the settings."""
        self.services = services
        self.session_id = session_id
        self.models = ModelChoice(services, spec, fallback, chain)
        self.options = HostOptions(services.settings)
        self._parent = parent
        self.legal = LegalPrefix()
        """What is known of the history as it was last sent."""
        self.used_ids: set[str] = set() if parent is None else parent.used_ids
        """Ids of calls and answers so far, also those of children and of cleared conversations: hosts tell calls apart
        by them."""
        self._reset()
        self._instructions: Instructions | None = None
        self._frame: tuple[object, tuple[int, int, int]] | None = None
        self._reported = False
        """Hooks know which instructions were loaded."""
        self._preparing = threading.Lock()

    @property
    def system(self) -> tuple[str, ...]:
        """The system prompt; () before `prepare`."""
        return () if self._instructions is None else self._instructions.system

    @property
    def is_prepared(self) -> bool:
        """The instructions have been built."""
        return self._instructions is not None

    @property
    def preamble(self) -> str:
        """The text before the first message; "" before `prepare`."""
        return "" if self._instructions is None else self._instructions.preamble

    @property
    def memory(self) -> Memory | None:
        """The standing instructions; None if there are none to be read."""
        return None if self._instructions is None else self._instructions.memory

    @property
    def small(self) -> bool:
        """The model gets the short prompt and few tools."""
        return self._instructions is not None and self._instructions.small

    def _reset(self) -> None:
        """The state of a conversation without messages."""
        self.history: list[Message] = []
        if self._parent is None:
            self.tally = Tally(self.services.cost)
            settings = self.services.settings
            calls = settings.script.max_tool_calls
            self.budget = Budget(settings.limits.max_budget_usd, self.tally, self.services.emit, calls)
        else:
            self.tally, self.budget = self._parent.tally, self._parent.budget
        self.sizes = GrowingSize()
        """Estimates the history as it is sent."""
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
        self.pending_notes: tuple[str, ...] = ()
        """Texts of hooks for the model that go up with the next prompt."""
        self.notices_given: set[str] = set()
        """Notices that are sent only once, and have been."""

    def restore(
        self, history: Iterable[Message], spent: Iterable[ModelUsage] = (), counted: tuple[int, int, str] = (0, 0, "")
    ) -> None:
        """Continue a stored conversation. `counted` = (tokens, messages, origin) of its last answer."""
        self.history = list(history)
        ids, names = calls_in(self.history)
        self.used_ids.update(ids)
        self.services.toolbox.found[:] = dict.fromkeys(names)
        self.legal.trust(self.history)
        self.tally.carry(spent)
        tokens, messages, origin = counted
        self.measured = Measured(tokens, messages, origin) if tokens else None

    def facts_if_legal(self, history: tuple[Message, ...], spec: ModelSpec) -> Json | None:
        """What a checkpoint must know of this history if it can be sent to this model as it is, or else None."""
        legal = LegalPrefix()
        legal.trust(history)
        if not legal.covers(history, spec):
            return None
        ids, names = calls_in(history[1:])
        tokens = size_of(history) - size_of(history[:1])
        return {"origin": spec.origin, "tokens": tokens, "call_ids": ids, "call_names": names}

    def prepare(self) -> None:
        """Build system prompt and memory note once, before the first request; after that they stay as they are, so that
        the provider's prompt cache holds."""
        if self._instructions is not None:
            return
        with self._preparing:  # the reader's thread: a host may ask how full the context is before the first turn
            if self._instructions is None:
                from yume_shim.engine.instructions import build_instructions

                built = build_instructions(self.services, self.options.get(), self.models.current())
                if not self.is_prepared:  # `prepare_without_files` does not wait for the lock
                    self._instructions = built

    def prepare_without_files(self) -> None:
        """The same, if it has not been done: without files, because reading them takes too long. Should they be read in
        the end, they come too late."""
        if self._instructions is None:
            from yume_shim.engine.instructions import build_instructions

            self._instructions = build_instructions(
                self.services, self.options.get(), self.models.current(), files=False
            )

    def suit(self, spec: ModelSpec) -> bool:
        """Rebuild the system prompt if this model is of another size than the one it was built for; True if so."""
        if self._instructions is None:
            return False
        from yume_shim.engine.instructions import resized, wants_small

        small = wants_small(self.services, spec)
        if small is self._instructions.small:
            return False
        with self._preparing:
            self._instructions = resized(self._instructions, self.services, self.options.get(), small=small)
        return True

    def report_instructions(self, cancel: Cancel) -> None:
        """Tell hooks, once, which instructions were loaded at the start. Called on the loop's thread."""
        memory = self.memory
        if memory is not None and not self._reported:
            self._reported = True
            self._tell_hooks(memory.files, cancel)

    def _tell_hooks(self, files: Iterable[MemoryFile], cancel: Cancel) -> None:
        hooks = self.services.hooks()
        if hooks is not None:
            for file in tuple(files):
                hooks.instructions_loaded(file, cancel)

    def frame_sizes(self, tools: tuple[ToolSpec, ...]) -> tuple[int, int, int]:
        """Estimated tokens of system prompt, these tools and preamble; kept until one of them changes."""
        key = (self.system, tools, self.preamble)
        if self._frame is None or self._frame[0] != key:
            from yume_shim.types.token_estimate import by_characters

            sizes = (frame_size(self.system, ()), frame_size((), tools), by_characters(self.preamble))
            self._frame = (key, sizes)
        return self._frame[1]

    def instructions_for(self, path: str, cancel: Cancel) -> tuple[str, ...]:
        """Instructions for a file that a tool has used, which the model has not read yet. Called on the threads of
        calls."""
        memory = self.memory
        files = () if memory is None else memory.below(path)
        if not files:
            return ()
        from yume_shim.context.memory import later_note

        self._tell_hooks(files, cancel)
        return tuple(map(later_note, files))

    def clear(self, session_id: str) -> None:
        """Forget everything and continue under a new id."""
        self._reported = False
        self.session_id = session_id
        self._reset()
        self._instructions = None
