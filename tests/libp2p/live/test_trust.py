"""Direct peers and the blacklist, on a live node."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

import rumormill
from rumormill.core.errors import LocalProtocolError
from rumormill.libp2p.live.network import Libp2pNetwork

LOOPBACK = "/ip4/127.0.0.1/tcp/0"


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.01)


async def test_a_direct_peer_is_dialed_by_its_setting_and_served_outside_the_mesh() -> None:
    async with await rumormill.open("gossipsub", listen=LOOPBACK) as left:
        messages = left.subscribe("weather")
        async with await rumormill.open(
            "gossipsub", listen=LOOPBACK, direct_peers=[left.addresses[0]]
        ) as right:
            right.subscribe("weather")
            await until(lambda: right.subscribers("weather"))
            assert right.mesh("weather") == ()
            await right.publish("weather", b"rain")
            assert (await messages.get(timeout=10)).data == b"rain"


async def test_direct_peers_come_and_go_at_run_time() -> None:
    async with (
        await rumormill.open("gossipsub", listen=LOOPBACK) as left,
        await rumormill.open("gossipsub", listen=LOOPBACK) as right,
    ):
        assert isinstance(right, Libp2pNetwork)
        assert right.add_direct_peer(left.addresses[0]) == left.id
        await until(lambda: left.id in right.peers)
        right.remove_direct_peer(left.id)
        left.subscribe("weather")
        right.subscribe("weather")
        await until(lambda: right.mesh("weather"))
        with pytest.raises(LocalProtocolError, match="p2p"):
            right.add_direct_peer("/ip4/127.0.0.1/tcp/1")


async def test_a_peer_on_the_blacklist_is_dropped_and_stays_out() -> None:
    async with (
        await rumormill.open("gossipsub", listen=LOOPBACK) as left,
        await rumormill.open("gossipsub", listen=LOOPBACK) as right,
    ):
        assert isinstance(right, Libp2pNetwork)
        await left.connect(right.addresses[0])
        await until(lambda: left.id in right.peers)
        right.blacklist(left.id)
        await until(lambda: left.id not in right.peers)
        dropped = right.counters["rejected"]
        await left.connect(right.addresses[0])
        await until(lambda: right.counters["rejected"] > dropped)
        await until(lambda: left.id not in right.peers)
        right.blacklist(left.id, listed=False)
        await left.connect(right.addresses[0])
        await until(lambda: left.id in right.peers)


async def test_a_blacklisting_for_some_seconds_ends_by_itself() -> None:
    async with (
        await rumormill.open("gossipsub", listen=LOOPBACK) as left,
        await rumormill.open("gossipsub", listen=LOOPBACK) as right,
    ):
        assert isinstance(right, Libp2pNetwork)
        right.blacklist(left.id, seconds=0.2)
        assert right.counters["blacklist_ended"] == 0
        await until(lambda: right.counters["blacklist_ended"])
        await left.connect(right.addresses[0])
        await until(lambda: left.id in right.peers)
        for wrong in (0, -1.0, float("nan"), float("inf")):
            with pytest.raises(LocalProtocolError, match="seconds above 0"):
                right.blacklist(left.id, seconds=wrong)
        with pytest.raises(LocalProtocolError, match="leave seconds out"):
            right.blacklist(left.id, listed=False, seconds=1.0)


async def test_the_application_says_who_may_take_part_in_a_topic() -> None:
    async with (
        await rumormill.open("gossipsub", listen=LOOPBACK, heartbeat_interval=0.1) as member,
        await rumormill.open("gossipsub", listen=LOOPBACK, heartbeat_interval=0.1) as stranger,
        await rumormill.open("gossipsub", listen=LOOPBACK, heartbeat_interval=0.1) as ours,
    ):
        assert isinstance(ours, Libp2pNetwork)
        members = {member.id}
        ours.filter_peers(lambda peer, topic: topic != "board" or peer in members)
        board = ours.subscribe("board")
        theirs, for_all = stranger.subscribe("board"), stranger.subscribe("news")
        member.subscribe("board")
        for other in (member, stranger):
            await ours.connect(other.addresses[0])
        await ours.wait_for_peers("board", timeout=10)
        await ours.wait_for_peers("news", timeout=10)
        assert (await ours.publish("board", b"secret")).peers == (member.id,)
        await stranger.publish("board", b"spam")
        await ours.publish("news", b"for all")
        assert (await for_all.get(timeout=10)).data == b"for all"
        await until(lambda: ours.counters["ignored.peer_not_allowed"] >= 2)
        assert (await board.get(timeout=10)).data == b"secret"
        assert [board.pending, theirs.pending] == [0, 1], "of others: nothing"
        members.add(stranger.id)
        ours.filter_peers(lambda peer, topic: topic != "board" or peer in members)
        await until(lambda: stranger.id in ours.subscribers("board"))
        await ours.publish("board", b"welcome")
        came = [await theirs.get(timeout=10)]
        while came[-1].data != b"welcome":  # gossip may bring it what it missed
            came.append(await theirs.get(timeout=10))
