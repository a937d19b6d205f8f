"""The wishes of whoever started us: flags, environment, settings files and keys, resolved into values."""
