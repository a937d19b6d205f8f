"""Answers to lines and control requests of the host that cannot be carried out."""

from __future__ import annotations

from yume_shim.types.error_entries.entry import Entry


def _request(code: str, means: str, advice: str) -> Entry:
    return Entry("request", code, means, advice)


HOST: tuple[Entry, ...] = (
    Entry(
        "line",
        "bad_input",
        "A line of stdin is not JSON, or not one of the known lines. The session goes on.",
        "Write one JSON object per line, in a form that docs/protocol/ lists",
        raised_in=("host/input_lines", "host/content", "types/content_reader"),
    ),
    _request("unsupported_request", "The subtype is not known.", "Use one that docs/protocol/requests.md lists"),
    _request("unsupported", "This value of the request is not supported.", "Leave it out"),
    _request("invalid_value", "A field is missing or has a wrong value.", "Correct the field that the message names"),
    _request("invalid_mode", "The permission mode is not known.", "Use one of the modes that the message lists"),
    _request(
        "bypass_not_launched",
        "The session may not switch to bypassPermissions.",
        "Start with --allow-dangerously-skip-permissions",
    ),
    _request(
        "bypass_disabled", "The settings disable bypassPermissions.", "Ask whoever manages the settings of this machine"
    ),
    _request("not_found", "There is no such model, server, session or profile.", "Use a name that the lists contain"),
    _request("not_running", "No turn runs.", "Send a `user` line"),
    _request("running", "The session runs.", "End it first"),
    _request("busy", "Too many requests are being worked on.", "Wait for their answers"),
    _request("rewind_failed", "Files could not be put back.", "Read why in the message; nothing else was changed"),
    Entry(
        "request",
        "failed",
        "The work that was asked for failed.",
        "Read why in the message; the session goes on",
        raised_in=("engine/model_switch", "engine/title"),
    ),
    _request("internal_error", "A defect of this program.", "Report it with what --debug-file FILE keeps"),
)
