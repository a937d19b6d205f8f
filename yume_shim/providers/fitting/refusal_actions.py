"""What refusal rules do: each action takes the adaptations and returns new ones with one change, or None if there is
nothing (more) to change. Pure."""

from __future__ import annotations

from yume_shim.providers.fitting.body_edits import has_path
from yume_shim.providers.fitting.changed import Changed, with_notice
from yume_shim.providers.fitting.history_edits import chain_lacks_reasoning, fingerprint, has_private_data, older_media
from yume_shim.providers.fitting.limit_actions import fit_limits
from yume_shim.providers.fitting.refusal_rules import (
    DECLARATION_FORMS,
    NOTICES,
    allowed_efforts,
    matching_rules,
    named_parameters,
)
from yume_shim.types.blocks import ToolCall, ToolResult
from yume_shim.types.effort import nearest_effort
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from yume_shim.providers.fitting.adaptations import Adaptations
    from yume_shim.types.blocks import Json
    from yume_shim.types.errors import Failure
    from yume_shim.types.models import Request

    Action = Callable[[Adaptations, Request, Failure], "Changed | None"]

NAMING_STATUSES = (400, 422, None)
"""Statuses of refusals that may name a parameter; None = the refusal came inside a stream."""
PARAMETER_NOTICE = "{model} at {endpoint} refuses {name}: it is left out."


def adapt(adaptations: Adaptations, request: Request, failure: Failure, body: Json) -> Changed | None:
    """The adaptations with the first change that this refusal asks for. `body` is what was refused."""
    if failure.limits is not None:  # the sentence names a number: the parameter itself is not refused
        return fit_limits(adaptations, request, failure.limits) or _by_rule(adaptations, request, failure)
    changed = _by_rule(adaptations, request, failure)
    if changed is None and failure.kind == "bad_request" and failure.status in NAMING_STATUSES:
        changed = (
            _by_schema(adaptations, request, failure)
            or _by_name(adaptations, request, failure, body)
            or _send_without_tools(adaptations, request)
        )
    return changed


def _by_rule(adaptations: Adaptations, request: Request, failure: Failure) -> Changed | None:
    for rule in matching_rules(failure):
        for step in rule.actions:
            if isinstance(step, str):
                changed = ACTIONS[step](adaptations, request, failure)
            else:
                changed = _set_quirk(adaptations, request, *step)
            if changed is not None:
                return changed
    return None


def _by_schema(adaptations: Adaptations, request: Request, failure: Failure) -> Changed | None:
    """Leave out the schema keywords that the refusal names and that the tools use."""
    from yume_shim.providers.fitting.schema_refusals import refused_keywords

    dropped = tuple(adaptations.quirk(request, "schema_drop"))
    new = tuple(name for name in refused_keywords(failure, request.tools) if name not in dropped)
    if not new:
        return None
    made = replace(adaptations, quirks={**adaptations.quirks, "schema_drop": (*dropped, *new)})
    return Changed(made, f"schemas without {', '.join(new)}")


def _by_name(adaptations: Adaptations, request: Request, failure: Failure, body: Json) -> Changed | None:
    """Leave out a parameter that the refusal names, that was sent, and that is optional."""
    for named in named_parameters(request.model.endpoint.api, failure):
        changed = None
        if named.quirk is not None:
            changed = _set_quirk(adaptations, request, *named.quirk)
        elif has_path(body, named.path) and named.path not in adaptations.omitted:
            if named.name == "tool_choice" and request.tool_choice not in ("auto", "none"):
                changed = _set_quirk(adaptations, request, "forced_choice", False)
            if changed is None:
                made = replace(adaptations, omitted=(*adaptations.omitted, named.path))
                made = with_notice(made, request, "parameter_left_out", PARAMETER_NOTICE.replace("{name}", named.name))
                changed = Changed(made, f"without {'.'.join(named.path)}")
        if changed is not None:
            return changed
    return None


# ---------------------------------------------------------------- actions


def _set_quirk(adaptations: Adaptations, request: Request, name: str, to: Any) -> Changed | None:
    now = adaptations.quirk(request, name)
    if (name, to) in adaptations.tried_quirks or now == to:
        return None
    made = replace(
        adaptations,
        quirks={**adaptations.quirks, name: to},
        tried_quirks=adaptations.tried_quirks | {(name, to), (name, now)},
    )
    if name in NOTICES:
        made = with_notice(made, request, *NOTICES[name])
    return Changed(made, f"{name} = {to!r}")


