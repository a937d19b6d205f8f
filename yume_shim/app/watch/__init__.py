"""`yume-shim watch`: running sessions live in the browser. Reads transcripts, and nothing else."""
