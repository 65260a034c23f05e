"""Answering: what each query gets, and how little an address gets that has proven nothing."""

from __future__ import annotations

from typing import Any

import pytest

from rumormill.bep50.overlay.traffic.outbox import Outbox
from rumormill.bep50.overlay.traffic.replies import Replies
from rumormill.bep50.wire.addresses import compact
from rumormill.bep50.wire.krpc import answer_packet
from rumormill.core import trace
from rumormill.core.machine import Send
from tests.helpers.bep50.overlay_network import KEY, OTHER_TOPIC, TOPIC, OverlayNetwork

STRANGER = "10.9.9.9:1"
TEXT = TOPIC.text


def ask(
    network: OverlayNetwork,
    node: str,
    method: str,
    source: str = STRANGER,
    topic: bytes | None = TOPIC.target,
    read_only: bool = False,
    **arguments: Any,
) -> dict[bytes, Any] | None:
    """Ask a node; its answer, if it gives one."""
    before = len(network.packets)
    packet: dict[bytes, Any] = {
        b"a": {b"id": b"s" * 20, **{key.encode(): each for key, each in arguments.items()}},
        b"q": method.encode(),
        b"t": b"tt",
        b"y": b"q",
    }
    if topic is not None:
        packet[b"c"] = topic
    if read_only:
        packet[b"ro"] = 1
    network.send(source, node, packet)
    answers = [
        each
        for each in network.sent(node, source)[-(len(network.packets) - before) :]
        if each[b"t"] == b"tt"
    ]
    return answers[-1] if answers and len(network.packets) > before else None


@pytest.fixture
def network() -> OverlayNetwork:
    network = OverlayNetwork()
    addresses = network.add_many(12)
    network.publish(addresses[0], b"news")
    network.run(2)
    network.forget()
    return network


@pytest.fixture
def node(network: OverlayNetwork) -> str:
    return next(iter(network.nodes))


def test_every_answer_has_the_topic_our_id_and_the_address_of_who_asked(
    network: OverlayNetwork, node: str
) -> None:
    for method in ("ping", "find_node", "get", "get_peers"):
        answer = ask(network, node, method, target=TOPIC.target)
        assert answer is not None
        assert answer[b"c"] == TOPIC.target and answer[b"ip"] == compact(STRANGER)
        if method != "get_peers":
            assert answer[b"r"][b"id"] == network.nodes[node].id


@pytest.mark.parametrize("method", ["get_peers", "announce_peer", "vote", "sample_infohashes"])
def test_prohibited_methods_are_unknown(network: OverlayNetwork, node: str, method: str) -> None:
    answer = ask(network, node, method, info_hash=TOPIC.target, target=TOPIC.target)
    assert answer is not None and answer[b"e"][0] == 204


def test_an_unknown_topic_is_said_to_be_so(network: OverlayNetwork, node: str) -> None:
    answer = ask(network, node, "ping", topic=OTHER_TOPIC.target)
    assert answer is not None
    assert answer[b"e"] == [203, b"unknown topic"] and answer[b"c"] == OTHER_TOPIC.target


def test_a_query_without_a_topic_gets_no_answer(network: OverlayNetwork, node: str) -> None:
    assert ask(network, node, "ping", topic=None) is None
    network.run(2)
    (dropped,) = network.events(node, trace.DROPPED)
    assert dropped.fields == {"what": "query", "reason": "no_topic", "count": 1}


def test_another_item_than_the_topics_cannot_be_got(network: OverlayNetwork, node: str) -> None:
    answer = ask(network, node, "get", target=OTHER_TOPIC.target)
    assert answer is not None and answer[b"e"][0] == 203


# ---- addresses that have proven nothing


def test_an_address_that_has_proven_nothing_gets_the_number_but_not_the_value(
    network: OverlayNetwork, node: str
) -> None:
    answer = ask(network, node, "get", target=TOPIC.target)
    assert answer is not None
    values = answer[b"r"]
    assert values[b"seq"] == 1 and b"v" not in values and b"sig" not in values
    assert len(values[b"nodes"]) == 2 * 26 and len(values[b"token"]) == 8


def test_a_token_of_ours_proves_the_address(network: OverlayNetwork, node: str) -> None:
    first = ask(network, node, "get", target=TOPIC.target)
    assert first is not None
    token = first[b"r"][b"token"]
    answer = ask(network, node, "get", target=TOPIC.target, token=token)
    assert answer is not None
    assert answer[b"r"][b"v"] == b"news" and len(answer[b"r"][b"nodes"]) == 8 * 26
    stolen = ask(network, node, "get", "10.9.9.8:1", target=TOPIC.target, token=token)
    assert stolen is not None and b"v" not in stolen[b"r"]


def test_an_address_that_has_proven_nothing_is_pinged_once_and_proven_by_its_answer(
    network: OverlayNetwork, node: str
) -> None:
    ask(network, node, "get", target=TOPIC.target)
    ask(network, node, "get", target=TOPIC.target)
    (ping,) = network.queries(node, "ping", STRANGER)
    pong = {b"r": {b"id": b"s" * 20}, b"t": ping[b"t"], b"y": b"r", b"c": TOPIC.target}
    network.send(STRANGER, node, pong)
    answer = ask(network, node, "get", target=TOPIC.target)
    assert answer is not None and answer[b"r"][b"v"] == b"news"


def test_the_question_comes_before_the_answer(network: OverlayNetwork, node: str) -> None:
    ask(network, node, "get", target=TOPIC.target)
    kinds = [each[b"y"] for each in network.sent(node, STRANGER)]
    assert kinds == [b"q", b"r"]


