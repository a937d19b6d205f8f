"""`python -m yume_shim`. Python puts the working folder first on its path then: it is taken off before anything else is
imported, so that no file of a workspace runs in place of a module. (`-P` and the console script do not put it there.)
"""

import os
import sys

try:
    if sys.path[:1] == [os.getcwd()] and not sys.flags.safe_path:
        del sys.path[0]
except OSError:  # the working folder is gone, and not on the path
    pass
try:
    from yume_shim.cli.main import entry
except KeyboardInterrupt:  # before anything was read; `entry` does the same from here on
    os._exit(130)

entry()
