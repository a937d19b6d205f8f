"""`yume-shim mcp`: lists, shows, adds and removes MCP servers in the Claude CLI's files, and signs in to them."""

from __future__ import annotations

import os

import click

from yume_shim.cli import mcp_words as words
from yume_shim.cli.mcp_arguments import check_scope, spread, table_of, table_of_json
from yume_shim.config.mcp_admission import admission_of, refusal
from yume_shim.config.mcp_files import McpFiles
from yume_shim.config.mcp_settings import approved, configured_server
from yume_shim.config.setting_sources import SettingSources, strings
from yume_shim.types.errors import BadInvocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from yume_shim.types.settings import McpServer, Settings

    Say = Callable[[str], None]

FAILED = 1
SCOPE = click.Option(["-s", "--scope"], default="local", show_default=True, help="local, user or project.")


class _McpGroup(click.Group):
    """Errors are printed as the Claude CLI prints them, with its exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BadInvocation as error:
            os.write(2, f"{error.message}\n".encode("utf-8", "replace"))
            raise click.exceptions.Exit(FAILED) from None


class _AddCommand(click.Command):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, spread(args))


def add_mcp(group: click.Group, sources: Callable[[], SettingSources], build: Any, say: Say) -> None:
    """Add the commands to the group of all sub-commands. `build` makes Settings of the sources."""
    mcp = _McpGroup("mcp", help="Configure MCP servers.", short_help="Configure MCP servers.")
    group.add_command(mcp)
    desk = _Desk(sources, build, say)
    name = click.Argument(["name"])
    rest = click.Argument(["args"], nargs=-1, type=click.UNPROCESSED)
    scope = click.Option(["-s", "--scope"], default="", help="local, user or project (default: where it is).")
    transport = click.Option(["-t", "--transport"], default="", help="stdio (default), http or sse.")
    env = click.Option(["-e", "--env"], multiple=True, help="Variable for the server, KEY=value.")
    header = click.Option(["-H", "--header"], multiple=True, help='Header for http and sse, "Name: value".')
    no_browser = click.Option(["--no-browser"], is_flag=True, help="Only print the address; open no browser.")
    target = click.Argument(["target"], metavar="COMMAND_OR_URL")
    rows: tuple[tuple[str, Any, list[click.Parameter], str], ...] = (
        ("list", desk.list_all, [], "List the servers and whether each can be reached."),
        ("get", desk.get, [name], "Show one server."),
        ("add", desk.add, [name, target, rest, SCOPE, transport, env, header], "Add a server."),
        ("add-json", desk.add_json, [name, click.Argument(["text"], metavar="JSON"), SCOPE], "Add a server as JSON."),
        ("remove", desk.remove, [name, scope], "Remove a server."),
        ("login", desk.login, [name, no_browser], "Sign in to a server in the browser."),
        ("logout", desk.logout, [name], "Forget the sign-in to a server."),
    )
    for word, callback, params, text in rows:
        kind = _AddCommand if word == "add" else click.Command
        mcp.add_command(kind(word, callback=callback, params=params, help=text, short_help=text))


class _Desk:
    """The commands."""

    def __init__(self, sources: Callable[[], SettingSources], build: Any, say: Say) -> None:
        self._sources, self._build, self._say = sources, build, say

    # ------------------------------------------------------------ reading

    def list_all(self) -> None:
        sources = self._sources()
        found = self._found(sources)
        shown = {name: item for name, item in found.items() if not _is_rejected(name, item[0], sources)}
        if not shown:
            self._say(words.NONE)
            return
        self._say(words.CHECKING)
        states = self._states(shown, sources)
        self._say("".join(words.list_line(name, table, states[name]) for name, (_, table) in shown.items()))

    def get(self, name: str) -> None:
        sources = self._sources()
        found = self._found(sources)
        scope, table = self._need(name, found)
        state = self._states({name: (scope, table)}, sources)[name]
        self._say(words.details(name, scope, table, state))

    def _found(self, sources: SettingSources) -> dict[str, tuple[str, dict[str, Any]]]:
        """{name: (scope, table)} in the Claude CLI's order; of one name the local server counts, then .mcp.json's."""
        files = self._files(sources)
        found: dict[str, tuple[str, dict[str, Any]]] = {}
        for scope in ("user", "project", "local"):
            try:
                tables = files.tables(scope)
            except BadInvocation as error:
                if scope != "project":
                    raise
                os.write(2, f"{error.message}\n".encode("utf-8", "replace"))  # the user's own servers still count
                continue
            found |= {name: (scope, table) for name, table in tables.items()}
        return found

    def _need(self, name: str, found: dict[str, tuple[str, dict[str, Any]]]) -> tuple[str, dict[str, Any]]:
        if name not in found:
            raise BadInvocation(f'No MCP server named "{name}". Run `yume-shim mcp add` to add one.')
        return found[name]

    def _states(
        self, found: dict[str, tuple[str, dict[str, Any]]], sources: SettingSources
    ) -> dict[str, tuple[str, str]]:
        """Connects to the servers that may be started, side by side."""
        states: dict[str, tuple[str, str]] = {}
        configs: list[McpServer] = []
        started = approved([name for name, (scope, _) in found.items() if scope == "project"], sources)
        for name, (scope, table) in found.items():
            if _is_rejected(name, scope, sources):
                states[name] = ("rejected", "")
            elif scope == "project" and name not in started:
                states[name] = ("pending-approval", "")
            else:
                try:
                    config = configured_server(name, table, scope, sources)
                except BadInvocation as error:
                    states[name] = ("failed", error.message)
                    continue
                problem = refusal(config, admission_of(sources))
                if problem:
                    states[name] = ("failed", problem)
                else:
                    configs.append(config)
        if configs:
            from yume_shim.app.mcp_check import check_servers

            settings: Settings = self._build(sources)
            states |= check_servers(configs, settings)
        return states

    def _files(self, sources: SettingSources) -> McpFiles:
        return McpFiles(sources.env, sources.cwd)

    # ------------------------------------------------------------ changing

    def add(
        self,
        name: str,
        target: str,
        args: tuple[str, ...],
        scope: str,
        transport: str,
        env: tuple[str, ...],
        header: tuple[str, ...],
    ) -> None:
        files = self._files(self._sources())
        table = table_of(transport or "stdio", target, args, env, header)
        files.add(check_scope(scope), name, table)
        self._say(words.added(name, scope, table, files))
        if not transport and target.startswith(("http://", "https://")):
            hint = (
                f'\nWarning: The command "{target}" looks like a URL, but is treated as a stdio server because '
                f"--transport wasn't set.\nIf this is an HTTP server, use: yume-shim mcp add --transport http {name} "
                f"{target}\nIf this is an SSE server, use: yume-shim mcp add --transport sse {name} {target}\n"
            )
            os.write(2, hint.encode("utf-8", "replace"))

    def add_json(self, name: str, text: str, scope: str) -> None:
        table = table_of_json(text)
        self._files(self._sources()).add(check_scope(scope), name, table)
        self._say(f"Added {words.kind_of(table)} MCP server {name} to {scope} config\n")

    def remove(self, name: str, scope: str) -> None:
        files = self._files(self._sources())
        if scope:
            files.remove(check_scope(scope), name)
            self._say(f"Removed MCP server {name} from {scope} config\n{words.modified(scope, files)}")
            return
        scopes = files.where(name)
        if not scopes:
            raise BadInvocation(f'No MCP server named "{name}". Run `yume-shim mcp add` to add one.')
        if len(scopes) > 1:
            raise BadInvocation(words.several_scopes(name, scopes, files))
        for only in scopes:
            files.remove(only, name)
            self._say(f'Removed MCP server "{name}" from {only} config\n{words.modified(only, files)}')

    # ------------------------------------------------------------ signing in

    def login(self, name: str, no_browser: bool) -> None:
        from yume_shim.extensions.mcp.errors import McpError
        from yume_shim.extensions.mcp.login import log_in

        config, sources = self._remote(name)
        self._say(f'Starting authentication for "{name}"…\n')
        try:
            log_in(config, sources.env, self._show, open_browser=not no_browser)
        except McpError as error:
            raise BadInvocation(f'Couldn\'t complete authentication for "{name}": {error.message}') from None
        from yume_shim.app.mcp_check import check_servers

        state = check_servers([config], self._build(sources))[name]
        self._say(f'Signed in to "{name}".\n{words.server_line(name, state)}\n')

    def _show(self, url: str) -> None:
        self._say(f"Open this address to sign in:\n\n  {url}\n\nWaiting for the browser…\n")

    def logout(self, name: str) -> None:
        from yume_shim.extensions.mcp.tokens import forget

        config, sources = self._remote(name)
        forget(config.url, sources.env)
        self._say(f'Signed out of "{name}". Run `yume-shim mcp login {name}` to authenticate again.\n')

    def _remote(self, name: str) -> tuple[McpServer, SettingSources]:
        """The configured server with an address; raises BadInvocation."""
        sources = self._sources()
        found = self._found(sources)
        if name not in found:
            known = ", ".join(sorted(found)) or "none"
            raise BadInvocation(f'No MCP server named "{name}". Configured servers: {known}')
        scope, table = found[name]
        config = configured_server(name, table, scope, sources)
        if config.kind not in ("http", "sse"):
            raise BadInvocation(
                f"\"{name}\" doesn't support OAuth login — it's only available for HTTP and SSE servers."
            )
        return config, sources


def _is_rejected(name: str, scope: str, sources: SettingSources) -> bool:
    return scope == "project" and any(
        name in strings(layer.data.get("disabledMcpjsonServers")) for layer in sources.layers
    )
