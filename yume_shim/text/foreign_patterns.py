"""Compiles regular expressions that a user, a workspace or a model wrote: whatever is wrong with one is `re.error`."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern


def compile_foreign(pattern: str, flags: int = 0) -> Pattern[str]:
    """The compiled pattern. Raises re.error."""
    import warnings

    # Python warns on stderr of what may mean something else one day; its author writes for another program
    warnings.filterwarnings("ignore", "Possible (nested set|set )", FutureWarning)
    try:
        return re.compile(pattern, flags)
    except RecursionError:
        raise re.error("it is nested too deep") from None
    except OverflowError as error:
        raise re.error(str(error)) from None
