"""The built-in tools as a source: their specs, their session state, validation and dispatch."""
