"""The `sandbox` table of settings.json: its documented keys, who may set them, and what is refused."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from yume_shim.config.build import build_settings
from yume_shim.config.setting_sources import SettingSources
from yume_shim.types.errors import BadInvocation
from yume_shim.types.settings import SandboxSettings

if TYPE_CHECKING:
    from pathlib import Path


def built(tmp_path: Path, *, logged: list[str] | None = None, trusted: bool = False, **files: Any) -> SandboxSettings:
    """The settings from these tables: `user`, `project`, and `flag` (`--settings`)."""
    work, home = tmp_path / "work", tmp_path / "home"
    for name, folder in (("user", home / ".claude"), ("project", work / ".claude")):
        folder.mkdir(parents=True, exist_ok=True)
        if name in files:
            (folder / "settings.json").write_text(json.dumps(files[name]))
    if trusted:
        (home / ".claude.json").write_text(json.dumps({"projects": {str(work): {"hasTrustDialogAccepted": True}}}))
    values = {"settings": json.dumps(files["flag"])} if "flag" in files else {}
    notes = logged if logged is not None else []
    sources = SettingSources(
        values,
        (),
        flat=False,
        env={"HOME": str(home)},
        cwd=str(work),
        log=lambda level, text: notes.append(f"{level}: {text}"),
    )
    return build_settings(sources).tools.claude_sandbox


def test_every_key(tmp_path: Path) -> None:
    table = {
        "enabled": True,
        "autoAllowBashIfSandboxed": False,
        "allowUnsandboxedCommands": False,
        "failIfUnavailable": True,
        "excludedCommands": ["docker", "git push *"],
        "filesystem": {
            "allowWrite": ["~/.cache", "build", "/opt/x", "//opt/y"],
            "denyWrite": ["./keep"],
            "denyRead": ["~"],
        },
        "network": {
            "allowedDomains": ["example.com", "*.npmjs.org"],
            "deniedDomains": ["bad.example.com"],
            "allowAllUnixSockets": True,
            "httpProxyPort": 8080,
        },
    }
    rules = {"allow": ["WebFetch(domain:docs.rs)", "Bash(ls)"], "deny": ["WebFetch(domain:evil.org)"]}
    work, home = tmp_path / "work", tmp_path / "home"
    assert built(tmp_path, flag={"sandbox": table, "permissions": rules}) == SandboxSettings(
        enabled=True,
        auto_allow=False,
        allow_open=False,
        required=True,
        excluded=("docker", "git push *"),
        write=(
            str(home / ".cache"),
            str(work / "build"),
            *(os.path.normpath(os.path.join(work, top)) for top in ("/opt/x", "/opt/y")),
        ),
        deny_write=(str(work / "keep"),),
        deny_read=(str(home),),
        domains=("example.com", "*.npmjs.org", "docs.rs"),
        denied_domains=("bad.example.com", "evil.org"),
        unix_sockets=True,
        proxy_port=8080,
    )


def test_without_a_table_there_is_no_sandbox(tmp_path: Path) -> None:
    assert built(tmp_path, user={"permissions": {}}) == SandboxSettings()


def test_paths_of_the_user_file_start_at_its_folder(tmp_path: Path) -> None:
    found = built(tmp_path, user={"sandbox": {"enabled": True, "filesystem": {"allowWrite": ["x"]}}})
    assert (found.enabled, found.write) == (True, (str(tmp_path / "home" / ".claude" / "x"),))


def test_an_untrusted_project_can_only_narrow(tmp_path: Path) -> None:
    table = {
        "enabled": True,
        "excludedCommands": ["sh"],
        "filesystem": {"allowWrite": ["/"], "denyRead": ["secret"]},
        "network": {"allowedDomains": ["*.evil.org"], "deniedDomains": ["a.org"], "allowAllUnixSockets": True},
        "nonsense": 1,
    }
    found = built(tmp_path, project={"sandbox": table})
    assert found == SandboxSettings(deny_read=(str(tmp_path / "work" / "secret"),), denied_domains=("a.org",))
    del table["nonsense"]
    assert built(tmp_path, project={"sandbox": table}, trusted=True).enabled


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"enabled": "yes"}, "sandbox.enabled must be true or false"),
        ({"network": {"httpProxyPort": 0}}, "sandbox.network.httpProxyPort must be a port number"),
        ({"network": {"allowedDomains": "x"}}, "sandbox.network.allowedDomains must be a list of texts"),
        ({"filesystem": {"denyRead": ["*.key"]}}, "sandbox.filesystem.denyRead takes no patterns"),
        ({"allowEverything": True}, "sandbox.allowEverything is not known"),
        ([], ""),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, table: Any, words: str) -> None:
    if not words:
        assert built(tmp_path, flag={"sandbox": table}) == SandboxSettings()
        return
    with pytest.raises(BadInvocation, match=words.replace("[", "\\[")):
        built(tmp_path, flag={"sandbox": table})


def test_keys_without_effect_are_named(tmp_path: Path) -> None:
    logged: list[str] = []
    table = {"enabled": True, "network": {"socksProxyPort": 1080, "allowUnixSockets": ["/run/x"]}}
    assert built(tmp_path, flag={"sandbox": table}, logged=logged) == SandboxSettings(enabled=True)
    assert [line.split(" is ignored")[0] for line in logged] == [
        "warning: sandbox.network.socksProxyPort",
        "warning: sandbox.network.allowUnixSockets",
    ]
