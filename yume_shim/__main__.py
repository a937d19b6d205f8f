"""`python -m yume_shim`."""

from yume_shim.cli.main import entry

entry()
