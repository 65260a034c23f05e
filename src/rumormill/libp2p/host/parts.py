"""The parts of a host, each given what it needs, and what they want of each other."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from rumormill.core.limits import WorkLimits
from rumormill.core.machine import Connect
from rumormill.libp2p.host.dialer import Dialer
from rumormill.libp2p.host.eviction import Evictions
from rumormill.libp2p.host.keeper import ConnectionKeeper
from rumormill.libp2p.host.parameters import HostParameters
from rumormill.libp2p.host.pubsub_feed import PubsubMachine
from rumormill.libp2p.host.pubsub_streams import PubsubStreams
from rumormill.libp2p.host.records import Records
from rumormill.libp2p.host.seeking import DiscoveryMachine, Seeking
from rumormill.libp2p.host.services import Services
from rumormill.libp2p.host.table import ConnectionTable, Link, Turn
from rumormill.libp2p.stack.address_book import AddressBook
from rumormill.libp2p.stack.identify import IdentifyInfo
from rumormill.libp2p.stack.keys import PrivateKey


class Given(NamedTuple):
    """What a host was given, for its parts."""

    identity: PrivateKey
    pubsub: PubsubMachine
    parameters: HostParameters
    random: random.Random
    entropy: random.Random
    work: WorkLimits
    address_book: AddressBook
    discovery: DiscoveryMachine | None


class Answers(NamedTuple):
    """What the parts ask the host itself."""

    protocols: Callable[[], tuple[str, ...]]
    """What we speak."""
    describe: Callable[[Link], IdentifyInfo]
    """What we tell of ourselves."""
    connect: Callable[[Connect, float], None]
    """Connect to a peer that somebody wants, if there is room."""


class Parts(NamedTuple):
    """All that a host is made of."""

    records: Records
    table: ConnectionTable
    dialer: Dialer
    keeper: ConnectionKeeper
    streams: PubsubStreams
    seeking: Seeking
    services: Services


def build(given: Given, answers: Answers, turn: Turn) -> Parts:
    """Make the parts; those that hear of connections are told last who they are."""
    parameters, book = given.parameters, given.address_book
    records = Records(identity=given.identity, book=book, turn=turn)
    table = ConnectionTable(parameters)
    dialer = Dialer(
        node=given.identity.peer,
        parameters=parameters,
        random=given.random,
        connected=table.connected,
        effects=turn.effects,
        alarm=turn.alarm,
        unreached=lambda peer, reason, now: seeking.unreached(peer, reason, now),
    )
    keeper = _keeper(given, answers, turn, table, dialer)
    streams = PubsubStreams(
        pubsub=given.pubsub,
        parameters=parameters,
        table=table,
        turn=turn,
        drop=keeper.drop,
        connect=answers.connect,
    )
    seeking = Seeking(
        machine=given.discovery,
        parameters=parameters,
        table=table,
        turn=turn,
        dialer=dialer,
        book=book,
        connect=answers.connect,
        close=keeper.close,
        usefulness=given.pubsub.usefulness,
    )
    services = Services(
        parameters=parameters,
        turn=turn,
        describe=answers.describe,
        learned=streams.learned,
        recorded=records.heard,
        identified=seeking.identified,
    )
    keeper.attach(services, streams, seeking)
    return Parts(records, table, dialer, keeper, streams, seeking, services)


def _keeper(
    given: Given, answers: Answers, turn: Turn, table: ConnectionTable, dialer: Dialer
) -> ConnectionKeeper:
    return ConnectionKeeper(
        identity=given.identity,
        entropy=given.entropy,
        parameters=given.parameters,
        protocols=answers.protocols,
        table=table,
        turn=turn,
        dialer=dialer,
        evictions=Evictions(
            parameters=given.parameters,
            random=given.random,
            usefulness=given.pubsub.usefulness,
            kept=dialer.kept,
        ),
        work=given.work,
    )
