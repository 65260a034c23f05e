"""Networks of nodes that exchange parts, in virtual time: two, three in a line, many."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

from rumormill.core.trace import TraceEvent
from rumormill.libp2p.effects import FromRouter
from rumormill.libp2p.gossipsub.partial import (
    OpenPartial,
    PartialNews,
    PartList,
    PublishPartial,
)
from tests.helpers.libp2p.pubsub_network import TOPIC, PubsubNetwork, names

PARTS = [bytes((number,)) * 2000 for number in range(32)]


class PartialNetwork(PubsubNetwork):
    """Every node makes a message for each group that it hears of, and takes what comes."""

    def __init__(
        self, names: Iterable[str], pairs: Iterable[tuple[str, str]], **parameters: Any
    ) -> None:
        self.messages: dict[tuple[str, bytes], PartList] = {}
        self.news: list[tuple[str, PartialNews]] = []
        super().__init__(names, pairs, gossipsub={"partial_messages": True, **parameters})
        self.simulation.on_effect(FromRouter, self._told)

    def _told(self, name: str, effect: FromRouter) -> None:
        if isinstance(effect.news, PartialNews):
            self.news.append((name, effect.news))

    def maker(self, name: str) -> Callable[[bytes], PartList]:
        def make(group_id: bytes) -> PartList:
            return self.messages.setdefault((name, group_id), PartList(group_id, len(PARTS)))

        return make

    def open(self, request: bool = True, only: Iterable[str] | None = None) -> None:
        for name in self.names if only is None else only:
            self.simulation.command(name, OpenPartial(TOPIC, request, self.maker(name)))

    def offer(self, name: str, parts: Iterable[int], group_id: bytes = b"block") -> PartList:
        message = self.maker(name)(group_id)
        for number in parts:
            message.add(number, PARTS[number])
        self.simulation.command(name, PublishPartial(TOPIC, message))
        return message

    def complete(self, group_id: bytes = b"block") -> list[str]:
        return [
            name
            for name in self.names
            if (name, group_id) in self.messages and self.messages[name, group_id].complete
        ]

    def events(self, kind: str) -> list[TraceEvent]:
        return [each for each in self.simulation.trace if each.event == kind]


def line(count: int, **parameters: Any) -> PartialNetwork:
    nodes = names(count)
    network = PartialNetwork(nodes, itertools.pairwise(nodes), **parameters)
    network.open()
    network.subscribe()
    network.run(3.0)
    return network


def test_one_has_everything_and_the_other_knows_nothing() -> None:
    network = line(2)
    network.offer("node00", range(32))
    network.run(1.0)
    assert network.complete() == ["node00", "node01"]
    assert network.messages["node01", b"block"].data == b"".join(PARTS)


def test_one_lacks_a_single_part_and_gets_that_one() -> None:
    network = line(2)
    network.offer("node00", range(32))
    network.offer("node01", [number for number in range(32) if number != 17])
    network.run(1.0)
    assert network.complete() == ["node00", "node01"]
    taken = network.events("parts_taken")
    assert [event.node for event in taken] == ["node01"]
    assert isinstance(size := taken[0].fields["size"], int) and 2000 < size < 2100


def test_one_who_only_relays_lets_parts_pass_both_ways() -> None:
    network = line(3)
    network.offer("node00", range(0, 32, 2))
    network.offer("node02", range(1, 32, 2))
    network.run(2.0)
    assert network.complete() == ["node00", "node01", "node02"]
    assert not any(name == "node01" and not each.message for name, each in network.news)
    assert len({event.node for event in network.events("parts_taken")}) == 3


def test_no_part_comes_twice_to_anyone_in_a_line() -> None:
    network = line(4)
    network.offer("node00", range(32))
    network.run(3.0)
    assert network.complete() == names(4)
    assert [e for e in network.events("ignored") if e.fields["reason"] == "partial_known"] == []


def test_those_who_give_but_want_none_get_whole_messages_and_serve_the_others() -> None:
    nodes = names(3)
    network = PartialNetwork(nodes, [("node00", "node01"), ("node01", "node02")])
    network.open(request=False, only=["node00", "node01"])
    network.open(only=["node02"])
    network.subscribe()
    network.run(3.0)
    receipt = network.publish("node00", data=b"whole")
    network.run(1.0)
    assert sorted(network.got(receipt)) == ["node00", "node01"], "the last one wants parts"
    network.offer("node01", range(32))
    network.run(1.0)
    assert network.complete() == ["node01", "node02"]


def test_peers_outside_the_mesh_complete_by_gossip() -> None:
    nodes = names(12)
    pairs = [(a, b) for number, a in enumerate(nodes) for b in nodes[number + 1 :]]
    network = PartialNetwork(nodes, pairs, D=2, D_low=1, D_high=3, D_lazy=4)
    network.open()
    network.subscribe()
    network.run(5.0)
    network.offer("node05", range(32))
    network.run(6.0)
    assert network.complete() == nodes


def test_many_nodes_with_a_few_parts_each_all_complete() -> None:
    nodes = names(16)
    pairs = [(a, b) for number, a in enumerate(nodes) for b in nodes[number + 1 :]]
    network = PartialNetwork(nodes, pairs, D=4, D_low=3, D_high=6)
    network.open()
    network.subscribe()
    network.run(5.0)
    for number, name in enumerate(nodes):
        network.offer(name, range(number * 2, number * 2 + 2))
    network.run(5.0)
    assert network.complete() == nodes
    rejected = [event.fields for event in network.events("rejected")]
    assert rejected == []


def test_when_it_is_over_nothing_is_left() -> None:
    network = line(3, partial_group_ttl=3)
    for number in range(20):
        network.offer("node00", range(32), b"block %d" % number)
        network.run(0.5)
    network.run(6.0)
    for name in network.names:
        sizes = network.node(name).sizes()
        kept = {key: size for key, size in sizes.items() if key.startswith("partial")}
        assert kept.pop("partial_options") == len(network.node(name).peers)
        assert set(kept.values()) == {0}, name


def test_equal_seeds_give_equal_traces() -> None:
    def trace() -> list[str]:
        network = line(3)
        network.offer("node00", range(0, 32, 2))
        network.offer("node02", range(1, 32, 2))
        network.run(3.0)
        return [event.to_json_line() for event in network.simulation.trace]

    assert trace() == trace()
