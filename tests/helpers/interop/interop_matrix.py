"""The matrices of the tests with real peers: peer x behaviour x direction, filled by the run.

Each family of networks has one, for each has its own peers.

A test says which row it belongs to by ``@row(behaviour, direction)``; the peer, and the direction
where it is not given, are its parameters of these names. A cell may stand for several tests.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pytest

# Directions
WE_DIAL = "we dial"
THEY_DIAL = "they dial"
OURS = "ours to them"
THEIRS = "theirs to us"
BOTH = "both ways"
AMONG = "theirs to theirs"
"""By way of our nodes, or of the forwarder of the column."""

# Behaviours of libp2p
GOSSIPSUB_SIGNED = "gossipsub, signed: 100 messages each way"
GOSSIPSUB_UNSIGNED = "gossipsub, unsigned: 100 messages each way"
FLOODSUB_SIGNED = "floodsub, signed: 100 messages each way"
FLOODSUB_UNSIGNED = "floodsub, unsigned: 100 messages each way"
GUEST = "a floodsub node and a gossipsub node"
MESH = "in each other's mesh, and out of it"
SIZES = "messages of 1 B, 1 KiB, 60 KiB, 1 MiB"
RECOVERY = "recovery by IHAVE and IWANT alone"
RESTART = "killed and started anew, the topic heals"
MIXED = "mixed mesh of ten processes"
CALM = "scores over a calm half minute"
DONT_WANT = "IDONTWANT spares copies of 64 KiB"
EXCHANGE = "peer exchange with signed records"
EXTENSIONS = "the handshake of extensions"
PARTS = "messages in parts"
KADEMLIA = "peers of a topic, by Kademlia"
KADEMLIA_SERVER = "a Kademlia server for clients of the other"
RENDEZVOUS = "peers of a topic, at a rendezvous point of the other"
MDNS = "each other on a local network, by mDNS"
COMPOSITION = "fanout and subnets, whoever the ten nodes are"
PRIVATE_TOPIC = "a private topic, relayed by who cannot read it"
IDENTIFY = "Noise, yamux, identify"
PING = "ping"
STREAMS = "streams under load"

# Behaviours of bep50
ITEMS = "mutable items: string, dict, 999 bytes, salts"
CAS = "compare-and-swap, refusals"
IN_TURN = "three implementations write one item in turn"
REPUT = "the hourly repetition of a value"
UPDATE = "BEP 46: the update of a torrent"
FROM_MAIN = "a value put on the main DHT reaches the overlay"
NEWCOMER = "who knows only the key finds the overlay"
STRANGER = "an ordinary node is no member of a topic"
KILLED = "overlay in processes, some killed with -9"

# Behaviours of bcos
COME_UP = "comes up, with each kind of certificate"
UNICAST = "unicast across two nodes, and the answer"
MULTICAST = "multicast across two nodes"
SAME_NODE = "unicast and multicast on one node"
EACH_OTHER = "unicast and multicast with the other SDK"
PRIVATE = "private topics"
OTHER_KEY = "a private topic with another key"
NO_SUBSCRIBER = "code 100 where nobody is subscribed"
LARGE = "a message of 1 MiB, and its answer"
BURST = "five multicasts at once"
FAILOVER = "subscribers killed and frozen, another answers"
IDLE = "idle for longer than the SDK's limit"
NODE_RESTART = "our node killed and started anew, they come back"

# Behaviours of ndn: with the original PubSub, over each forwarder
PUBSUB = "the original PubSub: 20 messages"
FACES = "the same over a Unix socket, and over UDP"
ECDSA = "the same with ECDSA, verified by a key that we trust"
FORWARDER_RESTART = "the forwarder restarts in the middle"
NOBODY_THERE = "nobody is subscribed: told without a wait of 12 s"
LEFT = "who has left is not asked any more"
APPLICATIONS = "applications on python-ndn: ping server and client"

LIBP2P_ROWS = (
    (IDENTIFY, WE_DIAL),
    (IDENTIFY, THEY_DIAL),
    (PING, OURS),
    (PING, THEIRS),
    (STREAMS, OURS),
    (STREAMS, THEIRS),
    (GOSSIPSUB_SIGNED, WE_DIAL),
    (GOSSIPSUB_SIGNED, THEY_DIAL),
    (GOSSIPSUB_UNSIGNED, WE_DIAL),
    (GOSSIPSUB_UNSIGNED, THEY_DIAL),
    (FLOODSUB_SIGNED, WE_DIAL),
    (FLOODSUB_SIGNED, THEY_DIAL),
    (FLOODSUB_UNSIGNED, WE_DIAL),
    (FLOODSUB_UNSIGNED, THEY_DIAL),
    (GUEST, BOTH),
    (MESH, BOTH),
    (SIZES, OURS),
    (SIZES, THEIRS),
    (RECOVERY, OURS),
    (RECOVERY, THEIRS),
    (RESTART, WE_DIAL),
    (RESTART, THEY_DIAL),
    (MIXED, BOTH),
    (CALM, BOTH),
    (DONT_WANT, OURS),
    (DONT_WANT, THEIRS),
    (EXCHANGE, OURS),
    (EXCHANGE, THEIRS),
    (EXTENSIONS, WE_DIAL),
    (EXTENSIONS, THEY_DIAL),
    (PARTS, OURS),
    (PARTS, THEIRS),
    (COMPOSITION, BOTH),
    (KADEMLIA, BOTH),
    (KADEMLIA_SERVER, OURS),
    (KADEMLIA_SERVER, THEIRS),
    (RENDEZVOUS, OURS),
    (RENDEZVOUS, THEIRS),
    (MDNS, OURS),
    (MDNS, THEIRS),
    (PRIVATE_TOPIC, OURS),
)

BEP50_ROWS = (
    (ITEMS, OURS),
    (ITEMS, THEIRS),
    (IN_TURN, BOTH),
    (CAS, OURS),
    (REPUT, OURS),
    (UPDATE, OURS),
    (FROM_MAIN, THEIRS),
    (NEWCOMER, BOTH),
    (STRANGER, BOTH),
    (KILLED, BOTH),
)

BCOS_ROWS = (
    (COME_UP, THEY_DIAL),
    (UNICAST, OURS),
    (UNICAST, THEIRS),
    (UNICAST, AMONG),
    (MULTICAST, OURS),
    (MULTICAST, THEIRS),
    (MULTICAST, AMONG),
    (SAME_NODE, OURS),
    (SAME_NODE, THEIRS),
    (SAME_NODE, AMONG),
    (EACH_OTHER, AMONG),
    (PRIVATE, OURS),
    (PRIVATE, THEIRS),
    (PRIVATE, AMONG),
    (OTHER_KEY, OURS),
    (OTHER_KEY, THEIRS),
    (NO_SUBSCRIBER, THEIRS),
    (LARGE, OURS),
    (LARGE, THEIRS),
    (LARGE, AMONG),
    (BURST, OURS),
    (FAILOVER, AMONG),
    (IDLE, THEY_DIAL),
    (NODE_RESTART, THEY_DIAL),
)

NDN_ROWS = (
    (PUBSUB, OURS),
    (PUBSUB, THEIRS),
    (PUBSUB, AMONG),
    (FACES, OURS),
    (FACES, THEIRS),
    (ECDSA, OURS),
    (ECDSA, THEIRS),
    (FORWARDER_RESTART, OURS),
    (FORWARDER_RESTART, THEIRS),
    (NOBODY_THERE, OURS),
    (LEFT, THEIRS),
    (APPLICATIONS, AMONG),
)

LIBP2P_ABSENT: dict[tuple[str, str], str] = {
    **{
        (behaviour, peer): "a matter of the stack: tested with go"
        for behaviour in (PING, STREAMS)
        for peer in ("rust", "js", "py")
    },
    (FLOODSUB_UNSIGNED, "js"): "its floodsub drops messages without an author, its own too",
    (EXCHANGE, "rust"): "it sends and reads no records, only names",
    **{
        (behaviour, peer): "it speaks gossipsub 1.2 at most"
        for behaviour in (EXTENSIONS, PARTS)
        for peer in ("js", "py")
    },
    **{
        (behaviour, "py"): "tested with the others"
        for behaviour in (
            CALM,
            DONT_WANT,
            EXCHANGE,
            COMPOSITION,
            KADEMLIA,
            KADEMLIA_SERVER,
            MDNS,
            PRIVATE_TOPIC,
        )
    },
    **{(RENDEZVOUS, peer): "it has no rendezvous" for peer in ("js", "go")},
    (RENDEZVOUS, "py"): "it speaks the first draft, whose registrations nobody signs",
}
"""Cells that no test can fill, and why."""

BEP50_ABSENT: dict[tuple[str, str], str] = {
    **{
        (behaviour, "bittorrent-dht"): "a matter of the DHT around it: tested with libtorrent"
        for behaviour in (REPUT, NEWCOMER, KILLED)
    },
}


BCOS_ABSENT: dict[tuple[str, str], str] = {
    (FAILOVER, "java"): "a matter of our node: tested with go, whose processes start at once",
    (NODE_RESTART, "go"): "it does not come back; our node stands what it does instead",
}


NDN_ABSENT: dict[tuple[str, str], str] = {
    (APPLICATIONS, forwarder): "nothing of ours would be in it" for forwarder in ("ndnd", "NDNts")
}


class Table(NamedTuple):
    """The matrix of one family: its columns, its rows, and the cells that no test can fill."""

    family: str
    peers: tuple[str, ...]
    rows: tuple[tuple[str, str], ...]
    absent: Mapping[tuple[str, str], str]

    def cells(self) -> list[Cell]:
        """All fields, row by row."""
        return [Cell(*each, peer) for each in self.rows for peer in self.peers]


LIBP2P = Table("libp2p", ("rust", "js", "py", "go"), LIBP2P_ROWS, LIBP2P_ABSENT)
BEP50 = Table("bep50", ("libtorrent", "bittorrent-dht"), BEP50_ROWS, BEP50_ABSENT)
BCOS = Table("bcos", ("go", "java"), BCOS_ROWS, BCOS_ABSENT)
NDN = Table("ndn", ("ours", "ndnd", "NDNts"), NDN_ROWS, NDN_ABSENT)
TABLES = (LIBP2P, BEP50, BCOS, NDN)


class Cell(NamedTuple):
    """One field of the table."""

    behaviour: str
    direction: str
    peer: str

    def __str__(self) -> str:
        return " / ".join(self)


class Outcome(NamedTuple):
    """What became of one test of a cell: passed, failed or skipped, and why if not passed."""

    state: str
    reason: str = ""


Matrix = Mapping[Cell, list[Outcome]]


def row(
    behaviour: str, direction: str | None = None, peer: str | None = None
) -> pytest.MarkDecorator:
    """Mark a test as one of a row; what is not given comes from the test's parameters."""
    return pytest.mark.matrix(behaviour, direction=direction, peer=peer)


