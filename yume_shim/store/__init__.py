"""What is remembered of a session: transcripts in the Claude CLI's own form, so that its readers read ours."""
