"""Trace events of a gossipsub network in a spool, any number of them, from a seed.

    python -m bench.spark.trace_events SPOOL --events 20000000 --seed 1

writes them as captured from all nodes together. It is a model, not a simulation: each message
travels the mesh of its topic with random delays, and everything that follows from them is written
down. There is what a real trace has: a first copy from the quickest neighbour, further copies from
the others, losses, gossip that repairs most of them (``asked``), rejections, meshes that change,
packets with counts. Events are in the order of time but for those near the end of a slice of time,
which may come a slice late.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rumormill.capture.parameters import SpoolParameters
from rumormill.capture.schema import TRACE, TRACE_SCHEMA
from rumormill.capture.writing.writer import SpoolWriter

Integers = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]

START_US = 1_767_225_600_000_000  # 2026-01-01
NONE = -1
"""The code of a value that an event does not have."""

EVENTS = (
    "published", "delivered", "duplicate", "asked", "rejected", "ignored", "subscribed",
    "peer_joined", "peer_left", "grafted", "pruned", "packet_sent", "packet_received", "dropped",
)  # fmt: skip
CODE = {name: code for code, name in enumerate(EVENTS)}
REASONS = ("invalid_signature", "not_subscribed", "queue_full", "oversubscribed", "closed")
SLICE_SECONDS = 10.0
"""Events of so much time are made at once."""
ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


@dataclass(frozen=True)
class Network:
    """What the network is like."""

    nodes: int = 100
    topics: int = 8
    degree: int = 6
    """Of each mesh; a node gets about as many copies of a message, less one."""
    subscribed: float = 0.6
    """The share of nodes that listen to a topic."""
    messages_per_second: float = 20.0
    loss: float = 0.02
    """Of copies on their way."""
    unreached: float = 0.02
    """The share of nodes to which no neighbour brings a message."""
    repaired: float = 0.9
    """The share of nodes that get by gossip what no neighbour brought."""
    packets: float = 0.1
    """The share of events that are about packets."""
    seed: int = 1


class _Columns:
    """Events in the making, as columns of codes."""

    NAMES = ("time", "event", "node", "peer", "topic", "message", "size", "reason")

    def __init__(self) -> None:
        self._parts: list[dict[str, Integers]] = []
        self.rows = 0

    def add(self, event: str, time: Integers, **columns: Integers | int) -> None:
        rows = len(time)
        part = {name: np.full(rows, NONE, np.int64) for name in self.NAMES}
        part["time"], part["event"][:] = time, CODE[event]
        for name, values in columns.items():
            part[name][:] = values
        self._parts.append(part)
        self.rows += rows

    def take(self) -> dict[str, Integers]:
        """All of them in the order of time."""
        whole = {name: np.concatenate([part[name] for part in self._parts]) for name in self.NAMES}
        order = np.argsort(whole["time"], kind="stable")
        self._parts, self.rows = [], 0
        return {name: values[order] for name, values in whole.items()}


class Generator:
    """Makes the events of a network, slice by slice of time."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._random = np.random.default_rng(network.seed)
        self._raw_ids = [_raw_id(number) for number in range(network.nodes)]
        self.node_names = [_name(raw_id) for raw_id in self._raw_ids]
        self.topic_names = [f"topic-{number}" for number in range(network.topics)]
        self._sequence = 0
        self._now = START_US
        self._columns = _Columns()
        self._members = [self._choose_members() for _ in range(network.topics)]
        self._meshes = [
            _ring_mesh(len(each), network.degree, self._random) for each in self._members
        ]
        weights = 1.0 / np.arange(1, network.topics + 1)
        self._topic_shares = weights / weights.sum()

    def _choose_members(self) -> Integers:
        wanted = max(
            self._network.degree + 1, round(self._network.nodes * self._network.subscribed)
        )
        return np.sort(self._random.choice(self._network.nodes, wanted, replace=False))

    def batches(self, events: int) -> Iterator[pa.Table]:
        """So many events, in tables of a slice of time each."""
        self._open()
        made = 0
        while made < events:
            table = self._table(self._slice(SLICE_SECONDS)).slice(0, events - made)
            made += table.num_rows
            yield table

    def as_busy_as(self, network: Network) -> None:
        """From now on as many messages as in this network."""
        self._network = replace(self._network, messages_per_second=network.messages_per_second)

    def spans(self, seconds: float) -> Iterator[pa.Table]:
        """Such a span of time after the other, without end."""
        self._open()
        while True:
            left, tables = seconds, []
            while left > 0:
                tables.append(self._table(self._slice(min(left, SLICE_SECONDS))))
                left -= SLICE_SECONDS
            yield pa.concat_tables([table.cast(TRACE_SCHEMA) for table in tables])

    # ---- the parts of a slice

    def _open(self) -> None:
        for topic, members in enumerate(self._members):
            times = self._now - self._random.integers(0, 1_000_000, len(members))
            self._columns.add("subscribed", times, node=members, topic=topic)
            links = self._meshes[topic]
            near, far = np.repeat(members, links.shape[1]), members[links].ravel()
            times = self._now + self._random.integers(0, 500_000, len(near))
            self._columns.add("grafted", times, node=near, peer=far, topic=topic)
        pairs = np.unique(
            np.concatenate([self._pairs(topic) for topic in range(len(self._members))])
        )
        near, far = pairs // self._network.nodes, pairs % self._network.nodes
        times = self._now - self._random.integers(0, 2_000_000, len(pairs))
        self._columns.add("peer_joined", times, node=near, peer=far)

    def _pairs(self, topic: int) -> Integers:
        members, links = self._members[topic], self._meshes[topic]
        near, far = np.repeat(members, links.shape[1]), members[links].ravel()
        return near * self._network.nodes + far

    def _slice(self, seconds: float) -> dict[str, Integers]:
        network, random = self._network, self._random
        messages = random.poisson(network.messages_per_second * seconds)
        times = np.sort(random.uniform(0, seconds, messages)) * 1e6
        topics = random.choice(network.topics, messages, p=self._topic_shares)
        self._first_sequence = self._sequence
        self._publishers = np.zeros(messages, np.int64)
        for topic in range(network.topics):
            (chosen,) = np.nonzero(topics == topic)
            if len(chosen):
                self._propagate(topic, chosen, self._now + times[chosen].astype(np.int64))
        self._change_mesh(seconds)
        self._add_packets(seconds)
        self._sequence += messages
        self._now += int(seconds * 1e6)
        return self._columns.take()

    def _propagate(self, topic: int, chosen: Integers, published: Integers) -> None:
        """All messages of a slice on one topic: one row each, one column a member."""
        random, members, links = self._random, self._members[topic], self._meshes[topic]
        rows, (count, degree) = len(chosen), links.shape
        publishers = random.integers(0, count, rows)
        self._publishers[chosen] = members[publishers]
        messages, sizes = self._first_sequence + chosen, random.integers(100, 2000, rows)
        self._columns.add(
            "published",
            published,
            node=members[publishers],
            topic=topic,
            message=messages,
            size=sizes,
        )
        self._columns.add(
            "delivered", published + 60, node=members[publishers], topic=topic, message=messages,
            size=sizes,
        )  # fmt: skip
        # delays[m, v, i]: of message m from the i-th neighbour of v to v
        delays = random.gamma(2.0, 6.0, (rows, count, degree)) + 1.0
        delays[random.random(delays.shape) < self._network.loss] = np.inf
        delays[random.random((rows, count)) < self._network.unreached] = np.inf
        arrival = np.full((rows, count), np.inf)
        arrival[np.arange(rows), publishers] = 0.0
        for _ in range(12):
            fresh = np.minimum(arrival, (arrival[:, links] + delays).min(axis=2))
            if (fresh == arrival).all():
                break
            arrival = fresh
        copies = arrival[:, links] + delays
        best = copies.argmin(axis=2)
        parent = np.take_along_axis(links[None], best[:, :, None], 2)[:, :, 0]
        parent[np.arange(rows), publishers] = NONE
        got = np.isfinite(arrival)
        got[np.arange(rows), publishers] = False
        row, node = np.nonzero(got)
        moments = published[row] + (arrival[row, node] * 1000).astype(np.int64)
        self._columns.add(
            "delivered", moments, node=members[node], peer=members[parent[row, node]], topic=topic,
            message=messages[row], size=sizes[row],
        )  # fmt: skip
        # A neighbour sends to everyone but the one that it has the message from.
        repeated = np.isfinite(copies) & (parent[:, links] != np.arange(count)[None, :, None])
        np.put_along_axis(repeated, best[:, :, None], ~got[:, :, None] & False, 2)
        row, node, place = np.nonzero(repeated)
        moments = published[row] + (copies[row, node, place] * 1000).astype(np.int64)
        self._columns.add(
            "duplicate", moments, node=members[node], peer=members[links[node, place]], topic=topic,
            message=messages[row],
        )  # fmt: skip
        self._gossip(topic, published, messages, sizes, arrival)
        self._refuse(topic, published, messages)

    def _gossip(
        self, topic: int, published: Integers, messages: Integers, sizes: Integers, arrival: Numbers
    ) -> None:
        """What no neighbour brought is asked for at the next heartbeat, mostly."""
        random, members = self._random, self._members[topic]
        row, node = np.nonzero(~np.isfinite(arrival))
        kept = random.random(len(row)) < self._network.repaired
        row, node = row[kept], node[kept]
        holders = arrival[row].argmin(axis=1)  # the publisher has it for sure
        asked = published[row] + random.integers(200_000, 1_200_000, len(row))
        common = {"node": members[node], "peer": members[holders], "message": messages[row]}
        self._columns.add("asked", asked, **common)
        moments = asked + random.integers(2_000, 40_000, len(row))
        self._columns.add("delivered", moments, **common, topic=topic, size=sizes[row])

    def _refuse(self, topic: int, published: Integers, messages: Integers) -> None:
        random, members = self._random, self._members[topic]
        for event, share, reason in (("rejected", 0.02, 0), ("ignored", 0.05, 1)):
            (row,) = np.nonzero(random.random(len(messages)) < share)
            nodes, peers = (random.choice(members, len(row)) for _ in range(2))
            moments = published[row] + random.integers(1_000, 90_000, len(row))
            self._columns.add(
                event, moments, node=nodes, peer=peers, topic=topic, message=messages[row],
                reason=reason,
            )  # fmt: skip

    def _change_mesh(self, seconds: float) -> None:
        """About once a second somebody prunes a neighbour and grafts it again a little later."""
        random = self._random
        for _ in range(random.poisson(seconds)):
            topic = int(random.integers(self._network.topics))
            members, links = self._members[topic], self._meshes[topic]
            near = int(random.integers(len(members)))
            far = int(links[near, random.integers(links.shape[1])])
            moment = self._now + int(random.integers(0, int(seconds * 1e6)))
            for node, peer in ((near, far), (far, near)):
                both = {"node": members[node : node + 1], "peer": members[peer : peer + 1]}
                self._columns.add("pruned", np.array([moment]), **both, topic=topic, reason=3)
                self._columns.add("grafted", np.array([moment + 900_000]), **both, topic=topic)

    def _add_packets(self, seconds: float) -> None:
        share = self._network.packets
        count = round(self._columns.rows * share / (1 - share) / 2)
        pairs = np.concatenate([self._pairs(topic) for topic in range(len(self._members))])
        chosen = self._random.choice(pairs, count)
        near, far = chosen // self._network.nodes, chosen % self._network.nodes
        moments = self._now + self._random.integers(0, int(seconds * 1e6), count)
        sizes = self._random.integers(60, 4000, count)
        self._columns.add("packet_sent", moments, node=near, peer=far, size=sizes)
        self._columns.add("packet_received", moments + 9_000, node=far, peer=near, size=sizes)

    # ---- as a table

    def _table(self, columns: dict[str, Integers]) -> pa.Table:
        rows = len(columns["time"])
        senders = self._publishers
        ids = pa.array(
            [
                self._raw_ids[publisher] + (self._first_sequence + place).to_bytes(8, "big")
                for place, publisher in enumerate(senders)
            ],
            pa.binary(),
        )
        message = np.where(columns["message"] < 0, NONE, columns["message"] - self._first_sequence)
        nodes = pa.array(self.node_names)
        event = columns["event"]
        wrote = np.where(event == CODE["delivered"], np.append(senders, NONE)[message], NONE)
        packet = (event == CODE["packet_sent"]) | (event == CODE["packet_received"])
        values = {
            "time": pa.array(columns["time"], pa.timestamp("us", tz="UTC")),
            "network": _coded(np.zeros(rows, np.int64), pa.array(["gossipsub"])),
            "node": _coded(columns["node"], nodes),
            "event": _coded(event, pa.array(EVENTS)),
            "topic": _coded(columns["topic"], pa.array(self.topic_names)),
            "message_id": _coded(message, ids),
            "peer": _coded(columns["peer"], nodes),
            "size": pa.array(columns["size"], mask=columns["size"] < 0),
            "count": pa.nulls(rows, pa.int64()),
            "reason": _coded(columns["reason"], pa.array(REASONS)),
            "sender": _coded(wrote, nodes),
            "fields": _coded(np.where(packet, columns["size"] % len(FIELDS), NONE), FIELDS),
        }
        return pa.table([values[field.name] for field in TRACE_SCHEMA], names=TRACE_SCHEMA.names)


