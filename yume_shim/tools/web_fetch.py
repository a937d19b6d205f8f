"""WebFetch: returns a page as text. The `prompt` of the call is not used: the model reads the page itself."""

from __future__ import annotations

import time

from yume_shim.tools.files import text_files
from yume_shim.tools.web.client import fetch
from yume_shim.tools.web.pages import Page
from yume_shim.types.errors import ToolFailed
from yume_shim.types.outputs import ToolOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.tools.dispatch.session_state import ToolState
    from yume_shim.tools.web.client import Reply
    from yume_shim.types.blocks import Json
    from yume_shim.types.outputs import ToolContext
    from yume_shim.types.ports import Cancel

MAX_SHOWN = 50_000
"""Characters of a page that one call returns; `offset` selects the rest."""
MAX_ERROR_TEXT = 1_000
HTML_TYPES = frozenset(("text/html", "application/xhtml+xml"))
TEXT_TYPES = frozenset(
    [
        "application/json",
        "application/xml",
        "application/javascript",
        "application/x-javascript",
        "application/ecmascript",
        "application/yaml",
        "application/x-yaml",
        "application/toml",
        "application/x-sh",
        "application/sql",
        "application/graphql",
        "application/x-ndjson",
        "application/rtf",
    ]
)
SNIFF = 4_096


def run(given: Json, state: ToolState, context: ToolContext) -> ToolOutput:
    """Fetch the page, or take it from the cache, and show a part of it."""
    began = time.monotonic()
    url: str = given["url"]
    page = state.pages.get(url)
    if page is None:
        judge = context.verdict_on
        verdict_on = None if judge is None else (lambda target: judge({"url": target}))
        reply = fetch(url, state.web_allow_private, state.env_setting("SSL_CERT_FILE"), context.cancel, verdict_on)
        if reply.moved_to:
            return _moved(url, reply, began)
        page = as_page(reply, context.cancel)
        if page.status >= 400:
            said = f"\n{page.text[:MAX_ERROR_TEXT]}" if page.text else ""
            raise ToolFailed(f"HTTP {page.status} {page.reason} from {page.url}{said}")
        state.pages.put(url, page)
    text = _shown(page, max(0, given.get("offset", 0)))
    return ToolOutput(text, _structured(page.size, page.status, page.reason, text, began, url))


def as_page(reply: Reply, cancel: Cancel) -> Page:
    """The reply as text; raises ToolFailed if it is not text."""
    title, text = "", ""
    if reply.body:
        is_html = reply.media_type in HTML_TYPES
        if not is_html and not _is_text(reply):
            kind = reply.media_type or "unknown"
            size = text_files.size_text(len(reply.body))
            raise ToolFailed(f"{reply.url} is not text ({kind}, {size}). Download it with Bash if you need it.")
        text = _decoded(reply, is_html)
        if is_html or (not reply.media_type and text.lstrip()[:15].lower().startswith(("<!doctype html", "<html"))):
            from yume_shim.tools.web.html import html_to_text

            title, text = html_to_text(text, cancel)
    return Page(reply.url, reply.status, reply.reason, title, text, len(reply.body))


def _is_text(reply: Reply) -> bool:
    kind = reply.media_type
    named = kind.startswith("text/") or kind in TEXT_TYPES or kind.endswith(("+json", "+xml", "+yaml"))
    unnamed = kind in ("", "application/octet-stream")
    return (named or unnamed) and (b"\0" not in reply.body[:SNIFF] or "utf-16" in reply.charset)


def _decoded(reply: Reply, is_html: bool) -> str:
    charset = reply.charset
    if not charset and is_html:
        from yume_shim.tools.web.html import charset_in

        charset = charset_in(reply.body)
    if charset:
        try:
            return text_files.plain(reply.body.decode(charset, "replace")).removeprefix("\ufeff")
        except (LookupError, ValueError):
            pass  # a name that Python does not know: guess by the bytes
    return text_files.plain(text_files.decode(reply.body).text)


def _shown(page: Page, offset: int) -> str:
    head = f"URL: {page.url}" + (f"\nTitle: {page.title}" if page.title else "")
    part = page.text[offset : offset + MAX_SHOWN]
    if not page.text:
        return f"{head}\n\n(the page has no text)"
    if not part:
        return f"{head}\n\n(the text ends at character {len(page.text)}, before the given offset)"
    end = offset + len(part)
    note = ""
    if offset or end < len(page.text):
        more = f"; go on with offset {end}" if end < len(page.text) else ""
        note = f"\n\n(characters {offset} to {end} of {len(page.text)}{more})"
    return f"{head}\n\n{part}{note}"


def _moved(url: str, reply: Reply, began: float) -> ToolOutput:
    text = (
        f"{url} redirects to another host, which was not followed: {reply.moved_to}\n"
        "To read that page, call WebFetch again with this URL."
    )
    return ToolOutput(text, _structured(0, reply.status, reply.reason, text, began, url))


def _structured(size: int, status: int, reason: str, text: str, began: float, url: str) -> Json:
    return {
        "bytes": size,
        "code": status,
        "codeText": reason,
        "result": text,
        "durationMs": round((time.monotonic() - began) * 1000),
        "url": url,
    }
