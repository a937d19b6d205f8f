"""The process's edges: stdin lines in, stdout lines out, control requests, signals, stderr."""
