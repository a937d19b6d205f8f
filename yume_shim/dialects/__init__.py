"""Renders events as lines for stdout. Pure: events in, line objects out; no clock, no I/O, no threads.

A line object is a dict with `type` as its first key, built from a record (`records/`). One other form exists:
`{"!text": "…"}` is text to be printed unchanged (text and JSON print modes), which the writer receives through its
`write_text`.
"""
