"""Models, endpoints, their quirks, and what a request to one is made of."""

from __future__ import annotations

from yume_shim.types.blocks import NOTHING, Message
from yume_shim.types.value import Value, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Literal

    from yume_shim.types.blocks import Json
    from yume_shim.types.effort import Effort
    from yume_shim.types.settings import Timeouts

    Stop = Literal["end", "tool_calls", "length", "window", "refusal", "pause", "stop_sequence", "other"]
    ThinkingMode = Literal["default", "adaptive", "enabled", "disabled"]
    ToolKind = Literal["read", "edit", "search", "shell", "other"]
    ToolOrigin = Literal["builtin", "engine", "mcp", "agents", "skills"]

ANTHROPIC_MESSAGES = "anthropic-messages"
"""The wire API whose JSON shapes the Claude CLI prints and stores."""
ANTHROPIC_VERSION = "2023-06-01"
"""The value of its `anthropic-version` header."""
THINKING_STYLES = ("", "adaptive", "budget", "effort", "level")
"""How reasoning is requested (see the adapters); "" = the model does not think."""
ANSWER_SHARE = 4
"""In a context whose size we choose, an answer may take at most the window divided by this: the prompt must fit too."""
COST_DECIMALS = 12
"""Costs in USD are rounded to this: a token of the cheapest model costs 1e-8, digits beyond these are float errors."""


class Usage(Value):
    """Tokens, counted as Anthropic counts: `input` excludes cached tokens, `output` includes reasoning."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    estimated: bool = False
    cache_write_1h: int = 0
    """The part of `cache_write` that was written for an hour."""
    web_searches: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.reasoning + other.reasoning,
            self.estimated or other.estimated,
            self.cache_write_1h + other.cache_write_1h,
            self.web_searches + other.web_searches,
        )


class Cost(Value):
    """What usage cost. `list_price`: by the vendor's price list, although the address is not the vendor's."""

    usd: float
    known: bool = True
    list_price: bool = False


class Backoff(Value):
    """How failed requests to an endpoint are repeated; times in seconds."""

    initial: float = 1.0
    multiplier: float = 2.0
    cap: float = 60.0
    jitter: float = 0.1
    retries: int = 3


class Quirks(Value):
    """What an endpoint does differently, as data. Adapters read these and never check an endpoint's name."""

    max_tokens_field: str = "max_tokens"
    """openai-chat: "max_tokens" or "max_completion_tokens"."""
    system_role: str = "system"
    """How the system prompt is sent: "system"; "developer" (openai-chat); "user" = before the first user text."""
    usage_in_stream: bool = True
    """openai-chat: send stream_options.include_usage."""
    tool_result_name: bool = False
    """openai-chat: tool messages carry `name` (Mistral)."""
    id_pattern: str = ""
    """Regular expression that tool call ids must match; "" = the adapter's own rule."""
    reasoning_echo: str = ""
    """openai-chat: field in which reasoning is sent back with tool calls ("reasoning_content", "reasoning_details")."""
    images_in_results: bool = True
    """Images may be inside tool results; otherwise they move to a following user message."""
    documents: bool = True
    """PDFs are accepted natively."""
    strict_tools: bool = False
    """OpenAI APIs: schemas are sent in the strict form where it can express them."""
    schema_drop: tuple[str, ...] = ()
    """JSON Schema keywords the endpoint refuses."""
    empty_content: str = "null"
    """openai-chat: content of an assistant message that only calls tools: "null", "empty" or "omit"."""
    prompt_cache: bool = True
    """anthropic-messages: cache_control marks are understood."""
    thinking: bool = True
    """Reasoning may be requested."""
    extra_body: Mapping[str, Any] = NOTHING
    """Merged into every request body."""
    user_after_results: bool = True
    """openai-chat: a user message may follow tool results (Mistral: "Unexpected role 'user' after role 'tool'")."""
    fix_arguments: bool = True
    """Misnamed, stringified and unexpected tool parameters are corrected, and each correction is logged; never for a
    Claude model, which knows these tools."""
    streaming: bool = True
    """Answers are streamed; otherwise one whole body is requested and decoded by the same decoder."""
    tools: bool = True
    """Tools are called natively; otherwise by a text protocol in the prompt (providers/fitting/text_tools)."""
    temperature: bool = True
    """`temperature` may be sent."""
    temperature_max: float = 2.0
    """The highest temperature it accepts; our setting goes up to 2.0."""
    top_p: bool = True
    """`top_p` may be sent."""
    stop_sequences: bool = True
    """Stop sequences may be sent."""
    stop_sequences_max: int = 0
    """How many it accepts; 0 = no limit."""
    stringify_arguments: bool | None = None
    """Arguments of replayed calls are sent as JSON text (True) or as an object (False); None = the API's own form."""
    forced_choice: bool = True
    """One tool may be forced; otherwise the model chooses, and a note says which tool to call."""
    continuation_without_tools: bool = False
    """A refused request that ends in tool results is sent once more without tools."""
    flat_results: bool = False
    """Earlier tool calls and results are sent as plain text of assistant and user: for proxies that refuse both."""
    declarations: str = ""
    """How functions are declared. google-genai: "" = parametersJsonSchema, "parameters", "snake", "openai".
    openai-chat: "" = OpenAI's form; "snake" and "parameters" = Gemini's, for proxies in front of it."""
    api_version: str = ""
    """google-genai: the version in the address ("v1beta"); "" = the one in the base URL, else v1."""
    images: bool = True
    """Images are accepted at all; otherwise a text replaces each of them."""
    image_formats: tuple[str, ...] = ("image/png", "image/jpeg", "image/gif", "image/webp")
    """The image formats it accepts; others are converted to PNG."""
    image_bytes: int = 0
    """The largest image file; 0 = no limit. Larger ones are scaled down."""
    image_side: int = 0
    """The longest side in pixels; 0 = no limit."""
    request_bytes: int = 0
    """The longest request body; 0 = no limit."""
    cache_key: bool = False
    """OpenAI APIs: `prompt_cache_key` is understood."""
    context_size: int = 0
    """ollama-chat: the largest `num_ctx` that is requested; 0 = the adapter's own."""
    think_tags: bool = False
    """openai-chat: a `<think>…</think>` at the very start of the content is reasoning (older local models)."""
    calls_together: bool = False
    """openai-responses: text between calls is moved before them, so that outputs directly follow the calls."""
    checks_signatures: bool = False
    """google-genai: calls without a thought signature are refused (Gemini 3 is recognised by its thinking style)."""
    effort_field: str = "reasoning_effort"
    """openai-chat: how thinking is requested: "reasoning_effort", "reasoning" ({effort}), "thinking" ({type}),
    "enable_thinking", "chat_template_kwargs" ({enable_thinking}), "" = not at all."""
    image_urls: bool = True
    """Images may be given by URL; otherwise a text replaces each of them."""
    pdf_pages: int = 0
    """How many pages all PDFs of a request may have; 0 = no limit. Longer ones are sent as text."""
    pdf_pages_large: int = 0
    """The same for models whose window holds a million tokens; 0 = the same limit."""
    max_tools: int = 0
    """How many tools a request may offer; 0 = no limit. The others are deferred: the model finds them with
    ToolSearch."""


