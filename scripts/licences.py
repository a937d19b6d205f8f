"""Write docs/third-party-licences.md: the licence of every package that an installation brings, extras included.

`python3 scripts/licences.py` writes it, `--check` says whether it is up to date. The facts come from the metadata of
the installed packages, in the versions of requirements.lock.
"""

from __future__ import annotations

import sys
import tomllib
from importlib.metadata import PackageNotFoundError, metadata, requires
from pathlib import Path

import _venv

PAGE = Path(_venv.ROOT, "docs", "third-party-licences.md")
HEAD = """# Licences of third-party packages

Made by `scripts/licences.py` from the packages' own metadata. yume_shim itself is under the MIT licence. None of these
packages is part of it: they are installed beside it, and a bundle (`scripts/bundle.py`) contains copies with their
licence files.

| package | comes with | licence |
|---|---|---|
"""
CLASSIFIER = "License :: OSI Approved :: "
MAX_NAME = 60
"""Characters; a longer line is no licence's name."""
OTHER_SYSTEMS = {"colorama": "BSD-3-Clause", "pywin32": "PSF-2.0", "tzdata": "Apache-2.0"}
"""Packages that only Windows installs, so that their metadata is not at hand."""


def main() -> int:
    """Write or check the page."""
    _venv.ready()
    text = page()
    if "--check" in sys.argv[1:]:
        if PAGE.exists() and PAGE.read_text("utf-8") == text:
            return 0
        print("docs/third-party-licences.md is out of date: run scripts/licences.py", file=sys.stderr)
        return 1
    PAGE.write_text(text, "utf-8")
    return 0


def page() -> str:
    """The whole page."""
    with open(Path(_venv.ROOT, "pyproject.toml"), "rb") as file:
        project = tomllib.load(file)["project"]
    groups = {"every installation": project["dependencies"]}
    groups |= {f"`[{extra}]`": names for extra, names in sorted(project["optional-dependencies"].items())}
    rows: dict[str, tuple[str, str]] = {}
    for group, needed in groups.items():
        for name in closure(needed):
            rows.setdefault(name, (group, licence(name)))
    return HEAD + "".join(f"| {name} | {group} | {words} |\n" for name, (group, words) in sorted(rows.items()))


def closure(needed: list[str]) -> set[str]:
    """Names of these packages and of all that they need, for any system."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    found: set[str] = set()
    waiting = [Requirement(text) for text in needed]
    while waiting:
        asked = waiting.pop()
        name = canonicalize_name(asked.name)
        key = name if not asked.extras else f"{name}[{','.join(sorted(asked.extras))}]"
        if key in found:
            continue
        found |= {name, key}
        try:
            inner = [Requirement(text) for text in requires(name) or ()]
        except PackageNotFoundError:
            continue
        waiting += [each for each in inner if wanted(each, asked.extras)]
    return {name for name in found if "[" not in name}


def wanted(each: object, extras: set[str]) -> bool:
    """Whether a package is needed on some system that the program runs on."""
    marker = getattr(each, "marker", None)
    if marker is None:
        return True
    systems: tuple[dict[str, str], ...] = ({}, {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt"})
    return any(marker.evaluate({"extra": extra, **system}) for extra in (extras or {""}) for system in systems)


def licence(name: str) -> str:
    """The licence that the package's metadata names."""
    try:
        facts = metadata(name)
    except PackageNotFoundError:
        if name in OTHER_SYSTEMS:
            return OTHER_SYSTEMS[name]
        raise SystemExit(f"{name} is not installed: its licence is not known") from None
    said = facts["License-Expression"] or ""
    classified = [
        text.removeprefix(CLASSIFIER) for text in facts.get_all("Classifier", []) if text.startswith(CLASSIFIER)
    ]
    first = ((facts["License"] or "").strip().splitlines() or [""])[0]  # some put the whole text there
    words = said or (first if len(first) <= MAX_NAME else "") or ", ".join(classified)
    if not words:
        raise SystemExit(f"{name} names no licence")
    return words


if __name__ == "__main__":
    sys.exit(main())
