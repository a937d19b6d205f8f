"""The state of a session for the Agent Client Protocol: modes, models, commands, permission options. Pure."""

from __future__ import annotations

from yume_shim.dialects.records.acp_records import (
    CommandEntry,
    CommandInput,
    ConfigOption,
    ModeEntry,
    ModeState,
    OptionValue,
    PermissionOption,
    SessionState,
)
from yume_shim.types.effort import EFFORTS
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Final, Literal

    from yume_shim.types.blocks import Json
    from yume_shim.types.events import ApprovalAsked

    OptionKind = Literal["allow_once", "allow_always", "reject_once", "reject_always"]

MODES = (
    ("default", "Ask", "Asks before commands and edits that no rule allows"),
    ("acceptEdits", "Accept edits", "Edits files of the workspace without asking"),
    ("plan", "Plan", "Reads and plans; changes nothing"),
    ("dontAsk", "Don't ask", "Refuses what no rule allows, without asking"),
    ("bypassPermissions", "Bypass permissions", "Runs everything without asking"),
)
"""(id, name, description)"""
BYPASS = "bypassPermissions"
MODE_OPTION, MODEL_OPTION, EFFORT_OPTION = "mode", "model", "effort"
NO_EFFORT = "default"
"""The effort that the model takes by itself."""
LOCAL_COMMANDS = {"compact": "Replace the conversation by a summary of it"}
"""Commands of this program that a client is offered. `/clear` works too, but a client starts a new session instead."""
ALLOW_ONCE: Final = "allow_once"
ALLOW_ALWAYS: Final = "allow_always"
REJECT_ONCE: Final = "reject_once"
REJECT_ALWAYS: Final = "reject_always"
ACCEPT_EDITS = "allow_accept_edits"
"""Allow the call, or carry out the plan, and accept edits from now on."""
MAX_LABEL = 120


class ModelEntry(Value):
    """A model of the client's menu."""

    id: str
    name: str
    description: str = ""


class Choices(Value):
    """What a session has chosen, and may choose from. `bypass`: it may switch to bypassPermissions."""

    mode: str = "default"
    model: str = ""
    effort: str = NO_EFFORT
    models: tuple[ModelEntry, ...] = ()
    bypass: bool = False


def session_state(choices: Choices) -> Json:
    """Modes and options of a session."""
    entries = [ModeEntry(id=id, name=name, description=text or None) for id, name, text in _modes(choices)]
    return SessionState(
        modes=ModeState(currentModeId=choices.mode, availableModes=entries), configOptions=config_options(choices)
    )


def config_options(choices: Choices) -> list[ConfigOption]:
    """The mode, the model and the effort as menus."""
    mode, model, models = choices.mode, choices.model, choices.models
    modes = [OptionValue(value=id, name=name, description=text or None) for id, name, text in _modes(choices)]
    efforts = [OptionValue(value=level, name=level.capitalize()) for level in (NO_EFFORT, *EFFORTS)]
    entries = [OptionValue(value=each.id, name=each.name, description=each.description or None) for each in models]
    if model not in [each.id for each in models]:
        entries.insert(0, OptionValue(value=model, name=model))
    return [
        ConfigOption(id=MODE_OPTION, name="Mode", category="mode", currentValue=mode, options=modes),
        ConfigOption(id=MODEL_OPTION, name="Model", category="model", currentValue=model, options=entries),
        ConfigOption(
            id=EFFORT_OPTION, name="Effort", category="thought_level", currentValue=choices.effort, options=efforts
        ),
    ]


def _modes(choices: Choices) -> list[tuple[str, str, str]]:
    mode = choices.mode
    known = [entry for entry in MODES if entry[0] != BYPASS or choices.bypass or mode == BYPASS]
    return known if any(entry[0] == mode for entry in known) else [*known, (mode, mode, "")]


def command_list(names: Iterable[str], described: Iterable[Json] = ()) -> list[CommandEntry]:
    """Slash commands, with the descriptions that are known."""
    texts = {str(entry.get("name")): entry for entry in described}
    listed = []
    for name in dict.fromkeys((*names, *texts)):
        entry = texts.get(name, {})
        if name == "clear":
            continue
        text = str(entry.get("description") or LOCAL_COMMANDS.get(name) or name)
        hint = entry.get("argumentHint")
        given = CommandInput(hint=hint) if isinstance(hint, str) and hint else None
        listed.append(CommandEntry(name=name, description=text, input=given))
    return listed


# ---------------------------------------------------------------- permission options


def permission_options(event: ApprovalAsked) -> list[PermissionOption]:
    """The answers that a client offers for this question."""
    if event.call.name == "ExitPlanMode":
        return [
            _choice(ACCEPT_EDITS, "Yes, and accept edits", ALLOW_ALWAYS),
            _choice(ALLOW_ONCE, "Yes, and ask before edits", ALLOW_ONCE),
            _choice(REJECT_ONCE, "No, keep planning", REJECT_ONCE),
        ]
    if event.call.name == "EnterPlanMode":
        return [_choice(ALLOW_ONCE, "Yes", ALLOW_ONCE), _choice(REJECT_ONCE, "No", REJECT_ONCE)]
    lasting = []
    if lasting_updates(event) or not event.suggestions:
        lasting.append(_choice(ALLOW_ALWAYS, f"Always allow {_scope(event)}", ALLOW_ALWAYS))
    if any(update.get("type") == "setMode" for update in event.suggestions):
        lasting.append(_choice(ACCEPT_EDITS, "Allow all edits in this session", ALLOW_ALWAYS))
    return [
        _choice(ALLOW_ONCE, "Allow", ALLOW_ONCE),
        *lasting,
        _choice(REJECT_ONCE, "Reject", REJECT_ONCE),
        _choice(REJECT_ALWAYS, "Always reject this call", REJECT_ALWAYS),
    ]


def lasting_updates(event: ApprovalAsked) -> list[Json]:
    """The suggested rules and folders: what "always" applies. A suggested mode is an option of its own."""
    return [update for update in event.suggestions if update.get("type") != "setMode"]


def _choice(id: str, name: str, kind: OptionKind) -> PermissionOption:
    return PermissionOption(optionId=id, name=name, kind=kind)


def _scope(event: ApprovalAsked) -> str:
    """What "always" covers, in words."""
    parts: list[str] = []
    for update in lasting_updates(event):
        match update.get("type"):
            case "addRules":
                parts += [_rule(rule) for rule in update.get("rules", ())]
            case "addDirectories":
                parts += [f"work in {folder}" for folder in update.get("directories", ())]
    text = ", ".join(dict.fromkeys(parts)) or "this call in this session"
    return text if len(text) <= MAX_LABEL else f"{text[: MAX_LABEL - 1]}…"


def _rule(rule: Json) -> str:
    content = rule.get("ruleContent")
    return f"{rule.get('toolName')}({content})" if content else str(rule.get("toolName"))
