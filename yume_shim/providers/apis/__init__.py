"""One adapter per wire API: requests encoded, streamed frames decoded. Found by name."""