FIELDS = pa.array(
    [
        f'{{"messages":{messages},"ihave":{ihave},"iwant":{iwant}}}'
        for messages in range(4)
        for ihave in range(6)
        for iwant in range(3)
    ]
)


def _coded(codes: Integers, values: pa.Array) -> pa.Array:
    indices = pa.array(codes.astype(np.int32), mask=codes < 0)
    return pa.DictionaryArray.from_arrays(indices, values)


def _raw_id(number: int) -> bytes:
    """As an Ed25519 peer id: six bytes that are always the same, and a key that looks random."""
    return b"\x00\x24\x08\x01\x12\x20" + hashlib.sha256(number.to_bytes(8, "big")).digest()


def _name(raw_id: bytes) -> str:
    """The same in base 58, as people write it."""
    number, letters = int.from_bytes(raw_id, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        letters = ALPHABET[digit] + letters
    return "1" + letters


def _ring_mesh(count: int, degree: int, random: np.random.Generator) -> Integers:
    """Neighbours of each of ``count`` nodes: a symmetric mesh of ``degree``, an even number.

    Rings over random orders, one for every two neighbours; now and then two of them coincide.
    """
    links = np.empty((count, degree), np.int64)
    for ring in range(degree // 2):
        order = random.permutation(count)
        links[order, 2 * ring] = np.roll(order, 1)
        links[order, 2 * ring + 1] = np.roll(order, -1)
    return links


def write(spool: Path, events: int, network: Network = Network()) -> int:  # noqa: B008
    """Fill a spool; returns its bytes on disk."""
    for batch in Generator(network).batches(events):
        add(spool, batch)
    return sum(file.stat().st_size for file in spool.rglob("*") if file.is_file())


def add(spool: Path, events: pa.Table, keep_bytes: int | None = None) -> None:
    """Add these to a spool, in batches as large as a node's; old ones go if it gets too large."""
    parameters = SpoolParameters(fsync="never", retention_bytes=keep_bytes)
    with SpoolWriter(spool, parameters, live=False) as writer:
        for batch in events.cast(TRACE_SCHEMA).to_batches(max_chunksize=parameters.batch_records):
            writer.batch(TRACE, batch)


def at_rate(events_per_second: float, network: Network = Network()) -> Network:  # noqa: B008
    """A network like this one that makes about so many events a second."""
    seconds = 30.0
    first = next(Generator(network).spans(seconds))
    factor = events_per_second * seconds / first.num_rows
    return replace(network, messages_per_second=network.messages_per_second * factor)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.spark.trace_events", description=__doc__)
    parser.add_argument("spool", type=Path)
    parser.add_argument("--events", type=int, default=20_000_000)
    parser.add_argument("--nodes", type=int, default=Network.nodes)
    parser.add_argument("--seed", type=int, default=Network.seed)
    arguments = parser.parse_args()
    network = Network(nodes=arguments.nodes, seed=arguments.seed)
    size = write(arguments.spool, arguments.events, network)
    print(f"{arguments.events} events, {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
