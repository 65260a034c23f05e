"""The bep50 family on asyncio: its network, settings, keys and state in files, the main DHT."""
