"""Ten minutes with churn and steady publishing: what is held after three is held after ten."""

from __future__ import annotations

import gc
import random
import tracemalloc
from collections.abc import Iterator
from statistics import mean

import pytest

from rumormill.libp2p.pubsub.inbound.recent import MOST_MESSAGES
from rumormill.simulate import Churn, topology
from tests.helpers.libp2p.pubsub_network import TOPIC, PubsubNetwork, names

NODES = names(20)
RATE = 2.0
"""Messages a second in the whole network."""
MINUTE = 60.0
EARLY, LATE = (3 * MINUTE, 4.5 * MINUTE), (8.5 * MINUTE, 10 * MINUTE)


class Run:
    """The network and what was measured of it, every ten seconds."""

    def __init__(self) -> None:
        pairs = topology.random_regular(NODES, 8, random.Random(1))
        self.network = network = PubsubNetwork(
            NODES, pairs, keep=False, gossipsub={"D": 4, "D_low": 3, "D_high": 5, "D_lazy": 3}
        )
        network.subscribe()
        network.subscribe(NODES[::2], topic="second")
        self.churn = Churn(
            network.simulation, NODES[5:], lambda name, entropy: network.machine(name, entropy),
            mean_uptime=60.0, mean_downtime=10.0, returned=lambda name: network.subscribe([name]),
        )  # fmt: skip
        self.memory: list[tuple[float, int]] = []
        self.largest: dict[str, int] = {}

    def run_until(self, end: float) -> None:
        simulation = self.network.simulation
        chance = random.Random(2)
        next_sample = 0.0
        while simulation.now < end:
            self.network.run(1 / RATE)
            alive = [name for name in NODES if simulation.alive(name)]
            # Some publish on a topic that they do not listen to: fanouts come and go too.
            topic = "second" if chance.random() < 0.1 else TOPIC
            self.network.publish(chance.choice(alive), topic)
            if simulation.now >= next_sample:
                next_sample = simulation.now + 10.0
                self.sample(alive)

    def sample(self, alive: list[str]) -> None:
        now = self.network.simulation.now
        if now < EARLY[0]:
            return
        if not EARLY[1] < now < LATE[0]:
            gc.collect()
            self.memory.append((now, tracemalloc.get_traced_memory()[0]))
        for name in alive:
            for key, size in self.network.node(name).sizes().items():
                self.largest[key] = max(size, self.largest.get(key, 0))

    def mean_memory(self, between: tuple[float, float]) -> float:
        start, end = between
        return mean(held for time, held in self.memory if start <= time <= end)


@pytest.fixture(scope="module")
def ten_minutes() -> Iterator[Run]:
    gc.collect()
    tracemalloc.start()
    try:
        run = Run()
        run.run_until(10 * MINUTE)
        yield run
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_memory_after_ten_minutes_is_what_it_was_after_three(ten_minutes: Run) -> None:
    assert ten_minutes.mean_memory(LATE) < ten_minutes.mean_memory(EARLY) * 1.1
    assert ten_minutes.churn.leaves > 80


@pytest.mark.slow
def test_every_table_of_every_node_stays_within_what_the_traffic_explains(ten_minutes: Run) -> None:
    remembered = RATE * 121.0 * 1.1
    expected = {
        "peers": 8, "topics": 2, "peer_topics": 16, "seen": remembered, "checks": RATE * 2,
        "queued": 8, "mesh": 16, "backoffs": 16, "fanout": 9, "cached": RATE * 6 * 1.5,
        "published_topics": 2, "authors": 0, "scores": 8, "retained_scores": 16,
        "topic_scores": 48, "score_addresses": 0, "score_deliveries": 0,
        "debtors": 0, "unread_bytes": 0, "peer_records": 0, "exchange_waiting": 0,
        "exchange_dialed": 0, "exchange_budgets": 0, "promises": 8, "direct_peers": 0,
        "blacklisted": 0, "dont_want": 0, "dont_want_told": 0, "behind": 8, "losing": 0,
        "relays": 0, "extensions_agreed": 0, "extensions_heard": 8, "recent": MOST_MESSAGES,
        "barred_topics": 0, "topics_with_peers": 2, "peers_with_topics": 8,
        "check_bytes": RATE * 2 * 1024, "asked_ids": RATE * 6, "gossip_budgets": 8,
        "direct_dials": 0, "extensions_awaited": 8,
    }  # fmt: skip
    assert set(expected) == set(ten_minutes.largest)
    for key, size in ten_minutes.largest.items():
        assert size <= expected[key], key


@pytest.mark.slow
def test_the_network_worked_all_the_while(ten_minutes: Run) -> None:
    counts = ten_minutes.network.simulation.trace_counts
    assert counts["published"] > 9 * MINUTE * RATE
    assert counts["delivered"] > 10 * counts["published"]
    assert counts["protocol_error"] == 0
