"""Shared by the file tools: reading, atomic writing, diffs, checkpoints, notebooks."""
