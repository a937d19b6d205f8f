"""The SDK transport: the vendors' own clients send the requests; some clouds need them to sign in.

transport  SdkTransport and its stream
clients    the clients of anthropic, openai and google
clouds     sign-in with Bedrock, Vertex, Azure
"""
