"""Random sessions against the real program: faults of the endpoint, of tools, of the host and of the system, judged by
what the program promises whatever happens. `scripts/chaos.py` runs many, `tests/test_chaos.py` a few."""
