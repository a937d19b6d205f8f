"""Finds the configured MCP servers: `--mcp-config`, the user's ~/.claude.json, the folder's .mcp.json.

Of two servers with one name the first of these wins: command line, this project's entry in ~/.claude.json, .mcp.json,
the user's list. Servers that a folder which is not trusted must not start, and those that managed settings do not
admit, are only named.
"""

from __future__ import annotations

import os

from yume_shim.config.extensions import json_or_file
from yume_shim.config.mcp_admission import admission_of, refusal
from yume_shim.config.setting_sources import strings
from yume_shim.disk.bounded import is_absent, read_text
from yume_shim.text import codec
from yume_shim.text.late_pattern import late_pattern
from yume_shim.types.errors import BadInvocation
from yume_shim.types.folders import claude_state_file
from yume_shim.types.settings import LeftOut, McpServer, McpSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Collection, Mapping
    from typing import Any

    from yume_shim.config.setting_sources import SettingSources
    from yume_shim.types.mcp_admission import McpAdmission
    from yume_shim.types.plugins import Plugin

KINDS = ("stdio", "http", "sse", "sdk")
KIND_ALIASES = {"streamable-http": "http", "streamableHttp": "http", "streamable_http": "http"}
MAX_FILE_BYTES = 16 << 20
MAX_NAMED = 20
"""Servers that a warning names."""
_VARIABLE = late_pattern(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def mcp_settings(sources: SettingSources, plugins: tuple[Plugin, ...] = ()) -> McpSettings:
    """The group of settings; raises BadInvocation for a wrong `--mcp-config`."""
    found: dict[str, McpServer] = {}
    asked: dict[str, McpServer] = {}
    for text in sources.many("mcp-config"):
        for name, table in _given(text, sources.cwd).items():
            found[name] = _server_or_problem(name, table, "dynamic", sources, waited_for=True)
    if not sources.on("strict-mcp-config") and not sources.on("restricted"):
        _add_files(found, asked, sources)
        for plugin in plugins:
            servers = {f"plugin:{plugin.name}:{name}": table for name, table in plugin.mcp_servers.items()}
            _add(found, servers, "plugin", sources)
    admission = admission_of(sources)
    _keep_admitted(found, admission, sources)
    _keep_admitted(asked, admission, sources)
    connect, call = sources.env.get("MCP_TIMEOUT"), sources.env.get("MCP_TOOL_TIMEOUT")
    default = McpSettings()
    return McpSettings(
        servers=tuple(found.values()),
        servers_if_trusted=tuple(asked.values()),
        admission=admission,
        connect_s=_milliseconds(connect) or default.connect_s,
        call_s=_milliseconds(call) or default.call_s,
        output_tokens=_count(sources.env.get("MAX_MCP_OUTPUT_TOKENS")) or default.output_tokens,
    )


def _keep_admitted(found: dict[str, McpServer], admission: McpAdmission | None, sources: SettingSources) -> None:
    """Remove and name the servers that `deniedMcpServers` and `allowedMcpServers` do not admit."""
    if admission is None:
        return
    for name, server in list(found.items()):
        problem = refusal(server, admission)
        if problem:
            del found[name]
            sources.leave_out(LeftOut("mcp_server", name, server.source, "managed"))
            sources.log("warning", f"MCP server {name} is not started: {problem}")


def _add_files(found: dict[str, McpServer], asked: dict[str, McpServer], sources: SettingSources) -> None:
    user: Mapping[str, Any] = {}
    own: Mapping[str, Any] = {}
    if "user" in sources.layer_names:
        state = _read_object(claude_state_file(sources.env), sources)
        user = _tables(state.get("mcpServers"))
        entry = _tables(_tables(state.get("projects")).get(project_folder(sources.cwd)))
        own = _tables(entry.get("mcpServers"))
    _add(found, own, "local", sources)
    if "project" in sources.layer_names:
        project = _tables(_read_object(os.path.join(sources.cwd, ".mcp.json"), sources).get("mcpServers"))
        disabled = {name for layer in sources.layers for name in strings(layer.data.get("disabledMcpjsonServers"))}
        project = {name: table for name, table in project.items() if name not in disabled}
        started = project if sources.trust.starts else approved(project, sources)
        held = {name: table for name, table in project.items() if name not in started and name not in found}
        _hold_back(held, asked, sources)
        _add(found, {name: table for name, table in project.items() if name in started}, "project", sources)
    _add(found, user, "user", sources)


def approved(names: Collection[str], sources: SettingSources) -> Collection[str]:
    """Those servers of .mcp.json that the user approved: by trusting the folder, or by name in the user's settings."""
    layers = [layer.data for layer in sources.layers if layer.trusted]
    if sources.trust.trusted or any(data.get("enableAllProjectMcpServers") is True for data in layers):
        return names
    return {name for data in layers for name in strings(data.get("enabledMcpjsonServers")) if name in names}


def project_folder(cwd: str) -> str:
    """Whose entry in ~/.claude.json applies: the top of the git repository, else the folder itself."""
    folder = cwd
    while True:
        if os.path.lexists(os.path.join(folder, ".git")):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return cwd
        folder = above


def _hold_back(project: Mapping[str, Any], asked: dict[str, McpServer], sources: SettingSources) -> None:
    """Servers of an untrusted folder: named, and kept for the host's answer if it is asked."""
    asks = sources.trust.asks
    for name in project:
        sources.leave_out(LeftOut("mcp_server", name, "project", "asking" if asks else "untrusted"))
    if asks:
        _add(asked, project, "project", sources)
    if project:
        names = ", ".join(list(project)[:MAX_NAMED])
        what = f"servers of its .mcp.json are not started{sources.trust.unless} ({names})"
        sources.log("warning", f"this folder is not trusted: {what}")


def _add(found: dict[str, McpServer], tables: Mapping[str, Any], source: str, sources: SettingSources) -> None:
    for name, table in tables.items():
        if name not in found:
            found[name] = _server_or_problem(name, table, source, sources)


def _server_or_problem(
    name: str, table: Any, source: str, sources: SettingSources, *, waited_for: bool = False
) -> McpServer:
    """A server; one that is wrongly described has a `problem`, so that the others still start and hosts see it."""
    try:
        return configured_server(name, table, source, sources, waited_for=waited_for)
    except BadInvocation as error:
        sources.log("warning", error.message)
        return McpServer(name=name, source=source, problem=error.message.removeprefix("Error: "))


def _given(text: str, cwd: str) -> Mapping[str, Any]:
    """The servers of one `--mcp-config`: JSON `{"mcpServers": {name: {…}}}`, or the path of a file with it."""
    data, problem = json_or_file(text, cwd)
    servers = data.get("mcpServers") if isinstance(data, dict) else None
    if not problem and not isinstance(servers, dict):
        problem = "it has no `mcpServers` object"
    if problem or not isinstance(servers, dict):
        raise BadInvocation(f"Error: Invalid MCP configuration: {problem}")
    return servers


def configured_server(
    name: str, table: Any, source: str, sources: SettingSources, *, waited_for: bool = False
) -> McpServer:
    """One server of a file or flag, with the variables that its source may name; raises BadInvocation."""
    env = sources.env
    if source == "project" and not sources.trust.trusted:
        env = _keyless(sources)
    return server_of(name, table, source, env, sources.log, waited_for=waited_for)


def _keyless(sources: SettingSources) -> Mapping[str, str]:
    """What `${NAME}` in a file of an untrusted folder may name: no key of a provider, which it could send anywhere."""
    from yume_shim.config.credentials import without_keys
    from yume_shim.config.model_settings import endpoint_settings

    return without_keys(sources.env, endpoint_settings(sources), sources.table("profiles"), sources.config_path)


def server_of(
    name: str,
    table: Any,
    source: str,
    env: Mapping[str, str],
    log: Callable[[str, str], None] | None = None,
    *,
    waited_for: bool = False,
) -> McpServer:
    """One server; raises BadInvocation if its description is wrong."""
    problem = server_problem(table)
    if problem:
        raise BadInvocation(f"Error: Invalid MCP configuration: server '{name}': {problem}")
    kind = _kind(table)

    def expanded(text: Any) -> str:
        return _expand(str(text), name, env, log)

    def texts(field: str) -> dict[str, str]:
        return {str(key): expanded(item) for key, item in _tables(table.get(field)).items()}

    return McpServer(
        name=name,
        kind=kind,  # type: ignore[arg-type]  # checked above
        source="sdk" if kind == "sdk" else source,
        command=expanded(table.get("command", "")),
        args=tuple(expanded(item) for item in table.get("args") or ()),
        env=texts("env"),
        url=expanded(table.get("url", "")),
        headers=texts("headers"),
        headers_helper=expanded(table.get("headersHelper", "")),
        waited_for=waited_for or kind == "sdk",
    )


def _kind(table: Mapping[str, Any]) -> str:
    kind = table.get("type") or ("http" if "url" in table and "command" not in table else "stdio")
    return KIND_ALIASES.get(kind, kind) if isinstance(kind, str) else ""


def server_problem(table: Any) -> str:
    """What is wrong with the description of a server; "" if nothing is."""
    if not isinstance(table, dict):
        return "it must be an object"
    kind = _kind(table)
    if kind not in KINDS:
        return f"`type` must be one of {', '.join(KINDS)}"
    needed = {"stdio": "command", "http": "url", "sse": "url"}.get(kind)
    if needed is not None and (not isinstance(table.get(needed), str) or not table[needed].strip()):
        return f"it needs a `{needed}`, a text that is not empty"
    args = table.get("args")
    if args is not None and not (isinstance(args, list) and all(_is_text(item) for item in args)):
        return "`args` must be a list of texts"
    for field in ("env", "headers"):
        given = table.get(field)
        if given is not None and not (isinstance(given, dict) and all(_is_text(item) for item in given.values())):
            return f"`{field}` must be an object of texts"
    if not isinstance(table.get("headersHelper", ""), str):
        return "`headersHelper` must be a text"
    return ""


def _is_text(given: Any) -> bool:
    """A number counts: JSON written by hand has `"PORT": 8080`."""
    return isinstance(given, str | int | float) and not isinstance(given, bool)


def _expand(text: str, server: str, env: Mapping[str, str], log: Callable[[str, str], None] | None) -> str:
    """Replace `${NAME}` and `${NAME:-default}`; a variable that is not set stays as it is, with a warning."""
    if "${" not in text:
        return text

    def value_of(found: re.Match[str]) -> str:
        name, default = found.group(1), found.group(2)
        known = env.get(name)
        if known is None and default is None:
            if log is not None:
                log("warning", f"MCP server {server}: the variable {name} is not set")
            return found.group(0)
        return known or default or ""

    return _VARIABLE.sub(value_of, text)


def _read_object(path: str, sources: SettingSources) -> dict[str, Any]:
    """The JSON object of a file; {} if it is missing, cannot be read or is broken."""
    try:
        raw = read_text(path, MAX_FILE_BYTES)
    except OSError as error:
        if not is_absent(error):
            sources.log("warning", f"{path} cannot be read ({error.strerror}): its MCP servers are ignored")
        return {}
    if b'"mcpServers"' not in raw:  # nearly always: ~/.claude.json is large and seldom has servers
        return {}
    data = codec.loads_object(raw)
    if data is None:
        sources.log("warning", f"{path} is not a JSON object: its MCP servers are ignored")
    return data or {}


def _tables(given: Any) -> dict[str, Any]:
    return given if isinstance(given, dict) else {}


def _milliseconds(text: str | None) -> float:
    return _count(text) / 1000


def _count(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() else 0
