"""The direct transport: one streaming POST over our own socket (`net/`).

transport  DirectTransport: sends requests, keeps connections
stream     DirectStream: the open response
frames     body bytes -> frames (SSE, JSON lines, whole JSON); the SDK transport uses it too
"""
