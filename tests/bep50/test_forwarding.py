"""Publishing and passing on: who gets a value, over how many packets, and what if one is lost."""

from __future__ import annotations

from typing import Any

import pytest
from overlay_network import KEY, LATENCY, OTHER_TOPIC, TOPIC, OverlayNetwork, address_of

from rumormill.bep50.bencode import encode
from rumormill.bep50.effects import (
    Acknowledged,
    CasMismatch,
    Join,
    Publish,
    Refused,
)
from rumormill.bep50.items import LARGEST_PUBLISHED_SEQ, Item, torrent_value
from rumormill.bep50.keys import ItemKey
from rumormill.bep50.krpc import PutTemplate
from rumormill.bep50.topic_node import message_id
from rumormill.core import trace
from rumormill.core.errors import LocalProtocolError, MessageTooLargeError
from rumormill.core.machine import Published, Received, Subscribe, Verdict
from rumormill.core.receipt import Receipt

TEXT = TOPIC.text


def puts(network: OverlayNetwork) -> int:
    """How many puts were sent by all."""
    return sum(b"1:q3:put" in packet for _, _, _, packet in network.packets)


def lose_puts_between(network: OverlayNetwork, source: str, target: str) -> None:
    network.loses = lambda by, to, packet: (by, to) == (source, target) and b"1:q3:put" in packet


# ---- out to all


def test_a_value_reaches_every_node_of_a_network_in_which_nobody_knows_all() -> None:
    network = OverlayNetwork()
    addresses = network.add_many(40)
    assert max(len(network.nodes[each].subscribers(TEXT)) for each in addresses) < 39
    network.publish(addresses[17], b"rain at noon")
    network.run(3)
    assert all(network.texts(address) == ["rain at noon"] for address in addresses)


def test_the_receipt_names_the_whole_table() -> None:
    network = OverlayNetwork()
    first, second, third = network.add_many(3)
    network.publish(first, b"x")
    (published,) = network.of_type(first, Published)
    receipt: Receipt = published.receipt
    assert set(receipt.reached) == {second, third} and not receipt.queued and not receipt.dropped
    assert receipt.id == network.nodes[first].topic_nodes[TOPIC.target].message_id
    assert receipt.topic == TEXT


def test_a_value_is_put_to_each_entry_but_not_back_to_who_gave_it() -> None:
    network = OverlayNetwork()
    first, second, third = network.add_many(3)
    network.forget()
    network.publish(first, b"x")
    network.run(1)
    assert len(network.queries(first, "put")) == 2
    assert network.queries(second, "put", first) == []
    assert network.queries(third, "put", first) == []


def test_a_forwarded_put_is_a_query_of_our_own() -> None:
    network = OverlayNetwork()
    first, second, third = network.add_many(3)
    network.loses = lambda by, to, packet: (by, to) == (first, third)
    network.publish(first, b"x")
    network.run(1)
    (forwarded,) = network.queries(second, "put", third)
    (original,) = network.queries(first, "put", second)
    assert forwarded[b"a"][b"id"] == network.nodes[second].id
    assert forwarded[b"a"][b"token"] != original[b"a"][b"token"]
    assert forwarded[b"a"][b"sig"] == original[b"a"][b"sig"]
    assert forwarded[b"c"] == TOPIC.target


def test_topics_are_apart() -> None:
    network = OverlayNetwork()
    addresses = network.add_many(4, subscribe=[TOPIC, OTHER_TOPIC])
    network.publish(addresses[0], b"here", OTHER_TOPIC)
    network.run(1)
    for address in addresses:
        assert [message.topic for message in network.messages(address)] == [OTHER_TOPIC.text]
        assert network.nodes[address].latest(TEXT) is None


def test_who_has_joined_without_a_subscription_passes_on_and_keeps_but_is_not_bothered() -> None:
    network = OverlayNetwork()
    first = network.add()
    keeper = network.add(subscribe=[], contacts=[first])
    network.feed(keeper, Join(TEXT))
    network.run(5)
    network.publish(first, b"x")
    network.run(1)
    assert network.texts(keeper) == [] and network.nodes[keeper].latest(TEXT) is not None
    network.feed(keeper, Subscribe(TEXT))
    assert network.texts(keeper) == ["x"], "a new subscriber begins with the newest value"


# ---- our own


def test_our_own_message_is_delivered_to_ourselves_unless_that_is_not_wanted() -> None:
    network = OverlayNetwork()
    first = network.add()
    network.publish(first, b"x")
    (message,) = network.messages(first)
    assert message.received_from is None
    quiet = network.add(deliver_own=False)
    network.publish(quiet, b"x")
    assert network.messages(quiet) == []


