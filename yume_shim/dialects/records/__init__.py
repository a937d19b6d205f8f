"""What the lines on stdout are made of: one record per line and per object inside a line.

`index.py` lists the lines of each dialect. The objects inside them are reached through the annotations.
`types/record.py` explains how records work and how to read a definition.
"""
