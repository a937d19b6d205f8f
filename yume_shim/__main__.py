"""`python -m yume_shim`."""

try:
    from yume_shim.cli.main import entry
except KeyboardInterrupt:  # before anything was read; `entry` does the same from here on
    import os

    os._exit(130)

entry()
