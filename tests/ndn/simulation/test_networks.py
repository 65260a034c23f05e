"""Networks of nodes over TCP: lines, rings, stars and any graph; nodes crash, lines break."""

from __future__ import annotations

from random import Random

import pytest

from rumormill.simulate.topology import Pairs, line, random_regular, ring, star
from tests.helpers.ndn.nodes import Country

NAMES = [f"n{number}" for number in range(12)]
TOPOLOGIES: dict[str, Pairs] = {
    "line": line(NAMES),
    "ring": ring(NAMES),
    "star": star(NAMES),
    "regular": random_regular(NAMES, 3, Random(7)),
}


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_a_subscriber_is_found_over_any_number_of_hops(topology: str) -> None:
    country = Country(NAMES, TOPOLOGIES[topology])
    for number, name in enumerate(NAMES):
        country.subscribe(f"/topic/{number}", name)
    country.run(10.0)
    tokens = [
        country.publish(publisher, f"/topic/{number}", publisher.encode())
        for publisher in NAMES
        for number, name in enumerate(NAMES)
        if name != publisher
    ]
    country.run(5.0)
    assert [country.outcome(token) for token in tokens] == ["delivered"] * len(tokens)
    for name in NAMES:
        assert sorted(country.got(name)) == sorted(n.encode() for n in NAMES if n != name)
