"""The js test peer against itself: what our own node is held against must work first."""

from __future__ import annotations

import pytest

from tests.helpers.interop.js_peer import JsPeer, JsPeerError, StartJsPeer, numbered_payloads

TOPIC = "weather"


async def connected_pair(start: StartJsPeer, **arguments: object) -> tuple[JsPeer, JsPeer]:
    listener = await start(topics=[TOPIC], **arguments)
    dialer = await start(topics=[TOPIC], dial=[listener.address], **arguments)
    await listener.expect("subscription-change", id=dialer.id)
    await dialer.expect("subscription-change", id=listener.id)
    return listener, dialer


@pytest.mark.parametrize(
    ("router", "protocol"), [("gossipsub", "/meshsub/1.2.0"), ("floodsub", "/floodsub/1.0.0")]
)
async def test_two_js_peers_exchange_100_messages_each_way(
    start_js_peer: StartJsPeer, router: str, protocol: str
) -> None:
    listener, dialer = await connected_pair(start_js_peer, router=router)
    for sender, receiver in ((listener, dialer), (dialer, listener)):
        await sender.publish_many(TOPIC, 100, size=1024, prefix=sender.id)
        messages = await receiver.messages(TOPIC, 100)
        assert sorted(message["data"] for message in messages) == numbered_payloads(
            100, size=1024, prefix=sender.id
        )
        assert {message["from"] for message in messages} == {sender.id}
        assert len({message["seqno"] for message in messages}) == 100
    (peer,) = await dialer.peers()
    assert (peer["id"], peer["sends_on"], peer["receives_on"]) == (listener.id, protocol, protocol)


async def test_unsigned_messages_carry_no_author(start_js_peer: StartJsPeer) -> None:
    listener, dialer = await connected_pair(start_js_peer, policy="StrictNoSign")
    assert await dialer.publish(TOPIC, b"rain at noon") == [listener.id]
    (message,) = await listener.messages(TOPIC, 1)
    assert (message["data"], message["from"], message["seqno"]) == (b"rain at noon", None, None)


async def test_a_peer_that_leaves_a_topic_gets_no_more_of_it(start_js_peer: StartJsPeer) -> None:
    listener, dialer = await connected_pair(start_js_peer)
    await dialer.unsubscribe(TOPIC)
    await listener.expect("subscription-change", id=dialer.id)
    assert await listener.publish(TOPIC, b"unheard") == []
    assert await listener.mesh(TOPIC) == []


async def test_a_failed_wait_reports_what_the_peer_did(start_js_peer: StartJsPeer) -> None:
    peer = await start_js_peer()
    with pytest.raises(JsPeerError, match=r"silent for 0.01 s, waiting for 1 x 'message'"):
        await peer.expect("message", timeout=0.01)
    with pytest.raises(JsPeerError, match="could not dial"):
        await peer.dial("/ip4/127.0.0.1/tcp/1")
    await peer.stop()
    with pytest.raises(JsPeerError, match="had ended"):
        await peer.expect("message")
