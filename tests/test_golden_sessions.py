"""Every session golden, in every dialect, byte for byte."""

from __future__ import annotations

import pytest

from tests.helpers import session_cases
from yume_shim.providers.load import known_apis

RUNS = [(case, dialect) for case in session_cases.cases() for dialect in case.dialects]
SCENARIOS = (
    "auth-failure",
    "interrupt",
    "multiple-tools",
    "parallel-tools",
    "rate-limit",
    "single-tool",
    "stream-disconnect",
    "text-only",
    "tool-error",
)


@pytest.mark.parametrize(("case", "dialect"), RUNS, ids=[f"{case.name}-{dialect}" for case, dialect in RUNS])
def test_session_is_as_expected(case: session_cases.Case, dialect: str) -> None:
    missing = session_cases.missing(case, dialect)
    if missing:
        pytest.skip(missing)
    found = session_cases.differences(case, dialect)
    assert not found, "\n\n".join(found)


def test_every_api_has_every_scenario() -> None:
    there = {case.name for case in session_cases.cases()}
    missing = {f"{api}-{scenario}" for api in known_apis() for scenario in SCENARIOS} - there
    assert missing == set()
