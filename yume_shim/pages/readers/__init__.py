"""Readers: transcript lines and recorded output streams become a `Document`."""
