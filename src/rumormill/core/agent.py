"""What our program calls itself, to peers that ask and in traces."""

from __future__ import annotations

from functools import cache


@cache
def our_agent() -> str:
    """Name and version, as most networks write them: ``rumormill/1.2.0``."""
    # Reading what is installed is slow to import, and most who need this room do not need that.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"rumormill/{version('rumormill')}"
    except PackageNotFoundError:
        return "rumormill"
