"""Whether a call may run: modes, rules, paths, what a shell command does, and the questions put to the host."""
