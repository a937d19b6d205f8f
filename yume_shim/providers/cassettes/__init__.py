"""Recorded answers: written by the recorder, played by the replay provider."""
