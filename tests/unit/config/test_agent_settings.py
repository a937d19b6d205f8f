"""Where agents come from: folders of the user and of the project, flags, settings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from yume_shim.config.agent_settings import agent_settings
from yume_shim.config.setting_sources import SettingSources
from yume_shim.types.agents import AgentFolder, AgentSettings
from yume_shim.types.errors import BadInvocation

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home" / "work" / "deep").mkdir(parents=True)
    return tmp_path / "home"


def build(home: Path, *, flat: bool = True, **values: Any) -> AgentSettings:
    sources = SettingSources(
        {name.replace("_", "-"): item for name, item in values.items()},
        (),
        flat=flat,
        env={"HOME": str(home)},
        cwd=str(home / "work" / "deep"),
        log=lambda level, message: None,
    )
    return agent_settings(sources)


def test_nothing_is_configured(home: Path) -> None:
    assert build(home) == AgentSettings()


def test_folders(home: Path) -> None:
    paths = [home / ".claude" / "agents", home / "work" / ".claude" / "agents"]
    paths.append(home / "work" / "deep" / ".claude" / "agents")
    for path in paths:
        path.mkdir(parents=True)
    users, above, here = map(str, paths)
    assert build(home).folders == (
        AgentFolder(users, "user"),
        AgentFolder(above, "project", trusted=False, starts=False),
        AgentFolder(here, "project", trusted=False, starts=False),
    )
    assert build(home, flat=False).folders[1] == AgentFolder(above, "project", trusted=False, starts=True)
    assert build(home, trust=True).folders[2] == AgentFolder(here, "project")
    assert build(home, setting_sources="user").folders == (AgentFolder(users, "user"),)
    assert build(home, bare=True).folders == ()


def test_flags_and_settings(home: Path) -> None:
    given = {"a": {"description": "D", "prompt": "P"}}
    file = home / "work" / "deep" / "agents.json"
    file.write_text(json.dumps(given))
    assert build(home, agents=json.dumps(given)).given == given
    assert build(home, agents="agents.json").given == given
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").write_text(json.dumps({"agent": "from-file", "disableAllHooks": True}))
    made = build(home, forward_subagent_text=True)
    assert (made.main, made.main_required, made.hooks, made.forward_text) == ("from-file", False, False, True)
    made = build(home, agent="from-flag")
    assert (made.main, made.main_required) == ("from-flag", True)


@pytest.mark.parametrize("text", ["{oops", "[]", '{"a": 5}', '{"a": {"description": "D"}}', "nowhere.json"])
def test_agents_that_cannot_be_read_are_refused(text: str, home: Path) -> None:
    with pytest.raises(BadInvocation, match="Invalid --agents configuration"):
        build(home, agents=text)
