"""Routes by hand, as the user writes them."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from rumormill.core.errors import LocalProtocolError
from rumormill.ndn.faces.addresses import canonical, read_address
from rumormill.ndn.wire.name import Name, name_from_uri

LARGEST_COST: Final = 0xFFFFFFFF
LONGEST_COST: Final = 20

_ADDRESS: Final = re.compile(r"=(?=(?:tcp|udp|unix)[46]?://)")
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
    prefix, *rest = _ADDRESS.split(text, maxsplit=1)
    if not rest or not prefix.startswith(("/", "ndn:/")):
        raise ValueError(f"a route must be /PREFIX=ADDRESS or /PREFIX=ADDRESS,COST, not {text!r}")
    address, comma, cost = rest[0].rpartition(",")
    if not comma or not (cost.isascii() and cost.isdecimal()):
        address, cost = rest[0], "1"  # paths of sockets may have commas, too
    if len(cost) > LONGEST_COST or int(cost) > LARGEST_COST:
        raise ValueError(f"the cost of a route must be at most {LARGEST_COST}, not {cost[:20]}")
    try:
        address = canonical(address)
        name = name_from_uri(prefix)
    except LocalProtocolError as error:
        raise ValueError(str(error)) from None
    of_udp = address.startswith("udp")
    if of_udp and (read_address(address).version is None or not address.startswith("udp://")):
        # Datagrams say where they come from by numbers, and nobody looks names up in here.
        raise ValueError(f"by UDP a route must lead to an IP address, not to {address!r}")
    return StaticRoute(name, address, int(cost))
