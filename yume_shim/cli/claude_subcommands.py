"""The Claude CLI's own sub-commands: desktop programs call some of them. None of them may become a paid prompt."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def run_claude_subcommand(argv: Sequence[str], say: Callable[[str], int]) -> int:
    """Answer what needs no model; refuse the rest with one sentence."""
    match list(argv):
        case ["auth", "status", *rest]:
            return _auth_status(as_json="--json" in rest, say=say)
        case ["auth", "login" | "logout" as action, *_]:
            os.write(
                2, f"yume-shim: 'auth {action}' is not available: sign in with the vendor's own program.\n".encode()
            )
        case ["auth", *_]:
            from yume_shim.cli.commands import run_command

            return run_command(argv)
        case [name, *_]:
            message = (
                f"yume-shim: '{name}' is a sub-command of the Claude CLI that this program does not have. "
                f"To send it as a prompt, write: yume-shim -p {name}\n"
            )
            os.write(2, message.encode())
    return 1


def _auth_status(*, as_json: bool, say: Callable[[str], int]) -> int:
    """Whether a start would find a key: exit code 0 if so, 1 if not."""
    from yume_shim.catalog.resolve import Catalog
    from yume_shim.config.build import build_settings
    from yume_shim.config.credentials import find_credential
    from yume_shim.config.setting_sources import SettingSources, working_folder
    from yume_shim.host.log import Log
    from yume_shim.text.codec import dumps
    from yume_shim.types.errors import BadInvocation

    try:
        settings = build_settings(
            SettingSources({}, (), flat=True, env=os.environ, cwd=working_folder(), log=Log("-", "error"))
        )
        catalog = Catalog(settings, lambda endpoint: find_credential(endpoint, settings) is not None)
        spec = catalog.resolve(catalog.configured()[0])
        credential = find_credential(spec.endpoint, settings)
    except BadInvocation as error:
        os.write(2, f"yume-shim: {error.message}\n".encode())
        return 1
    known = {
        "loggedIn": credential is not None,
        "authMethod": "none" if credential is None else "api_key" if credential.kind == "key" else credential.kind,
        "apiProvider": spec.endpoint.name,
        "apiKeySource": "none" if credential is None else credential.source,
        "model": spec.id,
    }
    if as_json:
        say(dumps(known).decode() + "\n")
    else:
        state = f"key from {known['apiKeySource']}" if credential is not None else "no key found"
        say(f"{spec.endpoint.name}: {state}; model {spec.id}\n")
    return 0 if credential is not None else 1
