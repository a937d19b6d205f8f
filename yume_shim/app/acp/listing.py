"""`session/list` and `session/delete`: the stored sessions. They touch many files, so each runs on a thread of its
own."""

from __future__ import annotations

import threading

from yume_shim.app.acp.params import bad_params, unknown_session
from yume_shim.host.json_rpc import INTERNAL_ERROR, INVALID_REQUEST, BadMessage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from yume_shim.app.acp.client import Client
    from yume_shim.app.acp.params import Values
    from yume_shim.host.json_rpc import RpcRequest
    from yume_shim.types.blocks import Json

PAGE = 50
MAX_TITLE = 120


def list_sessions(request: RpcRequest, values: Values, env: Mapping[str, str], client: Client) -> None:
    """Answer the request from a thread. Raises BadMessage for wrong parameters."""
    cwd, cursor = request.params.get("cwd"), request.params.get("cursor")
    if cwd is not None and not isinstance(cwd, str):
        raise bad_params("`cwd` must be a string")
    if cursor is not None and not (isinstance(cursor, str) and cursor.isascii() and cursor.isdigit()):
        raise bad_params("`cursor` must be one that an earlier answer gave")
    folder, first = _folder(values), int(cursor or 0)
    _answer_later(request, client, lambda: _page(env, folder, cwd or "", first))


def delete_session(
    request: RpcRequest, session_id: str, values: Values, env: Mapping[str, str], client: Client
) -> None:
    """Answer the request from a thread."""
    folder = _folder(values)

    def work() -> Json:
        from yume_shim.store import changes
        from yume_shim.store.index import find
        from yume_shim.store.layout import projects_dir
        from yume_shim.types.errors import StoreFailed

        path = find(projects_dir(env, folder), session_id)
        if not path:
            raise unknown_session(session_id)
        try:
            changes.delete_session(path)
        except StoreFailed as error:
            raise BadMessage(INVALID_REQUEST, f"Invalid request: {error}") from None
        return {}

    _answer_later(request, client, work)


def _folder(values: Values) -> str:
    given = values.get("session-dir")
    return given if isinstance(given, str) else ""


def _answer_later(request: RpcRequest, client: Client, work: Callable[[], Json]) -> None:
    def run() -> None:
        try:
            client.answer(request.id, work())
        except BadMessage as bad:
            client.refuse(BadMessage(bad.code, bad.message, request.id, bad.data))
        except Exception as error:  # a defect must not leave the client waiting
            client.refuse(BadMessage(INTERNAL_ERROR, f"Internal error: {error!r}", request.id))

    threading.Thread(target=run, name="acp-sessions", daemon=True).start()


def _page(env: Mapping[str, str], folder: str, cwd: str, first: int) -> Json:
    from yume_shim.store.index import listing
    from yume_shim.store.layout import projects_dir
    from yume_shim.types.shapes import timestamp

    found = [listed for listed in listing(projects_dir(env, folder), cwd) if listed.cwd]
    page: Json = {
        "sessions": [
            {
                "sessionId": listed.session_id,
                "cwd": listed.cwd,
                "title": listed.shown.split("\n")[0][:MAX_TITLE] or None,
                "updatedAt": timestamp(listed.modified),
            }
            for listed in found[first : first + PAGE]
        ]
    }
    if first + PAGE < len(found):
        page["nextCursor"] = str(first + PAGE)
    return page
