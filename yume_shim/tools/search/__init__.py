"""What the search tools share: patterns, walking folders, the stand-in for ripgrep."""
