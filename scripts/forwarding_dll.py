"""Builds a Windows library that only forwards a function to another library: Wine before 9 lacks one that wheels need.

`bcryptprimitives.dll` with `ProcessPrng` is what the standard library of Rust gets random numbers from; Wine has the
same function as `SystemFunction036` in `advapi32.dll`.
"""

from __future__ import annotations

import struct

SECTION_AT = 0x1000
"""Where the one section is loaded."""
BLOCK = 0x200
"""Sections of a file begin at multiples of this."""
_AMD64, _DLL, _PE32_PLUS = 0x8664, 0x2022, 0x20B
_READABLE_DATA = 0x40000040
_DIRECTORIES = 16


def forwarding_dll(library: str, function: str, target: str) -> bytes:
    """The bytes of `library`, whose `function` is `target` ("library.function")."""
    texts, places = b"", []
    tables = 40 + 4 + 4 + 2  # the directory, then one address, one name, one ordinal
    for text in (library, function, target):
        places.append(SECTION_AT + tables + len(texts))
        texts += text.encode("ascii") + b"\0"
    library_at, function_at, target_at = places
    first = SECTION_AT + 40
    directory = struct.pack("<IIHHIIIIIII", 0, 0, 0, 0, library_at, 1, 1, 1, first, first + 4, first + 8)
    exports = directory + struct.pack("<IIH", target_at, function_at, 0) + texts
    if len(exports) > BLOCK:
        raise ValueError("the names are too long")
    start = b"MZ".ljust(60, b"\0") + struct.pack("<I", 64)
    optional = _optional_header(len(exports))
    machine = b"PE\0\0" + struct.pack("<HHIIIHH", _AMD64, 1, 0, 0, 0, len(optional), _DLL)
    section = b".edata\0\0" + struct.pack(
        "<IIIIIIHHI", len(exports), SECTION_AT, BLOCK, BLOCK, 0, 0, 0, 0, _READABLE_DATA
    )
    return (start + machine + optional + section).ljust(BLOCK, b"\0") + exports.ljust(BLOCK, b"\0")


def _optional_header(exports: int) -> bytes:
    sizes = struct.pack("<HBBIIIII", _PE32_PLUS, 14, 0, 0, BLOCK, 0, 0, SECTION_AT)
    layout = struct.pack("<QIIHHHHHHIII", 0x180000000, SECTION_AT, BLOCK, 6, 0, 0, 0, 6, 0, 0, SECTION_AT * 2, BLOCK)
    rest = struct.pack("<IHHQQQQII", 0, 3, 0x0160, 0x100000, 0x1000, 0x100000, 0x1000, 0, _DIRECTORIES)
    return sizes + layout + rest + struct.pack("<II", SECTION_AT, exports).ljust(8 * _DIRECTORIES, b"\0")
