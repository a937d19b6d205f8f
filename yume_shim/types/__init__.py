"""The values and ports that every room shares. Standard library only, no I/O, no threads."""
