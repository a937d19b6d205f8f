"""Sockets, TLS, proxies and HTTP/1.1 for everything that talks to the network."""
