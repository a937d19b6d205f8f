"""What the model is told: system prompt, standing instructions, a history its API accepts. Only the engine sees it."""
