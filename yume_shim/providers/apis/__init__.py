"""One adapter per wire API: encodes requests, decodes streamed frames. An adapter is found by its API's name."""
