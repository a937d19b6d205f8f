"""Cost in one short process, a budget for a model without a price, and `--price`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers import child
from tests.helpers.scripted_model import ModelServer, say
from tests.helpers.wire_writers import INPUT_TOKENS, OUTPUT_TOKENS

if TYPE_CHECKING:
    from pathlib import Path

UNKNOWN = ("--provider", "compatible", "--model", "home-made", "--api-key-env", "KEY")


def run(home: Path, server: ModelServer, *argv: str, **env: str) -> child.Ended:
    given = child.clean_environment(home, KEY="k", OPENAI_API_KEY="k", OPENAI_BASE_URL=server.url, **env)
    return child.run(argv, (), cwd=home, env=given)


def result_of(ended: child.Ended) -> dict[str, Any]:
    return next(line for line in ended.lines if line.get("type") == "result")


@pytest.mark.parametrize("form", ["flat", "json"])
def test_a_model_outside_the_catalogue_has_its_list_price_at_once(form: str, tmp_path: Path) -> None:
    with ModelServer([say("Hi.")]) as server:
        argv = ("-p", "Hello", "--model", "openai/o3", "--output-format", form)
        ended = run(tmp_path, server, *argv, PYTHONPROFILEIMPORTTIME="1")
    result = result_of(ended)
    assert result["total_cost_usd"] == pytest.approx((INPUT_TOKENS * 2 + OUTPUT_TOKENS * 8) / 1_000_000)
    entry = result["modelUsage"]["o3"]
    assert (entry["costBasis"], entry["contextWindow"]) == ("list_price", 200_000)
    assert "cost_unknown" not in result
    assert b"yume_shim.catalog.prices" in ended.stderr
    assert b"genai_prices" not in ended.stderr


def test_a_budget_without_a_price_is_a_start_error_in_flat(tmp_path: Path) -> None:
    with ModelServer([say("Hi.")]) as server:
        ended = run(tmp_path, server, *UNKNOWN, "--api-base", server.url, "--max-budget-usd", "1")
        assert server.requests == []
    [line] = ended.lines
    assert (ended.code, line["type"], line["subtype"], line["code"]) == (2, "system", "error", "config")
    assert "home-made" in line["message"]
    assert "--price IN,OUT" in line["message"]


@pytest.mark.parametrize("form", ["text", "json", "stream-json"])
def test_a_budget_without_a_price_is_a_warning_in_the_claude_forms(form: str, tmp_path: Path) -> None:
    with ModelServer([say("Hi.")]) as server:
        argv = ("-p", "Hello", *UNKNOWN, "--api-base", server.url, "--max-budget-usd", "1", "--output-format", form)
        ended = run(tmp_path, server, *argv, "--verbose" if form == "stream-json" else "--bare")
    assert ended.code == 0
    assert b"no price is known for compatible/home-made" in ended.stderr
    assert b"--price IN,OUT" in ended.stderr
    if form != "text":
        result = result_of(ended)
        assert (result["cost_unknown"], result["total_cost_usd"]) == (True, 0)


def test_the_given_price_counts_and_the_budget_holds(tmp_path: Path) -> None:
    with ModelServer([say("Hi.")], [say("Again.")]) as server:
        argv = (*UNKNOWN, "--api-base", server.url, "--max-budget-usd", "0.001", "--price", "100,200")
        env = child.clean_environment(tmp_path, KEY="k")
        script = ({"type": "user", "content": "a"}, {"!after": "result"}, {"type": "user", "content": "b"})
        ended = child.run(argv, script, cwd=tmp_path, env=env)
    first, second = [line for line in ended.lines if line["type"] == "result"]
    cost = (INPUT_TOKENS * 100 + OUTPUT_TOKENS * 200) / 1_000_000
    assert (first["subtype"], first["total_cost_usd"]) == ("success", pytest.approx(cost))
    assert "costBasis" not in first["modelUsage"]["home-made"]
    assert second["subtype"] == "error_max_budget_usd"


@pytest.mark.parametrize("price", ["1", "1,2,3", "a,b", "-1,2", "inf,1", ""])
def test_a_wrong_price_is_refused(price: str, tmp_path: Path) -> None:
    with ModelServer([say("Hi.")]) as server:
        ended = run(tmp_path, server, *UNKNOWN, "--api-base", server.url, f"--price={price}")
        assert server.requests == []
    assert ended.code == 2
    assert "--price must be two numbers" in ended.lines[0]["message"]
