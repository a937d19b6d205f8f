"""Tools for models without native tool calls: a text protocol in the prompt, and calls read from the answer's text."""
