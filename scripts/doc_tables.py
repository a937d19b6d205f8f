"""Keep the tables of the documents in step with the code: rewrites them, or with `--check` only looks.

The flags of README.md come from yume_shim/cli/flags.py; the quirks and the endpoints of docs/providers.md from
yume_shim/types/models.py and yume_shim/catalog/endpoints.json; docs/quirks.md from docs/quirks.toml and the goldens;
docs/protocol/ from yume_shim/dialects/records; docs/settings.md from yume_shim/config/known_settings.py and
yume_shim/config/claude_settings.py; docs/hooks.md from yume_shim/extensions/hooks/event_table.py;
the protected names from yume_shim/types/protected_names.py; docs/errors.md from yume_shim/types/error_entries/; the
limits of docs/reliability.md from scripts/limit_table.py; docs/telemetry.md from yume_shim/telemetry/names.py; the
clients of README.md from yume_shim/cli/client_table.py; docs/yume-shim.1 from scripts/man_page.py.
"""

from __future__ import annotations

import ast
import json
import os
import sys

import _venv
import error_tables
import limit_table
import man_page
import protocol_pages
import telemetry_tables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

MODELS = os.path.join(_venv.ROOT, "yume_shim", "types", "models.py")
CATALOG = os.path.join(_venv.ROOT, "yume_shim", "catalog", "models.json")
ENDPOINTS = os.path.join(_venv.ROOT, "yume_shim", "catalog", "endpoints.json")


def main() -> int:
    """Exit code 1 when a table was out of step and only looked at."""
    _venv.ready()
    tables = {
        "README.md": {"flags": flags(), "clients": clients()},
        os.path.join("docs", "yume-shim.1"): {"manual": man_page.manual()},
        os.path.join("docs", "providers.md"): {
            "endpoints": endpoints(),
            "quirks": quirks(),
            "families": families(),
            "thresholds": thresholds(),
        },
        **{os.path.join("docs", "protocol", name): found for name, found in protocol_pages.sections().items()},
        os.path.join("docs", "settings.md"): {"settings": settings(), "keys of settings.json": settings_keys()},
        os.path.join("docs", "hooks.md"): {"hook events": hook_events()},
        os.path.join("docs", "errors.md"): error_tables.sections(),
        os.path.join("docs", "quirks.md"): {"vendors": vendor_quirks()},
        os.path.join("docs", "protected-names.md"): {"protected names": protected_names()},
        os.path.join("docs", "reliability.md"): {"limits": limit_table.limit_table()},
        os.path.join("docs", "telemetry.md"): telemetry_tables.sections(),
        os.path.join("docs", "deviations.md"): {"names that only we protect": names_only_ours()},
    }
    wrong = 0
    for name, sections in tables.items():
        path = os.path.join(_venv.ROOT, name)
        with open(path, encoding="utf-8") as file:
            old = new = file.read()
        for section, text in sections.items():
            new = replaced(new, section, text)
        if new == old:
            continue
        if "--check" in sys.argv[1:]:
            print(f"{name}: a table is out of step; run scripts/doc_tables.py", file=sys.stderr)
            wrong = 1
            continue
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(new)
        print(f"{name}: tables rewritten")
    return wrong


def replaced(text: str, section: str, table: str) -> str:
    """The document with one section written anew."""
    begin, end = f"<!-- {section}: written by scripts/doc_tables.py -->", f"<!-- end of {section} -->"
    head, mark, rest = text.partition(begin)
    _, close, tail = rest.partition(end)
    if not mark or not close:
        raise SystemExit(f"no place for the {section}: {begin} … {end}")
    return f"{head}{begin}\n{table}{end}{tail}"


def flags() -> str:
    """Our own flags, the Claude CLI's that do something, and one line each for the rest."""
    from yume_shim.cli.flags import FLAGS

    ours = [flag for flag in FLAGS if flag.ours]
    theirs = [flag for flag in FLAGS if not flag.ours and flag.status == "honoured"]
    lines = ["", "Flags of this program:", "", "| flag | meaning |", "|---|---|"]
    lines += [flag_row(flag.usage, flag.help, flag.choices) for flag in ours]
    lines += ["", "Flags of the Claude CLI that work here:", "", "| flag | meaning |", "|---|---|"]
    lines += [flag_row(flag.usage, flag.help, flag.choices) for flag in theirs]
    for status, words in (("accepted", "Accepted without effect"), ("refused", "Refused with a clear message")):
        names = [f"`{flag.names[0]}`" for flag in FLAGS if flag.status == status]
        lines += ["", f"{words}: {', '.join(names)}."]
    return "\n".join(lines) + "\n\n"


