"""The HTML page of a document: one file, no external request, no script from any content."""
