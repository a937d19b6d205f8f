"""Fuzz targets: each module feeds bytes of the outside world to the part that reads them, in this process."""
