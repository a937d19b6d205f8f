"""How a path is resolved and how a file is opened: the same for every room. Standard library only, no threads."""
