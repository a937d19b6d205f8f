"""Several keys for one endpoint."""
