"""Code that several adapters share: blocks from deltas, ids and names, error bodies, failures."""