class Endpoint(Value):
    """An address that speaks a wire API: a row of `catalog/endpoints.json`."""

    name: str
    api: str
    base_url: str
    key_vars: tuple[str, ...] = ()
    base_url_vars: tuple[str, ...] = ()
    headers: Mapping[str, str] = NOTHING
    quirks: Quirks = Quirks()
    backoff: Backoff = Backoff()
    key_optional: bool = False
    token_vars: tuple[str, ...] = ()
    """Variables that hold a bearer token instead of a key."""
    takes_custom_headers: bool = False
    """It gets the headers of ANTHROPIC_CUSTOM_HEADERS; they may carry a key, so no other endpoint gets them."""
    sign_in: str = ""
    """A cloud's own sign-in, done by the vendor's SDK: "bedrock", "vertex", "azure-ad"; "" = by key or token."""
    tells_limits: str = ""
    """How it reports the limits of its models (a form of providers/discovery/limits.py); "" = not at all."""
    counts_tokens: bool = False
    """It has its API's endpoint that counts the tokens of a request."""
    key_files: tuple[Mapping[str, str], ...] = ()
    """Where the vendor's programs keep API keys: `root_var`, `root`, `file`, `format` (json, env, text), `field`."""
    takes_key_helper: bool = False
    """`apiKeyHelper` of the settings files provides its key."""
    env_first: bool = False
    """Variables are checked before helper and files, as in the vendor's own program."""
    hint_missing_model: str = ""
    """Advice to the user when it does not have the model; `{model}` is replaced by its name."""
    hint_unreachable: str = ""
    """Advice to the user when its address does not answer."""
    address_by_sign_in: bool = False
    """Without a base URL the SDK of the sign-in derives the address from region and project."""
    names: tuple[str, ...] = ()
    """Other names by which it can be selected."""
    prices: str = ""
    """The vendor of the price table that sells its models; "" = by its address; "none" = they have no list price."""
    moved: bool = False
    """Its address is not that of the vendor: prices of the catalogue are list prices."""


