"""What people see of a run."""

from __future__ import annotations

from typing import Any

from yume_shim.batch.coordinator import Counts
from yume_shim.batch.progress import Progress, bar, drawn, duration, line, summary


def counts(**given: Any) -> Counts:
    base: dict[str, Any] = {"total": 100, "done": 40, "failed": {"auth": 1, "rate_limit": 2}, "running": 4}
    base |= {"tokens": 1_234_567, "cost_usd": 0.5, "cost_unknown": False, "seconds": 20.0, "resumed": 10}
    return Counts(**(base | {"stopped": "", "problems": {}} | given))


def test_a_line() -> None:
    text = "50 of 100, 3 failed (rate_limit 2, auth 1), 4 running, 1.2M tokens, $0.5000, 25s left"
    assert line(counts()) == text
    assert bar(counts()) == "█" * 12 + "░" * 12
    waiting = line(counts(pauses=(("openai", 75.0), ("google", 0.5))))
    assert waiting == text.replace("25s left", "openai wants a wait of 1m 15s, 25s left")


def test_a_narrow_terminal_gets_what_fits_into_one_line() -> None:
    text = line(counts())
    assert drawn(counts(), 120) == f"{bar(counts())} {text}"
    assert drawn(counts(), 100) == text
    assert drawn(counts(), 20) == text[:19]


def test_the_summary_says_what_is_left_and_why() -> None:
    text = summary(counts(stopped="budget", cost_unknown=True, problems={"denied": 2}))
    assert text.splitlines() == [
        "tasks             100",
        "finished earlier  10",
        "succeeded         37",
        "failed            3 (rate_limit 2, auth 1)",
        "to look at        denied 2",
        "not finished      50 (the budget is used up; --resume continues)",
        "tokens            1,234,567",
        "cost              $0.5000 and unknown prices",
        "time              20s",
    ]


def test_a_terminal_gets_one_line_that_is_redrawn() -> None:
    shown: list[str] = []
    progress = Progress(shown.append, terminal=True, width=lambda: 120)
    progress.show(counts())
    progress.show(counts())
    assert len(shown) == 1
    assert shown[0].startswith("\r\x1b[K█")
    plain: list[str] = []
    Progress(plain.append, terminal=False).show(counts())
    assert plain == []  # the first plain line comes after a while


def test_durations() -> None:
    assert [duration(seconds) for seconds in (0.4, 59, 61, 3700)] == ["0s", "59s", "1m 01s", "1h 01m"]
