"""The blacklist: peers that we have nothing to do with, nor with what they wrote."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


# ---- for a time


def test_an_entry_with_a_time_ends_by_itself_and_the_trace_says_so() -> None:
    bench = listening()
    bench.join(VILLAIN, "t", protocol=FLOODSUB)
    bench.feed(Blacklist(VILLAIN, seconds=60.0))
    assert VILLAIN not in bench.pubsub.peers
    bench.run_until(59.9)
    bench.join(VILLAIN, "t", protocol=FLOODSUB)
    bench.send_message("ann", signed("villain", "t", b"rain", 1))
    assert VILLAIN not in bench.pubsub.peers
    assert not bench.delivered()
    bench.run_until(60.0)
    assert [event.time for event in bench.events("blacklist_ended", peer=VILLAIN)] == [60.0]
    bench.join(VILLAIN, "t", protocol=FLOODSUB)
    bench.send_message("ann", signed("villain", "t", b"sun", 2))
    assert VILLAIN in bench.pubsub.peers
    assert [each.data for each in bench.delivered()] == [b"sun"]
    assert bench.pubsub.sizes()["blacklisted"] == 0


def test_of_two_ends_the_later_one_counts_and_for_good_is_the_latest() -> None:
    peers = BlacklistedPeers(["ann"])
    peers.add("ann", until=5.0)
    peers.add("bob", until=9.0)
    peers.add("bob", until=7.0)
    peers.add("cid", until=3.0)
    peers.add("cid", until=8.0)
    assert peers.end(now=8.5) == ["cid"]
    assert peers.end(now=9.0) == ["bob"]
    assert "ann" in peers
    assert peers.next_end == float("inf")


def test_who_is_taken_off_the_list_early_does_not_end_again() -> None:
    bench = listening()
    bench.feed(Blacklist(VILLAIN, seconds=60.0))
    bench.feed(Blacklist(VILLAIN, listed=False))
    bench.run_until(100.0)
    assert not bench.events("blacklist_ended")


def test_entries_with_a_time_are_bounded_and_the_one_that_ends_first_makes_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rumormill.libp2p.pubsub.inbound.blacklist.MOST_ENDING", 3)
    bench = listening(VILLAIN)
    for number, seconds in enumerate((50.0, 10.0, 30.0, 40.0)):
        bench.feed(Blacklist(f"peer{number}", seconds=seconds))
    assert bench.pubsub.sizes()["blacklisted"] == 4
    assert "peer1" not in bench.pubsub.blacklisted
    assert VILLAIN in bench.pubsub.blacklisted, "who is listed for good stays"
    (lost,) = bench.events(trace.DROPPED, reason="blacklist_full")
    assert lost.peer == "peer1"


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["add", "add for good", "remove", "end"]),
            st.sampled_from("abcd"),
            st.integers(1, 20),
        )
    )
)
def test_the_list_agrees_with_a_plain_table_of_ends(steps: list[tuple[str, str, int]]) -> None:
    peers, plain = BlacklistedPeers(), dict[str, float]()
    for step, peer, time in steps:
        if step == "add":
            peers.add(peer, until=float(time))
            plain[peer] = max(plain.get(peer, 0.0), float(time))
        elif step == "add for good":
            peers.add(peer)
            plain[peer] = float("inf")
        elif step == "remove":
            peers.remove(peer)
            plain.pop(peer, None)
        else:
            over = {each for each, end in plain.items() if end <= time}
            assert set(peers.end(float(time))) == over
            plain = {each: end for each, end in plain.items() if each not in over}
        assert {each for each in "abcd" if each in peers} == set(plain)
        assert peers.authors == {each.encode() for each in plain}
        assert peers.next_end == min(plain.values(), default=float("inf"))
