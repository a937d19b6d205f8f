"""Measure the page of a long session: the time to make it, to open it in Chromium, to filter and to search.

`python3 scripts/bench_pages.py [TURNS]` (1,000 by default). Times in the browser depend on what else the machine does.
"""

from __future__ import annotations

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
                opened.open(path.as_uri())
                opened.wait("performance.getEntriesByType('navigation')[0].loadEventEnd")
                interactive, loaded = opened.run(OPENED)
                filtered = [opened.run(FILTER) for _ in range(2)]
                searched = opened.run(SEARCH)
                print(
                    f"interactive {interactive:.0f} ms, loaded {loaded:.0f} ms, tools off {filtered[0]:.0f} ms, "
                    f"on {filtered[1]:.0f} ms, search {searched:.0f} ms (90 ms of it waiting for the next key)"
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
