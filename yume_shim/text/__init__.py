"""Pure functions over strings and bytes; they know no type of the project."""
