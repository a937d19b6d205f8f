"""What only macOS has: the profile of a confined command."""
