"""Endpoints and models as data, and the resolution of model names."""