def _strip(adaptations: Adaptations, request: Request, failure: Failure) -> Changed | None:
    """Send none of the reasoning so far. Later reasoning is sent back, until that is refused too."""
    new = {
        fingerprint(block)
        for message in request.messages
        for block in message.blocks
        if has_private_data(block) and not adaptations.is_stripped(block)
    }
    if not new:
        return None
    made = replace(adaptations, stripped=adaptations.stripped | new, strips=adaptations.strips + 1)
    return Changed(made, "without the reasoning so far")


def _flatten(adaptations: Adaptations, request: Request, failure: Failure) -> Changed | None:
    has_calls = any(
        isinstance(block, ToolCall | ToolResult) for message in request.messages for block in message.blocks
    )
    return _set_quirk(adaptations, request, "flat_results", True) if has_calls else None


def _use_stand_ins(adaptations: Adaptations, request: Request, failure: Failure) -> Changed | None:
    """Models whose thinking has levels get stand-in signatures without being asked."""
    if request.model.thinking == "level":
        return None
    return _set_quirk(adaptations, request, "checks_signatures", True)


def _postpone_thinking(adaptations: Adaptations, request: Request, failure: Failure) -> Changed | None:
    if adaptations.thinking_postponed or not chain_lacks_reasoning(adaptations.strip(request.messages)):
        return None
    made = replace(adaptations, thinking_postponed=True)
    return Changed(made, "without thinking until this chain of calls has ended")


def _declare(adaptations: Adaptations, request: Request, failure: Failure) -> Changed | None:
    """The next form of function declarations."""
    tried = adaptations.tried_declarations | {adaptations.quirk(request, "declarations")}
    forms = DECLARATION_FORMS.get(request.model.endpoint.api, ())
    return _declare_as(adaptations, tried, next((form for form in forms if form not in tried), None))


def _declare_parameters(adaptations: Adaptations, request: Request, failure: Failure) -> Changed | None:
    tried = adaptations.tried_declarations | {adaptations.quirk(request, "declarations")}
    return _declare_as(adaptations, tried, None if "parameters" in tried else "parameters")


def _declare_as(adaptations: Adaptations, tried: frozenset[str], form: str | None) -> Changed | None:
    if form is None:
        return None
    made = replace(adaptations, tried_declarations=tried, quirks={**adaptations.quirks, "declarations": form})
    return Changed(made, f"functions declared as {form!r}")


def _change_effort(adaptations: Adaptations, request: Request, failure: Failure) -> Changed | None:
    allowed = allowed_efforts(failure.message)
    if not allowed or not request.effort or request.effort in allowed or allowed == adaptations.efforts:
        return None
    level = nearest_effort(request.effort, allowed)
    text = f"{{model}} has no effort {request.effort}: {level} is used."
    made = with_notice(replace(adaptations, efforts=allowed), request, "effort_changed", text)
    return Changed(made, f"effort {level}")


def _omit_old_media(adaptations: Adaptations, request: Request, failure: Failure) -> Changed | None:
    """Leave out the images and documents of all messages but the newest that has any."""
    old = older_media(request.messages)
    if all(count <= adaptations.omitted_media.get(mark, 0) for mark, count in old.items()):
        return None
    made = replace(adaptations, omitted_media={**adaptations.omitted_media, **old})
    text = "Older images and documents are left out: the request was too large."
    return Changed(with_notice(made, request, "images_left_out", text), "without older images and documents")


def _send_without_tools(adaptations: Adaptations, request: Request) -> Changed | None:
    """Send a request that ends in tool results once more without tools, where the endpoint's quirk says so."""
    if not adaptations.quirk(request, "continuation_without_tools"):
        return None
    if not request.tools or request is adaptations.sent_without_tools:
        return None
    if not any(isinstance(block, ToolResult) for block in request.messages[-1].blocks):
        return None
    made = replace(adaptations, sent_without_tools=request)
    text = "{model} at {endpoint} refused tool results together with tools: no tools are offered."
    return Changed(with_notice(made, request, "tools_left_out", text), "without tools")


ACTIONS: dict[str, Action] = {
    "strip": _strip,
    "flat": _flatten,
    "stand_ins": _use_stand_ins,
    "think_later": _postpone_thinking,
    "declare": _declare,
    "declare_parameters": _declare_parameters,
    "effort": _change_effort,
    "old_media": _omit_old_media,
}
"""The actions that rules name."""
