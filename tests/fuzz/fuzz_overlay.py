"""Fuzz a node of an overlay: queries, answers to its own questions, verdicts, commands and time, in
any order. It never raises, says only packets, keeps its bounds and believes no forged value."""

from __future__ import annotations

import contextlib
import random
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2]))

from tests.helpers.core.machines import AnyEffect, AnyInput
from tests.helpers.fuzz.fuzzing import Choices, fuzz, instrumented

with instrumented(__name__):
    from rumormill.bep50.effects import Contact, Join, Offer, Publish, Restore
    from rumormill.bep50.overlay.node import OverlayNode
    from rumormill.bep50.overlay.parameters import OverlayParameters
    from rumormill.bep50.wire.bencode import Dict, Value
    from rumormill.bep50.wire.krpc import (
        Answer,
        Query,
        answer_packet,
        bytes_of,
        failure_packet,
        query_packet,
        read_packet,
    )
    from rumormill.core.errors import LocalProtocolError
    from rumormill.core.machine import (
        Check,
        Checked,
        Deliver,
        Received,
        Send,
        Subscribe,
        Unsubscribe,
    )
    from rumormill.core.transport import Listening
    from tests.helpers.bep50.siege import (
        KEY,
        OWN_ID,
        OWN_PEER,
        TOPIC,
        item,
        item_values,
        node_id,
        nodes_at,
    )

PARAMETERS = OverlayParameters(
    most_addresses=20, most_checks=4, most_copies=3, most_queries=12, most_contacts=6,
    most_topics=3, work_share=0.005, work_burst=0.006, home_capacity=2,
)  # fmt: skip
PEERS = ["10.0.1.1:1", "10.0.1.2:2", "192.0.2.3:3", "[2001:db8::4]:4", "[2001:db8::5]:5", OWN_PEER]
ITEMS = [item(seq, f"value {seq}") for seq in range(8)]
FORGED = [each._replace(signature=bytes(64)) for each in ITEMS]
OTHERS = [TOPIC.text, TOPIC.public_key.hex(), f"{TOPIC.public_key.hex()}:b", "01" * 32, "nonsense"]
METHODS = ["ping", "find_node", "get", "put", "get_peers", "x"]
VERDICTS = ["accept", "reject", "ignore", "forged", "overloaded"]


