"""Reads what `yume-shim sessions` and `yume-shim replay` show: finds the files of a session, a recorded stream or a
golden case, and gives them to the readers of `pages/`."""

from __future__ import annotations

import os

from yume_shim.disk.bounded import open_regular
from yume_shim.pages.cleaning import Cleaner
from yume_shim.pages.readers.stream import kind_of, prompts_of, read_stream
from yume_shim.pages.readers.transcript import AgentLines, read_transcript
from yume_shim.store.children import child_files
from yume_shim.store.transcript_reader import lines_of
from yume_shim.text import codec
from yume_shim.types.errors import BadInvocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from yume_shim.pages.document import Document, Tokens
    from yume_shim.types.models import ModelSpec

    Price = Callable[[str, Tokens], "float | None"]

CASE = "case.toml"
"""What makes a folder a golden case."""
_EXPECTED = ("session.jsonl", "nested.jsonl", "flat.jsonl", "nested-partial.jsonl")


def read_document(path: str, *, secrets: Sequence[str] = (), price: Price | None = None) -> Document:
    """The document of a file: a transcript, or recorded stdout. Raises BadInvocation if it is neither."""
    codec.warm()
    try:
        kind = kind_of(_lines(path))
        if kind == "transcript":
            return _transcript(path, _agents(path), secrets, price)
        if kind:
            return read_stream(_lines(path), kind, Cleaner(secrets), _prompts_beside(path))
    except OSError as error:
        raise BadInvocation(f"{path} cannot be read: {error.strerror or error}") from None
    raise BadInvocation(f"{path} is neither a transcript nor a recorded output stream")


def read_golden(folder: str) -> Document:
    """The document of a golden case: its transcript if it has one, since only that has the prompts."""
    expected = os.path.join(folder, "expected")
    for name in _EXPECTED:
        path = os.path.join(expected, name)
        if not os.path.isfile(path):
            continue
        if name != _EXPECTED[0]:
            return read_document(path)
        files = sorted(each for each in os.listdir(expected) if each.startswith("session-agent-"))
        agents = [AgentLines(each, "", "", "", _lines(os.path.join(expected, each))) for each in files]
        return _transcript(path, agents, (), None)
    raise BadInvocation(f"{folder} has no recorded session (only cases below golden/sessions have one)")


def is_golden(folder: str) -> bool:
    """Whether a folder is a golden case."""
    return os.path.isfile(os.path.join(folder, CASE))


def list_prices(resolve: Callable[[str], ModelSpec]) -> Price:
    """Prices for answers whose cost no line says."""
    from yume_shim.catalog.cost import cost_usd
    from yume_shim.types.models import Usage

    specs: dict[str, ModelSpec | None] = {}

    def price(model: str, tokens: Tokens) -> float | None:
        if model not in specs:
            try:
                specs[model] = resolve(model)
            except BadInvocation:
                specs[model] = None
        spec = specs[model]
        if spec is None:
            return None
        usage = Usage(tokens.input, tokens.output, tokens.cache_read, tokens.cache_write)
        cost = cost_usd(spec, usage)
        return cost.usd if cost.known else None

    return price


def _transcript(path: str, agents: Sequence[AgentLines], secrets: Sequence[str], price: Price | None) -> Document:
    name = os.path.basename(path).removesuffix(".jsonl")
    session_id = "" if name == "session" else name
    return read_transcript(_lines(path), Cleaner(secrets), session_id=session_id, agents=agents, price=price)


def _agents(path: str) -> list[AgentLines]:
    def word(meta: object) -> str:
        return meta if isinstance(meta, str) else ""

    return [
        AgentLines(
            name, word(meta.get("toolUseId")), word(meta.get("agentType")), word(meta.get("description")), _lines(file)
        )
        for name, meta, file in child_files(path)
    ]


def _prompts_beside(path: str) -> list[object]:
    """The prompts of a golden case whose stream is shown: they are in its `stdin.jsonl`."""
    case = os.path.dirname(os.path.dirname(os.path.abspath(path)))
    if not is_golden(case):
        return []
    name = "stdin.nested.jsonl" if os.path.basename(path).startswith("nested") else "stdin.jsonl"
    given = os.path.join(case, name)
    return prompts_of(_lines(given if os.path.isfile(given) else os.path.join(case, "stdin.jsonl")))


def _lines(path: str) -> Iterator[bytes]:
    with open(open_regular(path), "rb", buffering=1 << 20) as file:
        yield from lines_of(file)