def cells_of(item: pytest.Item) -> list[Cell]:
    """The cells that a test fills."""
    parameters: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    found: list[Cell] = []
    for marker in item.iter_markers("matrix"):
        behaviour = str(marker.args[0])
        direction = marker.kwargs["direction"] or parameters.get("direction")
        peers = marker.kwargs["peer"] or parameters.get("peer")
        if peers is None or not any((behaviour, direction) in table.rows for table in TABLES):
            raise pytest.UsageError(
                f"{item.nodeid}: no such row: {behaviour}, {direction}, {peers}"
            )
        found += [Cell(behaviour, str(direction), peer) for peer in str(peers).split()]
    return found


def collect(reports: Iterable[tuple[str, Any]]) -> dict[Cell, list[Outcome]]:
    """The outcomes in the reports of a run, each given with pytest's word for its state."""
    found: dict[Cell, list[Outcome]] = {}
    for state, report in reports:
        for name, cell in getattr(report, "user_properties", ()):
            if name == "matrix":
                outcome = Outcome(state, _reason(state, report))
                found.setdefault(Cell(*cell), []).append(outcome)
    return found


def _reason(state: str, report: Any) -> str:
    if state == "skipped" and isinstance(report.longrepr, tuple):
        return str(report.longrepr[2]).removeprefix("Skipped: ")
    return "" if state == "passed" else str(report.nodeid)


