"""Routes by hand, as the user writes them."""

from __future__ import annotations

from typing import NamedTuple

from rumormill.core.errors import LocalProtocolError
from rumormill.ndn.wire.name import Name, name_from_uri

SCHEMES = ("tcp://", "udp://", "unix://")

LARGEST_COST = 0xFFFFFFFF


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
    address = prefix = ""
    for scheme in SCHEMES:
        # Components may have equals signs of their own (8=x): the address begins at its scheme.
        before, found, after = text.rpartition(f"={scheme}")
        if found:
            prefix, address = before, scheme + after
    address, comma, cost = address.partition(",")
    if not prefix.startswith(("/", "ndn:")) or not address or (comma and not cost.isdecimal()):
        raise ValueError(f"a route must be /PREFIX=ADDRESS or /PREFIX=ADDRESS,COST, not {text!r}")
    if comma and not int(cost) <= LARGEST_COST:
        raise ValueError(f"the cost of a route must be at most {LARGEST_COST}, not {cost}")
    try:
        name = name_from_uri(prefix)
    except LocalProtocolError as error:
        raise ValueError(str(error)) from None
    return StaticRoute(name, address, int(cost) if comma else 1)
