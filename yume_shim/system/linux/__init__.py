"""What only Linux has: Landlock, seccomp filters, namespaces, and `/proc`."""
