"""What is promised to a client of the Agent Client Protocol: one answer per request, and calls that end."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.chaos.plan import Plan
    from tests.chaos.running import Outcome

ENDED = ("completed", "failed")


def judge_acp(plan: Plan, outcome: Outcome, lines: list[dict[str, Any]], *, complete: bool) -> list[str]:
    """What is wrong with these messages."""
    problems: list[str] = []
    answers: Counter[int] = Counter()
    calls: dict[str, str] = {}
    for line in lines:
        if line.get("jsonrpc") != "2.0":
            problems.append(f"acp: not JSON-RPC: {line}")
        elif "method" in line:
            problems += _judge_message(line, calls)
        elif line.get("id") is not None:
            answers[line["id"]] += 1
    for id, count in answers.items():
        if count > 1 or id not in outcome.asked:
            problems.append(f"acp: {count} answers to request {id!r}")
    if complete and plan.end == "eof" and not plan.cold:  # a signal may come before the request is read
        silent = [id for id in outcome.asked if not answers[id]]
        if silent:
            problems.append(f"acp: no answer to {silent}")
        problems += [f"acp: the call {id} ended as {end}" for id, end in calls.items() if end not in ENDED]
    return problems


def acp_texts(lines: list[dict[str, Any]]) -> list[str]:
    """The pieces of the model's answers."""
    updates = [line["params"].get("update", {}) for line in lines if line.get("method") == "session/update"]
    return [
        update["content"]["text"]
        for update in updates
        if update.get("sessionUpdate") == "agent_message_chunk" and update["content"]["type"] == "text"
    ]


def _judge_message(line: dict[str, Any], calls: dict[str, str]) -> list[str]:
    problems = []
    model = _models().get(line["method"])
    if model is None:
        return [f"acp: unknown method {line['method']}"]
    try:
        model.model_validate(line["params"])
    except ValueError as error:
        return [f"acp: {line['method']}: {str(error)[:300]}"]
    update = line["params"].get("update", {})
    match update.get("sessionUpdate"):
        case "tool_call":
            if update["toolCallId"] in calls:
                problems.append(f"acp: the call {update['toolCallId']} began twice")
            calls[update["toolCallId"]] = update.get("status", "pending")
        case "tool_call_update":
            before = calls.get(update["toolCallId"])
            if before is None or (before in ENDED and update.get("status")):
                problems.append(f"acp: an update of the call {update['toolCallId']}, which is {before}")
            if update.get("status"):
                calls[update["toolCallId"]] = update["status"]
    return problems


@cache
def _models() -> dict[str, Any]:
    from acp import schema

    return {
        "session/update": schema.SessionNotification,
        "session/request_permission": schema.RequestPermissionRequest,
        "$/cancel_request": schema.CancelRequestNotification,
    }