def test_a_message_says_who_wrote_it_and_its_number() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    network.publish(first, b"one")
    network.publish(first, b"two")
    network.run(1)
    one, two = network.messages(second)
    assert (one.topic, one.data, one.sender) == (TEXT, b"one", KEY.public_key.hex())
    assert (one.fields["seq"], two.fields["seq"]) == (1, 2)
    assert one.received_from == first and one.network == "bep50"
    item = network.nodes[second].latest(TEXT)
    assert item is not None and two.id == message_id(TOPIC.target, item) and len(two.id) == 20


def test_a_value_that_is_no_string_is_delivered_bencoded() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    network.publish(first, {b"a": [1, b"b"]})
    network.feed(first, Publish(TEXT, torrent_value(b"h" * 20)))
    network.run(1)
    values, torrent = network.messages(second)
    assert values.data == b"d1:ali1e1:bee" and values.fields["bencoded"] is True
    assert torrent.fields["info_hash"] == b"h".hex() * 20


def test_numbers_go_on_from_the_newest_value_that_is_known() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    for text in (b"one", b"two", b"three"):
        network.publish(first, text)
    network.run(1)
    network.publish(second, b"four")
    network.run(1)
    assert network.messages(first)[-1].fields["seq"] == 4


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (encode(b"x" * 996), MessageTooLargeError),
        (b"5:ab", LocalProtocolError),
        (b"i007e", LocalProtocolError),
    ],
)
def test_what_no_peer_would_take_is_refused_with_a_sentence(
    value: bytes, error: type[Exception]
) -> None:
    network = OverlayNetwork()
    first = network.add()
    with pytest.raises(error):
        network.feed(first, Publish(TEXT, value))
    assert network.nodes[first].latest(TEXT) is None


def test_the_largest_value_goes_through() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    network.publish(first, b"x" * 995)
    network.run(1)
    assert len(network.messages(second)[0].data) == 995


def test_without_the_key_nothing_is_published() -> None:
    network = OverlayNetwork()
    reader = network.add(keys=[ItemKey.from_seed(b"o" * 32)])
    with pytest.raises(LocalProtocolError, match="secret key"):
        network.publish(reader, b"x")


def test_a_topic_has_to_be_joined_before_publishing() -> None:
    network = OverlayNetwork()
    first = network.add(subscribe=[])
    with pytest.raises(LocalProtocolError, match="join the topic"):
        network.publish(first, b"x")


def test_the_last_number_cannot_be_passed() -> None:
    network = OverlayNetwork()
    first = network.add()
    topic = network.nodes[first].topic_nodes[TOPIC.target]
    topic.hold(KEY.item(b"", LARGEST_PUBLISHED_SEQ, b"1:x"), None)
    with pytest.raises(LocalProtocolError, match="sequence numbers"):
        network.publish(first, b"x")


# ---- compare and swap


def test_cas_publishes_only_over_the_value_it_names() -> None:
    network = OverlayNetwork()
    first = network.add()
    with pytest.raises(CasMismatch) as raised:
        network.publish(first, b"x", cas=1)
    assert (raised.value.expected, raised.value.found) == (1, None)
    network.publish(first, b"one")
    network.publish(first, b"two", cas=1)
    with pytest.raises(CasMismatch) as raised:
        network.publish(first, b"three", cas=1)
    assert (raised.value.expected, raised.value.found) == (1, 2)
    assert network.texts(first) == ["one", "two"]


def test_cas_goes_to_the_neighbours_but_is_not_passed_on() -> None:
    network = OverlayNetwork()
    first, second, third = network.add_many(3)
    network.publish(first, b"one")
    network.run(1)
    network.forget()
    network.loses = lambda by, to, packet: (by, to) == (first, third)
    network.publish(first, b"two", cas=1)
    network.run(1)
    (direct,) = network.queries(first, "put", second)
    (passed_on,) = network.queries(second, "put", third)
    assert direct[b"a"][b"cas"] == 1 and b"cas" not in passed_on[b"a"]
    assert network.texts(third)[-1:] == ["two"]


def test_a_neighbour_that_is_behind_the_cas_gets_the_value_all_the_same() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    network.publish(first, b"one")
    network.run(1)
    lose_puts_between(network, first, second)
    network.publish(first, b"two")
    network.run(0.1)
    network.loses = lambda by, to, packet: False
    network.publish(first, b"three", cas=2)
    network.run(1)
    errors = [packet[b"e"][0] for packet in network.sent(second) if b"e" in packet]
    assert errors == [301]
    assert network.texts(second) == ["one", "three"]
    assert network.of_type(first, Acknowledged)[-1].peer == second


