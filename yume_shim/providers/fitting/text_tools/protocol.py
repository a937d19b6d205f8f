"""Tools for models that have none: a text protocol in the prompt, with calls and results of the past told in it.

The protocol is the one that many open models were trained on (Hermes, Qwen): JSON between `<tool_call>` tags, results
between `<tool_response>` tags. What is written here is read by `_text_scan.py` and `_text_calls.py`.
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
"""Names for the worked example: the first that is no real tool is taken."""
LESSON = """\
# Tools

You can use tools. To call one, write this, with the tool's name and its arguments as JSON:

<tool_call>
{{"name": "{example}", "arguments": {{"city": "Oslo"}}}}
</tool_call>

- "arguments" must fit the JSON schema in the tool's "parameters". Escape quotes and line ends inside strings.
- To call several tools, write several <tool_call> blocks, one after the other.
- What stands in a code fence is shown, not called.
- After your calls, stop. The next message brings one <tool_response> for each call, in their order. Never write a
  <tool_response> yourself.
- When no tool is needed, just answer.

These are your tools, one per line ({example} is only an example and not one of them):

{tools}"""

_RESULT_TAG = re.compile(r"<(?=/?tool_(?:response|result)\b)", re.IGNORECASE)
_BAD_IN_NAME = re.compile(r"[^\w.:-]")


def tools_as_text(request: Request) -> tuple[Request, tuple[Notice, ...]]:
    """The request without native tools, calls and results, and the warning that says so."""
    taught = bool(request.tools) and request.tool_choice != "none"
    request = settle_choice(request, str, forcing=False)
    told = replace(
        request,
        messages=history_as_text(request.messages, call_text, result_text),
        system=(*request.system, _lesson(request)) if taught else request.system,
        tools=(),
        tool_choice="auto",
    )
    if not taught:
        return told, ()
    model = request.model
    words = f"{model.id} at {model.endpoint.name} cannot call tools itself: they are offered to it as text, which is "
    return told, (Notice("text_tools", f"{words}less reliable."),)


def _lesson(request: Request) -> str:
    names = {tool.name for tool in request.tools}
    example = next(name for name in (*EXAMPLES, "") if name not in names)
    return LESSON.format(example=example, tools="\n".join(map(_offer, request.tools)))


def _offer(tool: ToolSpec) -> str:
    return codec.dumps({"name": tool.name, "description": tool.description, "parameters": tool.schema}).decode()


# ---------------------------------------------------------------- the past


def call_text(call: ToolCall) -> str:
    """A call in the words of the protocol. Arguments that were no JSON go as text."""
    arguments = call.input if call.broken is None else call.broken
    return f"<tool_call>\n{codec.dumps({'name': call.name, 'arguments': arguments}).decode()}\n</tool_call>"


def result_text(result: ToolResult, texts: list[str], media: int, name: str) -> str:
    """A result in the words of the protocol. Tags of results inside it are made harmless: what a tool has read must not
    end its own result or pretend to be another."""
    harmless = [_RESULT_TAG.sub("&lt;", text) for text in texts]
    if media:
        harmless.append(f"[attached behind this result: {media}]")
    named = f' name="{_BAD_IN_NAME.sub("_", name)}"' if name else ""
    failed = ' error="true"' if result.is_error else ""
    return "\n".join((f"<tool_response{named}{failed}>", *harmless, "</tool_response>"))
