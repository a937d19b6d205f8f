"""NotebookEdit: replaces, inserts or deletes one cell; every other byte of the notebook stays as it is."""

from __future__ import annotations

from yume_shim.tools.files import atomic_write, diff, json_spans, text_files
from yume_shim.tools.write import refuse_changed, save
from yume_shim.types.errors import ToolFailed
from yume_shim.types.outputs import ToolOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.tools.dispatch.session_state import ToolState
    from yume_shim.tools.files.json_spans import Span
    from yume_shim.types.blocks import Json
    from yume_shim.types.outputs import ToolContext

ENDING = ".ipynb"
DONE = {"replace": "Updated", "insert": "Inserted", "delete": "Deleted"}


def run(given: Json, state: ToolState, context: ToolContext) -> ToolOutput:
    """Edit the notebook as the model last saw it."""
    shown: str = given["notebook_path"]
    mode = given.get("edit_mode", "replace")
    if not shown.lower().endswith(ENDING):
        raise ToolFailed(f"Not a notebook (its name does not end in {ENDING}): {shown}. Use Edit for other files.")
    if mode == "insert" and "cell_type" not in given:
        raise ToolFailed("`cell_type` is needed to insert a cell.", before_run=True)
    path = state.resolve(shown)
    target = atomic_write.write_target(path, shown, state.inside(context.judged or path), context.judged)
    if target.facts is None:
        raise text_files.missing_file(target.path, state.cwd)
    data, facts = text_files.read_whole(target.path, shown, state.cwd, context.cancel, target.path)
    if not state.ledger.knows(target.path):
        raise ToolFailed("The notebook has not been read yet. Read it first, so that you know its cells.")
    refuse_changed(state, target.path, facts, data)
    like = text_files.decode(data)
    try:
        book = Notebook(like.text)
    except ValueError as error:
        raise ToolFailed(f"Not a notebook that can be edited ({error}): {shown}") from None
    new = text_files.plain(given["new_source"])
    name, kind, after = _edited(book, mode, given.get("cell_id", ""), new, given.get("cell_type", ""))
    context.cancel.check()
    save(state, target, text_files.encode(after, like), shown, context, by_host=False)
    structured: Json = {
        "new_source": new,
        "cell_type": kind,
        "language": book.language,
        "edit_mode": mode,
        "cell_id": name,
        "error": "",
        "notebook_path": shown,
        "original_file": text_files.plain(like.text),
        "updated_file": text_files.plain(after),
    }
    patch = diff.patch_of(shown, diff.hunks(structured["original_file"], structured["updated_file"]))
    return ToolOutput(f"{DONE[mode]} cell {name} of {shown}.", structured, patch=patch)


def _edited(book: Notebook, mode: str, cell_id: str, new: str, kind: str) -> tuple[str, str, str]:
    """(the cell's name, its type, the whole text after the edit)."""
    if mode == "insert":
        after = -1 if not cell_id else book.find(cell_id)
        return book.insert(after, new, kind)
    if not cell_id:
        raise ToolFailed("`cell_id` is needed to say which cell.", before_run=True)
    place = book.find(cell_id)
    name, old_kind = book.name(place), str(book.cells[place].get("cell_type", "code"))
    if mode == "delete":
        return name, old_kind, book.delete(place)
    return name, kind or old_kind, book.replace(place, new, kind or old_kind)


