"""Hooks: commands and host callbacks that watch, guard or change what the session does."""
