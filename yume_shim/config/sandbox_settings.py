"""Builds SandboxSettings from the `sandbox` tables of the settings.json files, as the Claude CLI documents them.

Only trusted files may switch the sandbox on or widen it; the files of an untrusted project may only narrow it.
"""

from __future__ import annotations

import os

from yume_shim.config.setting_sources import strings
from yume_shim.config.settings_files import MANAGED
from yume_shim.types.errors import BadInvocation
from yume_shim.types.folders import claude_folder, home_folder
from yume_shim.types.settings import SandboxSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.config.setting_sources import SettingSources
    from yume_shim.config.settings_files import Layer

NARROWING = frozenset(("filesystem.denyWrite", "filesystem.denyRead", "network.deniedDomains", "failIfUnavailable"))
"""What an untrusted project may set."""
_SWITCHES = ("enabled", "autoAllowBashIfSandboxed", "allowUnsandboxedCommands", "failIfUnavailable")
_LISTS = ("excludedCommands",)
_NETWORK_LISTS = ("allowedDomains", "deniedDomains", "allowUnixSockets")
_NETWORK_SWITCHES = ("allowAllUnixSockets", "allowLocalBinding", "allowManagedDomainsOnly")
_NETWORK_PORTS = ("httpProxyPort", "socksProxyPort")
_FILE_LISTS = ("allowWrite", "denyWrite", "denyRead", "allowRead")
IGNORED = {
    "network.socksProxyPort": "there is no SOCKS proxy here: programs use the HTTP proxy or have no network",
    "network.allowUnixSockets": "Linux cannot allow single sockets: use network.allowAllUnixSockets",
    "network.allowLocalBinding": "a sandbox has its own loopback here, on which programs may always listen",
    "filesystem.allowRead": "what denyRead hides stays hidden",
    "filesystem.allowManagedReadPathsOnly": "what denyRead hides stays hidden",
    "enableWeakerNestedSandbox": "the sandbox is never weakened",
    "enableWeakerNetworkIsolation": "the sandbox is never weakened",
    "ignoreViolations": "violations are not reported one by one",
}
"""Documented keys that do nothing here; ignoring them never widens the sandbox. A warning names them."""


def sandbox_settings(sources: SettingSources) -> SandboxSettings:
    """Raises BadInvocation for a value of the wrong type in a trusted file, and for a key that is not documented."""
    switches: dict[str, bool] = {}
    lists: dict[str, list[str]] = {}
    port = 0
    managed = [layer for layer in sources.layers if layer.name == MANAGED]
    managed_domains_only = any(_flat(layer).get("network.allowManagedDomainsOnly") is True for layer in managed)
    for layer in sources.layers:
        for key, given in _flat(layer).items():
            if not layer.trusted and key not in NARROWING:
                continue
            if key == "network.allowedDomains" and managed_domains_only and layer.name != MANAGED:
                continue
            if key in IGNORED:
                sources.log("warning", f"sandbox.{key} is ignored: {IGNORED[key]}")
            elif isinstance(given, bool):
                switches[key] = given  # of several layers the strongest decides, and managed ones are the strongest
            elif isinstance(given, int):
                port = given
            else:
                lists.setdefault(key, []).extend(_based(key, given, layer, sources))
    allowed, denied = _rule_domains(sources, managed_domains_only)
    return SandboxSettings(
        enabled=switches.get("enabled", False),
        auto_allow=switches.get("autoAllowBashIfSandboxed", True),
        allow_open=switches.get("allowUnsandboxedCommands", True),
        required=switches.get("failIfUnavailable", False),
        excluded=tuple(lists.get("excludedCommands", ())),
        write=tuple(lists.get("filesystem.allowWrite", ())),
        deny_write=tuple(lists.get("filesystem.denyWrite", ())),
        deny_read=tuple(lists.get("filesystem.denyRead", ())),
        domains=(*lists.get("network.allowedDomains", ()), *allowed),
        denied_domains=(*lists.get("network.deniedDomains", ()), *denied),
        unix_sockets=switches.get("network.allowAllUnixSockets", False),
        proxy_port=port,
    )


def _flat(layer: Layer) -> dict[str, Any]:
    """The table with dotted keys, every value of its documented type. Untrusted files lose what does not fit."""
    table = layer.data.get("sandbox", {})
    found: dict[str, Any] = {}
    groups = {"": table, "network.": _inner(table, "network"), "filesystem.": _inner(table, "filesystem")}
    for prefix, group in groups.items():
        for name, given in group.items() if isinstance(group, dict) else ():
            key = prefix + name
            if key in ("network", "filesystem"):
                continue
            problem = _problem(key, given)
            if problem and layer.trusted:
                raise BadInvocation(f"the {layer.name} settings: sandbox.{key} {problem}")
            if not problem:
                found[key] = given
    if not isinstance(table, dict) and layer.trusted:
        raise BadInvocation(f"the {layer.name} settings: sandbox must be an object")
    return found


def _inner(table: object, name: str) -> object:
    return table.get(name, {}) if isinstance(table, dict) else {}


def _problem(key: str, given: object) -> str:
    """Why the value cannot be used; "" if it can."""
    group, _, name = key.rpartition(".")
    if key in IGNORED:
        return ""
    if name in (_SWITCHES if not group else _NETWORK_SWITCHES if group == "network" else ()):
        return "" if isinstance(given, bool) else "must be true or false"
    if group == "network" and name in _NETWORK_PORTS:
        fits = isinstance(given, int) and not isinstance(given, bool) and 0 < given < 65_536
        return "" if fits else "must be a port number"
    if name in (_LISTS if not group else _NETWORK_LISTS if group == "network" else _FILE_LISTS):
        fits = isinstance(given, list) and all(isinstance(item, str) and item for item in given)
        return "" if fits else "must be a list of texts"
    return "is not known"


def _based(key: str, given: Any, layer: Layer, sources: SettingSources) -> list[str]:
    """Paths made absolute: `~/` is the home folder, `/` and `//` the root, others start at the folder of the file."""
    if not key.startswith("filesystem."):
        return strings(given)
    base = claude_folder(sources.env) if layer.name == "user" else sources.cwd
    home = home_folder(sources.env)
    made: list[str] = []
    for path in strings(given):
        if any(mark in path for mark in "*?["):
            raise BadInvocation(f"the {layer.name} settings: sandbox.{key} takes no patterns: {path}")
        full = os.path.join(home, path[2:]) if path.startswith("~/") else home if path == "~" else path
        made.append(os.path.normpath(os.path.join(base, "/" + full.lstrip("/") if full.startswith("/") else full)))
    return made


def _rule_domains(sources: SettingSources, managed_only: bool) -> tuple[list[str], list[str]]:
    """The hosts of `WebFetch(domain:…)` rules: they count for the sandbox too."""
    found: dict[str, list[str]] = {"allow": [], "deny": []}
    for layer in sources.layers:
        permissions = layer.data.get("permissions")
        for kind, hosts in found.items():
            if isinstance(permissions, dict) and (kind == "deny" or _may_allow(layer, managed_only)):
                for rule in strings(permissions.get(kind)):
                    if rule.startswith("WebFetch(domain:") and rule.endswith(")"):
                        hosts.append(rule[len("WebFetch(domain:") : -1].strip())
    return found["allow"], found["deny"]


def _may_allow(layer: Layer, managed_only: bool) -> bool:
    return layer.trusted and (layer.name == MANAGED or not managed_only)
