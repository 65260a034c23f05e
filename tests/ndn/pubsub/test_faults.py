"""Whatever lines lose, repeat, delay and reorder: at most once, and receipts that are true."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from rumormill.core.machine import Deliver, Hold, Unsubscribe
from rumormill.ndn.effects import PublicationEnded
from rumormill.ndn.pubsub.parameters import PubSubParameters
from tests.helpers.ndn.pubsub import Member, Packet, Town

LASTING = {"topics", "publishers", "names"}
"""What is kept for longer than a message: subscriptions, and two caches that have bounds."""


class Weather(NamedTuple):
    """How bad the lines are, and what else happens."""

    seed: int
    loss: float
    repeat: float
    slowest: float
    multicast: bool
    nacks: bool
    subscribers: int
    messages: int
    upheavals: int
    """How often somebody leaves the topic, loses its line or falls behind, for a while."""
    large: bool
    """Messages in segments."""


weathers = st.builds(
    Weather,
    seed=st.integers(0, 1 << 32),
    loss=st.sampled_from([0.0, 0.05, 0.2, 0.5]),
    repeat=st.sampled_from([0.0, 0.1, 0.5]),
    slowest=st.sampled_from([0.01, 0.4, 1.5]),
    multicast=st.booleans(),
    nacks=st.booleans(),
    subscribers=st.integers(0, 3),
    messages=st.integers(1, 6),
    upheavals=st.integers(0, 3),
    large=st.booleans(),
)


def story(weather: Weather) -> tuple[Town, Member, list[Member]]:
    """What happens in such weather, until long after."""
    chance = Random(weather.seed)

    def faults(packet: Packet) -> Sequence[float]:
        copies = 0 if chance.random() < weather.loss else 1
        if copies and chance.random() < weather.repeat:
            copies = 2
        return [chance.uniform(0.001, weather.slowest) for _ in range(copies)]

    parameters = PubSubParameters(segments=True, segment_size=500, largest_packet=1200)
    town = Town(multicast=weather.multicast, nacks=weather.nacks, faults=faults, seed=weather.seed)
    alice = town.add("/alice", parameters=parameters)
    others = [
        town.add(f"/bob/{number}", "/t/x", parameters=parameters)
        for number in range(weather.subscribers)
    ]
    town.run(1)
    for _ in range(weather.upheavals if others else 0):
        _upheaval(town, chance, chance.choice([alice, *others]))
    for number in range(weather.messages):
        size = 3000 if weather.large and number % 2 else 20
        town.later(chance.uniform(0, 3), alice.publish, "/t/x", b"%d " % number + bytes(size))
    town.run(30)
    return town, alice, others


def _upheaval(town: Town, chance: Random, who: Member) -> None:
    begin, length = chance.uniform(0, 4), chance.uniform(0.1, 3)
    kind = chance.random()
    if who.name != "/alice" and kind < 0.3:
        town.later(begin, who.feed, Hold(True))
        town.later(begin + length, who.feed, Hold(False))
    elif who.name != "/alice" and kind < 0.6:
        town.later(begin, who.feed, Unsubscribe("/t/x"))
        town.later(begin + length, who.subscribe, "/t/x")
    else:
        town.later(begin, who.disconnect)
        town.later(begin + length, who.connect)


def deliveries(member: Member) -> Counter[bytes]:
    """How often each message came."""
    return Counter(each.message.id for each in member.of(Deliver))


@given(weathers)
def test_nothing_is_delivered_twice_and_receipts_are_true(weather: Weather) -> None:
    _, alice, others = story(weather)
    came = [deliveries(other) for other in others]
    for each in came:
        assert set(each.values()) <= {1}
    ended = alice.of(PublicationEnded)
    assert sorted(each.token for each in ended) == list(range(1, weather.messages + 1))
    for _, receipt in ended:
        times = sum(each[receipt.id] for each in came)
        if receipt.outcome == "delivered":
            assert times >= 1
        elif receipt.outcome == "no_subscriber":
            assert times == 0
        else:
            assert receipt.outcome == "unknown"


@given(weathers)
def test_after_a_quiet_time_everything_is_forgotten(weather: Weather) -> None:
    town, alice, others = story(weather)
    town.run(PubSubParameters().deduplication_seconds + 70)
    for member in (alice, *others):
        left = {what: size for what, size in member.pubsub.sizes().items() if size}
        assert set(left) <= LASTING
        assert member.pubsub.next_wake() is None


@given(weathers)
def test_the_same_seed_gives_the_same_trace(weather: Weather) -> None:
    first, second = story(weather)[0], story(weather)[0]
    assert [event.to_json_line() for event in first.trace] == [
        event.to_json_line() for event in second.trace
    ]
    assert first.sent == second.sent


def test_in_fair_weather_everything_is_delivered() -> None:
    fair = Weather(1, 0.0, 0.0, 0.01, True, True, 3, 6, 0, True)
    _, alice, others = story(fair)
    assert alice.outcomes == ["delivered"] * 6
    assert [sum(deliveries(other).values()) for other in others] == [6, 6, 6]
