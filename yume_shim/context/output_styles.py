"""Output styles: texts that change how the model answers. Some are built in; user, project and plugins have files."""

from __future__ import annotations

import os

from yume_shim.disk.bounded import is_absent, read_start
from yume_shim.disk.resolve import resolve
from yume_shim.text.frontmatter import as_flag, as_text, read_frontmatter
from yume_shim.types.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

DEFAULT = "default"
MAX_STYLES = 100
"""Style files of one folder."""
MAX_ENTRIES = 1_000
MAX_STYLE_BYTES = 100_000


class Style(Value):
    """A style. `keeps_coding`: our own rules for work and answers stay in the system prompt."""

    name: str
    text: str
    keeps_coding: bool = True


class StyleFolder(Value):
    """A folder with style files. Files must be in `inside` after resolving links; None = anywhere. `prefix` stands
    before the names of a plugin's styles."""

    path: str
    inside: str | None = None
    prefix: str = ""


BUILT_IN: tuple[Style, ...] = (
    Style(
        "Proactive",
        "Act on your own. Where a sensible choice is open, make it, say in one line what you chose, and go on; do "
        "not stop to ask about details that can be changed later. Finish what follows from the task by itself "
        "(imports, callers, tests that must change). Stop and ask only before something that cannot be undone or "
        "that leaves the task.",
    ),
    Style(
        "Concise",
        "Answer in as few words as carry the meaning. No introduction, no summary of what the user can see, no "
        "offers. One sentence is a good answer; a list only if there are several things to tell. Between tool "
        "calls say nothing unless something unexpected happened.",
    ),
    Style(
        "Explanatory",
        "While you work, teach the user about this code base. Before and after a change of any weight, add a "
        "short paragraph that begins with `Insight:` and says why it is done this way here: which pattern of the "
        "project it follows, what the alternatives were, what would break. Keep to what is special about this "
        "project; leave out what any textbook says. These paragraphs are part of the conversation, never of the "
        "files.",
    ),
    Style(
        "Learning",
        "Work together with the user, who wants to learn by doing. Do the routine parts yourself. Where a "
        "decision is worth practising (an algorithm, an error strategy, the shape of an interface: five to ten "
        "lines), leave it to the user: prepare the place, mark it in the file with `TODO(you)`, explain what the "
        "code must do, what to weigh and where the pitfalls are, and then end your turn and wait. When the user "
        "has written it, review it kindly and precisely, then go on. Ask for at most one such piece at a time.",
    ),
)


def find_styles(
    folders: Iterable[StyleFolder], hidden: Callable[[str], bool], warn: Callable[[str], None]
) -> dict[str, Style]:
    """All styles by name: the built-in ones, then those of each folder, of which a later one replaces an earlier one of
    its name. Files that `hidden` denies are not read."""
    found = {style.name: style for style in BUILT_IN}
    for folder in folders:
        for path in _files(folder.path):
            style = _read(path, folder, hidden, warn)
            if style is not None:
                found[style.name] = style
    return found


def style_note(style: Style) -> str:
    """The note to the model about its style."""
    return f"<system-reminder>\n# Output Style: {style.name}\n\n{style.text}\n</system-reminder>"


def _files(folder: str) -> list[str]:
    names: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for count, entry in enumerate(entries):
                if count == MAX_ENTRIES:
                    break
                if entry.name.endswith(".md"):
                    names.append(entry.name)
    except OSError:
        return []
    return [os.path.join(folder, name) for name in sorted(names)[:MAX_STYLES]]


def _read(path: str, folder: StyleFolder, hidden: Callable[[str], bool], warn: Callable[[str], None]) -> Style | None:
    place = resolve(path)
    inside = folder.inside
    if place.flaw or (inside is not None and not place.real.startswith(inside.rstrip(os.sep) + os.sep)):
        return None
    if hidden(path) or hidden(place.real):
        warn(f"the output style {path} is ignored: a permission rule denies reading it")
        return None
    try:
        data = read_start(place.real, MAX_STYLE_BYTES)
    except OSError as error:
        if not is_absent(error):
            warn(f"the output style {path} is ignored: it cannot be read ({error.strerror})")
        return None
    fields, body, _ = read_frontmatter(data.decode("utf-8", "replace"))
    name = as_text(fields.get("name")) or os.path.basename(path).removesuffix(".md")
    if not body.strip():
        return None
    return Style(folder.prefix + name, body.strip(), as_flag(fields.get("keep-coding-instructions"), True))