def test_who_lags_by_one_value_and_says_so_is_refused() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    network.publish(first, b"one")
    network.run(1)
    # The second publisher is faster, and the first does not hear of it.
    network.nodes[second].topic_nodes[TOPIC.target].hold(KEY.item(b"", 2, b"5:other"), None)
    network.publish(first, b"two", cas=1)
    network.run(1)
    (refused,) = network.of_type(first, Refused)
    assert (refused.peer, refused.code) == (second, 301)
    errors = [packet[b"e"][0] for packet in network.sent(second) if b"e" in packet]
    assert errors == [301]


def test_a_value_that_came_on_another_way_before_its_condition_was_looked_at_is_taken() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    network.publish(first, b"one")
    network.run(1)
    network.nodes[second].topic_nodes[TOPIC.target].hold(KEY.item(b"", 2, b"3:two"), None)
    network.publish(first, b"two", cas=1)
    network.run(1)
    assert [each.peer for each in network.of_type(first, Acknowledged)] == [second, second]
    assert network.of_type(first, Refused) == []


# ---- acknowledgements


def test_each_neighbour_acknowledges_our_own_publication_once() -> None:
    network = OverlayNetwork()
    first, second, third = network.add_many(3)
    network.publish(first, b"x")
    network.run(600)
    told = network.of_type(first, Acknowledged)
    assert {each.peer for each in told} == {second, third} and len(told) == 2
    assert {each.message_id for each in told} == {network.messages(second)[0].id}
    assert network.of_type(first, Refused) == []
    assert network.of_type(second, Acknowledged) == [], "that was not its own"


def test_a_neighbour_that_is_gone_refuses_at_last() -> None:
    network = OverlayNetwork()
    first, second, third = network.add_many(3)
    network.kill(third)
    network.publish(first, b"x")
    network.run(10)
    assert [each.peer for each in network.of_type(first, Acknowledged)] == [second]
    (refused,) = network.of_type(first, Refused)
    assert (refused.peer, refused.code, refused.text) == (third, 0, "no_answer")


def test_every_peer_of_a_receipt_ends_once_whatever_is_lost() -> None:
    network = OverlayNetwork(seed=3)
    addresses = network.add_many(12)
    network.forget()
    network.loses = lambda by, to, packet: network.random.random() < 0.3
    expected: list[tuple[bytes, str]] = []
    for number in range(20):
        size = 500 if number % 3 == 0 else 5
        network.publish(addresses[0], b"%d" % number + b"x" * size)
        receipt = network.of_type(addresses[0], Published)[-1].receipt
        expected += [(receipt.id, peer) for peer in receipt.peers]
        network.run(0.3)
    network.run(700)
    ends = network.of_type(addresses[0], Acknowledged) + network.of_type(addresses[0], Refused)
    assert sorted((each.message_id, each.peer) for each in ends) == sorted(expected)
    assert not network.nodes[addresses[0]].topic_nodes[TOPIC.target].awaiting


def test_pending_counts_those_whom_a_value_is_on_its_way_to() -> None:
    network = OverlayNetwork()
    first, second, third = network.add_many(3)
    node = network.nodes[first]
    assert node.pending() == 0
    network.publish(first, b"x" * 500)
    assert node.pending(TEXT) == 2
    network.run(2.5 * LATENCY)
    assert node.pending(TEXT) == 2, "asked, and put to now"
    network.run(2 * LATENCY)
    assert node.pending() == 0
    assert network.texts(second) == network.texts(third)


# ---- how it is passed on


def test_a_small_value_is_put_at_once_and_a_large_one_asked_about_first() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    network.forget()
    network.publish(first, b"s" * 290)
    assert len(network.queries(first, "put")) == 1 and not network.queries(first, "get")
    network.run(1)
    network.forget()
    network.publish(first, b"l" * 310)
    assert len(network.queries(first, "get")) == 1 and not network.queries(first, "put")
    network.run(1)
    assert len(network.queries(first, "put")) == 1
    assert len(network.messages(second)) == 1


@pytest.mark.parametrize(("forward", "method"), [("put", "put"), ("get_first", "get")])
def test_how_a_value_is_passed_on_can_be_chosen(forward: str, method: str) -> None:
    network = OverlayNetwork()
    first, _ = network.add_many(2, forward=forward)
    network.forget()
    network.publish(first, b"x" * (900 if forward == "put" else 9))
    assert len(network.queries(first, method)) == 1 and len(network.sent(first)) == 1


