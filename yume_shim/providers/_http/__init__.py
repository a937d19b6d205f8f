"""The direct transport: one streaming POST over a socket of our own.

url        addresses: base URL + path, what goes into the request line
proxy      which proxy the environment names for an address, and the CONNECT request
connect    names -> sockets, TLS
message    HTTP/1.1 as it comes off a socket: heads, bodies, content codings
frames     body bytes -> frames (SSE, JSON lines, whole JSON); the SDK transport uses it too
transport  DirectTransport: puts them together, keeps connections
"""
