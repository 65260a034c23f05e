"""Messages between the original PubSub and ours, over forwarders of every kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from rumormill.ndn.live.key_file import create_key
from tests.helpers.interop import interop_matrix as matrix
from tests.helpers.interop.interop_matrix import AMONG, OURS, THEIRS, row
from tests.helpers.interop.ndn_forwarders import FORWARDERS
from tests.helpers.interop.ndn_town import OurProgram, Town, exchange

pytestmark = pytest.mark.asyncio(loop_scope="module")

over_each = pytest.mark.parametrize("peer", FORWARDERS)
both_ways = pytest.mark.parametrize("direction", [OURS, THEIRS])

SECONDS_OF_THE_ORIGINAL = 12.0
"""For which it waits where nobody is subscribed, and no forwarder says so."""


@over_each
@pytest.mark.parametrize("direction", [OURS, THEIRS, AMONG])
@row(matrix.PUBSUB)
async def test_each_message_arrives_once_and_is_acknowledged(
    town: Town, peer: str, direction: str
) -> None:
    forwarder = await town.forwarder(peer)
    publisher, subscriber = await town.pair(direction, forwarder.tcp)
    await exchange(publisher, subscriber, town.topic())


@over_each
@both_ways
@pytest.mark.parametrize("face", ["unix", "udp"])
@row(matrix.FACES)
async def test_other_faces_carry_the_same(town: Town, peer: str, direction: str, face: str) -> None:
    if (peer, face) == ("NDNts", "udp"):
        face = "unix"  # there is no UDP in it
    forwarder = await town.forwarder(peer)
    publisher, subscriber = await town.pair(direction, getattr(forwarder, face))
    await exchange(publisher, subscriber, town.topic())


@over_each
@row(matrix.ECDSA, THEIRS)
async def test_what_a_trusted_key_has_signed_is_delivered_and_nothing_else(
    town: Town, peer: str, tmp_path: Path
) -> None:
    forwarder, topic = await town.forwarder(peer), town.topic()
    trusted = await town.theirs(forwarder.tcp, signer="ecdsa")
    stranger = await town.theirs(forwarder.tcp, signer="ecdsa")
    public = tmp_path / "publisher.pub"
    public.write_text(f"ndn-ecdsa {trusted.ready['key_name']} {trusted.ready['public_key']}\n")
    subscriber = await town.ours(forwarder.tcp, trust=[f"{topic}={public}"])
    await exchange(trusted, subscriber, topic)
    refused = await stranger.publish(topic, b"hail")
    assert not refused.delivered
    assert (await trusted.publish(topic, b"sun")).delivered
    assert await subscriber.messages(topic, 1) == [b"sun"]
    assert subscriber.network.counters["rejected"]


@over_each
@row(matrix.ECDSA, OURS)
async def test_the_original_takes_what_we_sign(town: Town, peer: str, tmp_path: Path) -> None:
    forwarder, key = await town.forwarder(peer), tmp_path / "key.json"
    create_key(key, kind="ecdsa")
    publisher = await town.ours(forwarder.tcp, key_file=key)
    subscriber = await town.theirs(forwarder.tcp)
    await exchange(publisher, subscriber, town.topic())


@over_each
@row(matrix.NOBODY_THERE, OURS)
async def test_nobody_there_is_told_fast(town: Town, peer: str) -> None:
    publisher = await town.ours((await town.forwarder(peer)).tcp)
    receipt = await publisher.network.publish(town.topic(), b"rain")
    assert not receipt
    assert receipt.outcome == "no_subscriber"
    assert receipt.fields["seconds"] < SECONDS_OF_THE_ORIGINAL / 2


@over_each
@row(matrix.LEFT, THEIRS)
async def test_who_has_left_is_not_asked_any_more(town: Town, peer: str) -> None:
    """Of two subscribers the one that leaves does not swallow what is for the other."""
    forwarder, topic = await town.forwarder(peer), town.topic()
    publisher = await town.theirs(forwarder.tcp)
    leaver, stayer = await town.ours(forwarder.tcp), await town.ours(forwarder.tcp)
    await leaver.subscribe(topic)
    await stayer.subscribe(topic)
    leaver.subscriptions[topic].close()
    await _gone(leaver, topic)
    for number in range(5):
        assert (await publisher.publish(topic, b"%d" % number)).delivered
    assert await stayer.messages(topic, 5) == [b"%d" % number for number in range(5)]


async def _gone(program: OurProgram, topic: str) -> None:
    """Closing waits for nobody; a second subscription comes after the withdrawal."""
    other = f"{topic}/after"
    await program.subscribe(other)
