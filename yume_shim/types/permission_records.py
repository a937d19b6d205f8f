"""Records of permission updates in the Claude CLI's form: the gate suggests them, the host sends them back."""

from __future__ import annotations

from yume_shim.types.record import ABSENT, Record, record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    PermissionUpdate: TypeAlias = "AddRules | AddDirectories | SetMode"


@record
class AddRules(Record):
    """Allow calls that match these rules, for the session or in the project's local settings."""

    type: Literal["addRules"] = "addRules"
    rules: list[PermissionRule]
    behavior: Literal["allow"] = "allow"
    destination: Literal["session", "localSettings"]


@record
class PermissionRule(Record):
    """A tool, and the part of its calls that the rule covers; without `ruleContent` it covers all of them."""

    toolName: str
    ruleContent: str | None = ABSENT


@record
class AddDirectories(Record):
    """Allow work in these folders too."""

    type: Literal["addDirectories"] = "addDirectories"
    directories: list[str]
    destination: Literal["session"] = "session"


@record
class SetMode(Record):
    """Switch to another permission mode."""

    type: Literal["setMode"] = "setMode"
    mode: Literal["acceptEdits"] = "acceptEdits"
    destination: Literal["session"] = "session"
