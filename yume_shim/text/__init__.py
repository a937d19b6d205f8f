"""Pure functions over strings and bytes; they use no type of the project."""