class ModelSpec(Value):
    """A model at an endpoint. Prices are USD per million tokens: input, output, cache read, cache write."""

    id: str
    endpoint: Endpoint
    window: int = 128_000
    max_output: int = 8_192
    prices: tuple[float, float, float, float] | None = None
    thinking: str = ""
    """One of THINKING_STYLES."""
    known: bool = True
    long_context: tuple[int, float, float] | None = None
    """Requests with more input than the first figure cost this many times as much: input and cache, output."""
    trim_at: float = 0.6
    """Share of the window at which old tool results are trimmed."""
    compact_at: float = 0.8
    """Share of the window at which the history is compacted."""
    large_window: tuple[int, float, float] | None = None
    """In a window of at least this size these shares apply instead: trimmed at, compacted at."""
    tools: bool = True
    """It can call tools natively."""
    streaming: bool = True
    images: bool = True
    forced_choice: bool = True
    """It accepts a forced tool choice."""
    sampling: bool = True
    """It accepts temperature, top_p and stop sequences."""
    temperature: float | None = None
    top_p: float | None = None
    stop_sequences: tuple[str, ...] = ()
    efforts: tuple[str, ...] = ()
    """The effort levels it accepts; () = not known, all are sent."""
    always_thinks: bool = False
    """Thinking cannot be switched off: a request to do so is refused."""
    prices_given: bool = False
    """The user gave the prices."""

    @property
    def is_claude(self) -> bool:
        """One of Anthropic's models, at whatever endpoint (`anthropic/claude-…`, `us.anthropic.claude-…`)."""
        return "claude" in self.id.lower()

    @property
    def origin(self) -> str:
        """The value of `Message.origin` for its answers."""
        return f"{self.endpoint.api}/{self.id}"

    def shares(self, window: int) -> tuple[float, float]:
        """The shares of a window of this size at which the history is trimmed and compacted."""
        if self.large_window is not None and window >= self.large_window[0]:
            return self.large_window[1:]
        return self.trim_at, self.compact_at

    def with_window(self, size: int) -> ModelSpec:
        """The model in a context of a size that we choose: its answer may take only a part of it."""
        return replace(self, window=size, max_output=min(self.max_output, size // ANSWER_SHARE))


class Credential(Value):
    """The key for an endpoint, how it is sent, and where it was found (the name of the place, never the key)."""

    key: str
    kind: Literal["key", "token", "none"]
    source: str
    also_bearer: bool = False
    """The key is also sent as a bearer token, for gateways that expect one."""

    def __repr__(self) -> str:
        return f"Credential(kind={self.kind!r}, source={self.source!r})"


class ToolSpec(Value):
    """A tool as it is offered to the model, and what the gate, the engine and the system prompt must know about it.

    A field that ends in `_field` names a parameter of the tool; "" = the tool has no such parameter."""

    name: str
    description: str
    schema: Json
    kind: ToolKind = "other"
    path_field: str = ""
    """The file or folder that a call touches. The value is passed to the system unchanged, so it must be exact."""
    parallel: bool = False
    """May run at the same time as other calls."""
    aliases: tuple[str, ...] = ()
    needs_host: bool = False
    """It is a question to the host: always asked there, and offered only when a host can answer."""
    gated: bool = True
    """The gate decides whether a call may run; False for a tool that touches nothing and takes the final answer."""
    host_fields: tuple[str, ...] = ()
    """Input that only the host may fill; what a model writes there is removed."""
    source: ToolOrigin = "builtin"
    """Who provides it. Only our tools are judged by their paths: we do not know what parameters of others mean."""
    harmless: bool = False
    """Touches no files or processes of the user, so the gate lets it run without asking."""
    shows_content: bool = False
    """Shows the content of the files it searches, so rules that hide files apply to it."""
    command_field: str = ""
    """The shell command that a call runs. It is passed to the system unchanged, like a path."""
    pattern_field: str = ""
    """A pattern for paths, which may lead outside of `path_field` (`../**`, `/etc/*`)."""
    rule_field: str = ""
    """The value that the content of a permission rule names: `subagent_type` for `Task(reviewer)`."""
    describing_field: str = ""
    """What describes a call best in a dialog; of a path, its last name."""
    prompt_hint: str = ""
    """A sentence about this tool for the system prompt."""


class Request(Value):
    """One model request, independent of any vendor's API."""

    model: ModelSpec
    messages: tuple[Message, ...]
    system: tuple[str, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    max_tokens: int = 8_192
    effort: Effort | None = None
    thinking: ThinkingMode = "default"
    thinking_budget: int | None = None
    thinking_display: str = ""
    tool_choice: str = "auto"
    """"auto", "none", or the name of the one tool to call."""
    session_id: str = ""
    temperature: float | None = None
    top_p: float | None = None
    stop_sequences: tuple[str, ...] = ()

    @property
    def streaming(self) -> bool:
        """The answer is streamed."""
        return self.model.streaming and self.model.endpoint.quirks.streaming

    @property
    def native_tools(self) -> bool:
        """Tools are called through the API, not by a text protocol in the prompt."""
        return self.model.tools and self.model.endpoint.quirks.tools


class TransportSettings(Value):
    """What a transport is built with. `extra_headers` are the user's; `log` takes level and message."""

    endpoint: Endpoint
    credential: Credential
    auth_headers: Mapping[str, str]
    timeouts: Timeouts
    env: Mapping[str, str]
    extra_headers: Mapping[str, str]
    log: Callable[[str, str], None]

    def __repr__(self) -> str:
        return (
            f"TransportSettings(endpoint={self.endpoint.name!r}, credential={self.credential!r})"  # headers hold keys
        )


class WireRequest(Value):
    """What an adapter's `encode_request` makes of a Request. `path` is appended to the base URL; a GET has no body.
    `base_url` replaces the endpoint's base URL, at the same host."""

    path: str
    body: Json
    headers: Mapping[str, str] = NOTHING
    method: Literal["POST", "GET"] = "POST"
    base_url: str = ""
