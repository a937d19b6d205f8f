"""The edges of the process: stdin, stdout, stderr, signals, control requests, questions to the host."""
