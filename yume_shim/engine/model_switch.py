"""Changes the model of a conversation at the host's request; hooks are asked before, if there are any for it."""

from __future__ import annotations

import threading

from yume_shim.engine.cancel import CancelSignal
from yume_shim.types.calls import ModelSwitch
from yume_shim.types.errors import BadInvocation
from yume_shim.types.events import ModelChanged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.engine.conversation import Conversation
    from yume_shim.engine.services import EngineServices
    from yume_shim.types.models import ModelSpec
    from yume_shim.types.ports import Hooks

MODEL_SWITCH_S = 60.0
"""How long the hooks may take together; without their answer the model stays."""


def switch_model(services: EngineServices, conversation: Conversation, spec: ModelSpec, asked: str) -> ModelSpec:
    """Use this model from the next turn on. Raises BadInvocation if hooks object."""
    hooks = services.hooks()
    if hooks is not None and hooks.has("PreModelSwitch", "PostModelSwitch"):
        _switch_with_hooks(hooks, services, conversation, spec, asked)
    else:
        _switch(services, conversation, spec)
    return spec


def _switch(services: EngineServices, conversation: Conversation, spec: ModelSpec) -> None:
    conversation.models.choose(spec)
    services.emit(ModelChanged(spec.endpoint.name, spec.id, "host"))


def _switch_with_hooks(
    hooks: Hooks, services: EngineServices, conversation: Conversation, spec: ModelSpec, asked: str
) -> None:
    """Called on a thread of its own: hooks may take a while."""
    limit, measured = CancelSignal(), conversation.measured
    before = conversation.models.current().id
    switch = ModelSwitch(before, spec.id, asked, 0 if measured is None else measured.tokens)
    timer = threading.Timer(MODEL_SWITCH_S, limit.set)
    timer.daemon = True
    timer.start()
    try:
        refused = hooks.model_switching(switch, limit)
        if refused is not None:
            raise BadInvocation(f"a hook refused the model {spec.id}: {refused}")
        if limit.is_set():
            raise BadInvocation(f"the hooks for the model {spec.id} took more than {MODEL_SWITCH_S:g} s")
        _switch(services, conversation, spec)
        conversation.pending_notes += hooks.model_switched(switch, limit)
    finally:
        timer.cancel()
