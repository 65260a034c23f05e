"""Topics with descriptors in a line of nodes, in virtual time: what dies, and what arrives."""

from __future__ import annotations

from rumormill.core.trace import DROPPED, IGNORED, REJECTED, RELAYED
from tests.helpers.libp2p.private_network import (
    PrivateNetwork,
    descriptor,
    id_of,
    peer_of,
    shared,
)

LINE = ["ann", "bob", "cid", "dan", "eve"]


def test_an_untrusted_message_dies_at_the_first_node_that_knows_the_descriptor() -> None:
    topic = descriptor("key", ["ann"])
    network = PrivateNetwork(["mallory", *LINE])
    network.know(LINE, topic)
    network.subscribe(["mallory", *LINE], topic)
    network.run(3.0)
    network.publish("mallory", topic, b"forbidden")
    network.publish("ann", topic, b"allowed")
    network.run(3.0)
    assert all(network.got(name) == [b"allowed"] for name in LINE)
    rejected = network.events("ann", REJECTED)  # once, and when gossip offered it again
    assert {each.fields["reason"] for each in rejected} == {"untrusted_author"}
    assert {each.peer for each in rejected} == {peer_of("mallory")}
    for name in LINE[1:]:
        assert network.events(name, REJECTED) == []


def test_what_is_not_encrypted_is_read_by_who_knows_nothing_of_the_descriptor() -> None:
    topic = descriptor("key", ["ann"])
    network = PrivateNetwork(LINE)
    network.know(["ann"], topic)
    network.subscribe(LINE, topic)
    network.run(3.0)
    network.publish("ann", topic, b"rain at noon")
    network.run(3.0)
    assert all(network.got(name) == [b"rain at noon"] for name in LINE)


def test_a_node_without_the_key_relays_what_it_cannot_read() -> None:
    keys, hashes = shared()
    topic = descriptor("key", ["ann"], "shared-key", hashes)
    network = PrivateNetwork(LINE)
    network.know(["ann", "eve"], topic, keys)
    network.know(["bob"], topic)  # authentication, no keys
    network.relay(["bob"], topic.topic_id)
    network.subscribe(["ann", "cid", "dan", "eve"], topic)  # cid and dan know nothing of it
    network.run(3.0)
    network.publish("ann", topic, b"rain at noon")
    network.run(3.0)
    assert network.got("eve") == [b"rain at noon"]
    assert network.got("bob") == [] and len(network.events("bob", RELAYED)) == 1
    (seen,) = network.got("cid")
    assert b"rain" not in seen


def test_trust_spreads_along_the_control_topic_and_lets_a_new_peer_publish() -> None:
    topic = descriptor("wot", ["ann"])
    network = PrivateNetwork(LINE)
    network.know(LINE, topic)
    network.subscribe(LINE, topic)
    network.run(3.0)
    network.trust("ann", topic, "cid")
    network.run(1.0)
    network.trust("cid", topic, "eve")
    network.run(1.0)
    for name in LINE:
        assert network.trusted(name, topic) == {"ann", "cid", "eve"}
    network.publish("eve", topic, b"by the trusted of the trusted")
    network.run(2.0)
    for name in LINE:
        assert network.got(name) == [b"by the trusted of the trusted"]


def test_a_revocation_cascades() -> None:
    topic = descriptor("wot", ["ann"])
    network = PrivateNetwork(LINE)
    network.know(LINE, topic)
    network.subscribe(LINE, topic)
    network.run(3.0)
    network.trust("ann", topic, "cid")
    network.run(1.0)
    network.trust("cid", topic, "eve")
    network.run(1.0)
    network.revoke("ann", topic, "cid")
    network.run(1.0)
    for name in LINE:
        assert network.trusted(name, topic) == {"ann"}


def test_a_late_comer_learns_whom_to_trust() -> None:
    topic = descriptor("wot", ["ann"])
    network = PrivateNetwork(LINE, pairs=[("ann", "bob"), ("bob", "cid"), ("cid", "dan")])
    network.know(LINE, topic)
    network.subscribe(LINE, topic)
    network.run(3.0)
    network.trust("ann", topic, "bob")
    network.run(200.0)
    assert network.trusted("eve", topic) == {"ann"}
    network.simulation.connect(peer_of("dan"), peer_of("eve"))
    network.run(5.0)
    assert network.trusted("eve", topic) == {"ann", "bob"}


def test_an_epoch_key_reaches_the_trusted_and_nobody_else() -> None:
    topic = descriptor("wot", ["ann", "cid"], "wot")
    network = PrivateNetwork(LINE)
    network.know(LINE, topic)
    network.subscribe(LINE, topic)
    network.run(3.0)
    for number in range(5):
        network.publish("ann", topic, b"secret %d" % number)
    network.run(3.0)
    secrets = [b"secret %d" % number for number in range(5)]
    assert network.got("ann") == network.got("cid") == secrets
    for name in ("bob", "dan", "eve"):
        assert network.got(name) == []
        assert len(network.events(name, RELAYED)) >= 5
    assert network.events("eve", DROPPED) == []
    assert network.events("eve", IGNORED, "bad_seal") == []
    assert id_of("cid") in network.topic("dan", topic).trust.trusted(network.now)


def test_an_honest_relay_that_does_not_know_the_descriptor_is_not_cut_off_for_a_message() -> None:
    topic = descriptor("key", ["ann"])
    network = PrivateNetwork(["ann", "relay", "eve"], [("ann", "relay"), ("relay", "eve")])
    network.know(["ann", "eve"], topic)
    network.subscribe(["ann", "relay", "eve"], topic)
    network.run(3.0)
    network.publish("relay", topic, b"forbidden")
    for number in range(20):
        network.publish("ann", topic, b"%d" % number)
        network.run(0.5)
    network.run(5.0)  # it is in no mesh for a while, and gossip brings what it has
    assert sorted(network.got("eve"), key=int) == [b"%d" % number for number in range(20)]
