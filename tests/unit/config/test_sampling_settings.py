"""Sampling settings and `[models."name"]` tables: their effect on a model, and the values that are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from yume_shim.catalog.resolve import Catalog
from yume_shim.config.build import build_settings
from yume_shim.config.setting_sources import SettingSources
from yume_shim.types.errors import BadInvocation

if TYPE_CHECKING:
    from pathlib import Path

    from yume_shim.types.models import ModelSpec
    from yume_shim.types.settings import Settings


def settings(tmp_path: Path, text: str, **env: str) -> Settings:
    env.setdefault("AZURE_OPENAI_BASE_URL", "http://127.0.0.1:1")
    file = tmp_path / "config.toml"
    file.write_text(text, "utf-8")
    everything = {"HOME": str(tmp_path), "YUME_CONFIG": str(file), **env}
    return build_settings(
        SettingSources({}, (), flat=True, env=everything, cwd=str(tmp_path), log=lambda level, text: None)
    )


def spec(made: Settings, name: str) -> ModelSpec:
    return Catalog(made, lambda endpoint: True).resolve(name)


def sampled(found: ModelSpec) -> tuple[Any, ...]:
    return found.temperature, found.top_p, found.stop_sequences


def test_settings_for_all_models_and_for_one(tmp_path: Path) -> None:
    made = settings(
        tmp_path,
        """
        temperature = 1
        top_p = 0.5
        stop_sequences = ["END"]
        [models."gpt-4.1"]
        temperature = 0.25
        [models."openai/gpt-4.1"]
        stop_sequences = []
        [models."meta/llama"]
        top_p = 1
        """,
    )
    assert sampled(spec(made, "gpt-4o")) == (1.0, 0.5, ("END",))
    assert sampled(spec(made, "gpt-4.1")) == (0.25, 0.5, ())
    assert sampled(spec(made, "azure/gpt-4.1")) == (0.25, 0.5, ("END",))
    assert sampled(spec(made, "openrouter/meta/llama")) == (1.0, 1.0, ("END",))


def test_without_settings_nothing_is_changed(tmp_path: Path) -> None:
    assert sampled(spec(settings(tmp_path, ""), "gpt-4o")) == (None, None, ())


def test_the_environment_is_stronger_than_the_file(tmp_path: Path) -> None:
    made = settings(tmp_path, "temperature = 1", YUME_TEMPERATURE="0.5")
    assert spec(made, "gpt-4o").temperature == 0.5


def test_a_model_described_in_the_config_file(tmp_path: Path) -> None:
    made = settings(
        tmp_path,
        """
        [models."vllm/house-model"]
        window = 32768
        max_output = 4096
        thinking = "effort"
        tools = false
        streaming = false
        images = false
        forced_choice = false
        sampling = false
        efforts = ["low", "high"]
        prices = [1, 2, 0.5, 0]
        """,
    )
    found = spec(made, "vllm/house-model")
    assert (found.window, found.max_output, found.thinking, found.known) == (32_768, 4_096, "effort", True)
    assert (found.tools, found.streaming, found.images) == (False, False, False)
    assert (found.forced_choice, found.sampling) == (False, False)
    assert (found.efforts, found.prices) == (("low", "high"), (1.0, 2.0, 0.5, 0.0))
    assert not spec(made, "vllm/other").known


@pytest.mark.parametrize(
    ("text", "env", "message"),
    [
        ("temperature = 2.1", {}, "`temperature` must be a number from 0.0 to 2.0, not 2.1"),
        ("temperature = -0.1", {}, "`temperature` must be a number from 0.0 to 2.0, not -0.1"),
        ("temperature = true", {}, "`temperature` must be a number from 0.0 to 2.0, not True"),
        ('temperature = "1"', {}, "`temperature` must be a number from 0.0 to 2.0, not '1'"),
        ("", {"YUME_TEMPERATURE": "warm"}, "$YUME_TEMPERATURE must be a number from 0.0 to 2.0, not 'warm'"),
        ("top_p = 1.5", {}, "`top_p` must be a number from 0.0 to 1.0, not 1.5"),
        ('stop_sequences = "END"', {}, "`stop_sequences` must be a list of at most 64 texts"),
        ('stop_sequences = [""]', {}, "`stop_sequences` must be a list of at most 64 texts"),
        ("models = 3", {}, "`models` must be a table"),
        ('[models]\n"x" = 1', {}, '[models."x"] must be a table'),
        ('[models."x"]\ntemperature = 3', {}, '[models."x"]: `temperature` must be a number from 0.0 to 2.0, not 3'),
        ('[models."x"]\nwindow = 0', {}, '[models."x"]: `window` must be a whole number above 0'),
        ('[models."x"]\ntools = 1', {}, '[models."x"]: `tools` must be true or false'),
        ('[models."x"]\nthinking = "much"', {}, "`thinking` must be one of adaptive, budget, effort, level, or empty"),
        ('[models."x"]\nefforts = ["huge"]', {}, "`efforts` must be a list of none, minimal, low,"),
        ('[models."x"]\nprices = [1, 2]', {}, "`prices` must be four numbers"),
    ],
)
def test_invalid_values_are_refused(tmp_path: Path, text: str, env: dict[str, str], message: str) -> None:
    with pytest.raises(BadInvocation) as refused:
        settings(tmp_path, text, **env)
    assert message in refused.value.message


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("claude-opus-5-5", (False, False, True)),
        ("claude-fable-5-1", (False, False, True)),
        ("claude-opus-9", (False, False, True)),
        ("claude-opus-5", (False, True, False)),
        ("claude-sonnet-5", (False, True, False)),
        ("claude-opus-4-7", (False, True, False)),
        ("claude-sonnet-4-6", (True, True, False)),
        ("claude-haiku-4-5", (True, True, False)),
        ("claude-haiku-4-5-20251001", (True, True, False)),
        ("claude-3-5-haiku-latest", (True, True, False)),
        ("gpt-4.1", (True, True, False)),
        ("gpt-5.5", (False, True, False)),
        ("o4-mini", (False, True, False)),
        ("gemini-2.5-pro", (True, True, True)),
        ("gemini-2.5-flash", (True, True, False)),
    ],
)
def test_abilities_by_generation(tmp_path: Path, model: str, expected: tuple[bool, bool, bool]) -> None:
    found = spec(settings(tmp_path, ""), model)
    assert (found.sampling, found.forced_choice, found.always_thinks) == expected


@pytest.mark.parametrize(
    ("model", "thinking"),
    [
        ("claude-3-5-haiku-latest", ""),
        ("claude-3-7-sonnet-latest", "budget"),
        ("claude-opus-4-1", "budget"),
        ("claude-sonnet-4-20250514", "budget"),
        ("claude-opus-4-6", "adaptive"),
        ("claude-opus-6", "adaptive"),
    ],
)
def test_thinking_style_by_generation(tmp_path: Path, model: str, thinking: str) -> None:
    assert spec(settings(tmp_path, ""), model).thinking == thinking
