"""Resolves flags, environment, settings files and keys into frozen values."""
