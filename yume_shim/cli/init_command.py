"""`yume-shim init`: writes a commented config file by asking or from flags, and tests the key.

It also tells how to point a client here.
"""

from __future__ import annotations

import os
import sys

import click

from yume_shim.cli.client_table import BY_KEY, directions
from yume_shim.config.build import build_settings
from yume_shim.config.key_doubts import key_doubt
from yume_shim.config.setting_sources import SettingSources, working_folder
from yume_shim.host.log import Log
from yume_shim.text.codec import dumps
from yume_shim.types.errors import BadInvocation
from yume_shim.types.folders import yume_folder
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.cli.doctor.models import ModelFacts

PRIVATE_MODE = 0o600
"""The file may hold keys."""
OLD = ".old"
"""What the name of a replaced file gets."""
NO_MODEL = "no model named"
"""How the error begins that a provider without a default model gives."""
_CLIENT_NAMES = ("default", "opus", "sonnet", "haiku")
"""What clients of the Claude CLI ask for."""


class Answers(Value):
    """What the file will say. `key` is never printed."""

    provider: str
    model: str = ""
    api_base: str = ""
    key: str = ""
    key_env: str = ""


def add_init(group: click.Group, say: Callable[[str], None]) -> None:
    """Add the command to the group of all sub-commands."""
    text = "Write a commented config file by asking or from flags, and test the key."
    params: list[click.Parameter] = [
        click.Option(["--provider"], default="", help="Provider to use. Without it the command asks."),
        click.Option(["--model"], default="", help="Model to use (default: the provider's)."),
        click.Option(["--api-base"], default="", help="Address of the endpoint, for a server of your own."),
        click.Option(["--key-env"], default="", help="Variable that holds the key at each start."),
        click.Option(["--key-stdin"], is_flag=True, help="Read the key from stdin and store it in the file."),
        click.Option(["--config", "path"], default="", help="File to write (default: ~/.yume/config.toml)."),
        click.Option(
            ["--force"],
            is_flag=True,
            help="Replace the file if it exists. The former one is kept beside it, as FILE.old.",
        ),
        click.Option(["--no-test"], is_flag=True, help="Do not ask the endpoint whether it takes the key."),
        click.Option(
            ["--for", "clients"],
            multiple=True,
            type=click.Choice(list(BY_KEY)),
            help="Tell how to point this client here. Alone: only that, nothing is written.",
        ),
    ]
    group.add_command(click.Command("init", callback=_Init(say).run, params=params, help=text, short_help=text))


class _Init:
    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    def run(
        self,
        provider: str,
        model: str,
        api_base: str,
        key_env: str,
        key_stdin: bool,
        path: str,
        force: bool,
        no_test: bool,
        clients: tuple[str, ...],
    ) -> None:
        asked = Answers(provider, model, api_base, key_env=key_env)
        if clients and not provider:
            self._directions(clients)
            return
        path = path or os.environ.get("YUME_CONFIG", "") or os.path.join(yume_folder(os.environ), "config.toml")
        if not provider and not sys.stdin.isatty():
            raise BadInvocation(
                "init: stdin is not a terminal: name the provider, e.g. yume-shim init --provider openai"
            )
        if os.path.lexists(path) and not force:
            raise BadInvocation(f"init: {path} exists. Edit it, or replace it with --force.")
        if key_stdin:
            asked = Answers(provider, model, api_base, _checked_key(sys.stdin.readline()), key_env)
        elif not provider:
            asked = _ask(asked)
        replaced = os.path.lexists(path)
        facts = _write(path, asked)
        self._say(f"{path} is written.{f' The former file is {path}{OLD}.' if replaced else ''}\n")
        failed = False if no_test else self._test(facts)
        self._directions(clients)
        self._say("Next: yume-shim doctor\n")
        if failed:
            self._say("To answer again: yume-shim init --force\n")
            raise click.exceptions.Exit(1)

    def _test(self, facts: ModelFacts) -> bool:
        """Has the endpoint refused? One request for its list of models."""
        from yume_shim.cli.doctor.line import MARKS

        line = facts.ask()
        todo = f" → {line.todo}" if line.state == "wrong" and line.todo else ""
        self._say(f"{MARKS[line.state]} {line.name}: {line.text}{todo}\n")
        return line.state == "wrong"

    def _directions(self, clients: tuple[str, ...]) -> None:
        from shutil import which

        beside = os.path.join(os.path.dirname(sys.executable), "yume-shim")
        program = which("yume-shim") or (beside if os.path.isfile(beside) else "yume-shim")
        for key in clients:
            self._say(directions(BY_KEY[key], program))


def _checked_key(raw: str) -> str:
    key = raw.strip()
    if not key:
        raise BadInvocation("init: the key is empty")
    if doubt := key_doubt(key):
        raise BadInvocation(f"init: this is not a key: {doubt}")
    return key


def _typed_key(raw: str) -> str:
    """A key that cannot be one is asked for again at once; "" stays."""
    try:
        return _checked_key(raw) if raw.strip() else ""
    except BadInvocation as error:
        raise click.BadParameter(error.message.removeprefix("init: ")) from None


def _known_address(base: str, provider: str) -> str:
    log = Log("-", "error")
    sources = SettingSources({"api-base": base}, (), flat=True, env=os.environ, cwd=working_folder(), log=log)
    from yume_shim.cli.doctor.models import ModelFacts

    if error := ModelFacts(build_settings(sources), "any", provider).error:
        raise click.BadParameter(error)
    return base


