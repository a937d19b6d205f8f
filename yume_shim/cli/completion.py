"""Shell completion: click's, with what it gets wrong made right. Loaded only when a shell asks."""

from __future__ import annotations

from click.shell_completion import FishComplete, add_completion_class


class WholeDescriptions(FishComplete):
    """click's script for fish splits an answer at every comma, so a description would end at its first one."""

    source_template = FishComplete.source_template.replace('string split ","', 'string split --max 1 ","')


add_completion_class(WholeDescriptions, "fish")
