"""The worker process: decodes images and PDFs that the program was given, one job after the other.

A job is a line of JSON (`{"job", "size", …}`) followed by `size` bytes of the file, on stdin. The reply has the same
form, on stdout. Nothing else is written there: decoders that print get the null device. `worker_process` starts the
worker, and kills it when a job takes too long.
"""

from __future__ import annotations

import os

from yume_shim.providers.fitting.media.images import Limits, MediaRefused
from yume_shim.text.codec import dumps, loads
from yume_shim.types.packages import missing_package

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.types.blocks import Json

    Job = Callable[[Json, bytes], tuple[Json, bytes]]

MAX_MEMORY = 3 << 30
"""Address space of the process. An image of 80 million pixels takes 320 MB, and up to four copies while it changes."""
MAX_SECONDS = 45.0
"""The process ends itself when a job takes longer: the parent kills it before, unless the parent is gone."""
STDIN, STDOUT, STDERR = 0, 1, 2


def main() -> int:
    """Do jobs until stdin ends."""
    import faulthandler

    from yume_shim.system import limit_memory

    limit_memory(MAX_MEMORY)
    jobs = open(STDIN, "rb", closefd=False)  # noqa: SIM115
    replies = open(os.dup(STDOUT), "wb")  # noqa: SIM115
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, STDOUT)
    os.dup2(nowhere, STDERR)
    while line := jobs.readline():
        job = loads(line)
        data = jobs.read(job["size"])
        faulthandler.dump_traceback_later(MAX_SECONDS, exit=True, file=STDERR)  # needs no running Python code
        reply, made = do(job, data)
        faulthandler.cancel_dump_traceback_later()
        replies.write(dumps({**reply, "size": len(made)}) + b"\n" + made)
        replies.flush()
    return 0


def do(job: Json, data: bytes) -> tuple[Json, bytes]:
    """The reply to one job. Never raises."""
    try:
        return JOBS[job["job"]](job, data)
    except MediaRefused as refused:
        return {"refused": str(refused)}, b""
    except ImportError as error:
        return {"refused": missing_package(error) or str(error)}, b""
    except Exception as error:  # broken files make decoders raise anything
        return {"refused": f"it cannot be read ({type(error).__name__})"}, b""


def _convert_image(job: Json, data: bytes) -> tuple[Json, bytes]:
    from yume_shim.providers.fitting.media.convert_image import convert_image

    kind, made = convert_image(data, job["kind"], Limits(tuple(job["formats"]), job["bytes"], job["side"]))
    return {"kind": kind}, made


def _pdf_text(job: Json, data: bytes) -> tuple[Json, bytes]:
    from yume_shim.providers.fitting.media.pdf_text import pdf_text

    found = pdf_text(data)
    return {"note": found.note}, found.text.encode("utf-8", "surrogatepass")


def _page_count(job: Json, data: bytes) -> tuple[Json, bytes]:
    from yume_shim.providers.fitting.media.pdf_text import page_count

    return {"pages": page_count(data)}, b""


JOBS: dict[str, Job] = {"convert_image": _convert_image, "pdf_text": _pdf_text, "page_count": _page_count}
