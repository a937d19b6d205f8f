"""What endpoints report about their models: limits and model lists."""
