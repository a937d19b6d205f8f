"""What several adapters share: blocks from deltas, call ids, error bodies, failure kinds."""
