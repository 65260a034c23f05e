"""Several messages published together: all or none, each peer's in another order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rumormill.core import trace
from rumormill.core.errors import LocalProtocolError, MessageTooLargeError
from rumormill.core.machine import PublishedMany, PublishMany, RoomAgain, Send
from rumormill.libp2p.pubsub.outbound.round_robin import round_robin
from rumormill.simulate import topology
from tests.helpers.libp2p.pubsub_network import TOPIC, PubsubNetwork, names
from tests.helpers.libp2p.workbench import Workbench, floodsub, gossipsub, randomsub

plans = st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8), max_size=40)


def data(count: int) -> list[bytes]:
    return [b"message %d" % number for number in range(count)]


def heard(bench: Workbench, peer: str) -> list[bytes]:
    return [message.data for rpc in bench.took(peer) for message in rpc.messages]


# ---- the order


@given(plans)
def test_every_copy_leaves_once_and_none_is_invented(given_plans: Sequence[Sequence[str]]) -> None:
    wanted = Counter((number, peer) for number, peers in enumerate(given_plans) for peer in peers)
    assert Counter(round_robin(given_plans)) == wanted


@given(plans)
def test_no_message_leaves_again_before_all_have_left_as_often(
    given_plans: Sequence[Sequence[str]],
) -> None:
    left: Counter[int] = Counter()
    for number, _ in round_robin(given_plans):
        left[number] += 1
        for other, peers in enumerate(given_plans):
            assert left[other] >= min(left[number] - 1, len(peers))


@given(peers=st.integers(1, 20), messages=st.integers(1, 60))
def test_the_first_copies_are_spread_evenly_over_the_peers(peers: int, messages: int) -> None:
    everyone = [f"peer{number}" for number in range(peers)]
    order = list(round_robin([everyone] * messages))
    first = Counter(peer for _, peer in order[:messages])
    assert max(first.values()) - min(first.values() if len(first) == peers else [0]) <= 1


# ---- the machine


@pytest.mark.parametrize("make", [gossipsub, floodsub, randomsub])
def test_each_message_has_a_receipt_and_goes_to_whom_it_says(
    make: Callable[[], Workbench],
) -> None:
    bench = make()
    bench.join_many(4, "t")
    bench.subscribe("t")
    bench.forget()
    receipts = bench.publish_many("t", data(10))
    assert [each.data for each in bench.delivered()] == data(10)
    assert [each.id for each in bench.delivered()] == [each.id for each in receipts]
    assert all(sorted(each.peers) == [f"peer{n}" for n in range(4)] for each in receipts)
    for number in range(4):
        assert sorted(heard(bench, f"peer{number}")) == sorted(data(10))
    published = bench.events(trace.PUBLISHED)
    assert [each.message_id for each in published] == [each.id for each in receipts]


def test_peers_begin_with_different_messages() -> None:
    bench = floodsub()
    bench.join_many(4, "t")
    bench.publish_many("t", data(8))
    first = [heard(bench, f"peer{number}")[:2] for number in range(4)]
    assert sorted(each for two in first for each in two) == data(8)


def test_all_of_it_leaves_with_one_packet_for_each_peer() -> None:
    bench = floodsub()
    bench.join_many(4, "t")
    bench.forget()
    bench.publish_many("t", data(100))
    assert [effect.peer for effect in bench.of(Send)] == [f"peer{n}" for n in range(4)]


def test_nothing_of_a_batch_leaves_if_one_of_it_cannot() -> None:
    bench = floodsub(message_id="sha256", max_rpc_size=4096, max_control_size=1024)
    bench.join("ann", "t")
    bench.subscribe("t")
    bench.publish("t", b"known")
    bench.forget()
    for bad, error in (
        ([b"new", b"known"], LocalProtocolError),
        ([b"new", bytes(4000)], MessageTooLargeError),
        ([b"new", b"twice", b"twice"], LocalProtocolError),
    ):
        with pytest.raises(error):
            bench.publish_many("t", bad)
        assert bench.flush() == [] and bench.effects == []
    assert bench.publish_many("t", [b"new"])[0].peers == ("ann",)


def test_a_batch_of_nothing_is_no_mistake() -> None:
    bench = floodsub()
    assert bench.publish_many("t", []) == ()
    assert bench.of(PublishedMany) == [PublishedMany(())]


def test_what_finds_no_room_is_dropped_for_that_peer_and_the_receipt_says_so() -> None:
    bench = floodsub(queue_messages=4)
    for peer in ("free", "slow"):
        bench.join(peer, "t")
    bench.writable("slow", False)
    bench.forget()
    receipts = bench.publish_many("t", data(4))
    assert all(set(each.peers) == {"free", "slow"} for each in receipts)
    receipts = bench.publish_many("t", data(3))
    assert [each.dropped for each in receipts] == [{"slow": "queue_full"}] * 3
    assert len(bench.events(trace.DROPPED, reason="queue_full")) == 3


def test_room_for_several_is_asked_for_and_told_when_it_is_there() -> None:
    bench = floodsub(queue_messages=8)
    bench.join("ann", "t")
    pubsub = bench.pubsub
    assert not pubsub.room.full_for(("t",), 80, 8) and pubsub.room.full_for(("t",), 90, 9)
    bench.writable("ann", False)
    bench.publish_many("t", data(5))
    assert pubsub.room.full_for(("t",), 40, 4) and not pubsub.room.full_for(("t",), 30, 3)
    pubsub.room.watch(("t",), 40, 4)
    bench.forget()
    bench.writable("ann", True)
    assert bench.of(RoomAgain) == [RoomAgain("ann")]
    assert not pubsub.room.full_for(("t",), 40, 4)


def test_a_batch_reaches_a_whole_network() -> None:
    network = PubsubNetwork(names(12), topology.ring(names(12)))
    network.subscribe()
    network.run(3.0)
    effects = network.simulation.command("node00", PublishMany((TOPIC,), data(100)))
    (published,) = [each for each in effects if isinstance(each, PublishedMany)]
    network.run(3.0)
    assert network.all_got(published.receipts)
