"""The direct transport: one streaming POST over a socket of our own.

frames     body bytes -> frames (SSE, JSON lines, whole JSON); the SDK transport uses it too
transport  DirectTransport: puts them together, keeps connections
"""
