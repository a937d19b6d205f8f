"""Agents: definitions from files, flags and the host, and the tool that starts them as child loops."""
