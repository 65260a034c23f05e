"""Commands that open networks: what is opened and how it stands, ``sub``, ``pub`` and ``node``."""
