// The lines of the yume-shim protocol: one JSON object per line, in both directions.
// Written by scripts/protocol_schemas.py. Lines and fields that are not here may be added at any time: ignore them.

/** Lines that the flat dialect prints. */
export namespace Flat {
  type Line =
    | InitLine
    | StartErrorLine
    | CommandsLine
    | McpLine
    | HookLine
    | TextLine
    | ThinkingLine
    | ThinkingEndLine
    | UsageLine
    | ToolUseDeltaLine
    | ToolQueuedLine
    | ToolUseLine
    | ToolOutputLine
    | ToolResultLine
    | ProgressLine
    | PermissionDeniedLine
    | ApprovalNeededLine
    | ApprovalWithdrawnLine
    | FlatTaskStarted
    | FlatTaskUpdated
    | FlatTaskProgress
    | FlatTaskNotification
    | FlatTasksChanged
    | TurnStartedLine
    | ContextUsageLine
    | TodosLine
    | CompactStartedLine
    | CompactEndedLine
    | SessionIdLine
    | SessionTitleLine
    | PromptJoinedLine
    | PermissionModeLine
    | ModelLine
    | CompactBoundaryLine
    | WarningLine
    | RetryLine
    | ErrorLine
    | InterruptLine
    | RateLimitsLine
    | ResultLine
    | MessageStopLine
    | ControlResponse
    | ControlRequest
    | ControlCancel
    | Pong;
  /** The process is ready: the first line, once, before the first model request. */
  interface InitLine {
    type: "system";
    subtype: "init";
    session_id: string;
    provider: string;
    model: string;
    cwd: string;
    permissionMode: string;
    tools: string[];
    mcp_servers: (Record<string, unknown>)[];
    slash_commands: string[];
    skills?: string[];
    plugins?: (Record<string, unknown>)[];
    plugin_errors?: (Record<string, unknown>)[];
    left_out?: LeftOut[];
    protocol: "flat/1";
    version: string;
    resumed: boolean;
    output_style?: string;
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** The process cannot start; sent in place of `init`. */
  interface StartErrorLine {
    type: "system";
    subtype: "error";
    message: string;
    code: string;
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** The slash commands changed, because files of commands or skills did. Each has `name`, `description` and `argumentHint`, perhaps `aliases` and `builtin`. */
  interface CommandsLine {
    type: "system";
    subtype: "commands";
    commands: (Record<string, unknown>)[];
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** The MCP servers changed: one connected, failed, or changed its tools. `servers` are `{name, status, source, error?}`, `tools` all tools of the session, `commands` the prompts of servers: a prompt `/NAME words` runs one. */
  interface McpLine {
    type: "system";
    subtype: "mcp";
    servers: (Record<string, unknown>)[];
    tools: string[];
    commands?: string[];
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** A hook's command starts or has ended. */
  interface HookLine {
    type: "system";
    subtype: "hook";
    hook_id: string;
    hook_name: string;
    hook_event: string;
    state: "started" | "ended";
    outcome?: "success" | "error" | "cancelled";
    exit_code?: number;
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** A piece of the model's text, as it streams. `id` is the same for all pieces of one content block. */
  interface TextLine {
    type: "text";
    content: string;
    id: string;
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** A piece of the model's reasoning, where the provider shows it. `id` is the same for all pieces of one block. */
  interface ThinkingLine {
    type: "thinking";
    is_thinking: true;
    thought: string;
    id: string;
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** The reasoning block that was shown has ended. */
  interface ThinkingEndLine {
    type: "thinking";
    is_thinking: false;
    id: string;
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** Tokens of one model response, sent when it ends. */
  interface UsageLine {
    type: "usage";
    input_tokens: number;
    output_tokens: number;
    cache_creation_input_tokens: number;
    cache_read_input_tokens: number;
    reasoning_tokens?: number;
    estimated?: true;
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** A piece of a call's arguments as the model writes them (`--tool-use-deltas`): all `delta`s of one `id` are its JSON. The first one is empty. The call itself follows as `tool_use`, unless the response is dropped. */
  interface ToolUseDeltaLine {
    type: "tool_use_delta";
    id: string;
    name: string;
    delta: string;
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** A call of this answer waits until the calls before it have ended; its `tool_use` follows then. */
  interface ToolQueuedLine {
    type: "system";
    subtype: "tool_queued";
    tool_use_id: string;
    name: string;
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** A tool call starts. `input` is complete, with schema defaults. Sent once per call, after its response's `usage`. `input_truncated`: the call was stopped while the model wrote it; `input` has the fields that were complete. */
  interface ToolUseLine {
    type: "tool_use";
    id: string;
    name: string;
    input: Record<string, unknown>;
    input_truncated?: true;
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** What a running command has printed since the last such line, at most twice a second. It is for the eye: the `tool_result` has the output. `dropped_bytes` before it are not shown. */
  interface ToolOutputLine {
    type: "tool_output";
    tool_use_id: string;
    content: string;
    dropped_bytes?: number;
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** The result of a tool call: exactly one per `tool_use`. `patch` is what it changed in a file, `images` are those that `content` only mentions. */
  interface ToolResultLine {
    type: "tool_result";
    tool_use_id: string;
    content: string;
    is_error: boolean;
    patch?: Patch;
    images?: ResultImage[];
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** A tool is still running, or its call waits for an approval; sent at a fixed interval, and with `progress` when the tool says how far it is. */
  interface ProgressLine {
    type: "system";
    subtype: "progress";
    tool_use_id: string;
    tool_name: string;
    elapsed_ms: number;
    waiting_for?: "approval";
    progress?: number;
    total?: number;
    message?: string;
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** A call was refused without asking the host. */
  interface PermissionDeniedLine {
    type: "system";
    subtype: "permission_denied";
    tool_use_id: string;
    tool_name: string;
    reason: string;
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** A call waits for the host's `tool_approval`; sent right after its `tool_use`. After `timeout_ms` it counts as denied (0 = it waits). `suggested_rules` are what `rules` of the answer may hold, `scopes` what `remember` may be, `patch` is what the call would change. */
  interface ApprovalNeededLine {
    type: "system";
    subtype: "approval_needed";
    tool_use_id: string;
    tool_name: string;
    input: Record<string, unknown>;
    reason: string;
    timeout_ms: number;
    suggested_rules?: string[];
    scopes: ("once" | "session" | "project" | "user")[];
    patch?: Patch;
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** The question about this call no longer needs an answer. */
  interface ApprovalWithdrawnLine {
    type: "system";
    subtype: "approval_withdrawn";
    tool_use_id: string;
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** A command or agent goes on in the background, or (not `is_backgrounded`) a command has been running for some seconds or an agent has begun. An agent's line also has its kind, its prompt and how deep it is nested. */
  interface FlatTaskStarted {
    type: "system";
    subtype: "task_started";
    task_id: string;
    run_id: string;
    tool_use_id: string;
    description: string;
    subagent_type?: string;
    is_backgrounded: boolean;
    spawn_depth?: number;
    parent_task_id?: string;
    task_type: "local_bash" | "local_agent";
    prompt?: string;
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** A task has ended, or it has moved into the background (`patch.is_backgrounded`). */
  interface FlatTaskUpdated {
    type: "system";
    subtype: "task_updated";
    task_id: string;
    run_id: string;
    patch: TaskPatch;
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** An agent has called a tool. */
  interface FlatTaskProgress {
    type: "system";
    subtype: "task_progress";
    task_id: string;
    run_id: string;
    tool_use_id: string;
    description: string;
    subagent_type?: string;
    usage: TaskFigures;
    last_tool_name: string;
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** A task has ended. `output_file` has the output of a command, "" if there is none. */
  interface FlatTaskNotification {
    type: "system";
    subtype: "task_notification";
    task_id: string;
    run_id: string;
    tool_use_id: string;
    status: "completed" | "failed" | "stopped";
    output_file: string;
    summary: string;
    usage?: TaskFigures;
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** The tasks that run in the background, whenever they have changed. */
  interface FlatTasksChanged {
    type: "system";
    subtype: "background_tasks_changed";
    tasks: ListedTask[];
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** A turn begins. `prompt_id` is the `uuid` of the prompt, or one that it was given; its `result` has it, too. `origin` says why a turn begins that no prompt of the host asked for. */
  interface TurnStartedLine {
    type: "system";
    subtype: "turn_started";
    prompt_id: string;
    origin?: Origin;
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** How full the context is, in tokens, after each answer. `estimated` marks a `used` that the provider did not count. */
  interface ContextUsageLine {
    type: "system";
    subtype: "context_usage";
    used: number;
    window: number;
    estimated?: true;
    parts: ContextParts;
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** The to-do list as it is now, after each change: items have `content`, `status` and `activeForm`. */
  interface TodosLine {
    type: "system";
    subtype: "todos";
    todos: (Record<string, unknown>)[];
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** The history is being summarised. */
  interface CompactStartedLine {
    type: "system";
    subtype: "compact_started";
    trigger: "manual" | "auto";
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** The summary is made, or `error` says why there is none. `compact_boundary` follows when the history changes. */
  interface CompactEndedLine {
    type: "system";
    subtype: "compact_ended";
    error?: string;
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** The session continues under another id. */
  interface SessionIdLine {
    type: "system";
    subtype: "session_id";
    session_id: string;
    previous_session_id: string;
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** The session has this title now: by `--name`, by the host's `rename_session`, or made by the model. */
  interface SessionTitleLine {
    type: "system";
    subtype: "session_title";
    title: string;
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** A prompt of `steer` joined the running turn: the model reads it with the next request. `uuid` is the one in the answer to `steer`. */
  interface PromptJoinedLine {
    type: "system";
    subtype: "prompt_joined";
    uuid: string;
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** The permission mode is now this one: the host set it, its answer to a question did, or a tool. */
  interface PermissionModeLine {
    type: "system";
    subtype: "permission_mode";
    permissionMode: string;
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** The model changed, by the host's request or by failover. */
  interface ModelLine {
    type: "system";
    subtype: "model";
    provider: string;
    model: string;
    reason: string;
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** The history was compacted. The token counts are estimates. */
  interface CompactBoundaryLine {
    type: "system";
    subtype: "compact_boundary";
    trigger: "manual" | "auto";
    pre_tokens: number;
    post_tokens: number;
    estimated: true;
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** A feature was degraded. */
  interface WarningLine {
    type: "system";
    subtype: "warning";
    message: string;
    code: string;
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** A request failed and is sent again after `delay_ms`. `message` says why; `status` is left out when no response came. */
  interface RetryLine {
    type: "system";
    subtype: "retry";
    attempt: number;
    max_retries: number;
    delay_ms: number;
    code: "auth" | "billing" | "rate_limit" | "overloaded" | "server" | "network" | "tls" | "dns" | "timeout" | "stream_interrupted" | "context_length" | "bad_request" | "not_found" | "refusal" | "protocol" | "bad_input" | "config" | "internal" | "cancelled";
    status?: number;
    message: string;
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** An error that the user should see: the provider gave up, or the host's input was refused. `request_id` is the provider's own id of the failed request. */
  interface ErrorLine {
    type: "error";
    message: string;
    code: string;
    provider: string;
    retryable: boolean;
    status?: number;
    retry_after_ms?: number;
    provider_code?: string;
    request_id?: string;
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** The turn was stopped. */
  interface InterruptLine {
    type: "interrupt";
    reason: "user" | "signal" | "shutdown" | "deadline";
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** Rate limits that the provider reported, the most used one first; sent when they have changed by a good part. */
  interface RateLimitsLine {
    type: "system";
    subtype: "rate_limits";
    limits: Limit[];
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** The turn has ended: exactly one per turn, whatever happened. `cost_estimated` marks a cost that rests on estimated tokens or lacks a price, `cost_unknown` one that lacks a price; `request_id` is the provider's id of the request that failed; `origin` says why a turn began without a prompt of the host. */
  interface ResultLine {
    type: "result";
    subtype: "success" | "cancelled" | "error_max_turns" | "error_max_budget_usd" | "error_provider" | "error_auth" | "error_during_execution" | "error_max_structured_output_retries";
    is_error: boolean;
    result: string;
    session_id: string;
    usage: FlatUsage;
    total_cost_usd: number;
    duration_ms: number;
    duration_api_ms: number;
    num_turns: number;
    errors: string[];
    permission_denials: PermissionDenial[];
    stop_reason: string | null;
    modelUsage: Record<string, ModelFigures>;
    agentUsage?: AgentFigures[];
    cost_unknown?: true;
    cost_estimated?: true;
    deferred_tool_use?: DeferredCall;
    structured_output?: unknown;
    request_id?: string;
    prompt_id?: string;
    origin?: Origin;
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** Nothing more of this turn follows; sent right after `result`. */
  interface MessageStopLine {
    type: "message_stop";
    parent_tool_use_id?: string;
    agent_id?: string;
  }
  /** Answers a control request of the host. */
  interface ControlResponse {
    type: "control_response";
    response: ControlSuccess | ControlFailure;
  }
  /** A question to the host, which answers with a `control_response` of the same id. */
  interface ControlRequest {
    type: "control_request";
    request_id: string;
    request: CanUseTool | HookCallback | McpMessage | Elicitation | TrustFolder | RequestPermit;
  }
  /** The question of this id no longer needs an answer. */
  interface ControlCancel {
    type: "control_cancel_request";
    request_id: string;
  }
  /** Answers a `ping` of the host. */
  interface Pong {
    type: "pong";
  }
  /** Something that is configured and not used: hooks of an event, an MCP server, a key of a settings file. `source` is the settings layer. Reasons: the folder is not trusted; the host is being asked; managed settings forbid it. */
  interface LeftOut {
    kind: "hooks" | "mcp_server" | "setting";
    name: string;
    source: string;
    reason: "untrusted" | "asking" | "managed";
  }
  /** A change of one file. `truncated`: it was too long for the line, and later hunks are left out. */
  interface Patch {
    file_path: string;
    hunks: Hunk[];
    truncated?: true;
  }
  /** An image of a result: `data` (base64) if the line has room for it, else where it comes from. */
  interface ResultImage {
    media_type: string;
    data?: string;
    url?: string;
    path?: string;
    bytes?: number;
  }
  /** What has changed about a task: its end (`end_time` in milliseconds, `error` if it failed), or that it now runs in the background. */
  interface TaskPatch {
    status?: "completed" | "failed" | "killed";
    end_time?: number;
    error?: string;
    is_backgrounded?: true;
  }
  /** What an agent has used so far. */
  interface TaskFigures {
    total_tokens: number;
    tool_uses: number;
    duration_ms: number;
  }
  /** A task that runs in the background. */
  interface ListedTask {
    task_id: string;
    run_id: string;
    task_type: "local_bash" | "local_agent";
    subagent_type?: string;
    description: string;
  }
  /** Why a turn began without a prompt of the host: the task `task_id` has ended. */
  interface Origin {
    kind: "task-notification";
    producer: "session-task";
    runId: string;
    task_id: string;
  }
  /** Estimated tokens by kind; `messages` is the rest. */
  interface ContextParts {
    system: number;
    tools: number;
    memory: number;
    messages: number;
  }
  /** One rate limit. `kind`: what is counted (`requests`, `tokens`, `five_hour` …). `utilization` is the used share, 0 to 1; `resets_at` in seconds since 1970. */
  interface Limit {
    kind: string;
    status: "allowed" | "allowed_warning" | "rejected";
    limit?: number;
    remaining?: number;
    utilization?: number;
    resets_at?: number;
  }
  /** Tokens of a turn. */
  interface FlatUsage {
    input_tokens: number;
    output_tokens: number;
    cache_creation_input_tokens: number;
    cache_read_input_tokens: number;
    reasoning_tokens?: number;
    estimated?: true;
  }
  /** A call of the turn that was refused. */
  interface PermissionDenial {
    tool_name: string;
    tool_use_id: string;
    tool_input: Record<string, unknown>;
  }
  /** Tokens and cost of one model so far, earlier runs of a resumed session included. `costBasis`: no price of the model is known, or it is the vendor's list price although requests went to another address. */
  interface ModelFigures {
    inputTokens: number;
    outputTokens: number;
    cacheReadInputTokens: number;
    cacheCreationInputTokens: number;
    webSearchRequests: number;
    costUSD: number;
    contextWindow: number;
    maxOutputTokens: number;
    thinkingTokens: number;
    cacheCreationEphemeral5mInputTokens: number;
    cacheCreationEphemeral1hInputTokens: number;
    canonicalModel: string;
    provider?: string;
    costBasis?: "unknown" | "list_price";
  }
  /** Tokens and cost of one agent at one model, in this process. `agent_id` is absent for the sum of the agents that are too many to be listed. */
  interface AgentFigures {
    agent_id?: string;
    agent_type?: string;
    model: string;
    provider: string;
    inputTokens: number;
    outputTokens: number;
    cacheReadInputTokens: number;
    cacheCreationInputTokens: number;
    costUSD: number;
  }
  /** The call that a hook has left to the host: it has not run. */
  interface DeferredCall {
    id: string;
    name: string;
    input: Record<string, unknown>;
  }
  /** The request was carried out. `request_id` is left out when the request had none, `response` when there is nothing to report. */
  interface ControlSuccess {
    subtype: "success";
    request_id?: string;
    response?: Record<string, unknown>;
  }
  /** The request was refused, or failed. */
  interface ControlFailure {
    subtype: "error";
    request_id?: string;
    error: string;
    error_code?: string;
  }
  /** May this call run? Some hosts allow a call unasked when `tool_use_id` is missing, so it is always there. */
  interface CanUseTool {
    subtype: "can_use_tool";
    tool_name: string;
    display_name: string;
    input: Record<string, unknown>;
    permission_suggestions: (AddRules | AddDirectories | SetMode)[];
    tool_use_id: string;
    description?: string;
    decision_reason?: string;
    blocked_path?: string;
    agent_id?: string;
  }
  /** A hook of the host is called; the answer is the hook's output ({} = no opinion). */
  interface HookCallback {
    subtype: "hook_callback";
    callback_id: string;
    input: Record<string, unknown>;
    tool_use_id: string;
  }
  /** A JSON-RPC message for an MCP server in the host's process; the answer holds the reply as `mcp_response`. */
  interface McpMessage {
    subtype: "mcp_message";
    server_name: string;
    message: Record<string, unknown>;
  }
  /** An MCP server asks the user something. The answer is `{action: "accept" | "decline" | "cancel", content?}`. */
  interface Elicitation {
    subtype: "elicitation";
    mcp_server_name: string;
    message: string;
    mode?: string;
    url?: string;
    elicitation_id?: string;
    requested_schema?: Record<string, unknown>;
  }
  /** May what is listed start? It comes from files of this folder. The answer is `{trusted: true | false}`. */
  interface TrustFolder {
    subtype: "trust_folder";
    cwd: string;
    left_out: LeftOut[];
  }
  /** May a request be sent to this model now? Asked in flat with `--request-permits`, for hosts that keep several processes to one rate or budget. The request is sent when the answer has come, whatever it says. `spent_usd` is the cost of all answers of this process so far, those of agents and cleared conversations too. */
  interface RequestPermit {
    subtype: "request_permit";
    provider: string;
    model: string;
    spent_usd: number;
  }
  /** One place of a unified diff. `lines` begin with a blank, `-`, `+` or `\`. */
  interface Hunk {
    oldStart: number;
    oldLines: number;
    newStart: number;
    newLines: number;
    lines: string[];
  }
  /** Allow calls that match these rules, for the session or in the project's local settings. */
  interface AddRules {
    type: "addRules";
    rules: PermissionRule[];
    behavior: "allow";
    destination: "session" | "localSettings";
  }
  /** Allow work in these folders too. */
  interface AddDirectories {
    type: "addDirectories";
    directories: string[];
    destination: "session";
  }
  /** Switch to another permission mode. */
  interface SetMode {
    type: "setMode";
    mode: "acceptEdits";
    destination: "session";
  }
  /** A tool, and the part of its calls that the rule covers; without `ruleContent` it covers all of them. */
  interface PermissionRule {
    toolName: string;
    ruleContent?: string;
  }
}

/** Lines that `--output-format stream-json` prints. */
export namespace StreamJson {
  type Line =
    | InitLine
    | StatusLine
    | ApiRetryLine
    | ModelFallbackLine
    | TaskStartedLine
    | TaskUpdatedLine
    | TaskProgressLine
    | TaskNotificationLine
    | TasksChangedLine
    | PermissionDeniedLine
    | InformationalLine
    | HookStartedLine
    | HookResponseLine
    | SessionStateLine
    | CommandsChangedLine
    | SessionTitleLine
    | CompactBoundaryLine
    | AssistantLine
    | ApiErrorLine
    | UserLine
    | StreamEventLine
    | SuccessLine
    | FailureLine
    | ResumeFailedLine
    | ControlRequest
    | ControlCancel
    | CommandLifecycleLine
    | ConversationResetLine
    | ToolProgressLine
    | RateLimitLine
    | TranscriptMirrorLine
    | ControlResponse
    | Pong;
  /** A turn starts. `capabilities` names optional protocol features; none is claimed. The prompts' uuids are there when the host gave them. */
  interface InitLine {
    type: "system";
    subtype: "init";
    cwd: string;
    session_id: string;
    tools: string[];
    mcp_servers: (Record<string, unknown>)[];
    left_out?: LeftOut[];
    model: string;
    permissionMode: string;
    slash_commands: string[];
    terminal_slash_commands: string[];
    apiKeySource: string;
    claude_code_version: string;
    output_style: string;
    agents: string[];
    skills: string[];
    plugins: (Record<string, unknown>)[];
    plugin_errors?: (Record<string, unknown>)[];
    capabilities: string[];
    additional_directories: string[];
    betas?: string[];
    user_message_uuid?: string;
    user_message_uuids?: string[];
    uuid: string;
  }
  /** What the session is doing: a model request is sent (with partial messages only), the history is being compacted or was compacted, or the permission mode changed. */
  interface StatusLine {
    type: "system";
    subtype: "status";
    status: "requesting" | "compacting" | null;
    permissionMode?: string;
    compact_result?: "success" | "failed";
    compact_error?: string;
    session_id: string;
    uuid: string;
  }
  /** A request failed and is sent again; sent before each wait. `error_status` is null when no response came. */
  interface ApiRetryLine {
    type: "system";
    subtype: "api_retry";
    attempt: number;
    max_retries: number;
    retry_delay_ms: number;
    error_status: number | null;
    error: "authentication_failed" | "billing_error" | "rate_limit" | "invalid_request" | "model_not_found" | "server_error" | "unknown" | "overloaded";
    parent_tool_use_id?: string;
    session_id: string;
    uuid: string;
  }
  /** Another model took over. */
  interface ModelFallbackLine {
    type: "system";
    subtype: "model_fallback";
    trigger: string;
    original_model: string;
    fallback_model: string;
    content: string;
    parent_tool_use_id?: string;
    session_id: string;
    uuid: string;
  }
  /** A task goes on in the background, or (not `is_backgrounded`) the conversation waits for it. */
  interface TaskStartedLine {
    type: "system";
    subtype: "task_started";
    task_id: string;
    run_id: string;
    tool_use_id: string;
    description: string;
    subagent_type?: string;
    is_backgrounded: boolean;
    spawn_depth?: number;
    parent_task_id?: string;
    task_type: "local_bash" | "local_agent";
    prompt?: string;
    session_id: string;
    uuid: string;
  }
  /** A task has ended, or has moved into the background. */
  interface TaskUpdatedLine {
    type: "system";
    subtype: "task_updated";
    task_id: string;
    run_id: string;
    patch: TaskPatch;
    session_id: string;
    uuid: string;
  }
  /** An agent has called a tool. */
  interface TaskProgressLine {
    type: "system";
    subtype: "task_progress";
    task_id: string;
    run_id: string;
    tool_use_id: string;
    description: string;
    subagent_type?: string;
    usage: TaskFigures;
    last_tool_name: string;
    session_id: string;
    uuid: string;
  }
  /** A task has ended. */
  interface TaskNotificationLine {
    type: "system";
    subtype: "task_notification";
    task_id: string;
    run_id: string;
    tool_use_id: string;
    status: "completed" | "failed" | "stopped";
    output_file: string;
    summary: string;
    usage?: TaskFigures;
    session_id: string;
    uuid: string;
  }
  /** The tasks that run in the background have changed, or the host asked for them with a second `initialize`. */
  interface TasksChangedLine {
    type: "system";
    subtype: "background_tasks_changed";
    tasks: ListedTask[];
    session_id: string;
    uuid: string;
  }
  /** A call was refused without asking the host; sent before its result. */
  interface PermissionDeniedLine {
    type: "system";
    subtype: "permission_denied";
    tool_name: string;
    tool_use_id: string;
    message: string;
    decision_reason_type?: string;
    decision_reason?: string;
    agent_id?: string;
    parent_tool_use_id?: string;
    session_id: string;
    uuid: string;
  }
  /** A message for people: a feature was degraded, or a line of the host was not understood. `tag` is its code. */
  interface InformationalLine {
    type: "system";
    subtype: "informational";
    content: string;
    level: "notice" | "warning";
    tag?: string;
    hook_no_verdict?: Record<string, unknown>;
    prevent_continuation?: true;
    parent_tool_use_id?: string;
    session_id: string;
    uuid: string;
  }
  /** A hook's command starts; for SessionStart always, for other events with --include-hook-events. */
  interface HookStartedLine {
    type: "system";
    subtype: "hook_started";
    hook_id: string;
    hook_name: string;
    hook_event: string;
    session_id: string;
    uuid: string;
  }
  /** A hook's command has ended. `exit_code` is null if it was stopped. */
  interface HookResponseLine {
    type: "system";
    subtype: "hook_response";
    hook_id: string;
    hook_name: string;
    hook_event: string;
    output: string;
    stdout: string;
    stderr: string;
    exit_code: number | null;
    outcome: "success" | "error" | "cancelled";
    session_id: string;
    uuid: string;
  }
  /** The session became busy, idle, or waits for an answer; sent to hosts that asked for it. */
  interface SessionStateLine {
    type: "system";
    subtype: "session_state_changed";
    state: "running" | "idle" | "requires_action";
    sdk_host_only: true;
    session_id: string;
    uuid: string;
  }
  /** The prompts of MCP servers changed after the answer to `initialize`: `commands` are all slash commands now. */
  interface CommandsChangedLine {
    type: "system";
    subtype: "commands_changed";
    commands: (Record<string, unknown>)[];
    session_id: string;
    uuid: string;
  }
  /** The session has this title now: by `--name`, by the host's `rename_session`, or made by the model. */
  interface SessionTitleLine {
    type: "system";
    subtype: "session_title_changed";
    title: string;
    session_id: string;
    uuid: string;
  }
  /** The history was compacted: the model no longer sees the messages before this line. `logical_parent_uuid` is the last of them. */
  interface CompactBoundaryLine {
    type: "system";
    subtype: "compact_boundary";
    compact_metadata: CompactMetadata;
    logical_parent_uuid: string | null;
    session_id: string;
    uuid: string;
  }
  /** One complete block of an answer; blocks of one answer share `message.id`. `aborted` marks text that was kept when the turn was stopped. The prompts' uuids are on the first line of a turn, when the host gave them. */
  interface AssistantLine {
    type: "assistant";
    message: AssistantMessage;
    parent_tool_use_id: string | null;
    session_id: string;
    uuid: string;
    timestamp: string;
    request_id?: string;
    aborted?: true;
    user_message_uuid?: string;
    user_message_uuids?: string[];
    agent_id?: string;
    subagent_type?: string;
    task_description?: string;
  }
  /** The turn failed because of the provider: a message that this program wrote, with the cause. `api_error_status` is null when no response came. */
  interface ApiErrorLine {
    type: "assistant";
    message: AssistantMessage;
    parent_tool_use_id: string | null;
    session_id: string;
    uuid: string;
    timestamp: string;
    error: "authentication_failed" | "billing_error" | "rate_limit" | "invalid_request" | "model_not_found" | "server_error" | "unknown";
    is_api_error_message: true;
    api_error_status: number | null;
    api_error_type?: string;
    request_id?: string;
  }
  /** A message on the user's side: a tool result (`tool_use_result` is its structured form), the interrupt marker, a note from this program to the model (`isSynthetic`), the echo of a prompt or the output of a command (`isReplay`), or the prompt of a subagent. */
  interface UserLine {
    type: "user";
    message: UserMessage;
    parent_tool_use_id: string | null;
    session_id: string;
    uuid: string;
    timestamp: string;
    isSynthetic?: true;
    isReplay?: true;
    tool_use_result?: unknown;
    agent_id?: string;
    subagent_type?: string;
    task_description?: string;
  }
  /** A partial message, sent when the host asked for them; subagents send none. `abandoned_blocks` says which blocks are void because the answer was stopped or cut. */
  interface StreamEventLine {
    type: "stream_event";
    event: MessageStart | ContentBlockStart | ContentBlockDelta | ContentBlockStop | MessageDelta | MessageStop;
    session_id: string;
    parent_tool_use_id: null;
    uuid: string;
    api_message_id: string;
    abandoned_blocks?: AbandonedBlocks;
  }
  /** The turn has ended with a text. A failure of the provider is reported here too, with `is_error` true and its message as `result`. `model_usage_since_last_result` is left out in JSON print mode. */
  interface SuccessLine {
    type: "result";
    subtype: "success";
    is_error: boolean;
    duration_ms: number;
    duration_api_ms: number;
    num_turns: number;
    stop_reason: string | null;
    total_cost_usd: number;
    usage: ResultUsage;
    modelUsage: Record<string, ModelFigures>;
    agentUsage?: AgentFigures[];
    permission_denials: PermissionDenial[];
    result_index: number;
    cost_unknown?: true;
    cost_estimated?: true;
    model_usage_since_last_result?: Record<string, ModelFigures>;
    result: string;
    result_parts?: string[];
    api_error_status: number | null;
    api_error_type?: string;
    terminal_reason?: string;
    origin?: Origin;
    local_command?: string;
    deferred_tool_use?: DeferredCall;
    structured_output?: unknown;
    request_id?: string;
    user_message_uuid?: string;
    user_message_uuids?: string[];
    session_id: string;
    uuid: string;
  }
  /** The turn has ended without an answer: it was stopped, a limit was reached, or the program failed. */
  interface FailureLine {
    type: "result";
    subtype: "error_during_execution" | "error_max_turns" | "error_max_budget_usd" | "error_max_structured_output_retries";
    is_error: boolean;
    duration_ms: number;
    duration_api_ms: number;
    num_turns: number;
    stop_reason: string | null;
    total_cost_usd: number;
    usage: ResultUsage;
    modelUsage: Record<string, ModelFigures>;
    agentUsage?: AgentFigures[];
    permission_denials: PermissionDenial[];
    result_index: number;
    cost_unknown?: true;
    cost_estimated?: true;
    model_usage_since_last_result?: Record<string, ModelFigures>;
    errors: string[];
    terminal_reason?: string;
    origin?: Origin;
    local_command?: string;
    deferred_tool_use?: DeferredCall;
    structured_output?: unknown;
    request_id?: string;
    user_message_uuid?: string;
    user_message_uuids?: string[];
    session_id: string;
    uuid: string;
  }
  /** There is no conversation to resume: the only line of the process. `session_id` is the requested one. */
  interface ResumeFailedLine {
    type: "result";
    subtype: "error_during_execution";
    is_error: true;
    duration_ms: 0;
    duration_api_ms: 0;
    num_turns: 0;
    stop_reason: null;
    session_id: string;
    total_cost_usd: 0;
    usage: ResultUsage;
    modelUsage: Record<string, ModelFigures>;
    permission_denials: PermissionDenial[];
    errors: string[];
    uuid: string;
  }
  /** A question to the host, which answers with a `control_response` of the same id. */
  interface ControlRequest {
    type: "control_request";
    request_id: string;
    request: CanUseTool | HookCallback | McpMessage | Elicitation | TrustFolder | RequestPermit;
  }
  /** The question of this id no longer needs an answer. */
  interface ControlCancel {
    type: "control_cancel_request";
    request_id: string;
  }
  /** A prompt that came with a uuid was queued, started, completed or withdrawn. */
  interface CommandLifecycleLine {
    type: "command_lifecycle";
    command_uuid: string;
    state: "queued" | "started" | "completed" | "cancelled";
    session_id: string;
    uuid: string;
  }
  /** The conversation was cleared. The line carries the old session id, later lines the new one. */
  interface ConversationResetLine {
    type: "conversation_reset";
    new_conversation_id: string;
    trigger: "clear";
    session_id: string;
    uuid: string;
  }
  /** A tool is still running; sent at a fixed interval, and with `progress` instead of `heartbeat` when the tool says how far it is. `parent_tool_use_id` is the call itself, as in the Claude CLI. */
  interface ToolProgressLine {
    type: "tool_progress";
    tool_use_id: string;
    tool_name: string;
    parent_tool_use_id: string;
    elapsed_time_seconds: number;
    heartbeat?: true;
    progress?: number;
    total?: number;
    message?: string;
    session_id: string;
    uuid: string;
  }
  /** Rate limits that the provider reported; sent when they have changed by a good part. `limits` are all of them. */
  interface RateLimitLine {
    type: "rate_limit_event";
    rate_limit_info: RateLimitInfo;
    limits: Limit[];
    uuid: string;
    session_id: string;
  }
  /** Entries that were written to the transcript, for hosts that keep a copy (`--session-mirror`). */
  interface TranscriptMirrorLine {
    type: "transcript_mirror";
    filePath: string;
    entries: (Record<string, unknown>)[];
  }
  /** Answers a control request of the host. */
  interface ControlResponse {
    type: "control_response";
    response: ControlSuccess | ControlFailure;
  }
  /** Answers a `ping` of the host. */
  interface Pong {
    type: "pong";
  }
  /** Something that is configured and not used: hooks of an event, an MCP server, a key of a settings file. `source` is the settings layer. Reasons: the folder is not trusted; the host is being asked; managed settings forbid it. */
  interface LeftOut {
    kind: "hooks" | "mcp_server" | "setting";
    name: string;
    source: string;
    reason: "untrusted" | "asking" | "managed";
  }
  /** What has changed about a task: its end (`end_time` in milliseconds, `error` if it failed), or that it now runs in the background. */
  interface TaskPatch {
    status?: "completed" | "failed" | "killed";
    end_time?: number;
    error?: string;
    is_backgrounded?: true;
  }
  /** What an agent has used so far. */
  interface TaskFigures {
    total_tokens: number;
    tool_uses: number;
    duration_ms: number;
  }
  /** A task that runs in the background. */
  interface ListedTask {
    task_id: string;
    run_id: string;
    task_type: "local_bash" | "local_agent";
    subagent_type?: string;
    description: string;
  }
  /** Estimated sizes of the history in tokens. `cumulative_dropped_tokens` counts all compactions of the session. */
  interface CompactMetadata {
    trigger: "manual" | "auto";
    pre_tokens: number;
    post_tokens: number;
    cumulative_dropped_tokens: number;
    duration_ms: number;
    estimated: true;
  }
  /** A message in Anthropic's form with one block. `model` is what the provider reported, or `<synthetic>` for a message that this program wrote. `usage` is that of the answer's start; the final figures are in `result`. A block that only Anthropic's API knows appears as the provider sent it. */
  interface AssistantMessage {
    id: string;
    type: "message";
    role: "assistant";
    model: string;
    content: (TextBlock | ThinkingBlock | RedactedThinkingBlock | ToolUseBlock | Record<string, unknown>)[];
    stop_reason: "stop_sequence" | null;
    stop_sequence: "" | null;
    usage: MessageUsage;
    context_management: null;
  }
  /** The content of a `user` line. A prompt of the host keeps the form in which the host sent it. */
  interface UserMessage {
    role: "user";
    content: string | (TextBlock | ImageBlock | DocumentBlock | ToolResultBlock | Record<string, unknown>)[];
  }
  /** The model begins to answer. */
  interface MessageStart {
    type: "message_start";
    message: StartedMessage;
  }
  /** A block begins, in its empty form. A kind that only Anthropic's API knows appears as the provider sent it. */
  interface ContentBlockStart {
    type: "content_block_start";
    index: number;
    content_block: TextBlock | ThinkingBlock | RedactedThinkingBlock | ToolUseBlock | Record<string, unknown>;
  }
  /** A piece of the open block. */
  interface ContentBlockDelta {
    type: "content_block_delta";
    index: number;
    delta: TextDelta | ThinkingDelta | InputJsonDelta | SignatureDelta;
  }
  /** The block is complete. Its `assistant` line comes first. */
  interface ContentBlockStop {
    type: "content_block_stop";
    index: number;
  }
  /** The answer ends: why, and its final token counts. */
  interface MessageDelta {
    type: "message_delta";
    delta: StopFields;
    usage: MessageUsage;
  }
  /** The answer is over. */
  interface MessageStop {
    type: "message_stop";
  }
  /** The blocks of this message from this index on are void. */
  interface AbandonedBlocks {
    api_message_id: string;
    from_block_index: number;
  }
  /** Tokens of a turn. The constants are fields of the Claude CLI that have no meaning here. */
  interface ResultUsage {
    input_tokens: number;
    cache_creation_input_tokens: number;
    cache_read_input_tokens: number;
    cache_creation: CacheCreation;
    output_tokens: number;
    service_tier: "standard";
    output_tokens_details: OutputTokensDetails;
    server_tool_use: ServerToolUse;
    inference_geo: "";
    iterations: (Record<string, unknown>)[];
    speed: "standard";
  }
  /** Tokens and cost of one model so far, earlier runs of a resumed session included. `costBasis`: no price of the model is known, or it is the vendor's list price although requests went to another address. */
  interface ModelFigures {
    inputTokens: number;
    outputTokens: number;
    cacheReadInputTokens: number;
    cacheCreationInputTokens: number;
    webSearchRequests: number;
    costUSD: number;
    contextWindow: number;
    maxOutputTokens: number;
    thinkingTokens: number;
    cacheCreationEphemeral5mInputTokens: number;
    cacheCreationEphemeral1hInputTokens: number;
    canonicalModel: string;
    provider?: string;
    costBasis?: "unknown" | "list_price";
  }
  /** Tokens and cost of one agent at one model, in this process. `agent_id` is absent for the sum of the agents that are too many to be listed. */
  interface AgentFigures {
    agent_id?: string;
    agent_type?: string;
    model: string;
    provider: string;
    inputTokens: number;
    outputTokens: number;
    cacheReadInputTokens: number;
    cacheCreationInputTokens: number;
    costUSD: number;
  }
  /** A call of the turn that was refused. */
  interface PermissionDenial {
    tool_name: string;
    tool_use_id: string;
    tool_input: Record<string, unknown>;
  }
  /** Why a turn began without a prompt of the host: the task `task_id` has ended. */
  interface Origin {
    kind: "task-notification";
    producer: "session-task";
    runId: string;
    task_id: string;
  }
  /** The call that a hook has left to the host: it has not run. */
  interface DeferredCall {
    id: string;
    name: string;
    input: Record<string, unknown>;
  }
  /** May this call run? Some hosts allow a call unasked when `tool_use_id` is missing, so it is always there. */
  interface CanUseTool {
    subtype: "can_use_tool";
    tool_name: string;
    display_name: string;
    input: Record<string, unknown>;
    permission_suggestions: (AddRules | AddDirectories | SetMode)[];
    tool_use_id: string;
    description?: string;
    decision_reason?: string;
    blocked_path?: string;
    agent_id?: string;
  }
  /** A hook of the host is called; the answer is the hook's output ({} = no opinion). */
  interface HookCallback {
    subtype: "hook_callback";
    callback_id: string;
    input: Record<string, unknown>;
    tool_use_id: string;
  }
  /** A JSON-RPC message for an MCP server in the host's process; the answer holds the reply as `mcp_response`. */
  interface McpMessage {
    subtype: "mcp_message";
    server_name: string;
    message: Record<string, unknown>;
  }
  /** An MCP server asks the user something. The answer is `{action: "accept" | "decline" | "cancel", content?}`. */
  interface Elicitation {
    subtype: "elicitation";
    mcp_server_name: string;
    message: string;
    mode?: string;
    url?: string;
    elicitation_id?: string;
    requested_schema?: Record<string, unknown>;
  }
  /** May what is listed start? It comes from files of this folder. The answer is `{trusted: true | false}`. */
  interface TrustFolder {
    subtype: "trust_folder";
    cwd: string;
    left_out: LeftOut[];
  }
  /** May a request be sent to this model now? Asked in flat with `--request-permits`, for hosts that keep several processes to one rate or budget. The request is sent when the answer has come, whatever it says. `spent_usd` is the cost of all answers of this process so far, those of agents and cleared conversations too. */
  interface RequestPermit {
    subtype: "request_permit";
    provider: string;
    model: string;
    spent_usd: number;
  }
  /** The limit that is used most, in the Claude CLI's words. `resetsAt` is in seconds since 1970. */
  interface RateLimitInfo {
    status: "allowed" | "allowed_warning" | "rejected";
    resetsAt?: number;
    rateLimitType: string;
    utilization?: number;
    isUsingOverage: boolean;
  }
  /** One rate limit. `kind`: what is counted (`requests`, `tokens`, `five_hour` …). `utilization` is the used share, 0 to 1; `resets_at` in seconds since 1970. */
  interface Limit {
    kind: string;
    status: "allowed" | "allowed_warning" | "rejected";
    limit?: number;
    remaining?: number;
    utilization?: number;
    resets_at?: number;
  }
  /** The request was carried out. `request_id` is left out when the request had none, `response` when there is nothing to report. */
  interface ControlSuccess {
    subtype: "success";
    request_id?: string;
    response?: Record<string, unknown>;
  }
  /** The request was refused, or failed. */
  interface ControlFailure {
    subtype: "error";
    request_id?: string;
    error: string;
    error_code?: string;
  }
  /** Text. */
  interface TextBlock {
    type: "text";
    text: string;
  }
  /** Reasoning; `signature` is "" where the provider gives none. */
  interface ThinkingBlock {
    type: "thinking";
    thinking: string;
    signature: string;
  }
  /** Reasoning that the provider encrypted. */
  interface RedactedThinkingBlock {
    type: "redacted_thinking";
    data: string;
  }
  /** A tool call of the model. Arguments that are not a JSON object appear in `input` as `{"__unparsedToolInput": …}`, in the form of `RawInput`. */
  interface ToolUseBlock {
    type: "tool_use";
    id: string;
    name: string;
    input: Record<string, unknown>;
  }
  /** Tokens of one response. The members of `cache_creation` sum to `cache_creation_input_tokens`: ccusage 20 adds up the members and ignores the sum. */
  interface MessageUsage {
    input_tokens: number;
    cache_creation_input_tokens: number;
    cache_read_input_tokens: number;
    cache_creation: CacheCreation;
    output_tokens: number;
    service_tier: "standard";
  }
  /** An image. */
  interface ImageBlock {
    type: "image";
    source: Base64Source | UrlSource;
  }
  /** A document, such as a PDF. */
  interface DocumentBlock {
    type: "document";
    source: Base64Source | TextSource;
    title?: string;
  }
  /** The result of a tool call. `is_error` is left out where the tool reports neither success nor failure. */
  interface ToolResultBlock {
    type: "tool_result";
    tool_use_id: string;
    content: string | (TextBlock | ImageBlock | DocumentBlock)[];
    is_error?: boolean;
  }
  /** A message without content yet. */
  interface StartedMessage {
    id: string;
    type: "message";
    role: "assistant";
    model: string;
    content: (Record<string, unknown>)[];
    stop_reason: null;
    stop_sequence: null;
    usage: MessageUsage;
  }
  /** A piece of text. */
  interface TextDelta {
    type: "text_delta";
    text: string;
  }
  /** A piece of reasoning. */
  interface ThinkingDelta {
    type: "thinking_delta";
    thinking: string;
  }
  /** A piece of a call's arguments, as raw JSON text. */
  interface InputJsonDelta {
    type: "input_json_delta";
    partial_json: string;
  }
  /** The signature of a reasoning block. */
  interface SignatureDelta {
    type: "signature_delta";
    signature: string;
  }
  /** Why the answer ended; both are null when it was stopped. */
  interface StopFields {
    stop_reason: string | null;
    stop_sequence: string | null;
  }
  /** Tokens written to the prompt cache, by lifetime. */
  interface CacheCreation {
    ephemeral_5m_input_tokens: number;
    ephemeral_1h_input_tokens: number;
  }
  /** How many of the output tokens were reasoning. */
  interface OutputTokensDetails {
    thinking_tokens: number;
  }
  /** How often the provider's own tools ran. */
  interface ServerToolUse {
    web_search_requests: number;
    web_fetch_requests: 0;
  }
  /** Allow calls that match these rules, for the session or in the project's local settings. */
  interface AddRules {
    type: "addRules";
    rules: PermissionRule[];
    behavior: "allow";
    destination: "session" | "localSettings";
  }
  /** Allow work in these folders too. */
  interface AddDirectories {
    type: "addDirectories";
    directories: string[];
    destination: "session";
  }
  /** Switch to another permission mode. */
  interface SetMode {
    type: "setMode";
    mode: "acceptEdits";
    destination: "session";
  }
  /** Media inside the message. */
  interface Base64Source {
    type: "base64";
    media_type: string;
    data: string;
  }
  /** An image that the provider fetches itself. */
  interface UrlSource {
    type: "url";
    url: string;
  }
  /** A plain-text document inside the message. */
  interface TextSource {
    type: "text";
    media_type: "text/plain";
    data: string;
  }
  /** A tool, and the part of its calls that the rule covers; without `ruleContent` it covers all of them. */
  interface PermissionRule {
    toolName: string;
    ruleContent?: string;
  }
}

/** Lines that a host writes to stdin, in both dialects. */
export namespace Input {
  type Line =
    | PromptLine
    | PromptMessageLine
    | InterruptInputLine
    | ToolApprovalLine
    | SetPermissionModeLine
    | SetModelLine
    | CompactLine
    | ClearLine
    | PingLine
    | ControlRequestLine
    | ControlResponseLine
    | ControlCancelLine
    | AssistantInputLine
    | KeepAliveLine
    | UpdateEnvironmentLine;
  /** A prompt. During a turn it waits, and then gets a turn and a `result` of its own. */
  interface PromptLine {
    type: "user";
    content: string | (TextBlock | ImageBlock | DocumentBlock | ToolResultBlock | Record<string, unknown>)[];
    uuid?: string;
    priority?: "now" | "next" | "later";
    shouldQuery?: boolean;
    client_composed?: boolean;
  }
  /** A prompt in the Claude CLI's form. */
  interface PromptMessageLine {
    type: "user";
    message: PromptMessage;
    uuid?: string;
    priority?: "now" | "next" | "later";
    shouldQuery?: boolean;
    client_composed?: boolean;
  }
  /** Stop the turn; the process stays. */
  interface InterruptInputLine {
    type: "interrupt";
  }
  /** The answer to `approval_needed`. `input` replaces the call's input; `remember` (`session`, `project`, `user`) keeps a yes for what `rules` cover, without `rules` for the same call; `reason` is what the model reads of a denial. */
  interface ToolApprovalLine {
    type: "tool_approval";
    id: string;
    approved: boolean;
    input?: Record<string, unknown>;
    reason?: string;
    remember?: string;
    rules?: string[];
  }
  /** Change the permission mode: `default`, `acceptEdits`, `plan`, `dontAsk`, `bypassPermissions`, `interactive` (every call asks), `auto` (as bypassPermissions), `deny` (no call runs). */
  interface SetPermissionModeLine {
    type: "set_permission_mode";
    mode: string;
  }
  /** Use another model from the next turn on. */
  interface SetModelLine {
    type: "set_model";
    model: string;
  }
  /** Compact the history now. */
  interface CompactLine {
    type: "compact";
  }
  /** Start a new conversation. */
  interface ClearLine {
    type: "clear";
  }
  /** Answered with `pong` at once, also during a turn. */
  interface PingLine {
    type: "ping";
  }
  /** A request of the control protocol; answered with `control_response`, also during a turn. A request without `request_id` is answered without one. */
  interface ControlRequestLine {
    type: "control_request";
    request_id?: string | number;
    request: Initialize | Interrupt | Steer | CancelAsyncMessage | EndSession | RewindFiles | StopTask | ReloadSkills | SetPermissionMode | SetModel | SetEffort | SetMaxThinkingTokens | SetProfile | SetCwd | ListModels | ListProfiles | ListTools | ListCommands | ListSessions | GetSession | RenameSession | GenerateSessionTitle | DeleteSession | ForkSession | GetContextUsage | GetSettings | GetBinaryVersion | McpStatus | McpReconnect | McpToggle | McpSetServers | McpMessageIn | McpCall | McpReadResource | McpAuthenticate | McpClearAuth;
  }
  /** The answer to a `control_request` of ours. */
  interface ControlResponseLine {
    type: "control_response";
    response: HostSuccess | HostFailure;
  }
  /** Withdraws a `control_request` of the host. */
  interface ControlCancelLine {
    type: "control_cancel_request";
    request_id: string | number;
  }
  /** Adds an answer to the history, without a turn. */
  interface AssistantInputLine {
    type: "assistant";
    message: AssistantInput;
  }
  /** No effect. */
  interface KeepAliveLine {
    type: "keep_alive";
  }
  /** No effect: the environment is read once, at the start. */
  interface UpdateEnvironmentLine {
    type: "update_environment_variables";
  }
  /** Text. */
  interface TextBlock {
    type: "text";
    text: string;
  }
  /** An image. */
  interface ImageBlock {
    type: "image";
    source: Base64Source | UrlSource;
  }
  /** A document, such as a PDF. */
  interface DocumentBlock {
    type: "document";
    source: Base64Source | TextSource;
    title?: string;
  }
  /** The result of a tool call. `is_error` is left out where the tool reports neither success nor failure. */
  interface ToolResultBlock {
    type: "tool_result";
    tool_use_id: string;
    content: string | (TextBlock | ImageBlock | DocumentBlock)[];
    is_error?: boolean;
  }
  /** The message of a prompt; `role` may be left out. */
  interface PromptMessage {
    role?: "user";
    content: string | (TextBlock | ImageBlock | DocumentBlock | ToolResultBlock | Record<string, unknown>)[];
  }
  /** The Agent SDKs' first request: what they do not say by flags. Every field may be left out, and further ones are accepted. */
  interface Initialize {
    subtype: "initialize";
    hooks?: Record<string, unknown>;
    systemPrompt?: string | string[];
    appendSystemPrompt?: string;
    jsonSchema?: Record<string, unknown>;
    sdkMcpServers?: string[];
  }
  /** Stop the turn; the process stays. */
  interface Interrupt {
    subtype: "interrupt";
  }
  /** A prompt that joins the running turn: the model reads it with its next request. Refused when no turn runs (`not_running`). If the turn ends first, it gets a turn of its own. */
  interface Steer {
    subtype: "steer";
    content: string | (TextBlock | ImageBlock | DocumentBlock | Record<string, unknown>)[];
    uuid?: string;
  }
  /** Withdraw a prompt that waits. */
  interface CancelAsyncMessage {
    subtype: "cancel_async_message";
    message_uuid: string;
  }
  /** Stop the turn and end the process. */
  interface EndSession {
    subtype: "end_session";
  }
  /** Put files back to what they were before a prompt. `dry_run` only says what would change. */
  interface RewindFiles {
    subtype: "rewind_files";
    user_message_id: string;
    dry_run?: boolean;
  }
  /** End a background task. */
  interface StopTask {
    subtype: "stop_task";
    task_id: string;
  }
  /** Read commands and skills again. */
  interface ReloadSkills {
    subtype: "reload_skills";
  }
  /** Change the permission mode. */
  interface SetPermissionMode {
    subtype: "set_permission_mode";
    mode: string;
  }
  /** Use another model from the next turn on: an alias, an id, or `provider/model`; null or `default` is the configured one. */
  interface SetModel {
    subtype: "set_model";
    model?: string;
  }
  /** Set the reasoning effort from the next request on; null is the model's own. */
  interface SetEffort {
    subtype: "set_effort";
    effort?: "low" | "medium" | "high" | "xhigh" | "max";
  }
  /** Set the reasoning budget from the next request on; null is the model's own. */
  interface SetMaxThinkingTokens {
    subtype: "set_max_thinking_tokens";
    max_thinking_tokens?: number;
  }
  /** Use a credential of the config file by its name; null uses none. */
  interface SetProfile {
    subtype: "set_profile";
    profile?: string;
  }
  /** Always refused (`unsupported`): the working folder is fixed when the process starts, because permissions, settings and trust depend on it. Start another process in the other folder. */
  interface SetCwd {
    subtype: "set_cwd";
    path?: string;
  }
  /** The models that can be used: those of every provider that has a key, from the catalogue and from the lists that endpoints gave earlier. `provider` lists those of one provider. `refresh` asks the endpoints for their lists first, within ten seconds. */
  interface ListModels {
    subtype: "list_models";
    provider?: string;
    refresh?: boolean;
    offset?: number;
  }
  /** The credentials of the config file, by name. */
  interface ListProfiles {
    subtype: "list_profiles";
  }
  /** The tools of the session, in the order in which the model is offered them. */
  interface ListTools {
    subtype: "list_tools";
    offset?: number;
  }
  /** The slash commands: a prompt `/NAME words` runs one. */
  interface ListCommands {
    subtype: "list_commands";
  }
  /** The stored sessions of this folder, newest first. */
  interface ListSessions {
    subtype: "list_sessions";
    limit?: number;
    offset?: number;
  }
  /** The conversation of a stored session of this folder, to show it again. Without `session_id`: the running one, as far as it is stored. Long sessions come in pages. */
  interface GetSession {
    subtype: "get_session";
    session_id?: string;
    offset?: number;
  }
  /** Give a session of this folder a title. Without `session_id`: the running one. */
  interface RenameSession {
    subtype: "rename_session";
    title: string;
    session_id?: string;
  }
  /** Have the model make a short title from `description`, or from the first prompt of the running session. `persist` gives it to that session. */
  interface GenerateSessionTitle {
    subtype: "generate_session_title";
    description?: string;
    persist?: boolean;
  }
  /** Delete a stored session of this folder and its other files. The running session is refused (`running`). */
  interface DeleteSession {
    subtype: "delete_session";
    session_id: string;
  }
  /** Copy a stored session of this folder under a new id. Without `session_id`: the running one, as far as it is stored. The process stays in its session: `--resume` with the new id continues the copy. */
  interface ForkSession {
    subtype: "fork_session";
    session_id?: string;
    title?: string;
  }
  /** How full the model's context is, by part. */
  interface GetContextUsage {
    subtype: "get_context_usage";
  }
  /** The settings in effect. No answer holds a key. */
  interface GetSettings {
    subtype: "get_settings";
  }
  /** The version of the Claude CLI whose protocol is spoken. */
  interface GetBinaryVersion {
    subtype: "get_binary_version";
  }
  /** The MCP servers and their tools. */
  interface McpStatus {
    subtype: "mcp_status";
  }
  /** Connect to a server again. */
  interface McpReconnect {
    subtype: "mcp_reconnect";
    serverName: string;
  }
  /** Switch a server off or on. */
  interface McpToggle {
    subtype: "mcp_toggle";
    serverName: string;
    enabled?: boolean;
  }
  /** Replace the servers that the host set before, by name; those of flags and files stay. */
  interface McpSetServers {
    subtype: "mcp_set_servers";
    servers: Record<string, Record<string, unknown>>;
  }
  /** A JSON-RPC message of a server in the host's process. */
  interface McpMessageIn {
    subtype: "mcp_message";
    server_name: string;
    message: Record<string, unknown>;
  }
  /** Call a tool of a server for the host itself; nothing is asked. `tool` is a full name (`mcp__server__tool`), or with `serverName` the server's own. `result_not_for_model` answers with the result as the server gave it. */
  interface McpCall {
    subtype: "mcp_call";
    tool: string;
    serverName?: string;
    arguments?: Record<string, unknown>;
    result_not_for_model?: boolean;
  }
  /** Read a resource of a server that the host shows to its user; `uri` begins with `ui://`. */
  interface McpReadResource {
    subtype: "mcp_read_resource";
    serverName: string;
    uri: string;
  }
  /** Sign in at a server over HTTP or SSE. */
  interface McpAuthenticate {
    subtype: "mcp_authenticate";
    serverName: string;
  }
  /** Forget the token of a server over HTTP or SSE, and connect again. */
  interface McpClearAuth {
    subtype: "mcp_clear_auth";
    serverName: string;
  }
  /** The answer itself: its form depends on the question. */
  interface HostSuccess {
    subtype: "success";
    request_id: string | number;
    response?: Record<string, unknown>;
  }
  /** The host cannot answer. */
  interface HostFailure {
    subtype: "error";
    request_id: string | number;
    error?: string;
  }
  /** An earlier answer: text, or blocks in Anthropic's form. */
  interface AssistantInput {
    content: string | (Record<string, unknown>)[];
  }
  /** Media inside the message. */
  interface Base64Source {
    type: "base64";
    media_type: string;
    data: string;
  }
  /** An image that the provider fetches itself. */
  interface UrlSource {
    type: "url";
    url: string;
  }
  /** A plain-text document inside the message. */
  interface TextSource {
    type: "text";
    media_type: "text/plain";
    data: string;
  }
}

/** Our answers to control requests, by subtype of the request. */
export namespace ControlAnswers {
  interface BySubtype {
    initialize: InitializeAnswer;
    interrupt: InterruptAnswer;
    steer: SteerAnswer;
    cancel_async_message: CancelledAnswer;
    end_session: undefined;
    rewind_files: RewindAnswer;
    stop_task: EmptyAnswer;
    reload_skills: SkillsAnswer;
    set_permission_mode: ModeAnswer;
    set_model: ModelAnswer;
    set_effort: EffortAnswer;
    set_max_thinking_tokens: undefined;
    set_profile: ProfileAnswer;
    set_cwd: undefined;
    list_models: ModelsAnswer;
    list_profiles: ProfilesAnswer;
    list_tools: ToolsAnswer;
    list_commands: CommandsAnswer;
    list_sessions: SessionsAnswer;
    get_session: SessionAnswer;
    rename_session: RenamedAnswer;
    generate_session_title: TitleAnswer;
    delete_session: DeletedAnswer;
    fork_session: ForkedAnswer;
    get_context_usage: ContextAnswer;
    get_settings: SettingsAnswer;
    get_binary_version: VersionAnswer;
    mcp_status: McpStatusAnswer;
    mcp_reconnect: undefined;
    mcp_toggle: undefined;
    mcp_set_servers: McpServersAnswer;
    mcp_message: EmptyAnswer;
    mcp_call: McpCallAnswer;
    mcp_read_resource: McpResourceAnswer;
    mcp_authenticate: McpSignInAnswer;
    mcp_clear_auth: EmptyAnswer;
  }
  /** What the Agent SDKs read at the start. `claude_code_version` is the version whose protocol is spoken; `capabilities` names optional protocol features. */
  interface InitializeAnswer {
    commands: CommandInfo[];
    agents: AgentInfo[];
    output_style: string;
    available_output_styles: string[];
    models: ModelInfo[];
    account: AccountInfo;
    pid: number;
    claude_code_version: string;
    current_permission_mode: string;
    hook_on_failure_supported: boolean;
    capabilities: string[];
  }
  /** The uuids of the prompts that still wait. */
  interface InterruptAnswer {
    still_queued: string[];
  }
  /** The prompt waits for the next request of the running turn. */
  interface SteerAnswer {
    uuid: string;
  }
  /** Whether the prompt was still waiting. */
  interface CancelledAnswer {
    cancelled: boolean;
  }
  /** Whether files can be put back, which, and how many lines that changes. */
  interface RewindAnswer {
    canRewind: boolean;
    filesChanged?: string[];
    insertions?: number;
    deletions?: number;
  }
  /** Nothing to report. */
  interface EmptyAnswer {
  }
  /** The names of the skills that a user may run. */
  interface SkillsAnswer {
    skills: string[];
  }
  /** The permission mode in effect. */
  interface ModeAnswer {
    mode: string;
  }
  /** The model of the next turn. */
  interface ModelAnswer {
    model: string;
  }
  /** The reasoning effort of the next request; null is the model's own. */
  interface EffortAnswer {
    effort: string | null;
  }
  /** The credential in use; null is none. */
  interface ProfileAnswer {
    profile: string | null;
  }
  /** The aliases that can be used, then every model. `next_offset` is there when there are more. `refreshed` and `errors` are there after `refresh`: the providers that gave their list, and why others did not. */
  interface ModelsAnswer {
    models: ModelInfo[];
    next_offset?: number;
    refreshed?: string[];
    errors?: Record<string, string>;
  }
  /** The credentials of the config file; never their keys. */
  interface ProfilesAnswer {
    profiles: ProfileInfo[];
  }
  /** The tools of the session. `next_offset` is there when there are more. */
  interface ToolsAnswer {
    tools: ToolInfo[];
    next_offset?: number;
  }
  /** The slash commands. */
  interface CommandsAnswer {
    commands: CommandInfo[];
  }
  /** Stored sessions, newest first. `next_offset` is there when there are more. */
  interface SessionsAnswer {
    sessions: SessionEntry[];
    next_offset?: number;
  }
  /** A page of a stored conversation. `next_offset` is there when there are more messages. `model` is the model last used, as `provider/model`. */
  interface SessionAnswer {
    session: SessionEntry;
    model: string;
    total_cost_usd: number;
    messages: StoredMessage[];
    next_offset?: number;
  }
  /** The session, and its title as it is stored. */
  interface RenamedAnswer {
    session_id: string;
    title: string;
  }
  /** The title that the model made. */
  interface TitleAnswer {
    title: string;
  }
  /** The session that is gone. */
  interface DeletedAnswer {
    session_id: string;
  }
  /** The new session, and the one that it is a copy of. */
  interface ForkedAnswer {
    session_id: string;
    forked_from: string;
  }
  /** Tokens in the model's context. `totalTokens` is what the provider counted last and an estimate of what came since; the parts are estimates. `estimated`: nothing was counted yet. */
  interface ContextAnswer {
    categories: ContextPart[];
    totalTokens: number;
    maxTokens: number;
    rawMaxTokens: number;
    percentage: number;
    gridRows: ((Record<string, unknown>)[])[];
    model: string;
    memoryFiles: (Record<string, unknown>)[];
    mcpTools: (Record<string, unknown>)[];
    agents: (Record<string, unknown>)[];
    isAutoCompactEnabled: boolean;
    autoCompactThreshold: number;
    estimated: boolean;
    apiUsage: null;
  }
  /** The settings in effect, the files that were read, and what this moment's requests use. */
  interface SettingsAnswer {
    effective: Record<string, unknown>;
    sources: (Record<string, unknown>)[];
    applied: AppliedSettings;
  }
  /** The version of the Claude CLI whose protocol is spoken. */
  interface VersionAnswer {
    version: string;
  }
  /** Every MCP server with its state and tools. */
  interface McpStatusAnswer {
    mcpServers: (Record<string, unknown>)[];
  }
  /** The servers that were added and removed, and why some did not connect. */
  interface McpServersAnswer {
    added: string[];
    removed: string[];
    errors: Record<string, string>;
  }
  /** The result of the tool, as the server gave it. */
  interface McpCallAnswer {
  }
  /** The contents of the resource: `uri`, `mimeType`, and `text` or `blob` (base64). */
  interface McpResourceAnswer {
    contents: (Record<string, unknown>)[];
  }
  /** With `requiresUserAction`: the host shows `authUrl` to its user; the server is connected when that is done. */
  interface McpSignInAnswer {
    authUrl?: string;
    requiresUserAction: boolean;
  }
  /** A slash command. */
  interface CommandInfo {
    name: string;
    description: string;
    argumentHint: string;
    aliases?: string[];
    builtin?: true;
  }
  /** A subagent that the model can start. */
  interface AgentInfo {
    name: string;
    description: string;
    model?: string;
  }
  /** A model that can be chosen: `value` is what `set_model` takes. `resolvedModel` is what an alias means. Prices are left out where they are not known; `known` false: the figures are those of its family, or defaults. */
  interface ModelInfo {
    value: string;
    resolvedModel: string;
    displayName: string;
    description: string;
    supportsEffort?: boolean;
    supportedEffortLevels?: string[];
    provider?: string;
    contextWindow?: number;
    maxOutputTokens?: number;
    prices?: ModelPrices;
    inputModalities?: string[];
    tools?: boolean;
    known?: boolean;
    current?: true;
  }
  /** Where the key comes from; never the key. */
  interface AccountInfo {
    tokenSource: string;
    apiKeySource: string;
    apiProvider: string;
  }
  /** A named credential. */
  interface ProfileInfo {
    name: string;
    provider: string;
    chosen: boolean;
  }
  /** A tool. `source` is `builtin`, or `mcp` with the name of its `server`. `read_only`: it changes nothing. */
  interface ToolInfo {
    name: string;
    description: string;
    source: "builtin" | "mcp";
    server?: string;
    read_only: boolean;
  }
  /** A stored session. `title` is the one that it was given, else its first prompt. `created` is ISO 8601, `modified` in seconds since 1970, `size` in bytes; `current` marks the running session. */
  interface SessionEntry {
    session_id: string;
    title: string;
    first_prompt: string;
    last_prompt: string;
    cwd: string;
    git_branch: string;
    created: string;
    modified: number;
    size: number;
    current?: true;
  }
  /** One message of a stored conversation. Tool results are messages of the role `user`; `patch` shows what the call changed in a file. `content_truncated`: texts or images were cut to fit. */
  interface StoredMessage {
    uuid: string;
    role: "user" | "assistant";
    timestamp: string;
    content: (TextBlock | ThinkingBlock | RedactedThinkingBlock | ToolUseBlock | ToolResultBlock | ImageBlock | DocumentBlock | Record<string, unknown>)[];
    model?: string;
    patch?: StoredPatch;
    content_truncated?: true;
  }
  /** One part of the context, or what is free. */
  interface ContextPart {
    id: string;
    name: string;
    tokens: number;
    color: string;
    kind: string;
  }
  /** What the next request uses; `effort` null is the model's own. */
  interface AppliedSettings {
    model: string;
    effort: string | null;
    provider: string;
    permissionMode: string;
    cwd: string;
  }
  /** USD per million tokens. */
  interface ModelPrices {
    input: number;
    output: number;
    cacheRead: number;
    cacheWrite: number;
  }
  /** Text. */
  interface TextBlock {
    type: "text";
    text: string;
  }
  /** Reasoning; `signature` is "" where the provider gives none. */
  interface ThinkingBlock {
    type: "thinking";
    thinking: string;
    signature: string;
  }
  /** Reasoning that the provider encrypted. */
  interface RedactedThinkingBlock {
    type: "redacted_thinking";
    data: string;
  }
  /** A tool call of the model. Arguments that are not a JSON object appear in `input` as `{"__unparsedToolInput": …}`, in the form of `RawInput`. */
  interface ToolUseBlock {
    type: "tool_use";
    id: string;
    name: string;
    input: Record<string, unknown>;
  }
  /** The result of a tool call. `is_error` is left out where the tool reports neither success nor failure. */
  interface ToolResultBlock {
    type: "tool_result";
    tool_use_id: string;
    content: string | (TextBlock | ImageBlock | DocumentBlock)[];
    is_error?: boolean;
  }
  /** An image. */
  interface ImageBlock {
    type: "image";
    source: Base64Source | UrlSource;
  }
  /** A document, such as a PDF. */
  interface DocumentBlock {
    type: "document";
    source: Base64Source | TextSource;
    title?: string;
  }
  /** A change of one file. */
  interface StoredPatch {
    file_path: string;
    hunks: Hunk[];
  }
  /** Media inside the message. */
  interface Base64Source {
    type: "base64";
    media_type: string;
    data: string;
  }
  /** An image that the provider fetches itself. */
  interface UrlSource {
    type: "url";
    url: string;
  }
  /** A plain-text document inside the message. */
  interface TextSource {
    type: "text";
    media_type: "text/plain";
    data: string;
  }
  /** One place of a unified diff. `lines` begin with a blank, `-`, `+` or a backslash. */
  interface Hunk {
    oldStart: number;
    oldLines: number;
    newStart: number;
    newLines: number;
    lines: string[];
  }
}

/** The host's answers to our questions, by subtype of the question. */
export namespace HostAnswers {
  interface BySubtype {
    can_use_tool: AllowCall | DenyCall;
    hook_callback: HookOutput;
    mcp_message: McpReply;
    elicitation: ElicitationReply;
    trust_folder: TrustReply;
    request_permit: PermitReply;
  }
  /** The call may run. `updatedInput` replaces its input; `updatedPermissions` are rules, folders or a mode from the suggestions. */
  interface AllowCall {
    behavior: "allow";
    updatedInput?: Record<string, unknown>;
    updatedPermissions?: (Record<string, unknown>)[];
  }
  /** The call does not run; the model reads `message`. `interrupt` true stops the turn. */
  interface DenyCall {
    behavior: "deny";
    message?: string;
    interrupt?: boolean;
  }
  /** What a hook of the host decided; {} = no opinion. The fields are those of the Claude CLI's hooks. */
  interface HookOutput {
  }
  /** The reply of an MCP server in the host's process. */
  interface McpReply {
    mcp_response: Record<string, unknown>;
  }
  /** What the user answered; `content` has the fields of `requested_schema`. */
  interface ElicitationReply {
    action: "accept" | "decline" | "cancel";
    content?: Record<string, unknown>;
  }
  /** Whether what the question lists may start. */
  interface TrustReply {
    trusted: boolean;
  }
  /** The request may be sent. */
  interface PermitReply {
  }
}
