"""Reads a prompt that comes as plain text: the argument, all of stdin, or both."""

from __future__ import annotations

import os
import threading

from yume_shim.types.errors import BadInvocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from yume_shim.types.settings import HostSettings

GRACE_SECONDS = 3.0
"""How long to wait for the first byte of stdin when the prompt was given as an argument, as the Claude CLI does."""
MAX_PROMPT_BYTES = 64 * 1024 * 1024
_CHUNK = 64 * 1024

NO_INPUT = "Error: Input must be provided either through stdin or as a prompt argument when using --print"
NO_PROMPT = "Error: --no-stdin needs a prompt argument"


class _StdinBytes:
    """Reads stdin to its end on a thread. `first` is set at the first byte or the end, `done` at the end; the rest is
    read by others only after `done`."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.parts: list[bytes] = []
        self.first = threading.Event()
        self.done = threading.Event()
        self.too_long = False
        threading.Thread(target=self._run, name="stdin", daemon=True).start()

    def _run(self) -> None:
        size = 0
        try:
            while chunk := os.read(self._fd, _CHUNK):
                size += len(chunk)
                if size > MAX_PROMPT_BYTES:
                    self.too_long = True
                    break
                self.parts.append(chunk)
                self.first.set()
        except OSError:
            pass  # a closed stdin counts as empty
        self.done.set()
        self.first.set()


def read_prompt(
    fd: int, host: HostSettings, stopped: Callable[[], bool], log: Callable[[str, str], None]
) -> str | None:
    """The whole prompt; None when `stopped` became true meanwhile. Raises BadInvocation when there is none."""
    prompt, hint = host.prompt, host.swallowed_prompt
    body = "" if not host.read_stdin or _is_terminal(fd) else _body(fd, prompt, stopped, log)
    if body is None:
        return None
    # argument first, as `echo body | claude -p prompt` does it
    whole = f"{prompt}\n{body}" if prompt and body else prompt or body
    if not whole:
        wanted = NO_INPUT if host.read_stdin else NO_PROMPT
        raise BadInvocation(f"{wanted}. {hint}" if hint else wanted)
    if not whole.strip():
        raise BadInvocation("Error: Input contained only whitespace: give a prompt as an argument or through stdin")
    return whole


def _body(fd: int, prompt: str | None, stopped: Callable[[], bool], log: Callable[[str, str], None]) -> str | None:
    stdin = _StdinBytes(fd)
    if prompt and not _wait(stdin.first, GRACE_SECONDS, stopped):
        if stopped():
            return None
        log("warning", f"no stdin data in {GRACE_SECONDS:.0f} s: continuing with the prompt argument alone")
        return ""
    while not _wait(stdin.done, GRACE_SECONDS, stopped):
        if stopped():
            return None
    if stdin.too_long:
        raise BadInvocation(f"the prompt on stdin is longer than {MAX_PROMPT_BYTES} bytes")
    return b"".join(stdin.parts).removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")


def _wait(event: threading.Event, seconds: float, stopped: Callable[[], bool]) -> bool:
    """Wait in slices, so that a signal is noticed."""
    slices = max(1, round(seconds / 0.05))
    for _ in range(slices):
        if event.wait(0.05):
            return True
        if stopped():
            return False
    return False


def _is_terminal(fd: int) -> bool:
    try:
        return os.isatty(fd)
    except OSError:
        return True  # closed: nothing to read
