"""Keys that change, get lost or come late, and clocks that are wrong, in virtual time."""

from __future__ import annotations

from rumormill.core.trace import DELIVERED, DROPPED, IGNORED, REJECTED
from rumormill.libp2p.descriptor.control_message import SUFFIX
from rumormill.libp2p.descriptor.edges import sign_edge
from rumormill.libp2p.descriptor.epoch_keys import GRACE
from rumormill.libp2p.descriptor.events import EPOCH_BEGAN, KEY_REFUSED
from tests.helpers.libp2p.private_network import (
    PrivateNetwork,
    descriptor,
    id_of,
    key_of,
    peer_of,
    shared,
)

LINE = ["ann", "bob", "cid", "dan", "eve"]


def numbered(count: int) -> list[bytes]:
    return [b"%03d" % number for number in range(count)]


def test_shared_keys_rotate_under_load_and_nothing_is_lost() -> None:
    keys, hashes = shared(3)
    topic = descriptor("key", ["ann", "eve"], "shared-key", hashes)
    network = PrivateNetwork(LINE)
    network.know(LINE, topic, keys[:1])
    network.subscribe(LINE, topic)
    network.run(3.0)
    second = dict(zip((20, 25, 30, 33, 36), ("ann", "cid", "eve", "bob", "dan"), strict=True))
    third = dict(zip((60, 65, 70, 75, 80), ("eve", "dan", "cid", "bob", "ann"), strict=True))
    steps = {at: (who, 2) for at, who in second.items()} | {
        at: (who, 3) for at, who in third.items()
    }
    for number, data in enumerate(numbered(100)):
        if number in steps:
            name, count = steps[number]
            network.know([name], topic, keys[:count])
        network.publish("ann" if number % 2 else "eve", topic, data)
        network.run(0.1)
    network.run(5.0)
    for name in LINE:
        assert sorted(network.got(name)) == numbered(100), name
        assert network.events(name, DROPPED) == [] and network.events(name, REJECTED) == []


def test_epochs_change_under_load_when_trust_does_and_readers_lose_nothing() -> None:
    topic = descriptor("wot", ["ann", "eve"], "wot")
    network = PrivateNetwork(LINE)
    network.know(LINE, topic)
    network.subscribe(LINE, topic)
    network.run(3.0)
    for number, data in enumerate(numbered(60)):
        if number == 20:
            network.trust("ann", topic, "cid")
        if number == 40:
            network.revoke("ann", topic, "cid")
        network.publish("ann" if number % 2 else "eve", topic, data)
        network.run(0.1)
    network.run(5.0)
    assert sorted(network.got("ann")) == sorted(network.got("eve")) == numbered(60)
    read = [int(data) for data in network.got("cid")]
    # A revoked reader reads on until the authors have heard of it: what was under way.
    assert set(range(22, 40)) <= set(read) <= set(range(20, 43))
    assert len(network.events("ann", EPOCH_BEGAN)) == len(network.events("eve", EPOCH_BEGAN)) == 3
    assert network.got("bob") == network.got("dan") == []


def test_a_reader_that_missed_a_key_asks_for_it() -> None:
    topic = descriptor("key", ["ann", "eve"], "wot")
    network = PrivateNetwork(["ann", "bob", "eve"])
    network.know(["ann"], topic)
    network.subscribe(["ann", "bob", "eve"], topic)
    network.run(3.0)
    network.publish("ann", topic, b"before eve knew of it")
    network.run(3.0)
    network.know(["bob", "eve"], topic)
    network.run(0.1)  # before anybody tells anything
    network.publish("ann", topic, b"rain")
    network.run(5.0)
    assert b"rain" in network.got("eve")
    assert not any(network.events("eve", DROPPED, "key_missing"))


def test_a_key_whose_author_is_gone_is_given_up_after_a_while_and_counted() -> None:
    topic = descriptor("key", ["ann", "eve"], "wot")
    network = PrivateNetwork(["ann", "bob", "eve"])
    network.know(["ann", "eve"], topic)
    network.relay(["bob"], topic.topic_id)  # and not the control topic: no key can come
    network.subscribe(["ann", "eve"], topic)
    network.run(3.0)
    network.publish("ann", topic, b"rain")
    network.run(20.0)
    assert network.got("eve") == []
    assert len(network.events("eve", DROPPED, "key_missing")) == 1
    assert network.guards["eve"].sizes()["unread_messages"] == 0


def test_an_author_that_lost_its_key_begins_another_epoch() -> None:
    topic = descriptor("key", ["ann", "eve"], "wot")
    network = PrivateNetwork(["ann", "bob", "eve"])
    network.know(["ann", "bob", "eve"], topic)
    network.subscribe(["ann", "bob", "eve"], topic)
    network.run(3.0)
    network.publish("ann", topic, b"one")
    network.run(3.0)
    network.simulation.crash(peer_of("ann"))
    network.run(3.0)
    network.simulation.restart(peer_of("ann"), network.machine("ann"))
    network.know(["ann"], topic)
    network.subscribe(["ann"], topic)
    network.run(5.0)
    network.publish("ann", topic, b"two")
    network.run(3.0)
    assert network.got("eve") == [b"one", b"two"]


