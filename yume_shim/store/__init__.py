"""Session transcripts in the Claude CLI's format, so that its readers can read ours."""
