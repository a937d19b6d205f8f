"""Shared by the shell tools: processes, the shells of a session, the orphan watcher, the sandbox."""
