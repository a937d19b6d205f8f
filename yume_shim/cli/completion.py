"""Shell completion: click's, with what it gets wrong made right."""

from __future__ import annotations


def mend_completion() -> None:
    """click's script for fish splits an answer at every comma, so a description would end at its first one."""
    from click.shell_completion import FishComplete, add_completion_class

    class WholeDescriptions(FishComplete):
        source_template = FishComplete.source_template.replace('string split ","', 'string split --max 1 ","')

    add_completion_class(WholeDescriptions, "fish")
