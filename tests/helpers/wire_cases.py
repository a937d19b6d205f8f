"""Wire goldens: a case folder to values and back. golden/README.md describes the format."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tests.helpers.fakes import FakeIds, cancel
from yume_shim.context.repair import repair
from yume_shim.providers.cassettes.replay import open_frames, read_wire
from yume_shim.providers.load import load_adapter
from yume_shim.providers.pipeline import ApiProvider
from yume_shim.types import blocks, events, models
from yume_shim.types.value import fields, replace

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from yume_shim.providers.pipeline import Adapter
    from yume_shim.types.blocks import Block, Json, Message
    from yume_shim.types.events import ModelEvent
    from yume_shim.types.models import Request, WireRequest
    from yume_shim.types.ports import Cancel, FrameStream

GOLDEN = Path(__file__).parents[2] / "golden" / "providers"
HAZARDS = (
    "text",
    "two-blocks",
    "thinking-signature",
    "tool-one",
    "tool-parallel",
    "tool-no-args",
    "tool-bad-json",
    "unicode-split",
    "empty",
    "stop-length",
    "refusal",
    "usage-missing",
    "usage-cached",
    "image-in-result",
    "foreign-history",
    "error-401",
    "error-429-retry-after",
    "error-500",
    "error-overflow",
    "drop-before-first",
    "drop-mid-text",
    "drop-mid-tool",
)
LOOPBACK = "http://127.0.0.1:1"

_BLOCKS = {
    "text": blocks.Text,
    "thinking": blocks.Thinking,
    "tool_call": blocks.ToolCall,
    "tool_result": blocks.ToolResult,
    "image": blocks.Image,
    "document": blocks.Document,
    "other": blocks.Other,
}


class Case:
    """One golden folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.api = folder.parent.name
        self.name = f"{self.api}/{folder.name}"
        table = tomllib.loads((folder / "case.toml").read_text("utf-8"))
        self.title: str = table["title"]
        self.sdk_skip: str = table.get("sdk", "")
        endpoint = {"name": self.api, "api": self.api, "base_url": LOOPBACK, **table.get("endpoint", {})}
        quirks = models.Quirks(**_tuples(endpoint.pop("quirks", {})))
        self.endpoint = models.Endpoint(**_tuples(endpoint), quirks=quirks)
        self.model = models.ModelSpec(**{"id": "model-x", **_tuples(table.get("model", {}))}, endpoint=self.endpoint)
        self.request = request_from_json(json.loads((folder / "history.json").read_text("utf-8")), self.model)
        if table.get("repair"):
            self.request = replace(self.request, messages=repair(self.request.messages, self.model).messages)

    @property
    def adapter(self) -> Adapter:
        return load_adapter(self.api)

    def wire_files(self) -> list[Path]:
        """What is answered to the request, and to each further one that the first answer led to."""
        return [self.folder / "wire.jsonl", *sorted(self.folder.glob("wire.[2-9].jsonl"))]

    def wires(self) -> list[list[Json]]:
        return [read_wire(str(file)) for file in self.wire_files()]

    def expected_requests(self) -> list[Json]:
        files = [self.folder / "request.json", *sorted(self.folder.glob("request.[2-9].json"))]
        return [json.loads(file.read_text("utf-8")) for file in files]

    def expected_bodies(self) -> list[Json]:
        return [request["body"] for request in self.expected_requests()]

    def expected_events(self) -> list[Json]:
        return [json.loads(line) for line in (self.folder / "events.jsonl").read_text("utf-8").split("\n") if line]

    def at(self, base_url: str) -> Request:
        """The request, sent to another address."""
        return replace(self.request, model=replace(self.model, endpoint=replace(self.endpoint, base_url=base_url)))


class WireTransport:
    """Plays given wire lines, one list per request: the decoder alone, without sockets."""

    def __init__(self, wires: list[list[Json]], provider: str) -> None:
        self._wires = list(wires)
        self._provider = provider
        self.sent: list[WireRequest] = []

    def open(self, wire: WireRequest, cancel: Cancel) -> FrameStream:
        self.sent.append(wire)
        assert self._wires, f"request {len(self.sent)} has no answer in this case"
        return open_frames(self._wires.pop(0), cancel, self._provider)

    def close(self) -> None:
        pass


