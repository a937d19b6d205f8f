"""Sub-commands for users, built with click. A sub-command must be the first word of argv."""

from __future__ import annotations

import os

import click

from yume_shim.catalog.resolve import Catalog
from yume_shim.cli.auth_command import add_auth
from yume_shim.cli.batch_command import add_batch
from yume_shim.cli.doctor.command import add_doctor
from yume_shim.cli.init_command import add_init
from yume_shim.cli.mcp_command import add_mcp
from yume_shim.cli.models_command import add_models
from yume_shim.cli.page_commands import add_pages, document_reader
from yume_shim.cli.protocol_commands import add_protocol
from yume_shim.cli.session_commands import add_sessions
from yume_shim.config.build import build_settings
from yume_shim.config.credentials import find_credential
from yume_shim.config.setting_sources import SettingSources, working_folder
from yume_shim.host.log import Log
from yume_shim.host.writer import print_text
from yume_shim.text.redact import redact
from yume_shim.types.errors import BadInvocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from click.shell_completion import CompletionItem

    from yume_shim.types.settings import Settings


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
    except click.Abort:  # Ctrl-D in a question: what follows begins on a line of its own
        os.write(2, b"\n")
        return 1
    return code if isinstance(code, int) else 0  # what `Exit` says; commands return nothing


def command_group() -> click.Group:
    """All sub-commands that click parses."""
    return _group


class _WithFlags(click.Group):
    """Completes the flags of the program too; click parses only sub-commands."""

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        from yume_shim.cli.flags import BY_NAME

        before = BY_NAME.get(_word_before(incomplete))
        if before is not None and before.kind in ("value", "repeat", "variadic"):
            files = {"dir": "dir", "dirs": "dir", "file": "file", "file-or-json": "file", "files-or-json": "file"}
            kind = files.get(before.value_name)
            if before.choices or kind is None:
                return [CompletionItem(choice) for choice in before.choices if choice.startswith(incomplete)]
            return [CompletionItem(incomplete, type=kind)]
        if not incomplete.startswith("-"):
            extra = [CompletionItem("acp")] if "acp".startswith(incomplete) else []
            return [*super().shell_complete(ctx, incomplete), *extra]
        flags = {name: flag for name, flag in BY_NAME.items() if flag.status == "honoured" and name.startswith("--")}
        return [CompletionItem(name, help=flag.help) for name, flag in flags.items() if name.startswith(incomplete)]


def _word_before(incomplete: str) -> str:
    """The word before the one to complete. bash and zsh say which word that is, fish ends the line with it."""
    from click.shell_completion import split_arg_string

    words, place = split_arg_string(os.environ.get("COMP_WORDS", "")), os.environ.get("COMP_CWORD", "")
    at = int(place) if place.isdigit() else len(words) - bool(incomplete)
    return words[at - 1] if 0 < at <= len(words) else ""


@click.group(cls=_WithFlags, add_help_option=True)
def _group() -> None:
    """Inspect the configuration and the stored sessions."""


def _settings() -> Settings:
    return build_settings(_sources())


def _sources(*, quiet: bool = False) -> SettingSources:
    """What a start here would read. `quiet`: the caller shows the warnings itself."""
    log = Log("-", "error" if quiet else "warning")
    return SettingSources({}, (), flat=True, env=os.environ, cwd=working_folder(), log=log)


def _catalog(settings: Settings) -> Catalog:
    return Catalog(settings, lambda endpoint: find_credential(endpoint, settings) is not None)


def _say(text: str) -> None:
    if code := print_text(text):
        raise click.exceptions.Exit(code)


def _complain(text: str) -> None:
    os.write(2, f"yume-shim: {redact(text)}\n".encode("utf-8", "replace"))


add_doctor(_group, _say)
add_init(_group, _say)
_read_document = document_reader(_settings, _catalog)
add_sessions(_group, _settings, _say, _read_document)
add_pages(_group, _settings, _say, _read_document)
add_models(_group, _settings, _say, _complain)
add_auth(_group, _say, _complain)
add_batch(_group)
add_protocol(_group, _say)
add_mcp(_group, lambda: _sources(quiet=True), build_settings, _say)
