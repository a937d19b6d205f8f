"""What endpoints say about their models: limits and model lists."""
