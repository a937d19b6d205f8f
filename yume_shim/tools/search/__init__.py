"""Shared by the search tools: patterns, walking folders, the search process, the fallback for ripgrep."""
