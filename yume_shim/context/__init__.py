"""What the model gets besides the prompt: system prompt, instructions, a legal history. Only the engine uses it."""
