"""Facts about endpoints and models that the next process can use."""
