"""What the lines on stdout are made of: one record per line and per object inside a line.

`flat_records.RECORDS` and `nested_records.RECORDS` list the lines of each dialect. The objects inside them are reached
through the annotations. `types/record.py` explains how records work and how to read a definition.
"""
