"""The SDK transport: requests sent by the vendors' own clients, and the clouds that need them."""