def clients() -> str:
    """Where each client names the program that it starts."""
    from yume_shim.cli.client_table import CLIENTS

    lines = ["", "| client | setting | state | `init --for` |", "|---|---|---|---|"]
    lines += [f"| {client.name} | {client.setting} | {client.state} | `{client.key}` |" for client in CLIENTS]
    return "\n".join(lines) + "\n\n"


def flag_row(usage: str, meaning: str, choices: tuple[str, ...]) -> str:
    """One line of a table."""
    listed = f" ({', '.join(choices)})" if choices else ""
    return f"| `{usage}` | {meaning}{listed} |"


def endpoints() -> str:
    """Every built-in provider: API, address, where its key is looked for."""
    with open(ENDPOINTS, encoding="utf-8") as file:
        rows = json.load(file)
    lines = ["", "| provider | API | address | key |", "|---|---|---|---|"]
    for name, row in rows.items():
        names = ", ".join(f"`{other}`" for other in (name, *row.get("names", ())))
        address = (
            f"`{row['base_url']}`"
            if row["base_url"]
            else "by region and project"
            if row.get("address_by_sign_in")
            else "–"
        )
        if row.get("base_url_vars"):
            address += "; " + ", ".join(f"`{variable}`" for variable in row["base_url_vars"])
        keys = [f"`{variable}`" for variable in (*row.get("key_vars", ()), *row.get("token_vars", ()))]
        keys += [f"`{place['root'].rstrip('/')}/{place['file']}`" for place in row.get("key_files", ())]
        if row.get("sign_in"):
            keys.append(f"sign-in ({row['sign_in']})")
        if row.get("key_optional"):
            keys.append("none needed")
        lines.append(f"| {names} | `{row['api']}` | {address} | {', '.join(keys)} |")
    return "\n".join(lines) + "\n\n"


def families() -> str:
    """The limits that a model gets by its name, if the catalogue does not know it."""
    data = catalog()
    lines = ["", "| name begins with | context window | longest answer |", "|---|---|---|"]
    lines += [f"| {family_name(start)} | {window:,} | {most:,} |" for start, (window, most, _) in data["families"]]
    lines.append(f"| anything else | {default_limit('window'):,} | {default_limit('max_output'):,} |")
    return "\n".join(lines) + "\n\n"


def thresholds() -> str:
    """The shares of a window at which a history is trimmed and compacted."""
    data = catalog()
    size, trim, compact = data["large_window"]
    lines = ["", "| model | old tool results are trimmed at | the history is compacted at |", "|---|---|---|"]
    lines.append(f"| any, with a window of {size:,} tokens or more | {trim:g} | {compact:g} |")
    lines += [f"| {family_name(start)} | {trim:g} | {compact:g} |" for start, trim, compact in data["history"]]
    return "\n".join(lines) + "\n\n"


def catalog() -> dict[str, Any]:
    with open(CATALOG, encoding="utf-8") as file:
        loaded: dict[str, Any] = json.load(file)
    return loaded


def family_name(start: str) -> str:
    return "`o` and a digit" if start == "o" else f"`{start}`" if start else "anything else"


def default_limit(name: str) -> int:
    from yume_shim.types.models import Endpoint, ModelSpec

    found: int = getattr(ModelSpec("", Endpoint("", "", "")), name)
    return found


def protected_names() -> str:
    """Every protected name with its reason."""
    from yume_shim.types.protected_names import PROTECTED

    lines = ["", "| name | why | asks in bypassPermissions |", "|---|---|---|"]
    lines += [f"| `{row.name}` | {row.reason} | {'yes' if row.bypass else 'no'} |" for row in PROTECTED]
    return "\n".join(lines) + "\n\n"


def names_only_ours() -> str:
    """The protected names that the Claude CLI lets an agent write in acceptEdits."""
    from yume_shim.types.protected_names import PROTECTED

    return "\n" + ", ".join(f"`{row.name}`" for row in PROTECTED if not row.claude) + ".\n\n"


