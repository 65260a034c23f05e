"""The blacklist: peers that we have nothing to do with, nor with what they wrote."""

from __future__ import annotations

import pytest

from rumormill.core import trace
from rumormill.core.errors import ConfigError
from rumormill.core.machine import Drop
from rumormill.libp2p.effects import Blacklist
from rumormill.libp2p.pubsub import PubsubParameters
from rumormill.libp2p.pubsub.inbound.blacklist import BlacklistedPeers
from tests.helpers.libp2p.workbench import FLOODSUB, Workbench, floodsub, identity, signed

VILLAIN = identity("villain").peer


def listening(*blacklist: str) -> Workbench:
    bench = floodsub(blacklist=blacklist)
    bench.subscribe("t")
    bench.join("ann", "t", protocol=FLOODSUB)
    bench.forget()
    return bench


def test_a_blacklisted_peer_that_connects_is_dropped_and_nothing_is_kept_of_it() -> None:
    bench = listening(VILLAIN)
    before = bench.pubsub.sizes()
    bench.join(VILLAIN, "t", protocol=FLOODSUB)
    assert bench.of(Drop) == [Drop(VILLAIN, "blacklisted")]
    assert bench.events(trace.REJECTED, peer=VILLAIN, reason="blacklisted_peer")
    assert not bench.events(trace.PEER_JOINED)
    assert bench.pubsub.sizes() == before
    bench.send_message(VILLAIN, signed("author", "t", b"rain", 1))
    assert bench.delivered() == []


def test_a_message_that_it_wrote_is_ignored_whoever_passes_it_on() -> None:
    bench = listening(VILLAIN)
    bench.send_message("ann", signed("villain", "t", b"rain", 1))
    bench.send_message("ann", signed("author", "t", b"sun", 1))
    assert [each.data for each in bench.delivered()] == [b"sun"]
    assert bench.events(trace.IGNORED, peer="ann", reason="blacklisted_author")
    assert not bench.of(Drop), "our list is nobody else's"


def test_a_connected_peer_can_be_blacklisted() -> None:
    bench = listening()
    bench.join(VILLAIN, "t", protocol=FLOODSUB)
    bench.feed(Blacklist(VILLAIN))
    assert bench.of(Drop) == [Drop(VILLAIN, "blacklisted")]
    assert VILLAIN not in bench.pubsub.peers
    assert bench.publish("t").peers == ("ann",)
    assert bench.events(trace.PEER_LEFT, peer=VILLAIN, reason="blacklisted")
    bench.send_message("ann", signed("villain", "t", b"rain", 1))
    assert [each.data for each in bench.delivered()] == [b"data"]


def test_a_peer_can_be_taken_off_the_list() -> None:
    bench = listening(VILLAIN)
    bench.feed(Blacklist(VILLAIN, listed=False))
    bench.join(VILLAIN, "t", protocol=FLOODSUB)
    bench.send_message("ann", signed("villain", "t", b"rain", 1))
    assert [each.data for each in bench.delivered()] == [b"rain"]
    assert bench.pubsub.sizes()["blacklisted"] == 0


def test_all_spellings_of_an_id_are_one() -> None:
    peers = BlacklistedPeers(["bafzbeie5745rpv2m6tjyuugywy4d5ewrqgqqhfnf445he3omzpjbx5xqxe"])
    assert "QmYyQSo1c1Ym7orWxLYvCrM2EmxFTANf8wXmmE7DWjhx5N" in peers
    peers.remove("QmYyQSo1c1Ym7orWxLYvCrM2EmxFTANf8wXmmE7DWjhx5N")
    assert len(peers) == len(peers.authors) == 0


def test_what_is_no_peer_id_is_refused_with_its_key() -> None:
    with pytest.raises(ConfigError) as caught:
        PubsubParameters(blacklist=("villain",))
    assert caught.value.key == "blacklist"