# ---- the table


def word(cell: Cell, outcomes: list[Outcome] | None) -> str:
    """What stands in a cell.

    >>> word(Cell(PING, OURS, "go"), [Outcome("passed"), Outcome("passed")])
    'yes (2)'
    >>> word(Cell(PING, OURS, "go"), None), word(Cell(PING, OURS, "js"), None)
    ('?', '-')
    """
    if not outcomes:
        place = (cell.behaviour, cell.peer)
        return "-" if any(place in table.absent for table in TABLES) else "?"
    states = Counter(outcome.state for outcome in outcomes)
    if states["failed"]:
        return f"NO ({states['failed']} of {len(outcomes)})"
    if states["skipped"]:
        return "skipped"
    return "yes" if len(outcomes) == 1 else f"yes ({len(outcomes)})"


def table_rows(table: Table, matrix: Matrix) -> list[list[str]]:
    """The rows with their cells, under a head."""
    rows = [["behaviour", "direction", *table.peers]]
    for behaviour, direction in table.rows:
        cells = [Cell(behaviour, direction, peer) for peer in table.peers]
        rows.append([behaviour, direction, *(word(cell, matrix.get(cell)) for cell in cells)])
    return rows


def as_text(matrix: Matrix) -> list[str]:
    """The rows that were run, for a terminal, and why something was skipped."""
    run = {(cell.behaviour, cell.direction) for cell in matrix}
    lines: list[str] = []
    for table in TABLES:
        head, *rows = table_rows(table, matrix)
        rows = [each for each in rows if (each[0], each[1]) in run]
        if rows:
            lines += [*([""] if lines else []), *_aligned([head, *rows])]
    return lines + [f"skipped: {reason}" for reason in reasons(matrix, "skipped")]


