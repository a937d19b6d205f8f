"""`session/list`: the stored sessions, page by page. Reads many files, so it runs on a thread of its own."""

from __future__ import annotations

import threading

from yume_shim.app.acp.params import bad_params
from yume_shim.host.json_rpc import INTERNAL_ERROR, BadMessage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

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
    given = values.get("session-dir")
    folder = given if isinstance(given, str) else ""

    def work() -> None:
        try:
            client.answer(request.id, _page(env, folder, cwd or "", int(cursor or 0)))
        except Exception as error:  # a defect must not leave the client waiting
            client.refuse(BadMessage(INTERNAL_ERROR, f"Internal error: {error!r}", request.id))

    threading.Thread(target=work, name="acp-list", daemon=True).start()


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
