"""Telemetry: metrics, events and traces for an OpenTelemetry collector, made from the events of a session.

`feed.py` listens to the events and is all that is loaded while a turn waits for its first answer; its thread loads the
rest. Nothing of this room is imported where telemetry is off, and no other room knows it but `app`.
"""
