"""Builds what the model gets besides the prompt: system prompt, instructions, a legal history."""
