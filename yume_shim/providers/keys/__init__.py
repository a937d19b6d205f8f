"""Several keys for one endpoint, used in turn."""