def settings() -> str:
    """Every setting of the config file, and every variable without one."""
    from yume_shim.config.known_settings import KINDS, OTHER_VARIABLES, SETTINGS

    lines = ["", "| setting | value | default | flag, variable | meaning |", "|---|---|---|---|---|"]
    for each in SETTINGS:
        over = ", ".join(f"`{name}`" for name in (each.flag, each.variable) if name)
        lines.append(f"| `{each.key}` | {KINDS[each.kind][0]} | {each.default} | {over} | {each.meaning} |")
    lines += ["", "| variable | meaning |", "|---|---|"]
    lines += [f"| `{name}` | {meaning} |" for name, meaning in sorted(OTHER_VARIABLES.items())]
    return "\n".join(lines) + "\n\n"


def settings_keys() -> str:
    """Every key of the Claude CLI's settings files: honoured, or ignored and why."""
    from yume_shim.config.claude_settings import HONOURED, IGNORED

    rows = [(key, "honoured", note) for key, note in HONOURED.items()]
    rows += [(key, "ignored", reason) for key, reason in IGNORED.items()]
    lines = ["", "| key | here | notes |", "|---|---|---|"]
    lines += [f"| `{key}` | {state} | {note} |" for key, state, note in sorted(rows, key=lambda row: row[0].lower())]
    return "\n".join(lines) + "\n\n"


def hook_events() -> str:
    """Every hook event of the Claude CLI: when it is fired and what its hooks may answer, or why it is not fired."""
    from yume_shim.extensions.hooks.event_table import ALL_EVENTS

    lines = ["", "| event | when | matched with | answers |", "|---|---|---|---|"]
    lines += [f"| {e.name} | {e.when} | {e.subject or '–'} | {e.answers} |" for e in ALL_EVENTS if not e.why_not]
    lines += ["", "| not fired | why |", "|---|---|"]
    lines += [f"| {event.name} | {event.why_not} |" for event in ALL_EVENTS if event.why_not]
    return "\n".join(lines) + "\n\n"


def quirks() -> str:
    """Every quirk with its default and what is written below it in the code."""
    lines = ["", "| quirk | default | meaning |", "|---|---|---|"]
    for name, default, meaning in quirk_fields():
        shown = default.replace("NOTHING", "{}").replace("|", "\\|")
        lines.append(f"| `{name}` | `{shown}` | {' '.join(meaning.split()).replace('|', chr(92) + '|')} |")
    return "\n".join(lines) + "\n\n"


def quirk_fields() -> Iterator[tuple[str, str, str]]:
    """(name, default, the text under it)."""
    with open(MODELS, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Quirks")
    for field, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and field.value is not None:
            text = after.value if isinstance(after, ast.Expr) else None
            meaning = text.value if isinstance(text, ast.Constant) and isinstance(text.value, str) else ""
            yield field.target.id, ast.unparse(field.value), meaning


def vendor_quirks() -> str:
    """What vendors do, what we do, and the goldens that prove it."""
    import tomllib

    with open(os.path.join(_venv.ROOT, "docs", "quirks.toml"), "rb") as file:
        rows = tomllib.load(file)["quirk"]
    goldens = goldens_by_quirk()
    lines: list[str] = []
    for row in rows:
        code = [f"`{path}`" for path in row["code"]] + [f"`Quirks.{field}`" for field in row.get("quirks", ())]
        shown = [f"[{name}](../golden/{name})" for name in goldens.get(row["name"], ())]
        lines += ["", f"### {row['name']}", "", f"{row['who']}: {row['vendor']}", "", f"- **Here:** {row['ours']}"]
        lines += [f"- **Code:** {', '.join(code)}", f"- **Goldens:** {', '.join(shown)}"]
    return "\n".join(lines) + "\n\n"


def goldens_by_quirk() -> dict[str, list[str]]:
    """Quirk -> the folders below golden/ whose case.toml names it."""
    import tomllib
    from pathlib import Path

    top = Path(_venv.ROOT) / "golden"
    found: dict[str, list[str]] = {}
    for path in sorted([*top.glob("providers/*/*/case.toml"), *top.glob("sessions/*/case.toml")]):
        name = tomllib.loads(path.read_text("utf-8")).get("quirk")
        if name:
            found.setdefault(name, []).append(path.parent.relative_to(top).as_posix())
    return found


if __name__ == "__main__":
    sys.exit(main())
