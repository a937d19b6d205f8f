"""The groups of Settings."""

from __future__ import annotations

from tests.helpers.settings import LONG_NAMES, OWN, settings_with
from yume_shim.types.settings import Settings
from yume_shim.types.value import fields, replace_in


def groups(settings: Settings) -> dict[str, object]:
    return {name: getattr(settings, name) for name in fields(settings) if name not in OWN}


def test_no_field_name_is_in_two_groups() -> None:
    names = [name for group in groups(Settings()).values() for name in fields(group)]
    assert len(names) == len(set(names))


def test_long_names_mean_existing_fields() -> None:
    for group, field in LONG_NAMES.values():
        assert field in fields(groups(Settings())[group])


def test_flat_keywords_are_put_into_their_groups() -> None:
    settings = settings_with(cwd="/w", model="m", provider="p", max_turns=3)
    assert (settings.cwd, settings.model.name, settings.model.provider, settings.limits.max_turns) == (
        "/w",
        "m",
        "p",
        3,
    )
    assert settings == replace_in(settings_with(cwd="/w", model="m", provider="p"), "limits", max_turns=3)
