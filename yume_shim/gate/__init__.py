"""Decides whether a call may run: modes, rules, paths, what a shell command does, and questions to the host."""