class Notebook:
    """The text of a notebook, its cells, and their positions. Raises ValueError if the text is not a notebook."""

    def __init__(self, text: str) -> None:
        self.text = text
        start = json_spans.skip(text, 0)
        whole, _ = json_spans.value_at(text, start)
        cells = whole.get("cells") if isinstance(whole, dict) else None
        if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
            raise ValueError("it has no list of cells")
        self.cells: list[Json] = cells
        self._array = json_spans.members(text, start)["cells"]
        self._spans = json_spans.items(text, self._array[0])
        self._indent = json_spans.indent_of(text)
        metadata = whole.get("metadata")
        info = metadata.get("language_info") if isinstance(metadata, dict) else None
        self.language = str(info.get("name", "python")) if isinstance(info, dict) else "python"
        version = (whole.get("nbformat"), whole.get("nbformat_minor"))
        numbers = all(isinstance(number, int) for number in version)
        self._has_ids = any("id" in cell for cell in cells) or (numbers and version >= (4, 5))

    def name(self, place: int) -> str:
        """As Read shows it."""
        given = self.cells[place].get("id")
        return given if isinstance(given, str) else f"cell-{place}"

    def find(self, cell_id: str) -> int:
        """The place of a cell, by its id or its number."""
        for place in range(len(self.cells)):
            if self.cells[place].get("id") == cell_id:
                return place
        number = cell_id.removeprefix("cell-")
        if number.isascii() and number.isdigit() and len(number) < 9 and int(number) < len(self.cells):
            return int(number)
        known = ", ".join(self.name(place) for place in range(len(self.cells))[:20])
        raise ToolFailed(f'Cell with ID "{cell_id}" not found in notebook. The first ones are: {known or "(none)"}')

    # ------------------------------------------------ edits

    def replace(self, place: int, new: str, kind: str) -> str:
        """A new source. The outputs of a code cell belong to its old source and are removed."""
        cell = self.cells[place]
        fields: Json = {"cell_type": kind, "source": _source(new, cell.get("source"))}
        if kind == "code":
            fields |= {"execution_count": None, "outputs": []}
        if str(cell.get("cell_type", "code")) != kind:
            kept = {name: item for name, item in cell.items() if name not in ("outputs", "execution_count")}
            return self._exchanged(self._spans[place], {**kept, **fields})
        members = json_spans.members(self.text, self._spans[place][0])
        if any(name not in members for name in fields):
            return self._exchanged(self._spans[place], {**cell, **fields})
        text = self.text
        for name, (start, end) in sorted(members.items(), key=lambda item: -item[1][0]):
            if name in fields and fields[name] != cell.get(name):
                margin = json_spans.margin_at(self.text, start)
                text = text[:start] + json_spans.rendered(fields[name], self._indent, margin) + text[end:]
        return text

    def insert(self, after: int, new: str, kind: str) -> tuple[str, str, str]:
        """A new cell after the one at `after`; -1 = before all."""
        cell: Json = {"cell_type": kind}
        if kind == "code":
            cell["execution_count"] = None
        name = f"cell-{after + 1}"
        if self._has_ids:
            cell["id"] = name = self._fresh_id(new)
        cell["metadata"] = {}
        if kind == "code":
            cell["outputs"] = []
        cell["source"] = _source(new, None)
        if not self._spans:
            return name, kind, self._exchanged(self._array, [cell])
        near = self._spans[max(after, 0)]
        margin = json_spans.margin_at(self.text, near[0])
        made = json_spans.rendered(cell, self._indent, margin)
        comma = f",\n{margin}" if self._indent else ","
        if after < 0:
            return name, kind, self.text[: near[0]] + made + comma + self.text[near[0] :]
        return name, kind, self.text[: near[1]] + comma + made + self.text[near[1] :]

    def delete(self, place: int) -> str:
        """The text without that cell and one of the commas beside it."""
        if len(self._spans) == 1:
            return self._exchanged(self._array, [])
        start, end = self._spans[place]
        if place + 1 < len(self._spans):
            return self.text[:start] + self.text[self._spans[place + 1][0] :]
        return self.text[: self._spans[place - 1][1]] + self.text[end:]

    def _exchanged(self, span: Span, item: Any) -> str:
        margin = json_spans.margin_at(self.text, span[0])
        return self.text[: span[0]] + json_spans.rendered(item, self._indent, margin) + self.text[span[1] :]

    def _fresh_id(self, source: str) -> str:
        """Eight hexadecimal digits, as notebooks have them; the same edit gives the same id."""
        from zlib import crc32

        taken = {cell.get("id") for cell in self.cells}
        number = crc32(source.encode("utf-8"), len(self.cells))
        while f"{number:08x}" in taken:
            number = (number + 1) & 0xFFFFFFFF
        return f"{number:08x}"


def _source(text: str, like: Any) -> str | list[str]:
    """Notebooks keep a source as a list of lines; one that is a string stays a string."""
    return text if isinstance(like, str) else text.splitlines(keepends=True)
