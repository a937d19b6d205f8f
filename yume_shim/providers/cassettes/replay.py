"""Answers from a cassette: recorded wire frames pass through the same adapter and pipeline as live ones.

A cassette is a folder with `cassette.toml` (or the `case.toml` of a session golden), which has `api` and `model` (and
`tools = false`, `streaming = false` if the model lacks these), and `wire/01.jsonl`, `02.jsonl`, …: one file per model
request, in the format of golden/README.md.
"""

from __future__ import annotations

import os

from yume_shim.providers.load import load_adapter
from yume_shim.providers.pipeline import ApiProvider
from yume_shim.providers.wire.failures import failure_config, failure_cut, status_failed
from yume_shim.text import codec
from yume_shim.types.errors import BadInvocation, ProviderFailed
from yume_shim.types.models import Endpoint, ModelSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from yume_shim.providers.pipeline import Log, Tap
    from yume_shim.types.blocks import Json
    from yume_shim.types.models import WireRequest
    from yume_shim.types.ports import Cancel, Ids

MAX_WIRE_BYTES = 64 * 1024 * 1024
"""Bytes of the largest wire file that is read."""
MAX_SLEEP_MS = 86_400_000
HOLD_SLICE = 3_600.0
"""Seconds of one wait under `!hold`; a cancel ends it at once."""


class ReplayProvider(ApiProvider):
    """Plays a cassette. Implements `types.ports.Provider`."""

    def __init__(self, directory: str, ids: Ids, log: Log, tap: Tap | None = None) -> None:
        info = read_cassette(directory)
        super().__init__(load_adapter(info.endpoint.api), info.endpoint, CassetteTransport(directory), ids, log, tap)
        self.model = info
        """The model that was recorded."""


def read_cassette(directory: str) -> ModelSpec:
    """The model of a cassette, at an endpoint called `replay`. Raises BadInvocation."""
    import tomllib

    for name in ("cassette.toml", "case.toml"):
        path = os.path.join(directory, name)
        if os.path.isfile(path):
            break
    else:
        raise BadInvocation(f"no cassette.toml or case.toml in {directory!r}", "not_found")
    try:
        with open(path, "rb") as file:
            table = tomllib.load(file)
    except (OSError, ValueError, RecursionError) as exc:
        raise BadInvocation(f"cannot read {path!r}: {exc}") from None
    api, model = table.get("api"), table.get("model", "replay")
    if not isinstance(api, str) or not isinstance(model, str):
        raise BadInvocation(f"{path!r} must name its `api` (and `model`) as text")
    if not wire_files(directory):
        raise BadInvocation(f"the cassette {directory!r} has no wire/01.jsonl", "not_found")
    endpoint = Endpoint(name="replay", api=api, base_url="", key_optional=True)
    tools, streaming = (table.get(name) is not False for name in ("tools", "streaming"))
    return ModelSpec(id=model, endpoint=endpoint, tools=tools, streaming=streaming)


def wire_files(directory: str) -> list[str]:
    """The wire files, in order."""
    try:
        names = os.listdir(os.path.join(directory, "wire"))
    except OSError:
        return []
    return [os.path.join(directory, "wire", name) for name in sorted(names) if name.endswith(".jsonl")]


def read_wire(path: str) -> list[Json]:
    """The lines of a wire file. Raises BadInvocation with the number of a bad line."""
    try:
        if os.path.getsize(path) > MAX_WIRE_BYTES:
            raise BadInvocation(f"{path!r} is larger than {MAX_WIRE_BYTES} bytes")
        with open(path, "rb") as file:
            lines = file.read().splitlines()
    except OSError as exc:
        raise BadInvocation(f"cannot read {path!r}: {exc.strerror}") from None
    frames: list[Json] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        frame = codec.loads_object(line)
        if frame is None:
            raise BadInvocation(f"{path!r}, line {number}: not a JSON object")
        frames.append(frame)
    return frames


class CassetteTransport:
    """Plays one wire file per request. Implements `types.ports.Transport`."""

    def __init__(self, directory: str, provider: str = "replay") -> None:
        self._directory = directory
        self._files = wire_files(directory)
        self._played = 0
        self._provider = provider

    def open(self, wire: WireRequest, cancel: Cancel) -> CassetteStream:
        cancel.check()
        if self._played >= len(self._files):
            message = f"the cassette {self._directory!r} has {len(self._files)} answers; another one was requested"
            raise ProviderFailed(failure_config(self._provider, message))
        try:
            frames = read_wire(self._files[self._played])
        except BadInvocation as exc:
            raise ProviderFailed(failure_config(self._provider, exc.message)) from None
        self._played += 1
        return open_frames(frames, cancel, self._provider)

    def close(self) -> None:
        """Nothing is kept open."""


def open_frames(frames: list[Json], cancel: Cancel, provider: str) -> CassetteStream:
    """A response from wire lines; a `!status` raises, as in a transport."""
    headers: Mapping[str, str] = {}
    for number, frame in enumerate(frames, 1):
        if flaw := _flaw(frame):
            raise ProviderFailed(failure_config(provider, f"frame {number} of the cassette: {flaw}"))
    if frames and "!status" in frames[0]:
        first = frames[0]
        body: Any = first.get("body", "")
        packed = body.encode("utf-8", "replace") if isinstance(body, str) else codec.dumps(body)
        raise status_failed(first["!status"], _lower(first.get("headers", {})), packed, provider)
    if frames and "!headers" in frames[0]:
        headers, frames = _lower(frames[0]["!headers"]), frames[1:]
    return CassetteStream(headers, frames, cancel, provider)


class CassetteStream:
    """One recorded response. Implements `types.ports.FrameStream`."""

    def __init__(self, headers: Mapping[str, str], frames: list[Json], cancel: Cancel, provider: str) -> None:
        self.headers = headers
        self._frames = frames
        self._cancel = cancel
        self._provider = provider
        self.over: Callable[[], bool] = lambda: False

    def __iter__(self) -> Iterator[Json]:
        for frames in self.reads():
            yield from frames

    def reads(self) -> Iterator[list[Json]]:
        started = False
        for frame in self._frames:
            self._cancel.check()
            if "!drop" in frame:
                raise ProviderFailed(failure_cut(self._provider, started=started))
            if "!hold" in frame:
                while not self._cancel.wait(HOLD_SLICE):
                    pass
                self._cancel.check()
            elif "!sleep_ms" in frame:
                self._cancel.wait(frame["!sleep_ms"] / 1_000)
            elif "!redacted" not in frame:
                started = True
                yield [frame.get("!whole", frame)]

    def close(self) -> None:
        """Nothing is open."""


def _flaw(frame: Json) -> str:
    """What is wrong with the instructions in a frame; "" if nothing is."""
    if "!status" in frame and type(frame["!status"]) is not int:
        return "`!status` must be a whole number"
    if "!whole" in frame and not isinstance(frame["!whole"], dict):
        return "`!whole` must be an object"
    pause = frame.get("!sleep_ms", 0)
    if isinstance(pause, bool) or not isinstance(pause, int | float) or not 0 <= pause <= MAX_SLEEP_MS:
        return f"`!sleep_ms` must be a number up to {MAX_SLEEP_MS:,}"
    for headers in (frame.get("!headers", {}), frame.get("headers", {}) if "!status" in frame else {}):
        if not isinstance(headers, dict) or not all(isinstance(text, str) for text in headers.values()):
            return "headers must be an object of texts"
    return ""


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): text for name, text in headers.items()}