def cases(api: str = "") -> list[Case]:
    """All cases (of one API)."""
    folders = sorted(path.parent for path in GOLDEN.glob(f"{api or '*'}/*/case.toml"))
    return [Case(folder) for folder in folders]


def no_log(level: str, message: str) -> None:
    """Says nothing, but an error is a defect."""
    assert level != "error", message


def play(case: Case) -> list[Json]:
    """The events that the decoder makes of the case's wire."""
    return _played(case)[0]


def encode(case: Case) -> list[Json]:
    """The requests as `request.json`, `request.2.json` … hold them."""
    return [_request_json(wire) for wire in _played(case)[1]]


def _played(case: Case) -> tuple[list[Json], list[WireRequest]]:
    transport = WireTransport(case.wires(), case.endpoint.name)
    provider = ApiProvider(case.adapter, case.endpoint, transport, FakeIds(), no_log)
    events = events_to_json(provider.stream(case.request, cancel()))
    return events, transport.sent


def _request_json(wire: WireRequest) -> Json:
    headers = {"headers": dict(wire.headers)} if wire.headers else {}
    request: Json = json.loads(json.dumps({"path": wire.path, **headers, "body": wire.body}))
    return request


def update_case(folder: Path) -> None:
    """Write the EXPECTED files of a case from what the code does now."""
    for stale in folder.glob("request*.json"):
        stale.unlink()
    case = Case(folder)
    for number, request in enumerate(encode(case), 1):
        name = "request.json" if number == 1 else f"request.{number}.json"
        (folder / name).write_text(json.dumps(request, ensure_ascii=False, indent=1) + "\n", "utf-8")
    lines = [json.dumps(event, ensure_ascii=False) + "\n" for event in play(case)]
    (folder / "events.jsonl").write_text("".join(lines), "utf-8")


# ---------------------------------------------------------------- values <-> JSON


def events_to_json(stream: Iterable[ModelEvent]) -> list[Json]:
    """Events as `events.jsonl` holds them: without what only the operating system knows, and each delta alone, however
    the pieces arrived."""
    out: list[Json] = []
    for event in one_by_one(stream):
        if isinstance(event, events.ResponseFailed):
            event = events.ResponseFailed(replace(event.failure, detail=""))
        out.append(to_json(event))
    return out


def one_by_one(stream: Iterable[ModelEvent]) -> Iterator[ModelEvent]:
    """The events with deltas that arrived together taken apart."""
    for event in stream:
        if isinstance(event, events.BlockDelta) and event.pieces:
            yield from (events.BlockDelta(event.index, event.kind, piece) for piece in event.pieces)
        else:
            yield event


def to_json(item: Any) -> Any:
    """A value as `{"type": …, fields}` with defaults left out; tuples as lists."""
    if hasattr(type(item), "__match_args__"):
        defaults = type(item)._defaults
        out = {"type": _snake(type(item).__name__)}
        for name in fields(item):
            part = getattr(item, name)
            if name not in defaults or part != defaults[name]:
                out[name] = to_json(part)
        return out
    if isinstance(item, (dict, MappingProxyType)):
        return {key: to_json(part) for key, part in item.items()}
    if isinstance(item, (list, tuple)):
        return [to_json(part) for part in item]
    return item


def request_from_json(data: Json, model: models.ModelSpec) -> Request:
    """`history.json` as a Request."""
    rest = {key: part for key, part in data.items() if key not in ("messages", "tools")}
    messages = tuple(message_from_json(item) for item in data["messages"])
    tools = tuple(models.ToolSpec(**_tuples(item)) for item in data.get("tools", []))
    return models.Request(model=model, messages=messages, tools=tools, **_tuples(rest))


def message_from_json(data: Json) -> Message:
    found = tuple(block_from_json(item) for item in data["blocks"])
    return blocks.Message(data["role"], found, data.get("origin", ""))


def block_from_json(data: Json) -> Block:
    rest = {key: part for key, part in data.items() if key != "type"}
    if data["type"] == "tool_result" and isinstance(rest["content"], list):
        rest["content"] = tuple(block_from_json(item) for item in rest["content"])
    made: Block = _BLOCKS[data["type"]](**rest)
    return made


def _tuples(table: Json) -> Json:
    return {key: tuple(part) if isinstance(part, list) else part for key, part in table.items()}


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
