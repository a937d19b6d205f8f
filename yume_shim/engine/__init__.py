"""When things happen: sessions, turns, calls, retries, limits. Knows no vendor, no dialect and no tool."""
