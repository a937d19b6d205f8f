"""The `user` and `assistant` lines of the nested dialect, and the session's facts that all lines share."""

from __future__ import annotations

from yume_shim.dialects.records.nested_records import (
    ApiErrorLine,
    AssistantLine,
    AssistantMessage,
    UserLine,
    UserMessage,
)
from yume_shim.types.message_records import TextBlock
from yume_shim.types.models import Usage
from yume_shim.types.shapes import SYNTHETIC_MODEL, message_usage, timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.types.blocks import Json
    from yume_shim.types.errors import Failure
    from yume_shim.types.events import Tagged
    from yume_shim.types.ports import Ids


class Messages:
    """Builds message lines for one session."""

    def __init__(self, ids: Ids) -> None:
        self._ids = ids
        self.session_id = ""
        self.model = ""
        self.last_uuid = ""
        """The uuid of the main conversation's last message, printed or not."""

    def uuid_of(self, tagged: Tagged) -> str:
        """The uuid of an event's line."""
        return tagged.uuid or self._ids.uuid()

    def user(
        self,
        content: str | list[Any],
        tagged: Tagged,
        *,
        uuid: str = "",
        synthetic: bool = False,
        replay: bool = False,
        structured: Any = None,
    ) -> Json:
        """A `user` line; `uuid` is the host's own, if it gave one."""
        return UserLine(
            message=UserMessage(content=content),
            parent_tool_use_id=tagged.parent_call_id,
            session_id=self.session_id,
            uuid=self._remember(tagged, uuid),
            timestamp=timestamp(tagged.at),
            isSynthetic=True if synthetic else None,
            isReplay=True if replay else None,
            tool_use_result=structured,
            **_agent(tagged),
        )

    def text(self, text: str, tagged: Tagged, *, synthetic: bool = False) -> Json:
        """A `user` line with one text block."""
        return self.user([TextBlock(text=text)], tagged, synthetic=synthetic)

    def command_output(self, text: str, tagged: Tagged) -> Json:
        """The output of a command that this program ran itself."""
        return self.user(f"<local-command-stdout>{text}</local-command-stdout>", tagged, replay=True)

    def assistant(
        self,
        message: AssistantMessage,
        tagged: Tagged,
        *,
        request_id: str = "",
        aborted: bool = False,
        user_uuids: tuple[str, ...] = (),
    ) -> Json:
        """An `assistant` line."""
        return AssistantLine(
            message=message,
            parent_tool_use_id=tagged.parent_call_id,
            session_id=self.session_id,
            uuid=self._remember(tagged),
            timestamp=timestamp(tagged.at),
            request_id=request_id or None,
            aborted=True if aborted else None,
            user_message_uuid=user_uuids[-1] if user_uuids else None,
            user_message_uuids=list(user_uuids) or None,
            **_agent(tagged),
        )

    def synthetic(self, text: str, tagged: Tagged) -> Json:
        """An `assistant` line that no model wrote."""
        return self.assistant(_synthetic_message(text, tagged), tagged)

    def api_error(self, failure: Failure, tagged: Tagged) -> Json:
        """The `assistant` line of a turn that failed at the provider."""
        from yume_shim.dialects.results import error_text, nested_error_category

        return ApiErrorLine(
            message=_synthetic_message(error_text(failure), tagged),
            parent_tool_use_id=tagged.parent_call_id,
            session_id=self.session_id,
            uuid=self._remember(tagged),
            timestamp=timestamp(tagged.at),
            error=nested_error_category(failure),
            api_error_status=failure.status,
            api_error_type=failure.provider_code or None,
            request_id=failure.request_id or None,
        )

    def _remember(self, tagged: Tagged, given: str = "") -> str:
        uuid = given or self.uuid_of(tagged)
        if tagged.parent_call_id is None:
            self.last_uuid = uuid
        return uuid


def _agent(tagged: Tagged) -> Json:
    """The fields that name the agent of a line."""
    if tagged.child is None:
        return {}
    from yume_shim.dialects.child_lines import agent_fields

    return agent_fields(tagged.child)


def _synthetic_message(text: str, tagged: Tagged) -> AssistantMessage:
    """Its id is that of the transcript entry."""
    return AssistantMessage(
        id=tagged.uuid,
        model=SYNTHETIC_MODEL,
        content=[TextBlock(text=text)],
        stop_reason="stop_sequence",
        stop_sequence="",
        usage=message_usage(Usage()),
    )
