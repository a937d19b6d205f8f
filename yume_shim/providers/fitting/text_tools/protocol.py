"""The text protocol: tools described in the prompt, earlier calls and results written as text.

Many open models were trained on this protocol (Hermes, Qwen): JSON between `<tool_call>` tags, results between
`<tool_response>` tags. `scanner` and `calls` read what the model writes.
"""

from __future__ import annotations

import re

from yume_shim.providers.fitting.history_as_text import history_as_text
from yume_shim.providers.fitting.tool_choice import settle_choice
from yume_shim.text import codec
from yume_shim.types.events import Notice
from yume_shim.types.value import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yume_shim.types.blocks import ToolCall, ToolResult
    from yume_shim.types.models import Request, ToolSpec

EXAMPLES = ("get_weather", "look_up_weather", "weather_of_a_city_for_example")
"""Names for the example: the first that is not the name of a real tool is used."""
INSTRUCTIONS = """\
# Tools

You can use tools. To call one, write this, with the tool's name and its arguments as JSON:

<tool_call>
{{"name": "{example}", "arguments": {{"city": "Oslo"}}}}
</tool_call>

- "arguments" must fit the JSON schema in the tool's "parameters". Escape quotes and line ends inside strings.
- To call several tools, write several <tool_call> blocks, one after the other.
- A call inside a code fence is shown, not executed.
- After your calls, stop. The next message brings one <tool_response> for each call, in their order. Never write a
  <tool_response> yourself.
- When no tool is needed, just answer.

These are your tools, one per line ({example} is only an example and not one of them):

{tools}"""

REMINDER = """\
If you want to call a tool, write exactly this form, with a tool's own name and its arguments as JSON:
<tool_call>
{"name": "…", "arguments": {…}}
</tool_call>"""
"""Added to the result of a call that could not be run as it was written."""
INVALID = "<tool_use_error>"
"""How the result of such a call begins."""

_RESULT_TAG = re.compile(r"<(?=/?tool_(?:response|result)\b)", re.IGNORECASE)
_BAD_IN_NAME = re.compile(r"[^\w.:-]")


def tools_as_text(request: Request) -> tuple[Request, tuple[Notice, ...]]:
    """The request without native tools, calls and results, and the notice about it."""
    offered = bool(request.tools) and request.tool_choice != "none"
    request = settle_choice(request, str, forcing=False)
    rewritten = replace(
        request,
        messages=history_as_text(request.messages, call_text, result_text),
        system=(*request.system, _instructions(request)) if offered else request.system,
        tools=(),
        tool_choice="auto",
    )
    if not offered:
        return rewritten, ()
    model = request.model
    words = f"{model.id} at {model.endpoint.name} has no native tool calls: tools are offered as text, which is "
    return rewritten, (Notice("text_tools", f"{words}less reliable."),)


def _instructions(request: Request) -> str:
    names = {tool.name for tool in request.tools}
    example = next(name for name in (*EXAMPLES, "") if name not in names)
    return INSTRUCTIONS.format(example=example, tools="\n".join(map(_describe, request.tools)))


def _describe(tool: ToolSpec) -> str:
    return codec.dumps({"name": tool.name, "description": tool.description, "parameters": tool.schema}).decode()


# ---------------------------------------------------------------- the history


def call_text(call: ToolCall) -> str:
    """A call as the protocol writes it. Arguments that were not JSON are sent as text."""
    arguments = call.input if call.broken is None else call.broken
    return f"<tool_call>\n{codec.dumps({'name': call.name, 'arguments': arguments}).decode()}\n</tool_call>"


def result_text(result: ToolResult, texts: list[str], media: int, name: str) -> str:
    """A result as the protocol writes it. Result tags inside it are escaped: the content must not end its own result or
    pretend to be another."""
    escaped = [_RESULT_TAG.sub("&lt;", text) for text in texts]
    if result.is_error and texts and texts[0].startswith(INVALID):
        escaped.append(REMINDER)
    if media:
        escaped.append(f"[attached after this result: {media}]")
    named = f' name="{_BAD_IN_NAME.sub("_", name)}"' if name else ""
    failed = ' error="true"' if result.is_error else ""
    return "\n".join((f"<tool_response{named}{failed}>", *escaped, "</tool_response>"))
