"""The libp2p family on asyncio: its networks, their settings, keys in files."""
