"""What the file tools share: reading, atomic writing, diffs, checkpoints, notebooks."""
