"""The asyncio side of this family: networks, settings, certificates in folders."""
