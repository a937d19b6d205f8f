"""All lines of each dialect, for generators of schemas, types and documentation. The program does not load this."""

from __future__ import annotations

from yume_shim.dialects.records import (
    control_request_records,
    flat_records,
    input_records,
    nested_records,
    nested_system_records,
    result_records,
    shared_records,
)
from yume_shim.types import answer_records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

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
    flat_records.SessionIdLine,
    flat_records.SessionTitleLine,
    flat_records.PromptJoinedLine,
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
    nested_system_records.TaskStartedLine,
    nested_system_records.TaskNotificationLine,
    nested_system_records.PermissionDeniedLine,
    nested_system_records.InformationalLine,
    nested_system_records.HookStartedLine,
    nested_system_records.HookResponseLine,
    nested_system_records.SessionStateLine,
    nested_system_records.CommandsChangedLine,
    nested_system_records.SessionTitleLine,
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

INPUT: tuple[type[Record], ...] = (
    input_records.PromptLine,
    input_records.PromptMessageLine,
    input_records.InterruptInputLine,
    input_records.ToolApprovalLine,
    input_records.SetPermissionModeLine,
    input_records.SetModelLine,
    input_records.CompactLine,
    input_records.ClearLine,
    input_records.PingLine,
    input_records.ControlRequestLine,
    input_records.ControlResponseLine,
    input_records.ControlCancelLine,
    input_records.AssistantInputLine,
    input_records.KeepAliveLine,
    input_records.UpdateEnvironmentLine,
)
"""The lines that both JSON dialects read."""
REQUESTS: Mapping[type[Record], type[Record] | None] = {
    control_request_records.Initialize: answer_records.InitializeAnswer,
    control_request_records.Interrupt: answer_records.InterruptAnswer,
    control_request_records.Steer: answer_records.SteerAnswer,
    control_request_records.CancelAsyncMessage: answer_records.CancelledAnswer,
    control_request_records.EndSession: None,
    control_request_records.RewindFiles: answer_records.RewindAnswer,
    control_request_records.StopTask: answer_records.EmptyAnswer,
    control_request_records.SetPermissionMode: answer_records.ModeAnswer,
    control_request_records.SetModel: answer_records.ModelAnswer,
    control_request_records.SetEffort: answer_records.EffortAnswer,
    control_request_records.SetMaxThinkingTokens: None,
    control_request_records.SetProfile: answer_records.ProfileAnswer,
    control_request_records.SetCwd: None,
    control_request_records.ListModels: answer_records.ModelsAnswer,
    control_request_records.ListProfiles: answer_records.ProfilesAnswer,
    control_request_records.ListTools: answer_records.ToolsAnswer,
    control_request_records.ListCommands: answer_records.CommandsAnswer,
    control_request_records.ListSessions: answer_records.SessionsAnswer,
    control_request_records.GetSession: answer_records.SessionAnswer,
    control_request_records.RenameSession: answer_records.RenamedAnswer,
    control_request_records.GenerateSessionTitle: answer_records.TitleAnswer,
    control_request_records.DeleteSession: answer_records.DeletedAnswer,
    control_request_records.ForkSession: answer_records.ForkedAnswer,
    control_request_records.GetContextUsage: answer_records.ContextAnswer,
    control_request_records.GetSettings: answer_records.SettingsAnswer,
    control_request_records.GetBinaryVersion: answer_records.VersionAnswer,
    control_request_records.McpStatus: answer_records.McpStatusAnswer,
    control_request_records.McpReconnect: None,
    control_request_records.McpToggle: None,
    control_request_records.McpSetServers: answer_records.McpServersAnswer,
    control_request_records.McpMessageIn: answer_records.EmptyAnswer,
    control_request_records.McpCall: answer_records.McpCallAnswer,
}
"""Each control request of the host, and what our answer holds (None = a bare success)."""
QUESTIONS: Mapping[type[Record], tuple[type[Record], ...]] = {
    nested_records.CanUseTool: (input_records.AllowCall, input_records.DenyCall),
    nested_records.HookCallback: (input_records.HookOutput,),
    nested_records.McpMessage: (input_records.McpReply,),
    nested_records.Elicitation: (input_records.ElicitationReply,),
    nested_records.TrustFolder: (input_records.TrustReply,),
}
"""Each question of ours, and what the host's answer holds."""
