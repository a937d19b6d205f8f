"""The Skill tool, and the list of skills that the model reads."""
