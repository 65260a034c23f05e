"""Nodes on real TLS connections, with applications of their own."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

import rumormill
from rumormill.bcos.errors import AmopError
from rumormill.bcos.live.chain_folder import extend_chain
from rumormill.bcos.live.node_network import BcosNodeNetwork
from rumormill.bcos.node import dial_list
from rumormill.core.errors import ConfigError, ConnectError
from rumormill.core.trace import CONNECTION_FAILED, CONNECTION_REFUSED

PATIENCE = 20.0
"""Seconds that a test waits for what must come."""

LOOPBACK = "127.0.0.1:0"


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A chain with three nodes."""
    folder = tmp_path_factory.mktemp("chains") / "three"
    extend_chain(folder, nodes=3, sdks=1, topic_keys=0)
    return folder


def node(chain: Path, number: int, *peers: BcosNodeNetwork, **settings: Any) -> BcosNodeNetwork:
    """A node of the chain that dials others, not started yet."""
    opening = rumormill.open(
        "bcos",
        certificates=chain / "nodes" / str(number),
        listen=LOOPBACK,
        bootstrap=[peer.addresses[0] for peer in peers],
        **settings,
    )
    return cast("BcosNodeNetwork", opening)


async def test_a_node_sends_to_all_to_one_and_to_a_node_by_its_id(three: Path) -> None:
    async with node(three, 0) as a, node(three, 1, a) as b:
        b.respond("forecast", lambda message: message.data.upper())
        async with b.subscribe("weather") as messages:
            receipt = await a.publish("weather", b"rain", ready=PATIENCE)
            assert receipt.peers == (b.id,)
            assert (await a.unicast("forecast", b"sun", ready=PATIENCE)).data == b"SUN"
            assert (await a.send(b.id, "forecast", b"snow")).data == b"SNOW"
            message = await anext(messages)
            assert (message.data, message.received_from) == (b"rain", a.id)


async def test_a_broadcast_goes_to_every_node_whether_or_not_it_has_said_that_it_listens(
    three: Path,
) -> None:
    async with node(three, 0) as a, node(three, 1, a), node(three, 2, a):
        await a._until(lambda: len(a.peers) == 2, PATIENCE)
        assert (await a.publish("nobody", b"rain")).peers == ()
        assert set((await a.broadcast("nobody", b"rain")).peers) == set(a.peers)


async def test_a_message_to_a_node_that_is_not_there_fails_at_once(three: Path) -> None:
    async with node(three, 0) as a:
        with pytest.raises(AmopError) as caught:
            await a.send("ab" * 64, "weather", b"rain")
        assert caught.value.code == 100


async def test_with_multi_hop_a_node_beyond_a_neighbour_is_reached(three: Path) -> None:
    options = {"multi_hop": True}
    async with (
        node(three, 0, **options) as a,
        node(three, 1, a, **options) as b,
        node(three, 2, b, **options) as c,
    ):
        c.respond("forecast", lambda message: b"sun")
        async with c.subscribe("forecast") as messages:
            assert (await a.unicast("forecast", b"?", ready=PATIENCE)).data == b"sun"
            assert (await a.publish("forecast", b"!", ready=PATIENCE)).peers == (c.id,)
            assert [(await anext(messages)).data for _ in range(2)] == [b"?", b"!"]
        assert (a.peers, c.peers) == ((b.id,), (b.id,))


async def test_who_is_on_no_white_list_is_refused_and_told(
    three: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dial_list, "SPEAKS_WITHIN", PATIENCE)  # a busy machine says no later
    async with node(three, 0, whitelist=["ab" * 64]) as a, node(three, 1) as b:
        # Its own end stands before the other says no, and the other does not say why.
        with pytest.raises(ConnectError, match=r"it hung up .* or do its lists keep us out"):
            await b.connect(a.addresses[0])
        assert b.peers == ()
        assert a.counters[f"{CONNECTION_REFUSED}.not_in_whitelist"] == 1


async def test_a_node_of_another_chain_is_refused_with_the_reason_on_both_sides(
    three: Path, chain: Path
) -> None:
    async with node(three, 0) as a, node(chain, 0) as stranger:
        with pytest.raises(ConnectError, match=f"could not connect to {a.addresses[0]}: "):
            await stranger.connect(a.addresses[0])
        # Whose certificate is looked at first is up to TLS: the stranger sees that of the node.
        while not a.counters[CONNECTION_FAILED]:
            await asyncio.sleep(0.01)
        reasons = [name for name in a.counters if name.startswith(f"{CONNECTION_FAILED}.")]
        assert reasons == [f"{CONNECTION_FAILED}.our_certificate_of_another_ca"]


async def test_a_channel_that_cannot_be_listened_at_is_named(three: Path) -> None:
    async with node(three, 0, channel_listen=LOOPBACK) as a:
        (taken,) = a.services["channel"]
        with pytest.raises(ConfigError, match=f"^channel_listen: cannot listen on {taken}: "):
            async with node(three, 1, channel_listen=taken):
                pass


@pytest.mark.parametrize(
    ("folder", "settings", "sentence"),
    [
        (None, {}, "certificates: is missing"),
        ("sdks/0", {"listen": LOOPBACK}, "listen: an SDK listens nowhere"),
        ("sdks/0", {"channel_listen": LOOPBACK}, "channel_listen: an SDK listens nowhere"),
        ("nodes/0", {"private_key": "key.pem"}, "private_key: is for SDKs"),
        ("nodes/0", {"public_keys": ["key.pem"]}, "public_keys: is for SDKs"),
        ("nodes/0", {"whitelist": ["0f"]}, "whitelist: a node id has 128 hex digits"),
        ("nodes/0", {"key_file": "node.key"}, "key_file: bcos has certificates instead"),
    ],
)
async def test_what_does_not_go_together_is_told_by_its_key(
    three: Path, folder: str | None, settings: dict[str, Any], sentence: str
) -> None:
    certificates = None if folder is None else three / folder
    with pytest.raises(ConfigError, match=f"^{sentence}"):
        async with rumormill.open("bcos", certificates=certificates, **settings):
            pass
