"""Measure the page of a long session: the time to make it, to open it in Chromium, to filter and to search.

`python3 scripts/bench_pages.py [TURNS]` (1,000 by default). Times in the browser depend on what else the machine does,
the processor time of all its processes depends on it less.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.helpers.browser import browser
from tests.helpers.page_samples import long_session
from yume_shim.pages.cleaning import Cleaner
from yume_shim.pages.html.page import page
from yume_shim.pages.readers.transcript import read_transcript
from yume_shim.text import codec

OPENED = "const all = performance.getEntriesByType('navigation')[0]; return [all.domInteractive, all.loadEventEnd]"
FRAME = "await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));"
FILTER = f"""return (async () => {{ const began = performance.now();
document.querySelector('[data-filter=tool]').click(); document.body.offsetHeight;
{FRAME} return performance.now() - began; }})()"""
SEARCH = f"""return (async () => {{ const began = performance.now(); const find = document.getElementById('find');
find.value = '1 failed'; find.dispatchEvent(new Event('input'));
while (!document.getElementById('found').textContent) await new Promise((go) => setTimeout(go, 5));
{FRAME} return performance.now() - began; }})()"""


def processor_seconds(group: int) -> float:
    """What all processes of a group have used until now."""
    ticks = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        if int(fields[2]) == group:
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def main() -> int:
    """Measure and print."""
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    data = long_session(turns).splitlines()
    codec.warm()
    began = time.process_time()
    document = read_transcript(data, Cleaner())
    read = time.process_time() - began
    html = page(document)
    made = time.process_time() - began - read
    print(
        f"{turns:,} turns, {len(data):,} lines: read in {read:.2f} s, rendered in {made:.2f} s, "
        f"{len(html) / 1e6:.1f} MB"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "page.html")
        path.write_text(html, "utf-8")
        with browser(Path(folder)) as opened:
            opened.look()
            for _ in range(3):
                before = processor_seconds(opened.pid)
                opened.open(path.as_uri())
                opened.wait("performance.getEntriesByType('navigation')[0].loadEventEnd")
                spent = processor_seconds(opened.pid) - before
                interactive, loaded = opened.run(OPENED)
                filtered = [opened.run(FILTER) for _ in range(2)]
                searched = opened.run(SEARCH)
                print(
                    f"interactive {interactive:.0f} ms, loaded {loaded:.0f} ms, {spent:.1f} s of processor time, "
                    f"tools off {filtered[0]:.0f} ms, "
                    f"on {filtered[1]:.0f} ms, search {searched:.0f} ms (90 ms of it waiting for the next key)"
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
