"""Routes by hand, as the user writes them."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from rumormill.core.errors import LocalProtocolError
from rumormill.ndn.faces.addresses import canonical, read_address
from rumormill.ndn.wire.name import Name, name_from_uri

LARGEST_COST: Final = 0xFFFFFFFF

_ROUTE: Final = re.compile(
    r"(?P<prefix>(?:ndn:)?/.*)=(?P<address>(?:tcp|udp|unix)[46]?://[^,]+)(?:,(?P<cost>[0-9]{1,10}))?"
)
"""Components may have equals signs of their own (8=x): the address begins at its scheme."""


class StaticRoute(NamedTuple):
    """Interests below ``prefix`` go to ``address``."""

    prefix: Name
    address: str
    cost: int = 1


def read_static_route(text: str) -> StaticRoute:
    """Read ``/prefix=ADDRESS`` or ``/prefix=ADDRESS,COST``; ValueError if it is none.

    >>> read_static_route("/weather=tcp://192.0.2.7:6363,5")
    StaticRoute(prefix=b'\\x08\\x07weather', address='tcp://192.0.2.7:6363', cost=5)
    >>> read_static_route("/weather")
    Traceback (most recent call last):
    ...
    ValueError: a route must be /PREFIX=ADDRESS or /PREFIX=ADDRESS,COST, not '/weather'
    """
    found = _ROUTE.fullmatch(text)
    if found is None:
        raise ValueError(f"a route must be /PREFIX=ADDRESS or /PREFIX=ADDRESS,COST, not {text!r}")
    cost = int(found["cost"] or 1)
    if cost > LARGEST_COST:
        raise ValueError(f"the cost of a route must be at most {LARGEST_COST}, not {cost}")
    try:
        address = canonical(found["address"])
        name = name_from_uri(found["prefix"])
    except LocalProtocolError as error:
        raise ValueError(str(error)) from None
    of_udp = address.startswith("udp")
    if of_udp and (read_address(address).version is None or not address.startswith("udp://")):
        # Datagrams say where they come from by numbers, and nobody looks names up in here.
        raise ValueError(f"by UDP a route must lead to an IP address, not to {address!r}")
    return StaticRoute(name, address, cost)
