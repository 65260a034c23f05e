"""Applications of others on our forwarder, and forwarders that restart in the middle."""

from __future__ import annotations

import asyncio

import pytest

from tests.helpers.interop import interop_matrix as matrix
from tests.helpers.interop.interop_matrix import AMONG, OURS, THEIRS, row
from tests.helpers.interop.ndn_forwarders import FORWARDERS
from tests.helpers.interop.ndn_python import PATIENCE
from tests.helpers.interop.ndn_town import Member, Town, exchange

pytestmark = pytest.mark.asyncio(loop_scope="module")


@row(matrix.APPLICATIONS, AMONG, "ours")
@pytest.mark.parametrize("face", ["tcp", "unix", "udp"])
async def test_applications_of_python_ndn_find_each_other(town: Town, face: str) -> None:
    forwarder = await town.forwarder("ours")
    address, prefix = getattr(forwarder, face), town.prefix("ping")
    server, client = await town.theirs(address), await town.theirs(address)
    await server.serve(prefix)
    assert await client.ping(prefix, 50) == 50
    assert await client.ping(prefix, 500, window=16) == 500


@pytest.mark.parametrize("peer", FORWARDERS)
@pytest.mark.parametrize("direction", [OURS, THEIRS])
@row(matrix.FORWARDER_RESTART)
async def test_ours_comes_back_to_a_forwarder_that_restarts(
    town: Town, peer: str, direction: str
) -> None:
    """The original does not: it is started again."""
    forwarder = await town.new_forwarder(peer)
    ours = await town.ours(forwarder.tcp)
    theirs = await town.theirs(forwarder.tcp)
    topic = town.topic()
    pairs: dict[str, tuple[Member, Member]] = {OURS: (ours, theirs), THEIRS: (theirs, ours)}
    await exchange(*pairs[direction], topic, count=3)
    await forwarder.stop()
    await forwarder.start()
    again = await town.theirs(forwarder.tcp)
    if direction == OURS:
        await again.subscribe(topic)
        await _delivered(ours, topic, b"hail")
        assert await again.messages(topic, 1) == [b"hail"]
    else:
        await _delivered(again, topic, b"hail")
        assert (await ours.messages(topic, 1))[-1] == b"hail"


async def _delivered(publisher: Member, topic: str, data: bytes) -> None:
    """Publish until it is: the routes come back after the forwarder."""
    async with asyncio.timeout(PATIENCE):
        while not (await publisher.publish(topic, data)).delivered:
            await asyncio.sleep(0.1)