def show(reporter: pytest.TerminalReporter) -> None:
    """Print the matrix of a run that ends, and keep it where every cell of a table was run."""
    states = {"passed": "passed", "failed": "failed", "error": "failed", "skipped": "skipped"}
    matrix = collect(
        (state, report) for word, state in states.items() for report in reporter.stats.get(word, ())
    )
    if not matrix:
        return
    reporter.section("real peers")
    for line in as_text(matrix):
        reporter.line(line)
    cache = getattr(reporter.config, "cache", None)
    for table in TABLES:
        if cache is not None and complete(table, matrix):
            cache.set(cache_key(table), to_json(table, matrix))


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(len(each) for each in column) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(each.ljust(width) for each, width in zip(line, widths, strict=True)).rstrip()
        for line in rows
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return lines


def reasons(matrix: Matrix, state: str) -> list[str]:
    """Why tests ended in this state, each reason once."""
    found = [
        each.reason for outcomes in matrix.values() for each in outcomes if each.state == state
    ]
    return list(dict.fromkeys(found))


def words(table: Table, matrix: Matrix) -> dict[Cell, str]:
    """What stands in each cell."""
    return {cell: word(cell, matrix.get(cell)) for cell in table.cells()}


def complete(table: Table, matrix: Matrix) -> bool:
    """Whether every cell was run, whatever came of it."""
    return "?" not in words(table, matrix).values()


def unfilled(table: Table, matrix: Matrix) -> list[str]:
    """Cells that did not run, or did not pass."""
    return [
        f"{cell}: {found}"
        for cell, found in words(table, matrix).items()
        if not found.startswith(("yes", "-"))
    ]


def cache_key(table: Table) -> str:
    """Where pytest's cache keeps the matrix of the last run of all tests of the family:
    docs/make_interop.py makes a page of it.
    """
    return f"interop/{table.family}"


def to_json(table: Table, matrix: Matrix) -> list[list[Any]]:
    """The table's part of the matrix in plain values."""
    own = set(table.cells())
    return [
        [*cell, [list(each) for each in outcomes]]
        for cell, outcomes in matrix.items()
        if cell in own
    ]


def from_json(rows: Iterable[list[Any]]) -> dict[Cell, list[Outcome]]:
    """The matrix from plain values."""
    return {Cell(*cell): [Outcome(*each) for each in outcomes] for *cell, outcomes in rows}
