"""What the search tools share: patterns, walking folders, the fallback for ripgrep."""
