"""What is known of endpoints and models, as data, and how a model's name is understood."""
