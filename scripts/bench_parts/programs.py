"""The programs that the bench compares: how each is started against the loopback endpoint, one row per program."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from bench_parts.upstream import MARK

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]
PARTIAL = ("--output-format", "stream-json", "--verbose", "--include-partial-messages")
FORMS = {"stream-json": PARTIAL, "flat": ("--output-format", "flat")}


class Api(NamedTuple):
    """How this program reaches an API: model, variable of the address and what follows it, variable of the key."""

    model: str
    address: str
    path: str
    key: str


APIS = {
    "anthropic": Api("anthropic/claude-sonnet-4-5", "ANTHROPIC_BASE_URL", "", "ANTHROPIC_API_KEY"),
    "openai": Api("openai/gpt-5.4", "OPENAI_BASE_URL", "/v1", "OPENAI_API_KEY"),
    "google": Api("google/gemini-3.5-flash", "GOOGLE_GEMINI_BASE_URL", "", "GEMINI_API_KEY"),
    "chat": Api("openrouter/m", "OPENROUTER_BASE_URL", "/v1", "OPENROUTER_API_KEY"),
    "ollama": Api("ollama/m", "OLLAMA_BASE_URL", "", "OLLAMA_API_KEY"),
}


class Start(NamedTuple):
    """One start of a program."""

    argv: list[str]
    env: dict[str, str]


class Program(NamedTuple):
    """A row: its name, whether it prints pieces of text as they come, and how it is started on a prompt."""

    name: str
    streams: bool
    start: Callable[[str, str, Path], Start]
    """(prompt, address of the server, its empty home folder)."""
    after: Callable[[Path], None] = lambda home: None
    """Called when it has ended: ends what it has left."""


def ours(api: str, form: str, *more: str, python: tuple[str, ...] = ()) -> Program:
    """This program, on an API, in a form. `python` is put before the interpreter's arguments."""

    def start(prompt: str, url: str, home: Path) -> Start:
        place = APIS[api]
        argv = [sys.executable, *python, "-m", "yume_shim", "-p", prompt, *FORMS[form], "--model", place.model, *more]
        return Start(argv, {place.address: url + place.path, place.key: "not-a-key", "PYTHONPATH": str(ROOT)})

    return Program(f"{api} {form}", True, start)


def bare_python() -> Program:
    """The interpreter alone: the floor of every start."""
    code = f"print('{MARK}')"
    return Program("bare Python", False, lambda *_: Start([sys.executable, "-I", "-c", code], {}))


def _claude(command: list[str]) -> Program:
    def start(prompt: str, url: str, home: Path) -> Start:
        env = {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "not-a-key", "CLAUDE_CONFIG_DIR": str(home / ".claude")}
        return Start([*command, "-p", prompt, *PARTIAL], env | {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"})

    return Program("claude", True, start)


def _codex(command: list[str]) -> Program:
    def start(prompt: str, url: str, home: Path) -> Start:
        provider = f'name = "bench"\nbase_url = "{url}/v1"\nenv_key = "BENCH_KEY"\nwire_api = "responses"\n'
        text = f'model = "gpt-5.4"\nmodel_provider = "bench"\n[model_providers.bench]\n{provider}'
        (home / ".codex").mkdir()
        (home / ".codex" / "config.toml").write_text(text)
        argv = [*command, "exec", "--json", "--skip-git-repo-check", prompt]
        return Start(argv, {"BENCH_KEY": "not-a-key", "CODEX_HOME": str(home / ".codex")})

    return Program("codex", False, start)


def _gemini(command: list[str]) -> Program:
    def start(prompt: str, url: str, home: Path) -> Start:
        settings: dict[str, Any] = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
        settings |= {"privacy": {"usageStatisticsEnabled": False}, "general": {"disableAutoUpdate": True}}
        _write(home / ".gemini" / "settings.json", settings)
        argv = [*command, "-p", prompt, "--output-format", "stream-json", "--model", "gemini-2.5-flash"]
        quiet = {"NO_BROWSER": "1", "GEMINI_CLI_TRUST_WORKSPACE": "true"}
        return Start(argv, {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "not-a-key", **quiet})

    return Program("gemini", True, start)


def _pi(command: list[str]) -> Program:
    def start(prompt: str, url: str, home: Path) -> Start:
        models = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "BENCH_KEY", "models": [{"id": "m"}]}
        _write(home / ".pi" / "agent" / "models.json", {"providers": {"bench": models}})
        argv = [*command, "--provider", "bench", "--model", "m", "--mode", "json", "-p", prompt]
        return Start(argv, {"BENCH_KEY": "not-a-key", "PI_OFFLINE": "1"})

    return Program("pi", False, start)  # each line repeats the whole message: gigabytes for a long answer


def _opencode(command: list[str]) -> Program:
    def start(prompt: str, url: str, home: Path) -> Start:
        options = {"baseURL": f"{url}/v1", "apiKey": "not-a-key"}
        made = {"npm": "@ai-sdk/openai-compatible", "options": options, "models": {"m": {"name": "m"}}}
        _write(home / "opencode.json", {"provider": {"bench": made}, "autoupdate": False, "share": "disabled"})
        argv = [*command, "run", "--format", "json", "--model", "bench/m", prompt]
        return Start(argv, {"OPENCODE_CONFIG": str(home / "opencode.json")})

    return Program("opencode", False, start)


def _router(command: list[str]) -> Program:
    def start(prompt: str, url: str, home: Path) -> Start:
        provider = {"name": "bench", "api_base_url": f"{url}/v1/chat/completions", "api_key": "k", "models": ["m"]}
        config = {"Providers": [provider], "Router": {"default": "bench,m"}, "LOG": False, "PORT": _free_port()}
        _write(home / ".claude-code-router" / "config.json", config)
        env = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
        return Start([*command, "code", "-p", prompt, *PARTIAL], env)

    def after(home: Path) -> None:  # it leaves a server, which knows this upstream only
        for file in (home / ".claude-code-router").glob(".*.pid"):
            os.kill(int(file.read_text()), signal.SIGTERM)

    return Program("claude-code-router", True, start, after)


ROWS: dict[str, tuple[str, Callable[[list[str]], Program]]] = {
    "claude": ("claude", _claude),
    "codex": ("codex", _codex),
    "gemini": ("gemini", _gemini),
    "pi": ("pi", _pi),
    "opencode": ("opencode", _opencode),
    "claude-code-router": ("ccr", _router),
}
"""Name → the command looked for on PATH, and the row that it makes."""


def others(named: list[str]) -> list[Program]:
    """The programs to compare with: those named as NAME or NAME=COMMAND, or all that are on PATH."""
    found: list[Program] = []
    for given in named or list(ROWS):
        name, _, text = given.partition("=")
        if name not in ROWS:
            raise SystemExit(f"--against {name}: known are {', '.join(ROWS)}")
        word, make = ROWS[name]
        command = shlex.split(text) if text else [path] if (path := shutil.which(word)) else []
        if command:
            found.append(make(command))
        elif named:
            raise SystemExit(f"--against {name}: `{word}` is not on PATH; name it: --against {name}=COMMAND")
    return found


def environment(home: Path, more: dict[str, str]) -> dict[str, str]:
    """A bare environment that leads to the loopback server and nowhere else."""
    return {"PATH": os.environ.get("PATH", ""), "HOME": str(home), "NO_PROXY": "127.0.0.1", **more}


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _write(path: Path, data: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))
