"""All lines of each dialect, for generators of schemas, types and documentation. The program does not load this."""

from __future__ import annotations

from yume_shim.dialects.records import (
    acp_records,
    flat_records,
    nested_records,
    nested_system_records,
    result_records,
    shared_records,
    task_records,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.record import Record

FLAT: tuple[type[Record], ...] = (
    flat_records.InitLine,
    flat_records.StartErrorLine,
    flat_records.McpLine,
    flat_records.HookLine,
    flat_records.TextLine,
    flat_records.ThinkingLine,
    flat_records.ThinkingEndLine,
    flat_records.UsageLine,
    flat_records.ToolUseLine,
    flat_records.ToolResultLine,
    flat_records.ProgressLine,
    flat_records.PermissionDeniedLine,
    flat_records.ApprovalNeededLine,
    task_records.FlatTaskStarted,
    task_records.FlatTaskUpdated,
    task_records.FlatTaskProgress,
    task_records.FlatTaskNotification,
    task_records.FlatTasksChanged,
    task_records.TurnStartedLine,
    flat_records.SessionIdLine,
    flat_records.PermissionModeLine,
    flat_records.ModelLine,
    flat_records.CompactBoundaryLine,
    flat_records.WarningLine,
    flat_records.RetryLine,
    flat_records.ErrorLine,
    flat_records.InterruptLine,
    flat_records.ResultLine,
    flat_records.MessageStopLine,
    shared_records.ControlResponse,
    nested_records.ControlRequest,
    nested_records.ControlCancel,
    shared_records.Pong,
)
NESTED: tuple[type[Record], ...] = (
    nested_system_records.InitLine,
    nested_system_records.StatusLine,
    nested_system_records.ApiRetryLine,
    nested_system_records.ModelFallbackLine,
    task_records.TaskStartedLine,
    task_records.TaskUpdatedLine,
    task_records.TaskProgressLine,
    task_records.TaskNotificationLine,
    task_records.TasksChangedLine,
    nested_system_records.PermissionDeniedLine,
    nested_system_records.InformationalLine,
    nested_system_records.HookStartedLine,
    nested_system_records.HookResponseLine,
    nested_system_records.SessionStateLine,
    nested_system_records.CommandsChangedLine,
    nested_system_records.CompactBoundaryLine,
    nested_records.AssistantLine,
    nested_records.ApiErrorLine,
    nested_records.UserLine,
    nested_records.StreamEventLine,
    result_records.SuccessLine,
    result_records.FailureLine,
    result_records.ResumeFailedLine,
    nested_records.ControlRequest,
    nested_records.ControlCancel,
    nested_records.CommandLifecycleLine,
    nested_records.ConversationResetLine,
    nested_records.ToolProgressLine,
    nested_records.TranscriptMirrorLine,
    shared_records.ControlResponse,
    shared_records.Pong,
)
RECORDS = {"flat": FLAT, "nested": NESTED}
ACP: tuple[type[Record], ...] = (
    acp_records.SessionUpdate,
    acp_records.CancelRequest,
    acp_records.PermissionRequest,
    acp_records.ReadFileRequest,
    acp_records.WriteFileRequest,
    acp_records.ElicitationRequest,
    acp_records.SessionState,
    acp_records.PromptAnswer,
    acp_records.PromptFailure,
)
"""What `yume-shim acp` prints besides: the protocol of others, so no schema of ours is made of it."""
