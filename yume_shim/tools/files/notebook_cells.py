"""Shows notebooks to the model: cells and their outputs as text, pictures as images."""

from __future__ import annotations

from yume_shim.types.blocks import Image, Text
from yume_shim.types.outputs import ToolOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from yume_shim.types.blocks import Document, Json

MAX_OUTPUT = 10_000
"""Characters of one cell's text output."""
IMAGE_TYPES = ("image/png", "image/jpeg")


def show(shown: str, cells: list[Json]) -> ToolOutput:
    """One text block per cell, followed by its outputs."""
    blocks: list[Text | Image | Document] = []
    facts: list[Json] = []
    for place, cell in enumerate(cells):
        name = cell.get("id") if isinstance(cell.get("id"), str) else f"cell-{place}"
        kind, source = str(cell.get("cell_type", "code")), _joined(cell.get("source"))
        mark = "" if kind == "code" else f"<cell_type>{kind}</cell_type>"
        blocks.append(Text(f'<cell id="{name}">{mark}{source}</cell id="{name}">'))
        fact: Json = {"cellType": kind, "source": source, "cell_id": name}
        if kind == "code":
            fact["execution_count"] = cell.get("execution_count")
            text, images = _outputs(cell.get("outputs"))
            fact["outputs"] = [{"output_type": "text", "text": text}] if text else []
            if text:
                blocks.append(Text(text))
            blocks += images
        facts.append(fact)
    content = tuple(blocks) or (Text("(the notebook has no cells)"),)
    return ToolOutput(content, {"type": "notebook", "file": {"filePath": shown, "cells": facts}})


def _outputs(outputs: Any) -> tuple[str, list[Image]]:
    texts: list[str] = []
    images: list[Image] = []
    for output in outputs if isinstance(outputs, list) else ():
        if not isinstance(output, dict):
            continue
        texts.append(_joined(output.get("text")))
        data = output.get("data")
        if isinstance(data, dict):
            texts.append(_joined(data.get("text/plain")))
            images += [Image(kind, _joined(data[kind]).replace("\n", "")) for kind in IMAGE_TYPES if kind in data]
        if output.get("output_type") == "error":
            texts.append(f"{output.get('ename', 'Error')}: {output.get('evalue', '')}")
    text = "\n".join(part for part in texts if part)
    if len(text) > MAX_OUTPUT:
        text = f"{text[:MAX_OUTPUT]}\n… [{len(text) - MAX_OUTPUT} more characters of output]"
    return text, images


def _joined(part: Any) -> str:
    """Notebooks keep text as a string or as a list of lines."""
    if isinstance(part, list):
        return "".join(line for line in part if isinstance(line, str))
    return part if isinstance(part, str) else ""