class Bench:
    """Drives the machine, and checks what must always hold."""

    def __init__(self) -> None:
        self.now = 0.0
        self.open_checks: list[Check] = []
        self.open_queries: list[tuple[str, Query]] = []
        self.tokens: dict[str, bytes] = {}
        source = random.Random(1)
        self.node = OverlayNode(OWN_ID, [KEY], PARAMETERS, source, source)
        self.feed(Listening((OWN_PEER,)))
        self.feed(Subscribe(TOPIC.text))

    def feed(self, input: AnyInput) -> None:
        self.carry_out(self.node.handle(input, self.now))

    def carry_out(self, effects: list[AnyEffect]) -> None:
        for effect in effects:
            if isinstance(effect, Send):
                assert len(effect.packet) <= 1400, "too large for a frame"
                packet = read_packet(effect.packet)
                if isinstance(packet, Query):
                    self.open_queries.append((effect.peer, packet))
                    del self.open_queries[:-40]
                elif isinstance(packet, Answer) and b"token" in packet.values:
                    self.tokens[effect.peer] = bytes_of(packet.values, b"token")
            elif isinstance(effect, Check):
                self.open_checks.append(effect)
            elif isinstance(effect, Deliver):
                assert effect.message.topic in self.node.topics

    def check(self) -> None:
        sizes = self.node.sizes()
        assert sizes["checks"] <= PARAMETERS.most_checks + 2
        assert sizes["waiting"] <= PARAMETERS.most_checks * PARAMETERS.most_copies
        assert sizes["accounts"] <= PARAMETERS.most_addresses
        assert sizes["proofs"] <= PARAMETERS.most_addresses
        assert sizes["topics"] <= PARAMETERS.most_topics
        assert sizes["contacts"] <= PARAMETERS.most_contacts
        overlays = 2 * PARAMETERS.most_topics
        assert sizes.get("overlay_queries", 0) <= PARAMETERS.most_queries * overlays
        assert sizes.get("overlay_entries", 0) <= len(PEERS) * overlays
        assert OWN_PEER not in self.node.peers()

    # ---- what others say

    def ask(self, choices: Choices) -> None:
        peer = PEERS[choices.number(len(PEERS))]
        arguments = fields(choices)
        if choices.number(2):
            arguments[b"token"] = self.tokens.get(peer, b"token")
        topic = [TOPIC.target, TOPIC.target, b"o" * 20, None][choices.number(4)]
        method = METHODS[choices.number(len(METHODS))]
        raw = query_packet(b"aa", method, arguments, topic, choices.number(4) == 0)
        self.feed(Received(peer, raw))

    def answer(self, choices: Choices) -> None:
        """Answer a question of the node, or one that it never put."""
        if not self.open_queries:
            return
        peer, query = self.open_queries.pop(choices.number(len(self.open_queries)))
        if choices.number(8) == 0:
            peer = PEERS[choices.number(len(PEERS))]
        topic = query.topic if choices.number(8) else None
        if choices.number(4) == 0:
            code = [201, 203, 204, 206, 301, 302][choices.number(6)]
            raw = failure_packet(query.transaction, code, "no", topic)
        else:
            raw = answer_packet(query.transaction, fields(choices), topic, bytes(6))
        self.feed(Received(peer, raw))

    def verdict(self, choices: Choices) -> None:
        """The verdicts of an honest check; what a validator thinks is free."""
        if not self.open_checks:
            return
        check = self.open_checks.pop(choices.number(len(self.open_checks)))
        verdict = VERDICTS[choices.number(len(VERDICTS))]
        if verdict in ("accept", "reject", "ignore") and check.subject.signature == bytes(64):
            verdict = "forged"
        self.feed(Checked(check.token, verdict))

    # ---- what we want

    def command(self, choices: Choices) -> None:
        kind, topic = choices.number(7), OTHERS[choices.number(len(OTHERS))]
        with contextlib.suppress(LocalProtocolError):
            if kind == 0:
                self.feed(Subscribe(topic))
            elif kind == 1:
                self.feed(Unsubscribe(topic))
            elif kind == 2:
                self.feed(Join(topic))
            elif kind == 3:
                cas = [None, 0, 3][choices.number(3)]
                self.feed(Publish(topic, choices.take(choices.number(5)) or b"1:v", cas))
            elif kind == 4:
                peers = tuple(PEERS[choices.number(len(PEERS))] for _ in range(choices.number(4)))
                self.feed(Contact([None, TOPIC.target][choices.number(2)], peers))
            elif kind == 5:
                self.feed(Offer([*ITEMS, *FORGED][choices.number(16)]))
            else:
                state = bytearray(self.node.state())
                state[choices.number(256) % len(state)] ^= choices.number(256)
                self.feed(Restore(bytes(state)))

    def act(self, choices: Choices) -> None:
        action = choices.number(8)
        if action <= 1:
            self.ask(choices)
        elif action <= 3:
            self.answer(choices)
        elif action == 4:
            self.verdict(choices)
        elif action == 5:
            self.command(choices)
        elif action == 6:
            self.now += [0.1, 1.0, 3.0, 250.0][choices.number(4)]
            self.carry_out(self.node.wake(self.now))
        else:
            peer = PEERS[choices.number(len(PEERS))]
            self.feed(Received(peer, choices.take(choices.number(64))))


def fields(choices: Choices) -> Dict:
    """Arguments or values, most of them good."""
    number = choices.number(8)
    made: Dict = {
        b"id": [node_id(number), node_id(number + 8), OWN_ID][choices.number(3)],
        b"nodes": nodes_at(*PEERS[: choices.number(3)]),
        b"nodes6": nodes_at(*PEERS[3 : 3 + choices.number(3)]),
        b"target": TOPIC.target,
        b"token": b"t",
        b"salt": TOPIC.salt,
    }
    if choices.number(4):
        made |= item_values((ITEMS if choices.number(3) else FORGED)[choices.number(8)])
    wrong: list[Value] = [0, -1, 1 << 64, b"", bytes(90), [], {}, [b"n4", b"n6"]]
    names = [b"target", b"seq", b"k", b"v", b"sig", b"token", b"nodes", b"salt", b"want", b"cas"]
    while choices.number(4) == 3:
        made[names[choices.number(len(names))]] = wrong[choices.number(len(wrong))]
    return made


def target(data: bytes) -> None:
    choices = Choices(data)
    bench = Bench()
    while choices:
        bench.act(choices)
        bench.check()
        latest = bench.node.latest(TOPIC.text)
        if latest is not None:
            assert latest.signature != bytes(64), "a forged value is believed"


SEEDS = [
    # A contact that answers, a put with its token, a verdict, time.
    bytes((5, 4, 0, 1, 1, 0, 2, 1, 0, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 4, 0, 0, 6, 1, 6, 3)),
    # A stranger asks for a token and puts.
    bytes((0, 2, 1, 0, 0, 0, 0, 0, 0, 2, 1, 0, 2, 1, 0, 0, 0, 1, 1, 5, 0, 1, 0, 3, 1, 4, 0, 0)),
    bytes((5, 3, 0, 0, 2, 6, 2, 5, 6, 0, 9, 1, 6, 3, 5, 5, 0, 3)),
    bytes(range(1, 200)),
    bytes(reversed(range(200))),
]

if __name__ == "__main__":
    fuzz(target, SEEDS)
