"""Parts of prompts and results as HTML: prose, images, attachments, JSON values."""

from __future__ import annotations

from yume_shim.pages.document import Attachment, Picture, Words
from yume_shim.pages.html.coloured_code import coloured, terminal
from yume_shim.pages.html.escaping import attribute, code, prose
from yume_shim.pages.html.markdown import rendered
from yume_shim.pages.tool_words import word
from yume_shim.text.codec import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from yume_shim.pages.document import Part

MAX_JSON = 20_000
"""Characters of a result that are tried as JSON."""
MAX_DEPTH = 30


def prose_parts(parts: Sequence[Part], *, plain: bool = False) -> str:
    """A prompt or an answer. `plain`: line ends count, Markdown does not."""
    return "".join(_prose(part, plain=plain) for part in parts)


def _prose(part: Part, *, plain: bool) -> str:
    if isinstance(part, Words):
        body = f'<div class="plain" dir="auto">{prose(part.text)}</div>' if plain else rendered(part.text)
        return body + cut_note(part)
    return shown(part)


def result_part(part: Part, *, language: str = "") -> str:
    """A part of a tool result: text as it was printed, or as the JSON that it is."""
    if not isinstance(part, Words):
        return shown(part)
    text = part.text
    if not text.strip():
        return ""
    pretty = _pretty(text) if not part.cut and not language else ""
    if pretty:
        body = f'<pre dir="ltr"><code>{coloured(pretty, "json")}</code></pre>'
    elif language:
        body = f'<pre dir="ltr"><code>{coloured(text, language)}</code></pre>'
    else:
        body = f'<pre dir="auto"><code>{terminal(text)}</code></pre>'
    return f'<div class="code">{body}</div>{cut_note(part)}'


def shown(part: Picture | Attachment) -> str:
    """An image, or the name of something that is not shown."""
    if isinstance(part, Picture):
        size = f' width="{part.width}" height="{part.height}"' if part.width and part.height else ""
        label = f"{part.media_type} {part.width} × {part.height}" if size else part.media_type
        return (
            f'<figure><img src="data:{part.media_type};base64,{part.data}"{size} alt="{attribute(label)}" loading="lazy"'
            f' decoding="async"><figcaption>{code(label)}</figcaption></figure>'
        )
    note = f' <span class="meta">{prose(part.note)}</span>' if part.note else ""
    return f'<p class="file"><b>{code(part.kind)}</b> <bdi>{code(part.name)}</bdi>{note}</p>'


def cut_note(words: Words) -> str:
    """How much of a text is missing."""
    return f'<p class="cut">{words.cut:,} characters are not shown; the transcript has them.</p>' if words.cut else ""


def json_block(found: Any) -> str:
    """A JSON value as a coloured block."""
    return f'<div class="code"><pre dir="ltr"><code>{coloured(pretty_json(found), "json")}</code></pre></div>'


def fields(given: dict[str, Any]) -> str:
    """The fields of an input: short ones in a list, long texts as blocks."""
    rows: list[str] = []
    for name, found in given.items():
        label, wide = f"<dt>{code(str(name))}</dt>", f'<dt class="wide">{code(str(name))}</dt><dd class="wide">'
        if isinstance(found, str) and ("\n" in found or len(found) > 200):
            rows.append(f'{wide}<div class="code"><pre dir="auto"><code>{code(found)}</code></pre></div></dd>')
        elif isinstance(found, (dict, list)):
            rows.append(f"{wide}{json_block(found)}</dd>")
        else:
            rows.append(f'{label}<dd><code dir="auto">{code(word(found))}</code></dd>')
    return f"<dl>{''.join(rows)}</dl>" if rows else ""


def _pretty(text: str) -> str:
    """A text that is a JSON object or list, indented; "" for any other."""
    start = text.lstrip()[:1]
    if start not in ("{", "[") or len(text) > MAX_JSON:
        return ""
    try:
        found = loads(text)
    except ValueError:
        return ""
    return pretty_json(found) if found and isinstance(found, (dict, list)) else ""


def pretty_json(found: Any, indent: str = "", depth: int = 0) -> str:
    """JSON with one entry per line; what is too deep stays on its line."""
    inner = indent + "  "
    if isinstance(found, dict) and found and depth < MAX_DEPTH:
        rows = [f"{inner}{_flat(str(name))}: {pretty_json(entry, inner, depth + 1)}" for name, entry in found.items()]
        return "{\n" + ",\n".join(rows) + f"\n{indent}}}"
    if isinstance(found, list) and any(isinstance(entry, (dict, list)) for entry in found) and depth < MAX_DEPTH:
        return "[\n" + ",\n".join(f"{inner}{pretty_json(entry, inner, depth + 1)}" for entry in found) + f"\n{indent}]"
    return _flat(found)


def _flat(found: Any) -> str:
    try:
        return dumps(found).decode("utf-8")
    except (ValueError, TypeError):
        return '"…"'
