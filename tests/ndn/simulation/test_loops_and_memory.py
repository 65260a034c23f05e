"""Interests that go in circles end, and nothing is kept for ever."""

from __future__ import annotations

from random import Random

import pytest

from rumormill.core.trace import PACKET_SENT
from rumormill.simulate import Link
from rumormill.simulate.topology import random_regular, ring
from tests.helpers.ndn.nodes import Country


@pytest.mark.parametrize("strategy", ["best-route", "multicast"])
def test_routes_by_hand_in_a_circle_make_no_packets_without_end(strategy: str) -> None:
    names = "abcd"
    country = Country(
        names,
        announce=False,
        strategy=strategy,
        own_keys={
            name: {"routes": f"/weather=tcp://10.0.0.{(number + 1) % 4 + 1}:6363"}
            for number, name in enumerate(names)
        },
    )
    country.run(2.0)
    assert all(country[name].subscribers("/weather") for name in names)
    before = country.simulation.trace_counts[PACKET_SENT]
    token = country.publish("a", "/weather")
    country.run(20.0)
    assert country.outcome(token) == "no_subscriber"
    sent = [
        each.fields["interests"]
        for each in country.simulation.trace
        if each.event == PACKET_SENT and each.time > 2.0
    ]
    assert country.simulation.trace_counts[PACKET_SENT] > before
    assert sum(int(count or 0) for count in sent) <= 4 * 3 * 2  # nodes, attempts, and Nacks


@pytest.mark.parametrize("strategy", ["best-route", "multicast"])
def test_where_there_are_many_ways_each_interest_passes_each_line_once_at_most(
    strategy: str,
) -> None:
    names = [f"n{number}" for number in range(10)]
    pairs = random_regular(names, 4, Random(5))
    country = Country(names, pairs, strategy=strategy)
    country.subscribe("/weather", "n9", "n4")
    country.run(10.0)
    start = country.simulation.now
    for number in range(50):
        country.publish("n0", "/weather", b"%d" % number)
        country.run(0.1)
    country.run(1.0)
    assert country.outcomes() == {"delivered": 50}
    sent = [
        int(each.fields["interests"] or 0)
        for each in country.simulation.trace
        if each.event == PACKET_SENT and each.time > start
    ]
    hellos = 2 * len(pairs) * 3
    # A notification and a fetch, in both directions of each line at most.
    assert sum(sent) - hellos <= 50 * 2 * 2 * len(pairs)


def test_after_much_traffic_and_a_quiet_time_nothing_is_left() -> None:
    names = "abcdef"
    country = Country(
        names, ring(names), by="udp", link=Link(latency=0.01, loss=0.05), keep_trace=False,
        deduplication_seconds=30.0, max_cs_packets=100,
    )  # fmt: skip
    country.subscribe("/weather", "d")
    country.run(60.0)
    before = {name: country[name].sizes() for name in names}
    for number in range(500):
        country.publish("abcef"[number % 5], "/weather", b"%d" % number)
        country.publish("abcef"[number % 5], "/nobody", b"%d" % number)
        country.run(0.05)
    country.run(120.0)
    for name in names:
        after = country[name].sizes()
        kept = {"cs", "cs_bytes", "cs_names", "names", "accounts", "face_accounts", "publishers"}
        grown = {key for key in after if after[key] > before[name][key]}
        assert grown <= kept, {key: (before[name][key], after[key]) for key in grown}
        assert after["cs"] <= 100
