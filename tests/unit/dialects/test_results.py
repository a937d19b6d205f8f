"""The table of endings and the texts for failures."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.event_stories import ended
from yume_shim.dialects.results import (
    ENDINGS,
    error_list,
    error_text,
    exit_code,
    nested_error_category,
    retry_category,
    terminal_reason,
)
from yume_shim.types.errors import Failure


def literals(module: str, name: str) -> set[str]:
    """The values of a Literal that is defined for type checkers only, read from the source."""
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    for node in ast.walk(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return {leaf.value for leaf in ast.walk(node.value) if isinstance(leaf, ast.Constant)}  # type: ignore[misc]
    raise LookupError(name)


def test_every_outcome_has_an_ending() -> None:
    assert set(ENDINGS) == literals("yume_shim.types.events", "Outcome")


def test_every_kind_has_a_text() -> None:
    for kind in literals("yume_shim.types.errors", "ErrorKind"):
        failure = Failure(kind, "what happened")  # type: ignore[arg-type]  # the values of the Literal itself
        assert nested_error_category(failure)
        assert "what happened" in error_text(failure)


@pytest.mark.parametrize(
    ("failure", "category", "text"),
    [
        (Failure("auth", "set X_KEY"), "authentication_failed", "Not logged in · set X_KEY"),
        (Failure("auth", "bad key", 401), "authentication_failed", "Invalid API key · bad key"),
        (Failure("auth", "no", 403), "authentication_failed", "Failed to authenticate. API Error: 403 no"),
        (Failure("billing", "pay", 400), "billing_error", "Credit balance is too low · pay"),
        (Failure("context_length", "200001 tokens", 400), "invalid_request", "Prompt is too long · 200001 tokens"),
        (Failure("bad_request", "big", 413), "invalid_request", "Request too large · big"),
        (Failure("bad_request", "bad field", 400), "invalid_request", "API Error: 400 bad field"),
        (Failure("not_found", "no m", 404), "model_not_found", "There's an issue with the selected model: no m"),
        (Failure("rate_limit", "slow down", 429), "rate_limit", "API Error: Request rejected (429) · slow down"),
        (Failure("server", "oops", 500), "server_error", "API Error: 500 oops"),
        (
            Failure("network", "Connection refused by localhost:1", detail="ECONNREFUSED"),
            "server_error",
            "API Error: Connection refused by localhost:1 (ECONNREFUSED)",
        ),
    ],
)
def test_texts(failure: Failure, category: str, text: str) -> None:
    assert (nested_error_category(failure), error_text(failure)) == (category, text)


@pytest.mark.parametrize(
    ("failure", "category"),
    [
        (Failure("overloaded", "", 529), "overloaded"),
        (Failure("network", ""), "unknown"),
        (Failure("rate_limit", "", 429), "rate_limit"),
        (Failure("server", "", 500), "server_error"),
    ],
)
def test_categories_of_retries(failure: Failure, category: str) -> None:
    assert retry_category(failure) == category


@pytest.mark.parametrize(
    ("changes", "errors", "terminal", "code"),
    [
        ({}, [], "completed", 0),
        ({"outcome": "max_turns", "limit": "2"}, ["Reached maximum number of turns (2)"], "max_turns", 1),
        ({"outcome": "max_budget", "limit": "0.01"}, ["Reached maximum budget ($0.01)"], "budget_exhausted", 1),
        ({"outcome": "max_budget", "limit": "$0.01"}, ["Reached maximum budget ($0.01)"], "budget_exhausted", 1),
        (
            {"outcome": "structured_output_retries", "limit": "5"},
            ["No output matched the schema after 5 tries"],
            "structured_output_retry_exhausted",
            1,
        ),
        ({"outcome": "execution_error", "failure": Failure("internal", "crash")}, ["crash"], "", 1),
        (
            {"outcome": "provider_error", "failure": Failure("context_length", "long", 400)},
            ["long"],
            "prompt_too_long",
            1,
        ),
        ({"outcome": "provider_error", "failure": Failure("bad_request", "big", 413)}, ["big"], "image_error", 1),
        ({"outcome": "auth_error", "failure": Failure("auth", "no")}, ["no"], "api_error", 1),
        (
            {"outcome": "cancelled"},
            ["[interrupted] The turn was stopped before the model answered."],
            "aborted_streaming",
            1,
        ),
    ],
)
def test_endings(changes: dict[str, Any], errors: list[str], terminal: str, code: int) -> None:
    event = ended(**changes)
    assert (error_list(event), terminal_reason(event), exit_code(event.outcome)) == (errors, terminal, code)
