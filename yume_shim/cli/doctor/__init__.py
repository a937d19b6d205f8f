"""`yume-shim doctor`: what a start here would use, what is missing, and what to do about it."""
