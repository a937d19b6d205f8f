"""Sub-commands for users, built with click. A sub-command must be the first word of argv."""

from __future__ import annotations

import os

import click

from yume_shim import CLAUDE_VERSION, __version__
from yume_shim.app.name_checks import name_warnings
from yume_shim.catalog.cost import has_price, with_listed_window
from yume_shim.catalog.resolve import Catalog
from yume_shim.cli.auth_command import add_auth
from yume_shim.cli.batch_command import add_batch
from yume_shim.cli.mcp_command import add_mcp
from yume_shim.cli.models_command import add_models
from yume_shim.cli.page_commands import add_pages, document_reader
from yume_shim.cli.protocol_commands import add_protocol
from yume_shim.cli.session_commands import add_sessions
from yume_shim.config.build import build_settings
from yume_shim.config.credentials import find_credential
from yume_shim.config.setting_sources import SettingSources, working_folder
from yume_shim.host.log import Log
from yume_shim.host.writer import STDOUT, LineWriter
from yume_shim.text.redact import redact, shown_address
from yume_shim.tools.shell.wall import confinement_rows, full_probe
from yume_shim.types.errors import BadInvocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from yume_shim.types.models import ModelSpec
    from yume_shim.types.settings import Settings


INTERRUPTED = 130
"""The exit code after Ctrl-C, as in shells."""


def run_command(argv: Sequence[str]) -> int:
    """Run a sub-command; returns the exit code."""
    try:
        code = _group.main(list(argv), prog_name="yume-shim", standalone_mode=False)
    except click.ClickException as error:
        _complain(error.format_message())
        return error.exit_code
    except BadInvocation as error:
        _complain(error.message)
        return 2
    except click.Abort:
        return INTERRUPTED
    return code if isinstance(code, int) else 0  # what `Exit` says; commands return nothing


@click.group(add_help_option=True)
def _group() -> None:
    """Inspect the configuration and the stored sessions."""


@_group.command("doctor")
@click.option("--model", default="", help="Model to check (default: the configured one).")
@click.option("--provider", default="", help="Provider to check.")
@click.option("--last-errors", is_flag=True, help="Show the newest failed requests instead.")
@click.option("--json", "as_json", is_flag=True, help="With --last-errors: one JSON object per line.")
def _doctor(model: str, provider: str, last_errors: bool, as_json: bool) -> None:
    """Show which provider, model, key and files a start would use. Starts the MCP servers once; asks no model."""
    if last_errors:
        from yume_shim.cli.last_errors import shown_errors

        _say(shown_errors(os.environ, as_json=as_json))
        return
    sources = _sources(quiet=True)
    try:
        settings = build_settings(sources)
        catalog = _catalog(settings)
        spec = with_listed_window(catalog.resolve(model or catalog.configured()[0], provider))
    finally:  # whatever is wrong with the settings is shown, also if there is no model to show
        problems = [("problem", text) for text in sources.report.damages]
        _say("".join(f"{name:<12} {text}\n" for name, text in problems))
    credential = find_credential(spec.endpoint, settings)
    found = "none found" if credential is None else f"from {credential.source}"
    rows = [
        ("yume_shim", f"{__version__}, compatible with Claude CLI {CLAUDE_VERSION}"),
        ("provider", spec.endpoint.name),
        (
            "model",
            spec.id if spec.known else f"{spec.id} (not in the catalogue: window {spec.window:,}, {_price(spec)})",
        ),
        ("wire API", spec.endpoint.api),
        ("address", shown_address(spec.endpoint.base_url)),
        ("key", found),
        ("config file", settings.config_file + ("" if os.path.exists(settings.config_file) else " (does not exist)")),
        ("ripgrep", _which("rg") or "not found: Grep uses its built-in search"),
        ("bash", _shell(settings)),
        *confinement_rows(full_probe(), settings.tools.claude_sandbox.enabled or bool(settings.tools.sandbox)),
    ]
    rows += _server_rows(settings)
    rows += [("warning", text) for text in (*sources.report.warnings, *name_warnings(settings))]
    _say("".join(f"{name:<12} {text}\n" for name, text in rows))
    if problems:
        raise click.exceptions.Exit(1)


def _server_rows(settings: Settings) -> list[tuple[str, str]]:
    """The state of each MCP server, after connecting to it once."""
    held = [item for item in settings.left_out if item.kind == "mcp_server"]
    if not settings.mcp.servers and not held:
        return []
    from yume_shim.app.mcp_check import check_servers
    from yume_shim.cli.mcp_words import server_line

    states = check_servers(settings.mcp.servers, settings)
    for item in held:
        managed = ("failed", "managed settings do not admit it")
        states[item.name] = managed if item.reason == "managed" else ("pending-approval", "")
    return [("MCP server", server_line(name, state)) for name, state in states.items()]


def _price(spec: ModelSpec) -> str:
    return "price known" if has_price(spec) else "price unknown"


def _settings() -> Settings:
    return build_settings(_sources())


def _sources(*, quiet: bool = False) -> SettingSources:
    """What a start here would read. `quiet`: the caller shows the warnings itself."""
    log = Log("-", "error" if quiet else "warning")
    return SettingSources({}, (), flat=True, env=os.environ, cwd=working_folder(), log=log)


def _catalog(settings: Settings) -> Catalog:
    return Catalog(settings, lambda endpoint: find_credential(endpoint, settings) is not None)


def _which(name: str) -> str:
    from yume_shim.system.programs import find_program

    return find_program(name, os.environ.get("PATH", os.defpath), owned=(working_folder(),))


def _shell(settings: Settings) -> str:
    """The shell of the Bash tool."""
    if os.name != "nt":
        return _which("bash") or "not found: Bash runs commands with the system's shell"
    from yume_shim.system.windows.shell import shell_of_settings

    choice = shell_of_settings(settings)
    return "; ".join((f"{choice.program} ({choice.source})" if choice.kind else "none", *choice.warnings))


def _say(text: str) -> None:
    LineWriter(STDOUT, 0, wide_escapes=False).write_text(text)


def _complain(text: str) -> None:
    os.write(2, f"yume-shim: {redact(text)}\n".encode("utf-8", "replace"))


_read_document = document_reader(_settings, _catalog)
add_sessions(_group, _settings, _say, _read_document)
add_pages(_group, _settings, _say, _read_document)
add_models(_group, _settings, _say)
add_auth(_group, _say)
add_batch(_group)
add_protocol(_group, _say)
add_mcp(_group, lambda: _sources(quiet=True), build_settings, _say)