def test_pings_to_strangers_are_limited_in_all() -> None:
    network = OverlayNetwork()
    node = network.add(ping_back_rate=5.0)
    network.add(contacts=[node])
    network.run(1)
    for number in range(100):
        ask(network, node, "ping", f"10.8.0.{number}:1")
    assert len(network.queries(node, "ping")) <= 11


def test_a_read_only_asker_is_answered_but_never_asked(network: OverlayNetwork, node: str) -> None:
    answer = ask(network, node, "get", read_only=True, target=TOPIC.target)
    assert answer is not None and network.queries(node, "ping", STRANGER) == []
    assert STRANGER not in network.nodes[node].peers()


def test_a_query_alone_gives_nobody_a_place_in_the_table(
    network: OverlayNetwork, node: str
) -> None:
    for number in range(20):
        ask(network, node, "find_node", f"10.8.0.{number}:1", target=bytes(20))
    assert not [peer for peer in network.nodes[node].peers() if peer.startswith("10.8.")]


# ---- values and numbers


def proven(network: OverlayNetwork, node: str) -> bytes:
    answer = ask(network, node, "get", target=TOPIC.target)
    assert answer is not None
    return bytes(answer[b"r"][b"token"])


@pytest.mark.parametrize(("seq", "value"), [(None, True), (0, True), (1, False), (9, False)])
def test_a_value_is_given_only_to_who_has_an_older_one(
    network: OverlayNetwork, node: str, seq: int | None, value: bool
) -> None:
    more: dict[str, Any] = {} if seq is None else {"seq": seq}
    token = proven(network, node)
    answer = ask(network, node, "get", target=TOPIC.target, token=token, **more)
    assert answer is not None
    assert (b"v" in answer[b"r"]) is value and answer[b"r"][b"seq"] == 1


def test_a_large_value_has_few_nodes_beside_it() -> None:
    network = OverlayNetwork()
    addresses = network.add_many(12)
    network.publish(addresses[0], b"x" * 990)
    network.run(2)
    token = proven(network, addresses[0])
    answer = ask(network, addresses[0], "get", target=TOPIC.target, token=token)
    assert answer is not None and len(answer[b"r"][b"v"]) == 990
    longest = max(len(packet) for _, _, _, packet in network.packets)
    assert longest <= 1400


def test_both_families_can_be_wanted(network: OverlayNetwork, node: str) -> None:
    token = proven(network, node)
    arguments: dict[str, Any] = {"target": TOPIC.target, "token": token}
    only_six = ask(network, node, "find_node", want=[b"n6"], **arguments)
    assert only_six is not None and b"nodes" not in only_six[b"r"]
    both = ask(network, node, "find_node", want=[b"n4", b"n6"], **arguments)
    assert both is not None and len(both[b"r"][b"nodes"]) == 8 * 26


def test_find_node_names_the_nearest_to_the_target_without_the_asker(
    network: OverlayNetwork, node: str
) -> None:
    table = network.nodes[node].topic_nodes[TOPIC.target].overlays[0].table
    asker = table.entries[0]
    answer = ask(network, node, "find_node", asker.peer, target=asker.id)
    assert answer is not None
    expected = [each for each in table.closest(asker.id, 9) if each is not asker][:8]
    named = answer[b"r"][b"nodes"]
    assert named == b"".join(each.id + compact(each.peer) for each in expected)


# ---- floods


def test_past_its_allowance_an_address_gets_no_answer_and_that_is_counted() -> None:
    network = OverlayNetwork()
    node = network.add(work_share=0.001, work_burst=0.002)
    answers = [ask(network, node, "ping", f"10.9.9.9:{port}") for port in range(1, 101)]
    assert sum(each is not None for each in answers) == 21
    assert ask(network, node, "ping", "10.9.9.8:1") is not None, "another address has its own"
    network.run(1.1)
    (held_back,) = network.events(node, trace.HELD_BACK)
    assert held_back.peer == "10.9.9.9:21"
    assert held_back.fields == {"reason": "queries", "seconds": 1.0}
    (dropped,) = network.events(node, trace.DROPPED)
    assert dropped.peer == "10.9.9.9:21"
    assert dropped.fields == {"what": "datagram", "reason": "held_back", "count": 79}
    assert ask(network, node, "ping") is not None


def test_a_neighbour_that_asks_with_a_number_gets_no_put_of_that_value() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    network.loses = lambda by, to, packet: True
    item = KEY.item(b"", 4, b"1:x")
    for address in (first, second):
        network.nodes[address].topic_nodes[TOPIC.target].hold(item, None)
    entry = network.nodes[second].topic_nodes[TOPIC.target].entry(first)
    assert entry is not None
    ask(network, first, "get", second, target=TOPIC.target, seq=4, token=entry.token)
    held = network.nodes[first].topic_nodes[TOPIC.target].entry(second)
    assert held is not None and held.seq == 4
    held.seq = -1
    ask(network, first, "get", second, target=TOPIC.target, seq=4)
    assert held.seq == -1, "anybody could have said that in its name"


@pytest.mark.parametrize("source", [STRANGER, "[2001:db8::7]:1"])
@pytest.mark.parametrize("transaction", [b"", b"tt", b"t" * 20])
def test_an_acknowledgement_is_an_answer_like_any_other(source: str, transaction: bytes) -> None:
    outbox = Outbox("us", trace_packets=False)
    effects = outbox.begin(0.0)
    Replies(b"i" * 20, outbox).acknowledge(source, transaction, TOPIC.target)
    expected = answer_packet(transaction, {b"id": b"i" * 20}, TOPIC.target, compact(source))
    assert effects == [Send(source, expected)]
