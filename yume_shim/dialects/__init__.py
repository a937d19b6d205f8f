"""What events look like on stdout. Pure: events in, line objects out; no clock, no I/O, no threads.

A line object is a dict with `type` as its first key. One other form exists: `{"!text": "…"}` is raw text to be printed
as it stands (text and JSON print modes); the writer gets it through its `write_text`.
"""
