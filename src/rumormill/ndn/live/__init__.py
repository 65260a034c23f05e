"""The asyncio side: networks, settings, and keys in files."""
