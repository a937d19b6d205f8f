"""`yume-shim auth`: which key each provider would get, why, and where else it looked. Never shows any part of a key."""

from __future__ import annotations

import os

from yume_shim.catalog.resolve import Catalog
from yume_shim.config.build import build_settings
from yume_shim.config.credentials import check_places, find_credential
from yume_shim.config.setting_sources import SettingSources, working_folder
from yume_shim.host.log import Log
from yume_shim.text.codec import dumps
from yume_shim.types.errors import BadInvocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    import click

    from yume_shim.types.models import Endpoint
    from yume_shim.types.settings import Settings


def add_auth(group: click.Group, say: Callable[[str], None], complain: Callable[[str], None]) -> None:
    """Add the command to the group of all sub-commands."""
    import click

    text = "Show which key each provider would get, and why. Shows no keys and runs no key commands."
    params: list[click.Parameter] = [
        click.Argument(["providers"], nargs=-1),
        click.Option(["--profile"], default="", help="As if this profile were chosen."),
        click.Option(["--json", "as_json"], is_flag=True, help="Print JSON."),
    ]

    def show(providers: tuple[str, ...], profile: str, as_json: bool) -> int:
        """The exit code: 1 if providers are left out, because they are configured wrongly."""
        values = {"profile": profile} if profile else {}
        settings = build_settings(
            SettingSources(values, (), flat=True, env=os.environ, cwd=working_folder(), log=Log("-"))
        )
        endpoints, wrong = _endpoints(settings, providers)
        reports = [_report(endpoint, settings) for endpoint in endpoints]
        say(dumps({"providers": reports}).decode() + "\n" if as_json else "".join(map(_lines, reports)))
        for error in wrong:
            complain(error.message)
        return 1 if wrong else 0

    group.add_command(click.Command("auth", callback=show, params=params, help=text, short_help=text))


def _endpoints(
    settings: Settings, providers: tuple[str, ...]
) -> tuple[tuple[Endpoint, ...], tuple[BadInvocation, ...]]:
    """(the providers to show, what is wrong with others). Raises BadInvocation if a named one is wrong."""
    catalog = Catalog(settings, lambda endpoint: find_credential(endpoint, settings) is not None)
    try:
        catalog.resolve(catalog.configured()[0])  # an address from the environment applies to this provider
    except BadInvocation:
        pass
    if not providers:
        return catalog.listed()
    return tuple(catalog.endpoint(catalog.provider(name), address=False) for name in providers), ()


def _report(endpoint: Endpoint, settings: Settings) -> dict[str, Any]:
    """`state`: "used", "there" (a stronger place has a key) or "nothing". The strongest place comes first."""
    uses: list[dict[str, str]] = []
    places: list[dict[str, str]] = []
    for at in check_places(endpoint, settings):
        known = [source.known() for source in at.sources]
        if uses and known and known[0].kind == "none":
            continue  # "no key needed" is not an alternative if there is a key
        state = "nothing" if not known else "there" if uses else "used"
        if state == "used":
            uses = [{"source": credential.source, "kind": credential.kind} for credential in known]
        note = at.note or at.warning
        places.append({"place": at.name, "state": state, **({"note": note} if note else {})})
    return {"provider": endpoint.name, "uses": uses, "looked_at": places}


def _lines(report: dict[str, Any]) -> str:
    sources = [use["source"] for use in report["uses"]]
    if not sources:
        found = "no key"
    elif report["uses"][0]["kind"] == "none":
        found = "no key needed"
    else:
        kinds = "token" if report["uses"][0]["kind"] == "token" else "key"
        found = f"{kinds} from {', then '.join(sources)}"
    lines = [f"{report['provider']}: {found}\n"]
    for number, place in enumerate(report["looked_at"], 1):
        note = f" ({place['note']})" if place.get("note") else ""
        lines.append(f"  {number}. {place['place']}: {place['state']}{note}\n")
    return "".join(lines)
