"""Random inputs from seeds: edits of bytes, of words of the format, and of the values inside JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import random

MAX_INPUT = 16_384
MAX_SEED = 4_096
"""Longer seeds are checked as they are: edits of them cost much and find little."""
STRETCHED = 32_768
"""Bytes of an input in which one piece is repeated."""
STRETCH_EVERY = 1_000
MAX_EDITS = 4
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, -(2**70), 1e308, -1e-308, 0.5, "", " ", "\0", "\ud800"),
    *("\u2028", "é" * 40, "x" * 300, "1", "null", "\n", "../../etc", "%s{0}", [], {}, [[]], [None], {"": None}),
    *({"type": []}, {"type": "text"}, ["a", 1], [[[[[[[[]]]]]]]]),
)
"""Values that take the place of others."""
BYTES = (
    *(b"\0", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf", b"\r\n", b"\n", b"\r", b"\n\n"),
    *(b"\xe2\x80\xa8", b'"', b"\\", b"\\u", b"\\ud800", b"{", b"}", b"[", b"]", b",", b":", b" ", b"\t", b"''"),
    *(b"1e999", b"-0", b"9" * 30, b"\xb2", b"[" * 300, b'{"a":' * 300),
)


class Pool(NamedTuple):
    """What inputs are made from: seeds, words of the format, and the places of JSON objects in the seeds."""

    seeds: tuple[bytes, ...]
    words: tuple[bytes, ...]
    objects: tuple[tuple[tuple[int, int, Any], ...], ...]
    """Of each seed: (start, end, parsed) of the JSON objects in it."""


def pool_of(seeds: tuple[bytes, ...], words: tuple[bytes, ...]) -> Pool:
    """The pool of these seeds."""
    seeds = tuple(seed for seed in seeds if len(seed) <= MAX_SEED) or seeds
    return Pool(seeds, words + BYTES, tuple(tuple(_objects(seed)) for seed in seeds))


def _objects(seed: bytes) -> list[tuple[int, int, Any]]:
    """The JSON objects that stand on lines of their own, or after `data:`."""
    found, place = [], 0
    for line in seed.split(b"\n"):
        start = line.find(b"{")
        if start >= 0:
            try:
                parsed = json.loads(line[start:])
                found.append((place + start, place + len(line), parsed))
            except ValueError:
                pass
        place += len(line) + 1
    if not found and seed.lstrip()[:1] in (b"{", b"["):
        try:
            found.append((0, len(seed), json.loads(seed)))
        except ValueError:
            pass
    return found


def make_input(chance: random.Random, pool: Pool) -> bytes:
    """The next input."""
    place = chance.randrange(len(pool.seeds))
    data = pool.seeds[place]
    if chance.randrange(STRETCH_EVERY) == 0:
        return stretched(chance, data, pool, STRETCHED)
    objects = pool.objects[place]
    if objects and chance.randrange(2):
        start, end, parsed = objects[chance.randrange(len(objects))]
        changed = json.dumps(change_value(chance, parsed), ensure_ascii=bool(chance.randrange(2)))
        data = data[:start] + changed.encode("utf-8", "surrogatepass") + data[end:]
        if chance.randrange(3):
            return data[:MAX_INPUT]
    for _ in range(chance.randrange(MAX_EDITS) + 1):
        data = edit(chance, data, pool)
    return data[:MAX_INPUT]


def edit(chance: random.Random, data: bytes, pool: Pool) -> bytes:
    """One change of the bytes."""
    at = chance.randrange(len(data) + 1)
    kind = chance.randrange(9)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[:at] + data[at + chance.randrange(1, 9) :]
    if kind == 2:
        return data[:at] + bytes((chance.randrange(256),)) + data[at + 1 :]
    if kind == 3:
        return data[:at] + bytes((chance.randrange(256),)) + data[at:]
    if kind in (4, 5):
        return data[:at] + chance.choice(pool.words) + data[at + chance.randrange(3) :]
    end = min(len(data), at + chance.randrange(1, 64))
    if kind == 6:
        return data[:end] + data[at:end] * chance.randrange(1, 4) + data[end:]
    other = pool.seeds[chance.randrange(len(pool.seeds))]
    if kind == 7:
        return data[:at] + other[chance.randrange(len(other) + 1) :]
    place = chance.randrange(len(other) + 1)
    return data[:at] + other[place : place + chance.randrange(1, 200)] + data[at:]


def stretched(chance: random.Random, data: bytes, pool: Pool, size: int) -> bytes:
    """The seed with one piece repeated until it has this size: what is quadratic shows."""
    at = chance.randrange(len(data) + 1)
    piece = data[at : at + chance.randrange(1, 12)] if chance.randrange(2) else chance.choice(pool.words)
    return data[:at] + (piece or b"a") * (size // max(1, len(piece))) + data[at:]


def change_value(chance: random.Random, value: Any) -> Any:
    """The JSON value with one place in it changed."""
    if not isinstance(value, (dict, list)) or not value or chance.randrange(8) == 0:
        return chance.choice(ODD)
    if isinstance(value, dict):
        key = chance.choice(list(value))
        kind = chance.randrange(12)
        if kind == 0:
            return {name: item for name, item in value.items() if name != key}
        if kind == 1:
            return {**value, key: chance.choice(list(value.values()))}
        if kind == 2:
            return {(chance.choice(("", "x", "type", "id")) if name == key else name): i for name, i in value.items()}
        return {**value, key: change_value(chance, value[key])}
    at = chance.randrange(len(value))
    if chance.randrange(8) == 0:
        return [*value[:at], *value[at:], *value[at : at + 1] * chance.randrange(1, 5)]
    return [*value[:at], change_value(chance, value[at]), *value[at + 1 :]]
