"""What the operating system knows about processes; for the rooms that start some."""
