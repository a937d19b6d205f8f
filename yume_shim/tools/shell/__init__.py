"""What the shell tools share: processes, the orphan watcher, the sandbox."""
