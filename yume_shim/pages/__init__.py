"""Shows what happened in a session: readers make a `Document`, renderers make HTML, terminal text or JSON of it. Pure;
loaded only by sub-commands for people."""
