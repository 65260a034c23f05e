from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from rumormill.bep50.effects import Contact, ContactEnded
from rumormill.bep50.live import contacts as module
from rumormill.bep50.live.contacts import Contacts
from rumormill.core.errors import ConfigError, ConnectError
from rumormill.core.machine import Input

WEATHER, SPORT = b"w" * 20, b"s" * 20
PEER, OTHER, OWN = "127.0.0.1:1", "[::1]:2", "127.0.0.1:3"


class Book:
    """Contacts, what the machine was told, and which names were not found."""

    def __init__(self) -> None:
        self.inputs: list[Input] = []
        self.unresolved: list[str] = []
        self.contacts = Contacts(self.inputs.append, lambda address, _: self._lost(address))
        self.contacts.begin((), (OWN,))

    def _lost(self, address: str) -> None:
        self.unresolved.append(address)

    def ended(self, peer: str, topic: bytes, problem: str = "") -> None:
        self.contacts.ended(ContactEnded(peer, topic, problem))


async def test_addresses_are_given_to_the_machine_in_their_usual_form() -> None:
    book = Book()
    book.contacts.begin(["127.0.0.1:1", "[0::1]:2", OWN], (OWN,))
    assert book.inputs == [Contact(None, (PEER, OTHER))]


async def test_a_topic_is_being_tried_until_each_address_has_ended() -> None:
    book = Book()
    assert not book.contacts.trying(WEATHER)
    book.contacts.begin([PEER], (OWN,))
    book.contacts.joined(WEATHER)
    book.contacts.begin([OTHER], (OWN,))
    book.ended(PEER, WEATHER, "no_answer")
    assert book.contacts.trying(WEATHER)
    book.ended(OTHER, WEATHER)
    assert not book.contacts.trying(WEATHER)
    book.contacts.left(WEATHER)
    book.ended(OTHER, WEATHER)


async def test_connecting_waits_for_one_topic_that_is_good() -> None:
    book = Book()
    book.contacts.joined(WEATHER)
    book.contacts.joined(SPORT)
    connecting = asyncio.ensure_future(book.contacts.connect(PEER, PEER))
    await asyncio.sleep(0)
    book.ended(OTHER, WEATHER)
    book.ended(PEER, WEATHER, "unknown_topic")
    await asyncio.sleep(0)
    assert not connecting.done()
    book.ended(PEER, SPORT)
    await connecting


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        ("no_answer", "could not reach here:1: no answer"),
        ("unknown_topic", "here:1 takes no part in the topic"),
        ("not_a_member", "here:1 is a node of the DHT that takes no part in topics"),
    ],
)
async def test_an_address_that_is_good_for_no_topic_is_one_sentence(
    problem: str, sentence: str
) -> None:
    book = Book()
    book.contacts.joined(WEATHER)
    connecting = asyncio.ensure_future(book.contacts.connect("here:1", PEER))
    await asyncio.sleep(0)
    book.ended(PEER, WEATHER, problem)
    with pytest.raises(ConnectError) as caught:
        await connecting
    assert str(caught.value) == sentence


async def test_without_a_topic_nothing_is_waited_for() -> None:
    book = Book()
    await book.contacts.connect(PEER, PEER)
    assert book.inputs == [Contact(None, (PEER,))]


async def test_whoever_waits_is_told_at_the_close() -> None:
    book = Book()
    book.contacts.joined(WEATHER)
    connecting = asyncio.ensure_future(book.contacts.connect(PEER, PEER))
    await asyncio.sleep(0)
    book.contacts.close()
    with pytest.raises(ConnectError):
        await connecting


async def test_nobody_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.01)
    book = Book()
    book.contacts.joined(WEATHER)
    with pytest.raises(ConnectError, match="no answer"):
        await book.contacts.connect(PEER, PEER)


async def test_a_name_is_looked_up_until_it_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_DELAY", 0.0)
    answers: Iterator[ConnectError | str] = iter(
        [ConnectError("no such name"), ConnectError("no such name"), PEER]
    )

    async def resolve(address: str) -> str:
        answer = next(answers)
        if isinstance(answer, ConnectError):
            raise answer
        return answer

    monkeypatch.setattr(module, "resolve", resolve)
    book = Book()
    book.contacts.joined(WEATHER)
    book.contacts.begin(["node.example:1"], (OWN,))
    assert book.contacts.trying(WEATHER)
    async with asyncio.timeout(10):
        while not book.inputs:
            await asyncio.sleep(0)
    assert book.inputs == [Contact(None, (PEER,))]
    assert book.unresolved == ["node.example:1"] * 2


async def test_port_0_and_our_own_address_are_nobodys() -> None:
    book = Book()
    with pytest.raises(ConfigError, match=r"bootstrap: 127\.0\.0\.1:0 has port 0"):
        book.contacts.begin(["127.0.0.1:0"], (OWN,))
    with pytest.raises(ConnectError, match="that is this node itself"):
        await book.contacts.connect(OWN, OWN)
