"""All rows of the catalogue of errors, in the order of the document."""

from __future__ import annotations

from yume_shim.types.error_entries.failures import FAILURES
from yume_shim.types.error_entries.host import HOST
from yume_shim.types.error_entries.outcomes import OUTCOMES
from yume_shim.types.error_entries.start import START
from yume_shim.types.error_entries.warnings import WARNINGS
from yume_shim.types.error_entries.work import HOOKS, MCP, STORE, TOOLS

ENTRIES = (*FAILURES, *OUTCOMES, *WARNINGS, *START, *HOST, *TOOLS, *MCP, *HOOKS, *STORE)
