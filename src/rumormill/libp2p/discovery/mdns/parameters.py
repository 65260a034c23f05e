"""Parameters of mDNS."""

from __future__ import annotations

from pydantic import Field

from rumormill.core.parameters import Parameters


class MdnsParameters(Parameters):
    """How often a node asks who is near.

    >>> MdnsParameters().mdns_interval
    60.0
    """

    mdns_interval: float = Field(default=60.0, ge=1, le=3600, allow_inf_nan=False)
    """Seconds between two questions of mDNS for other nodes. The first ones come faster: after
    one second, two, four and so on. What we answer holds for twice as long."""
