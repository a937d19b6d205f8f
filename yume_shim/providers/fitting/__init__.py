"""A request fitted to its endpoint: media, schemas, sampling, tools as text, adaptations after refusals."""
