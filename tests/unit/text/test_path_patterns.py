"""Path patterns."""

from __future__ import annotations

import pytest

from tests.helpers.timing import cheap
from yume_shim.text.path_patterns import PathPattern, anywhere, below, expand_braces


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.py", ["a.py", ".py"], ["a.pyc", "d/a.py"]),
        ("**/*.py", ["a.py", "d/a.py", "d/e/a.py"], ["a.txt"]),
        ("**", ["a", "d/a"], []),
        ("src/**", ["src/a", "src/b/c"], ["src", "other/src/a"]),
        ("src/**/test/*.ts", ["src/test/a.ts", "src/x/y/test/a.ts"], ["src/test/x/a.ts"]),
        ("a?c", ["abc", "aüc"], ["ac", "a/c"]),
        ("[ab]*", ["a1", "b"], ["c"]),
        ("[!ab]*", ["c"], ["a", "b"]),
        ("[]]x", ["]x"], ["x"]),
        ("[a-c]", ["b"], ["d", "-"]),
        ("[oops", ["[oops"], ["o"]),
        ("a{b,c{d,e}}f", ["abf", "acdf", "acef"], ["acf"]),
        ("{a,b}/**/{c,d}", ["a/c", "b/x/d"], ["c/a"]),
        ("{solo}", ["{solo}"], ["solo"]),
        (r"\*", ["*"], ["a"]),
        ("*a*b*c", ["abc", "xaxbxc", "aabbcc"], ["acb", "abcd"]),
        ("a.c", ["a.c"], ["abc"]),
        ("./a//b", ["a/b"], ["a"]),
        ("line\nend", ["line\nend"], ["line"]),
        ("*", ["line\nend"], []),
    ],
)
def test_matching(pattern: str, yes: list[str], no: list[str]) -> None:
    made = PathPattern(pattern)
    assert [path for path in yes + no if made.matches(path)] == yes


def test_anywhere() -> None:
    assert [path for path in ("a.py", "d/a.py", "d/e/a.py", "a.txt") if anywhere("/*.py").matches(path)] == [
        "a.py",
        "d/a.py",
        "d/e/a.py",
    ]


@pytest.mark.parametrize(
    ("pattern", "path"),
    [("SUB/*.TXT", "sub/a.txt"), ("src/[A-C]*", "SRC/b"), ("caf\u00e9/*", "CAFE\u0301/x"), ("{A,b}*", "B1")],
)
def test_patterns_for_file_systems_that_ignore_case(pattern: str, path: str) -> None:
    assert PathPattern(pattern, fold=True).matches(path)
    assert anywhere(pattern, fold=True).matches(f"top/{path}")
    assert not PathPattern(pattern).matches(path)


WINDOWS = {"windows": True, "fold": True}


@pytest.mark.parametrize(
    ("pattern", "folders", "how", "inside"),
    [
        ("*.py", ("/w",), {}, "*.py"),
        ("/w/src/*.py", ("/w",), {}, "src/*.py"),
        ("/W/src/*.py", ("/w",), {}, None),
        ("/W/src/*.py", ("/w",), {"fold": True}, "src/*.py"),
        ("/w2/*", ("/w",), {}, None),
        ("/w[1]/*", ("/w[1]",), {}, "*"),
        ("/private/tmp/x/*", ("/tmp/x", "/private/tmp/x"), {}, "*"),
        ("/tmp/x/*", ("/tmp/x", "/private/tmp/x"), {}, "*"),
        ("/Users/u/caf\u00e9/*", ("/Users/u/cafe\u0301",), {"fold": True}, "*"),
        ("/*", ("/",), {}, "*"),
        ("C:\\w\\sub\\*", ("C:\\w",), WINDOWS, "sub/*"),
        ("c:/W/*.py", ("C:\\w",), WINDOWS, "*.py"),
        ("\\w\\*", ("C:\\w",), WINDOWS, "*"),
        ("/W/*", ("C:\\w",), WINDOWS, "*"),
        ("D:\\w\\*", ("C:\\w",), WINDOWS, None),
        ("C:\\w2\\*", ("C:\\w",), WINDOWS, None),
        ("C:\\*", ("C:\\w",), WINDOWS, None),
        ("\\\\srv\\share\\w\\*", ("\\\\SRV\\Share\\w",), WINDOWS, "*"),
        ("\\\\srv\\share\\w\\*", ("C:\\w",), WINDOWS, None),
        ("\\srv\\share\\w\\*", ("\\\\srv\\share\\w",), WINDOWS, None),
    ],
)
def test_a_pattern_below_a_folder(
    pattern: str, folders: tuple[str, ...], how: dict[str, bool], inside: str | None
) -> None:
    assert below(pattern, folders, **how) == inside


def test_a_folder_that_cannot_match_is_not_entered() -> None:
    pattern = PathPattern("src/*/x.py")
    assert not pattern.step(pattern.start, "other")
    assert pattern.step(pattern.start, "src")


def test_too_many_alternatives() -> None:
    with pytest.raises(ValueError, match="too many"):
        expand_braces("{a,b}" * 12)


def test_a_range_that_is_none_is_named() -> None:
    with pytest.raises(ValueError, match=r"'\[z-a\]': bad character range z-a$"):
        PathPattern("src/[z-a]")


@pytest.mark.parametrize("pattern", ["*a" * 40 + "b", "**/" * 40 + "x", "**/*/" * 30 + "x", "[a" * 200])
def test_hostile_patterns_are_cheap(pattern: str) -> None:
    with cheap(2):
        assert not PathPattern(pattern).matches("/".join(["a" * 200] * 60))