def test_asking_first_saves_most_of_the_copies() -> None:
    copies = {}
    for forward in ("put", "get_first"):
        network = OverlayNetwork(seed=2)
        addresses = network.add_many(40, forward=forward)
        network.forget()
        network.publish(addresses[0], b"x")
        network.run(5)
        assert all(network.texts(address) == ["x"] for address in addresses)
        copies[forward] = puts(network) / 40
    assert copies["put"] > 8 and copies["get_first"] < copies["put"] / 2


def test_a_value_is_not_put_to_a_neighbour_whose_token_is_stale() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    entry = network.nodes[first].topic_nodes[TOPIC.target].overlays[0].table.entries[0]
    entry.token_at -= 1000
    network.forget()
    network.publish(first, b"x")
    assert not network.queries(first, "put") and len(network.queries(first, "get")) == 1
    network.run(1)
    assert network.texts(second) == ["x"]


def test_a_token_that_the_neighbour_does_not_know_any_more_is_renewed_once() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    entry = network.nodes[first].topic_nodes[TOPIC.target].overlays[0].table.entries[0]
    entry.token = b"nonsense"
    network.forget()
    network.publish(first, b"x")
    network.run(1)
    assert network.texts(second) == ["x"]
    assert len(network.queries(first, "put")) == 2
    assert [each.peer for each in network.of_type(first, Acknowledged)] == [second]


# ---- losses


def test_a_put_that_is_lost_is_sent_once_more() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    network.forget()
    lost: list[bytes] = []

    def lose_the_first(by: str, to: str, packet: bytes) -> bool:
        if b"1:q3:put" in packet and not lost:
            lost.append(packet)
            return True
        return False

    network.loses = lose_the_first
    network.publish(first, b"x")
    network.run(1.9)
    assert network.texts(second) == []
    network.run(0.3)
    assert network.texts(second) == ["x"] and puts(network) == 2


def test_an_overtaken_value_is_not_sent_again() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    network.forget()
    lose_puts_between(network, first, second)
    network.publish(first, b"old")
    network.run(1)
    network.loses = lambda by, to, packet: False
    network.publish(first, b"new")
    network.run(5)
    assert network.texts(second) == ["new"] and puts(network) == 2


def test_a_neighbour_that_never_answers_leaves_the_table() -> None:
    network = OverlayNetwork()
    first, second, third = network.add_many(3)
    network.kill(second)
    network.publish(first, b"x")
    network.run(10)
    assert set(network.nodes[first].subscribers(TEXT)) == {third}
    (left,) = network.events(first, trace.PEER_LEFT)
    assert left.peer == second and left.fields["reason"] == "no_answer"


def test_with_a_tenth_of_the_packets_lost_everybody_has_the_newest_value() -> None:
    network = OverlayNetwork(seed=4)
    addresses = network.add_many(40)
    network.loses = lambda by, to, packet: network.random.random() < 0.1
    for number in range(10):
        network.publish(addresses[number], b"%d" % number)
        network.run(10)
        assert all(network.texts(address)[-1] == str(number) for address in addresses)


# ---- copies and older ones


def test_copies_are_acknowledged_but_neither_checked_nor_passed_on() -> None:
    network = OverlayNetwork()
    addresses = network.add_many(9)
    network.forget()
    network.checks = 0
    network.publish(addresses[0], b"x")
    network.run(3)
    assert network.checks == 8, "one for each who did not write it"
    for address in addresses:
        asked = network.queries(address, "put")
        assert len({each[b"t"] for each in asked}) == len(asked) <= 8
    errors = [each for address in addresses for each in network.sent(address) if b"e" in each]
    assert errors == []


def test_copies_that_come_during_the_check_wait_for_its_verdict() -> None:
    network = OverlayNetwork()
    first, second, third = network.add_many(3)
    network.hold_checks = True
    network.publish(first, b"x")
    network.run(0.1)
    (original,) = network.queries(first, "put", second)
    entry = network.nodes[third].topic_nodes[TOPIC.target].entry(second)
    assert entry is not None and entry.token is not None
    arguments = {**original[b"a"], b"token": entry.token, b"id": network.nodes[third].id}
    copy = {**original, b"a": arguments}
    network.send(third, second, {**copy, b"t": b"copy"})
    assert len([each for each in network.held if each[0] == second]) == 1
    assert not [each for each in network.sent(second, third) if each.get(b"t") == b"copy"]
    network.hold_checks = False
    network.release()
    assert [each for each in network.sent(second, third) if each.get(b"t") == b"copy"]
    assert network.queries(second, "put", third) == [], "it has it already"
    assert network.texts(second) == ["x"]


