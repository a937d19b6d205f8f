"""The words of the program: frozen values that every room shares. Stdlib only, no I/O, no threads."""