def _ask(given: Answers) -> Answers:
    """Questions on stderr, as stdout may be read by a program. The key is not shown while it is typed."""
    question = "Provider (anthropic, openai, google, openrouter, ollama, …)"
    provider = click.prompt(question, default="anthropic", err=True, value_proc=_known_provider)
    examples = _examples(_facts(provider, "any"))
    question = "Model" if _has_no_default(provider) else "Model (empty: the provider's default)"
    question += f", e.g. {examples}" if examples else ""
    model = given.model or click.prompt(
        question, default="", show_default=False, err=True, value_proc=lambda name: _known_model(name, provider)
    )
    base = given.api_base
    if provider == "compatible" and not base:
        question = "Address, e.g. https://llm.example/v1"
        base = click.prompt(question, err=True, value_proc=lambda given: _known_address(given, provider))
    question = "Key (not shown; empty: it is taken from the environment at each start)"
    key = click.prompt(question, default="", show_default=False, hide_input=True, err=True, value_proc=_typed_key)
    return Answers(provider, model, base, key, given.key_env)


def _known_provider(name: str) -> str:
    """A provider that is not known is asked for again at once."""
    error = _facts(name, "any").error
    if error.startswith("unknown provider"):
        raise click.BadParameter(error)
    return name


def _known_model(name: str, provider: str) -> str:
    """Some providers have no model of their own to begin with."""
    if not name and _has_no_default(provider):
        raise click.BadParameter(f"{provider} has no default model: name one")
    return name


def _has_no_default(provider: str) -> bool:
    return _facts(provider, "").error.startswith(NO_MODEL)


def _examples(facts: ModelFacts) -> str:
    """Models that a person could name: the first in the list."""
    if facts.spec is None:
        return ""
    listed: dict[str, list[str]] = {}
    for spec in facts.catalog.known_models():
        listed.setdefault(spec.endpoint.name, []).append(spec.id)
    return " or ".join(listed.get(facts.spec.endpoint.name, [])[:3])


def _facts(provider: str, model: str) -> ModelFacts:
    from yume_shim.cli.doctor.models import ModelFacts

    log = Log("-", "error")
    sources = SettingSources({}, (), flat=True, env=os.environ, cwd=working_folder(), log=log)
    return ModelFacts(build_settings(sources), model, provider)


def _write(path: str, answers: Answers) -> ModelFacts:
    """Check the file before it gets its name. Raises BadInvocation."""
    from yume_shim.cli.doctor.models import ModelFacts
    from yume_shim.disk.json_edit import replace_file
    from yume_shim.system import move_over

    draft, log = f"{path}.new", Log("-", "error")

    def facts_of(file: str) -> ModelFacts:
        sources = SettingSources({"config": file}, (), flat=True, env=os.environ, cwd=working_folder(), log=log)
        return ModelFacts(build_settings(sources), "", answers.provider)

    try:
        os.makedirs(os.path.dirname(os.path.abspath(path)), mode=0o700, exist_ok=True)
        replace_file(draft, config_text(answers).encode(), PRIVATE_MODE)
        try:
            facts = facts_of(draft)
            if facts.spec is None:
                examples = _examples(_facts(answers.provider, "any")) if facts.error.startswith(NO_MODEL) else ""
                hint = f"; e.g. --model {examples}" if examples else ""
                raise BadInvocation(f"init: nothing is written: {facts.error}{hint}")
            if os.path.lexists(path):
                move_over(path, path + OLD)
            move_over(draft, path)
        finally:
            if os.path.lexists(draft):
                os.remove(draft)
    except OSError as error:
        raise BadInvocation(f"init: {path} cannot be written: {error.strerror}") from None
    return facts_of(path)  # messages about keys name the file that is there


def config_text(answers: Answers) -> str:
    """The whole file, with a comment for each part; what is not chosen is there as an example."""
    provider, model = answers.provider, answers.model
    own = f"{provider}/{model}" if model else ""
    head = [
        "# Configuration of yume-shim. `yume-shim doctor` checks it; docs/settings.md lists all settings.",
        "",
        "# Provider and model of a start that names none. `yume-shim models` shows what is known.",
        f"provider = {_quoted(provider)}",
        f"model = {_quoted(model)}" if model else '# model = "…"    # without it: the default of the provider',
        "",
        "# Models that take over when the first is overloaded, rate-limited or cannot be reached.",
        '# fallback = ["google/gemini-3.5-flash"]',
        "",
        "# Names that clients of the Claude CLI ask for, and the models they get.",
        "[aliases]",
    ]
    mark = "" if own and provider != "anthropic" else "# "
    example = own or "google/gemini-3.5-flash"
    aliases = [f"{mark}{name} = {_quoted(example)}" for name in _CLIENT_NAMES]
    keys = [
        "",
        "# Keys by provider; several are used in turn. Clients pass on little of the environment: keys in this file",
        "# are always found. It is readable by you alone.",
        "[keys]",
        f"{provider_key(provider)} = {_quoted(answers.key)}" if answers.key else '# openai = "sk-…"',
    ]
    rows = []
    if answers.api_base or answers.key_env:
        rows = ["", "# Where this provider is, and the variable with its key.", f"[endpoints.{provider_key(provider)}]"]
        rows += [f"base_url = {_quoted(answers.api_base)}"] if answers.api_base else []
        rows += [f"key_vars = [{_quoted(answers.key_env)}]"] if answers.key_env else []
    return "\n".join([*head, *aliases, *keys, *rows]) + "\n"


def provider_key(provider: str) -> str:
    """A bare key where TOML allows one."""
    plain = provider.replace("-", "").replace("_", "")
    return provider if plain.isascii() and plain.isalnum() else _quoted(provider)


def _quoted(text: str) -> str:
    if not text.isprintable():
        raise BadInvocation("init: a value has characters that cannot be printed")
    return dumps(text).decode()
