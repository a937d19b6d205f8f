"""Rate limits in headers: each family, what is not a limit, and when a change is worth a line."""

from __future__ import annotations

import pytest
from claude_agent_sdk import RateLimitEvent
from claude_agent_sdk._internal.message_parser import parse_message

from tests.helpers.fakes import FakeIds
from tests.helpers.record_check import check_lines
from yume_shim.dialects.flat import FlatDialect
from yume_shim.dialects.nested import NestedDialect
from yume_shim.dialects.records.index import FLAT, NESTED
from yume_shim.providers.wire.rate_limits import LimitMeter, read_limits
from yume_shim.types.events import LimitsReported, Tagged
from yume_shim.types.rate_limits import RateLimit
from yume_shim.types.value import replace

ANTHROPIC = {
    "anthropic-ratelimit-requests-limit": "4000",
    "anthropic-ratelimit-requests-remaining": "3000",
    "anthropic-ratelimit-requests-reset": "2026-11-18T09:00:00Z",
    "anthropic-ratelimit-input-tokens-limit": "1000",
    "anthropic-ratelimit-input-tokens-remaining": "100",
    "anthropic-ratelimit-input-tokens-reset": "soon",
}
OPENAI = {
    "x-ratelimit-limit-requests": "5000",
    "x-ratelimit-remaining-requests": "4999",
    "x-ratelimit-reset-requests": "12ms",
    "x-ratelimit-limit-tokens": "2000000",
    "x-ratelimit-remaining-tokens": "500000",
    "x-ratelimit-reset-tokens": "1m30.5s",
}
SUBSCRIPTION = {
    "anthropic-ratelimit-unified-status": "allowed_warning",
    "anthropic-ratelimit-unified-representative-claim": "five_hour",
    "anthropic-ratelimit-unified-5h-utilization": "0.85",
    "anthropic-ratelimit-unified-5h-reset": "1794993600",
    "anthropic-ratelimit-unified-7d-status": "allowed",
    "anthropic-ratelimit-unified-7d-utilization": "0.25",
    "anthropic-ratelimit-unified-overage-in-use": "true",
}


@pytest.mark.parametrize(
    ("headers", "limits"),
    [
        (
            ANTHROPIC,
            (
                RateLimit("input_tokens", "allowed_warning", 1000, 100, 0.9),
                RateLimit("requests", "allowed", 4000, 3000, 0.25, 1794992400.0),
            ),
        ),
        (
            OPENAI,
            (
                RateLimit("tokens", "allowed", 2_000_000, 500_000, 0.75, None, 90.5),
                RateLimit("requests", "allowed", 5000, 4999, 0.0002, None, 0.012),
            ),
        ),
        (
            {"x-ratelimit-limit": "20", "x-ratelimit-remaining": "19", "x-ratelimit-reset": "1794992400000"},
            (RateLimit("requests", "allowed", 20, 19, 0.05, 1794992400.0),),
        ),
        (
            {
                "x-ratelimit-limit-requests-day": "10",
                "x-ratelimit-remaining-requests-day": "1",
                "x-ratelimit-reset-requests-day": "3600",
            },
            (RateLimit("requests_day", "allowed_warning", 10, 1, 0.9, None, 3600.0),),
        ),
        (
            SUBSCRIPTION,
            (
                RateLimit("five_hour", "allowed_warning", used=0.85, resets_at=1794993600.0, overage=True),
                RateLimit("seven_day", "allowed", used=0.25, overage=True),
            ),
        ),
        (
            {"anthropic-ratelimit-unified-status": "rejected", "anthropic-ratelimit-unified-reset": "1794993600"},
            (RateLimit("unified", "rejected", resets_at=1794993600.0),),
        ),
        (
            {"x-ratelimit-limit-tokens": "9223372036854767616", "x-ratelimit-remaining-tokens": "9223372036854767616"},
            (),
        ),
        ({"x-ratelimit-limit-tokens": "0", "x-ratelimit-remaining-tokens": "0"}, ()),
        ({"x-ratelimit-limit-tokens": "many", "x-ratelimit-remaining-tokens": "-1", "x-ratelimit-over-secs": "1"}, ()),
        ({"content-type": "text/plain"}, ()),
    ],
)
def test_families(headers: dict[str, str], limits: tuple[RateLimit, ...]) -> None:
    assert read_limits(headers) == limits


def test_a_refusal_names_the_limit_that_is_used_up() -> None:
    headers = {**OPENAI, "x-ratelimit-remaining-requests": "0"}
    [first, second] = read_limits(headers, refused=True)
    assert (first.kind, first.status) == ("requests", "rejected")
    assert (second.kind, second.status) == ("tokens", "allowed")
    assert read_limits(headers)[0].status == "allowed_warning"


def test_many_limits_are_bounded() -> None:
    headers: dict[str, str] = {}
    for place in range(100):
        kind = "a" * (place % 30 + 1) + "b" * (place // 30 + 1)
        headers |= {f"x-ratelimit-limit-{kind}": "10", f"x-ratelimit-remaining-{kind}": "5"}
    assert len(read_limits(headers)) == 16


def test_only_changes_are_worth_a_line() -> None:
    meter = LimitMeter()
    start = RateLimit("tokens", "allowed", 100, 90, 0.1)
    assert meter.worth_a_line((start,))
    assert not meter.worth_a_line((start,))
    assert not meter.worth_a_line((replace(start, used=0.13),))
    assert meter.worth_a_line((replace(start, used=0.15),))
    assert meter.worth_a_line((replace(start, used=0.15, status="allowed_warning"),))
    assert meter.worth_a_line((replace(start, used=0.02),))
    assert not meter.worth_a_line(())


def test_lines() -> None:
    event = LimitsReported(read_limits(OPENAI))
    limits = [
        {
            "kind": "tokens",
            "status": "allowed",
            "limit": 2_000_000,
            "remaining": 500_000,
            "utilization": 0.75,
            "resets_at": 1090,
        },
        {
            "kind": "requests",
            "status": "allowed",
            "limit": 5000,
            "remaining": 4999,
            "utilization": 0.0002,
            "resets_at": 1000,
        },
    ]
    flat = FlatDialect("1", FakeIds()).feed(Tagged(event, "u-1", 1000.0))
    check_lines(flat, FLAT)
    assert flat == [{"type": "system", "subtype": "rate_limits", "limits": limits}]
    nested = NestedDialect("2", FakeIds()).feed(Tagged(event, "u-1", 1000.0))
    check_lines(nested, NESTED)
    info = {
        "status": "allowed",
        "resetsAt": 1090,
        "rateLimitType": "tokens",
        "utilization": 0.75,
        "isUsingOverage": False,
    }
    assert nested == [
        {"type": "rate_limit_event", "rate_limit_info": info, "limits": limits, "uuid": "u-1", "session_id": ""}
    ]
    parsed = parse_message(dict(nested[0]))
    assert isinstance(parsed, RateLimitEvent)
    assert (parsed.rate_limit_info.resets_at, parsed.rate_limit_info.utilization) == (1090, 0.75)
