"""Tells apart what a user typed from what programs put around it: commands, reminders, notices, interrupt markers."""

from __future__ import annotations

import re

from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.pages.document import PromptKind

MAX_LOOKED_AT = 200_000
"""Characters of a text that are searched for marks."""
_REMINDER = ("<system-reminder>", "</system-reminder>")
_COMMAND = re.compile(r"<command-name>([^<]{1,200})</command-name>")
_ARGUMENTS = re.compile(r"<command-args>([^<]{0,20000})</command-args>")
_OUTPUT = re.compile(r"^\s*<(local-command-stdout|local-command-stderr|bash-stdout|bash-stderr|local-command-caveat)>")
_SHELL = re.compile(r"^\s*<bash-input>([^<]{0,20000})</bash-input>")
_TAG = re.compile(r"</?(?:local-command-stdout|local-command-stderr|bash-stdout|bash-stderr|local-command-caveat)>")
_INTERRUPTED = ("[Request interrupted by user]", "[Request interrupted by user for tool use]")


class Spoken(Value):
    """A piece of a `user` text. `kind` "interrupted" is no prompt."""

    kind: PromptKind | str
    text: str
    title: str = ""


def pieces(text: str) -> list[Spoken]:
    """The pieces of one text, in order; reminders come last."""
    if text.strip() in _INTERRUPTED:
        return [Spoken("interrupted", text.strip())]
    head = text[:MAX_LOOKED_AT]
    if "<" not in head:
        return [Spoken("user", text)]
    command = _COMMAND.search(head)
    if command is not None:
        found = _ARGUMENTS.search(head)
        name = command[1].strip()
        shown = (
            f"{name if name.startswith('/') else '/' + name} {found[1].strip() if found is not None else ''}".strip()
        )
        return [Spoken("command", shown)]
    shell = _SHELL.match(head)
    if shell is not None:
        return [Spoken("command", f"! {shell[1].strip()}")]
    if _OUTPUT.match(head):
        return [Spoken("context", _TAG.sub("", text).strip(), "Output of the command")]
    if head.lstrip().startswith("<task-notification>"):
        return [Spoken("notice", text.strip(), "A background task ended")]
    said, reminders = _without_reminders(text) if _REMINDER[0] in head else (text, [])
    spoken = [Spoken("user", said)] if said.strip() else []
    return spoken + [Spoken("context", reminder, "Reminder for the model") for reminder in reminders]


def _without_reminders(text: str) -> tuple[str, list[str]]:
    opening, closing = _REMINDER
    said: list[str] = []
    reminders: list[str] = []
    at = 0
    while True:
        start = text.find(opening, at)
        end = text.find(closing, start) if start >= 0 else -1
        if start < 0 or end < 0:
            said.append(text[at:])
            return "".join(said).strip(), reminders
        said.append(text[at:start])
        reminders.append(text[start + len(opening) : end].strip())
        at = end + len(closing)
