"""Tools for models that have none: a text protocol in the prompt, calls found in the answer."""
