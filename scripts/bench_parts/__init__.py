"""What `scripts/bench.py` is made of: the upstream, the programs, the measurements, the report."""
