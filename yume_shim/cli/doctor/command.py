"""The sub-command `doctor`: collects all lines, prints them, and tells by its exit code whether a start would work."""

from __future__ import annotations

import os

import click

from yume_shim.cli.doctor.files import file_lines, session_lines
from yume_shim.cli.doctor.line import Line, as_json, as_text, is_fine
from yume_shim.cli.doctor.machine import install_lines, program_lines
from yume_shim.config.build import build_settings
from yume_shim.config.setting_sources import SettingSources, working_folder
from yume_shim.host.descriptors import is_terminal
from yume_shim.host.log import Log
from yume_shim.types.errors import BadInvocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from yume_shim.types.settings import Settings

SETTINGS, SERVERS = "Settings", "MCP servers"
DONE = 'nothing is missing. Try: yume-shim {flags}-p "Say hello"'


def add_doctor(group: click.Group, say: Callable[[str], None]) -> None:
    """Add the command to the group of all sub-commands."""
    text = "Show what a start here would use, what is missing, and what to do. Starts the MCP servers once."
    params: list[click.Parameter] = [
        click.Option(["--model"], default="", help="Model to check (default: the configured one)."),
        click.Option(["--provider"], default="", help="Provider to check."),
        click.Option(["--live"], is_flag=True, help="Ask each configured endpoint once for its list of models."),
        click.Option(["--json", "as_object"], is_flag=True, help="Print JSON."),
        click.Option(["--last-errors"], is_flag=True, help="Show the newest failed requests instead."),
    ]

    def run(model: str, provider: str, live: bool, as_object: bool, last_errors: bool) -> None:
        if last_errors:
            from yume_shim.cli.last_errors import shown_errors

            say(shown_errors(os.environ, as_json=as_object))
            return
        lines = list(_all_lines(model, provider, live))
        from yume_shim.cli.doctor.models import REPLAY

        flags = f"--provider {provider} " if provider else ""
        flags += f"--model {model} " if model else ""
        flags += "--cassette DIR " if provider == REPLAY else ""
        say((as_json if as_object else as_text)(lines, DONE.format(flags=flags)))
        if not is_fine(lines):
            raise click.exceptions.Exit(1)

    group.add_command(click.Command("doctor", callback=run, params=params, help=text, short_help=text))


def _all_lines(model: str, provider: str, live: bool) -> Iterator[Line]:
    """Files come before what is built from them: a mistake in a file is the first thing to repair."""
    cwd = working_folder()
    files = list(file_lines(os.environ, cwd))
    settings, noted = None, []
    try:
        log = Log("-", "error")
        sources = SettingSources({}, (), flat=True, env=os.environ, cwd=cwd, log=log)
        settings = build_settings(sources)
        noted = list(_notes(sources, settings, files))
    except BadInvocation as error:
        if all(line.state != "wrong" for line in files):
            noted.append(Line(SETTINGS, "settings", "wrong", _placed(error.message)))
    yield from install_lines("" if settings is None else settings.network.transport)
    yield from files
    yield from noted
    if settings is None:
        yield Line(SETTINGS, "model and keys", "off", "not looked at: the settings cannot be used as they are")
    else:
        yield from _model_lines(settings, model, provider, live)
    yield from program_lines(settings, os.environ)
    if settings is not None:
        yield from _server_lines(settings)
        from yume_shim.store.layout import projects_dir

        yield from session_lines(projects_dir(settings.env, settings.session.folder))


def _placed(message: str) -> str:
    """With the line, if the message is about the config file."""
    from yume_shim.config.known_settings import with_line
    from yume_shim.types.folders import yume_folder

    path = os.environ.get("YUME_CONFIG", "") or os.path.join(yume_folder(os.environ), "config.toml")
    return with_line(path, message)


def _notes(sources: SettingSources, settings: Settings, files: list[Line]) -> Iterator[Line]:
    """Warnings about the settings that are not about one file."""
    from yume_shim.app.name_checks import name_warnings

    said = "\n".join(line.text for line in files)
    for text in (*sources.report.damages, *sources.report.warnings, *name_warnings(settings)):
        if text not in said:
            yield Line(SETTINGS, "note", "off", text)


def _model_lines(settings: Settings, model: str, provider: str, live: bool) -> Iterator[Line]:
    from yume_shim.cli.doctor.models import ModelFacts

    facts = ModelFacts(settings, model, provider)
    yield from facts.lines()
    yield from facts.key_lines()
    if live:
        _tell_person("Asking the endpoints …")
        yield from facts.live_lines()


def _tell_person(text: str) -> None:
    """What takes a while, on a terminal: all lines are printed together, at the end."""
    if is_terminal(2):
        os.write(2, f"{text}\n".encode("utf-8", "replace"))


def _server_lines(settings: Settings) -> Iterator[Line]:
    """The state of each MCP server, after connecting to it once."""
    held = [item for item in settings.left_out if item.kind == "mcp_server"]
    if not settings.mcp.servers and not held:
        yield Line(SERVERS, "none", "off", "no server is configured")
        return
    from yume_shim.app.mcp_check import check_servers
    from yume_shim.cli.mcp_words import one_line, state_words

    if settings.mcp.servers:
        _tell_person(
            f"Starting the MCP servers: {', '.join(one_line(server.name) for server in settings.mcp.servers)} …"
        )
    states = check_servers(settings.mcp.servers, settings)
    for item in held:
        managed = ("failed", "managed settings do not admit it")
        states[item.name] = managed if item.reason == "managed" else ("pending-approval", "")
    excluded = {item.name for item in held}
    for name, state in states.items():
        words, issue = state_words(state, one_line(name))
        text = f"{words[2:]} — {issue}" if issue else words[2:]
        shown = one_line(name)
        if state[0] == "connected":
            yield Line(SERVERS, shown, "ok", text)
        elif name in excluded or state[0] in ("pending-approval", "rejected"):
            yield Line(SERVERS, shown, "off", text)
        else:
            signs_in = state[0] == "needs-auth"
            todo = f"yume-shim mcp login {shown}" if signs_in else f"repair or remove it: yume-shim mcp get {shown}"
            yield Line(SERVERS, shown, "wrong", words[2:] if signs_in else text, todo)