def test_a_forged_value_is_refused_and_the_true_one_still_comes_through() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    forger = "10.9.9.9:1"
    item = KEY.item(b"", 1, b"4:true")
    token = token_of(network, second, forger)
    network.send(forger, second, put(item._replace(value=b"4:lies"), token))
    network.run(0.01)
    (answer,) = [each for each in network.sent(second, forger) if b"e" in each]
    assert answer[b"e"][0] == 206
    assert network.texts(second) == []
    network.send(forger, second, put(item, token))
    network.run(0.01)
    assert network.texts(second) == ["true"]
    assert first in network.nodes[second].peers()


@pytest.mark.parametrize(
    "item",
    [KEY.item(b"other", 5, b"1:x"), ItemKey.from_seed(b"o" * 32).item(b"", 5, b"1:x")],
    ids=["another salt", "another key"],
)
def test_a_genuine_item_of_another_topic_is_refused_without_a_check(item: Item) -> None:
    network = OverlayNetwork()
    node = network.add()
    token = token_of(network, node, "10.9.9.9:1")
    network.send("10.9.9.9:1", node, put(item, token))
    assert [each[b"e"][0] for each in network.sent(node) if b"e" in each] == [203]
    assert network.checks == 0
    (rejected,) = network.events(node, trace.REJECTED)
    assert rejected.fields["reason"] == "wrong_item"


def test_who_sends_many_forged_values_is_not_listened_to_for_a_while() -> None:
    network = OverlayNetwork()
    node = network.add(most_forgeries=3)
    forger = "10.9.9.9:1"
    token = token_of(network, node, forger)
    network.checks = 0
    for seq in range(1, 10):
        network.send(forger, node, put(KEY.item(b"", seq, b"1:x")._replace(value=b"1:y"), token))
        network.run(0.01)
    assert network.checks == 3
    network.run(61)
    network.send(forger, node, put(KEY.item(b"", 9, b"1:x"), token))
    network.run(0.01)
    assert network.texts(node) == ["x"]


def test_what_a_validator_refuses_is_neither_kept_nor_passed_on_nor_checked_again() -> None:
    network = OverlayNetwork()
    first, second, third = network.add_many(3)
    network.check = lambda item: Verdict.REJECT
    network.loses = lambda by, to, packet: (by, to) == (first, third)
    network.publish(first, b"x")
    network.run(10)
    assert network.nodes[second].latest(TEXT) is None
    assert network.queries(second, "put", third) == []
    (rejected,) = network.events(second, trace.REJECTED)
    assert rejected.fields["reason"] == "validator"


def test_an_ignored_value_is_acknowledged_but_not_kept() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2)
    network.check = lambda item: Verdict.IGNORE
    network.publish(first, b"x")
    network.run(1)
    assert network.nodes[second].latest(TEXT) is None
    assert [each.peer for each in network.of_type(first, Acknowledged)] == [second]


# ---- a slow neighbour


def test_a_neighbour_that_is_slow_to_answer_gets_only_the_newest_value() -> None:
    network = OverlayNetwork()
    first, second = network.add_many(2, most_in_flight=4)
    network.forget()
    for number in range(20):
        network.publish(first, b"%d" % number)
    assert len(network.queries(first, "put")) == 4
    network.run(1)
    assert len(network.queries(first, "put")) == 5
    assert network.texts(second) == ["0", "1", "2", "3", "19"]


def token_of(network: OverlayNetwork, target: str, source: str) -> bytes:
    """A token for an address that is no node."""
    get: dict[bytes, Any] = {b"a": {b"id": b"f" * 20, b"target": TOPIC.target}, b"t": b"tok"}
    network.send(source, target, {**get, b"c": TOPIC.target, b"q": b"get", b"y": b"q"})
    answers = [each for each in network.sent(target, source) if each.get(b"t") == b"tok"]
    return bytes(answers[-1][b"r"][b"token"])


def put(item: Item, token: bytes) -> bytes:
    """A put of the item."""
    return PutTemplate(b"f" * 20, item, TOPIC.target).packet(b"put", token)


def test_addresses_without_a_node_are_harmless() -> None:
    network = OverlayNetwork()
    node = network.add(contacts=[address_of(200)])
    network.feed(node, Received(address_of(201), b""))
    network.run(1)
    assert network.nodes[node].peers() == ()
