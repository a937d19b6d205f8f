"""The catalogue of errors: every code that people and hosts meet, what it means, and what the user can do.

Nothing of it is loaded before something has failed. docs/errors.md is generated from it.
"""