def test_an_author_whose_clock_was_set_back_is_read_again_after_it_was_asked() -> None:
    topic = descriptor("key", ["ann", "eve"], "wot")
    network = PrivateNetwork(["ann", "bob", "eve"])
    network.know(["ann", "bob", "eve"], topic)
    network.subscribe(["ann", "bob", "eve"], topic)
    network.run(3.0)
    epochs = network.topic("eve", topic).epochs
    ours = network.topic("ann", topic).epochs
    assert epochs is not None and ours is not None
    ours._least = int(network.now * 1000) + 10_000_000  # its clock is hours ahead
    network.publish("ann", topic, b"one")
    network.run(3.0)
    ours._least, ours.own = 0, None  # and right again
    network.publish("ann", topic, b"two")
    network.run(5.0)
    assert network.events("eve", KEY_REFUSED, "old_epoch")
    network.publish("ann", topic, b"three")
    network.run(5.0)
    assert network.got("eve") == [b"one", b"three"]
    assert len(network.events("eve", DROPPED)) <= 1


def test_a_message_of_a_past_epoch_is_not_delivered_when_it_is_played_back() -> None:
    topic = descriptor("key", ["ann", "eve"], "wot")
    network = PrivateNetwork(["ann", "bob", "eve"])
    network.know(["ann", "bob", "eve"], topic)
    network.subscribe(["ann", "bob", "eve"], topic)
    network.run(3.0)
    network.publish("ann", topic, b"one")
    network.run(3.0)
    epochs = network.topic("ann", topic).epochs
    assert epochs is not None and epochs.own is not None
    old = epochs.own
    epochs.own = old._replace(version=-1)
    network.publish("ann", topic, b"two")
    network.run(GRACE + 1)
    epochs.own = old._replace(version=network.topic("ann", topic).trust.version)
    network.publish("ann", topic, b"three, under the key of the first epoch")
    network.run(3.0)
    assert network.got("eve") == [b"one", b"two"]
    assert network.events("bob", IGNORED, "old_epoch")


def test_a_node_whose_clock_is_wrong_judges_trust_by_it_and_nobody_else_does() -> None:
    """An edge ends by each node's own clock: docs/private-topics.md says so."""
    topic = descriptor("wot", ["ann"])
    network = PrivateNetwork(LINE)
    network.know(LINE, topic)
    network.subscribe(LINE, topic)
    network.run(3.0)
    network.trust("ann", topic, "bob", seconds=100.0)
    network.run(2.0)
    ahead = network.topic("eve", topic).trust
    assert not ahead.trusts(id_of("bob"), network.now + 3600)  # an hour ahead
    assert network.topic("cid", topic).trust.trusts(id_of("bob"), network.now)


def test_a_grant_that_is_replayed_after_a_revocation_stays_without_effect_everywhere() -> None:
    topic = descriptor("wot", ["ann"])
    network = PrivateNetwork(LINE)
    network.know(LINE, topic)
    network.subscribe(LINE, topic)
    network.run(3.0)
    until = int(network.now + 3600)
    grant = sign_edge(key_of("ann"), topic.digest, id_of("bob"), sequence=1, until=until)
    network.know_edges("ann", topic, [grant])
    network.run(2.0)
    assert network.trusted("eve", topic) == {"ann", "bob"}
    network.revoke("ann", topic, "bob")
    network.run(2.0)
    network.know_edges("cid", topic, [grant])
    network.run(120.0)
    for name in LINE:
        assert network.trusted(name, topic) == {"ann"}
    assert not any(each.node == peer_of("bob") for each in network.events("eve", DELIVERED))


def test_nodes_that_agree_keep_quiet() -> None:
    topic = descriptor("wot", ["ann"])
    network = PrivateNetwork(LINE)
    network.know(LINE, topic)
    network.subscribe(LINE, topic)
    network.run(5.0)
    network.trust("ann", topic, "bob")
    network.run(60.0)
    counts = network.simulation.trace_counts
    before = counts["published"]
    network.run(600.0)
    assert counts["published"] - before <= 60  # about one word a minute, of five nodes together
    assert all(each.endswith(SUFFIX) for each in network.guards["ann"].topics if "/" in each[-6:])


def test_equal_seeds_give_equal_traces_and_equal_boxes() -> None:
    def traced() -> list[str]:
        topic = descriptor("wot", ["ann", "eve"], "wot")
        network = PrivateNetwork(LINE, seed=5)
        network.know(LINE, topic)
        network.subscribe(LINE, topic)
        network.run(3.0)
        network.trust("ann", topic, "cid")
        network.publish("ann", topic, b"rain")
        network.run(5.0)
        return [each.to_json_line() for each in network.simulation.trace]

    assert traced() == traced()
