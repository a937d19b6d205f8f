"""A late pattern is the compiled one, compiled at its first use."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import pytest

from tests.helpers import child
from yume_shim.text.late_pattern import late_pattern

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("method", ["findall", "fullmatch", "match", "search", "split"])
def test_it_has_the_methods_of_the_compiled_pattern(method: str) -> None:
    text, plain = "B-b-c", re.compile("(?i)b")
    late = late_pattern("(?i)b")
    for _ in range(2):
        found, expected = getattr(late, method)(text), getattr(plain, method)(text)
        if isinstance(expected, re.Match):
            found, expected = found.span(), expected.span()
        assert found == expected
    assert late_pattern("(?i)b").sub("_", text) == plain.sub("_", text)
    assert late_pattern(b"b").sub(b"_", b"abc") == b"a_c"


def test_a_wrong_pattern_is_refused_at_its_first_use() -> None:
    late = late_pattern("(")
    with pytest.raises(re.error):
        late.search("")


def test_making_one_loads_no_regular_expressions(tmp_path: Path) -> None:
    code = "import sys; from yume_shim.text.late_pattern import late_pattern; late = late_pattern('b')"
    code += "; before = 're' in sys.modules; late.search('b'); sys.stdout.write(f'{before} {\"re\" in sys.modules}')"
    program = child.start(["-c", code], cwd=tmp_path, env=child.clean_environment(tmp_path), program=(sys.executable,))
    assert program.end().stdout == b"False True"
