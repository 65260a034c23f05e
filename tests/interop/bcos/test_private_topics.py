"""Private topics: subscribers prove by a key that they may have what is published."""

from __future__ import annotations

import pytest

from tests.helpers.interop import interop_matrix as matrix
from tests.helpers.interop.bcos_sdk import NOBODY, answer_of
from tests.helpers.interop.bcos_town import SDKS, Client, Town, reached, roles
from tests.helpers.interop.interop_matrix import AMONG, OURS, THEIRS, row

pytestmark = pytest.mark.asyncio(loop_scope="module")

every_sdk = pytest.mark.parametrize("peer", SDKS)


async def pair(
    town: Town, publisher: str, subscriber: str, *, key: int, admitted: int
) -> tuple[Client, Client, str]:
    """A publisher that admits one key, on the first node; on the second a subscriber with one."""
    topic = town.topic()
    public, private = town.chain.public_key(admitted), town.chain.private_key(key)
    sender = await town.for_private(publisher, 0, public_keys=(public,), private_topics=(topic,))
    reader = await town.for_private(subscriber, 1, private_key=private, private_topics=(topic,))
    await sender.admit(topic, public)
    await reader.subscribe(topic, private_key=private)
    return sender, reader, topic


async def private_exchange(sender: Client, reader: Client, topic: str) -> None:
    answer = await reached(sender, topic, b"rain at noon", private=True)
    assert answer._replace(seconds=0.0) == answer_of(reader.name, b"rain at noon")
    await sender.multicast(topic, b"hail at one", private=True)
    assert await reader.messages(topic, 2) == [b"rain at noon", b"hail at one"]


@every_sdk
@pytest.mark.parametrize("direction", [OURS, THEIRS, AMONG])
@row(matrix.PRIVATE)
async def test_who_has_the_key_gets_what_is_published(
    town: Town, peer: str, direction: str
) -> None:
    publisher, subscriber = roles(peer, direction)
    sender, reader, topic = await pair(town, publisher, subscriber, key=0, admitted=0)
    await private_exchange(sender, reader, topic)


@pytest.mark.parametrize(("publisher", "subscriber"), [("go", "java"), ("java", "go")])
async def test_go_and_java_prove_themselves_to_each_other(
    town: Town, publisher: str, subscriber: str
) -> None:
    sender, reader, topic = await pair(town, publisher, subscriber, key=0, admitted=0)
    await private_exchange(sender, reader, topic)


@every_sdk
@pytest.mark.parametrize("direction", [OURS, THEIRS])
@row(matrix.OTHER_KEY)
async def test_who_has_another_key_gets_nothing(town: Town, peer: str, direction: str) -> None:
    publisher, subscriber = roles(peer, direction)
    sender, _, topic = await pair(town, publisher, subscriber, key=1, admitted=0)
    # By the time that another subscriber has proved itself, this one has failed to.
    await private_exchange(*await pair(town, publisher, subscriber, key=0, admitted=0))
    assert (await sender.unicast(topic, b"rain at noon", private=True)).code == NOBODY
