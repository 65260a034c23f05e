"""What a forged source address brings to its owner: bytes out for bytes in, query by query.

Whoever sends a query in the name of a victim has the answer sent to it. The factor is all that the
node sends to that address in the minute after it, over the bytes of the shortest such query. Ours
is the machine itself in virtual time, with full tables of both IP families and the largest value;
libtorrent is a real node on loopback, which holds a value of the same size and knows nine others.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import importlib.util
import socket
from dataclasses import dataclass
from typing import Any

from bench.goals import Goal, fixed
from bench.progress import Progress
from bench.tables import Table
from rumormill.bep50.wire.addresses import parse_peer
from tests.helpers.bep50.siege import KEY, SALT, TOPIC
from tests.helpers.bep50.spoofed_queries import MAIN_QUERIES, QUERIES, loaded_node, shortest
from tests.helpers.interop.private_dht import PrivateDht

VICTIM = "203.0.113.5:4444"
MOST = 3.0
"""The factor that no query to us should exceed."""

Row = dict[str, Any]


@dataclass(frozen=True)
class AmplificationPlan:
    """How much is measured."""

    flood: int = 20_000
    """Queries at once in the name of one victim."""
    seconds: float = 60.0
    """Of virtual time in which something may still be sent."""
    patience: float = 0.5
    """Seconds to wait for libtorrent's answers."""
    libtorrent: bool = True


QUICK = AmplificationPlan(flood=3_000, patience=0.2)


async def run(plan: AmplificationPlan, progress: Progress) -> dict[str, Any]:
    """Measure; returns the part ``amplification`` of the results."""
    progress.begin("amplification", 2)
    progress.step("amplification: ours")
    rows = [_ours(name, raw, plan) for name, raw in QUERIES.items()]
    progress.step("amplification: libtorrent")
    missing = _missing(plan)
    if not missing:
        answered = await _libtorrent(plan)
        for row in rows:
            row["libtorrent"] = answered.get(row["query"])
    version = "" if missing else importlib.metadata.version("libtorrent")
    return {"rows": rows, "flood": plan.flood, "libtorrent": version, "missing_libtorrent": missing}


def _ours(name: str, raw: bytes, plan: AmplificationPlan) -> Row:
    """Bytes to an address that has not proven itself, that has, and that a flood is sent for."""
    siege = loaded_node()
    siege.say(VICTIM, raw)
    siege.advance(plan.seconds)
    unproven = siege.bytes_to(VICTIM)
    siege = loaded_node()
    flooded = sum(siege.quietly(VICTIM, raw) for _ in range(plan.flood))
    siege = loaded_node()
    # Its owner took part before: it has shown a token that we sent there.
    siege.say(VICTIM, shortest("get", {b"target": TOPIC.target, b"token": siege.token(VICTIM)}))
    siege.forget()
    siege.say(VICTIM, raw)
    return {
        "query": name,
        "size": len(raw),
        "unproven": unproven,
        "flooded": flooded / plan.flood,
        "proven": siege.bytes_to(VICTIM),
        "libtorrent": None,
    }


# ---- libtorrent


def _missing(plan: AmplificationPlan) -> str:
    if not plan.libtorrent:
        return "it was not asked"
    return "" if importlib.util.find_spec("libtorrent") else "it is not installed"


async def _libtorrent(plan: AmplificationPlan) -> dict[str, Row]:
    """Bytes in and out of the first of ten nodes that has the value, by query."""
    async with PrivateDht() as dht:
        assert KEY.seed is not None
        await dht.nodes[0].put(KEY.seed, KEY.public_key, bytes(996), SALT)
        holder = await _holder(dht, plan.patience)
        answered: dict[str, Row] = {}
        for number, (name, raw) in enumerate(MAIN_QUERIES.items(), 1):
            # Another address each time: it limits what it answers to one.
            received = await _exchange(dht.host(number), holder, raw, plan.patience)
            answered[name] = {"size": len(raw), "sent": sum(map(len, received))}
        return answered


async def _holder(dht: PrivateDht, patience: float) -> str:
    """A node that has the value: it is put to the eight closest of the ten."""
    for peer in dht.peers:
        received = await _exchange(dht.host(99), peer, MAIN_QUERIES["get"], patience)
        if any(b"1:k32:" in raw for raw in received):
            return peer
    raise RuntimeError("no node of the private DHT has the value that was put")


async def _exchange(host: str, peer: str, raw: bytes, patience: float) -> list[bytes]:
    """Send a query and take all that comes back for a while."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.setblocking(False)
        own.bind((host, 0))
        own.sendto(raw, parse_peer(peer))
        await asyncio.sleep(patience)
        received = []
        while True:
            try:
                received.append(own.recv(65536))
            except BlockingIOError:
                return received


# ---- tables


def amplification_tables(part: Row) -> list[Table]:
    """One line a query."""
    shown = part["libtorrent"] or f"missing: {part['missing_libtorrent']}"
    table = Table(
        "What a forged source address brings to its owner",
        ["query", "bytes", "sent to a stranger", "factor", "in a flood", "sent if proven",
         "factor if proven", "libtorrent sends", "its factor"],
        notes=[
            "Bytes of the payload, without headers. stranger: an address that has neither answered"
            " us nor shown a token of ours; what it gets includes the one ping by which we ask it."
            f" in a flood: the factor of {part['flood']:,} queries at once, of which the rate limit"
            " answers the first thousand. proven: the owner of the address took part in the last"
            " ten minutes; only then a query that others forge in its name brings it so much."
            f" libtorrent ({shown}): the same query on the main DHT.",
        ],
    )  # fmt: skip
    for row in part["rows"]:
        size, other = row["size"], row["libtorrent"]
        theirs = [str(other["sent"]), _factor(other["sent"], other["size"])] if other else ["-"] * 2
        table.lines.append(
            [row["query"], str(size), str(row["unproven"]), _factor(row["unproven"], size),
             _factor(row["flooded"], size), str(row["proven"]), _factor(row["proven"], size),
             *theirs]
        )  # fmt: skip
    return [table]


def amplification_goals(part: Row) -> list[Goal]:
    """The worst query keeps the limit, and in a flood we send less than we get."""
    rows = part["rows"]
    worst = max(rows, key=lambda row: row["unproven"] / row["size"])
    flooded = max(rows, key=lambda row: row["flooded"] / row["size"])
    return [
        Goal(
            f"largest factor to a stranger ({worst['query']})",
            fixed("ours", worst["unproven"] / worst["size"]),
            False,
            fixed("the limit", MOST),
        ),
        Goal(
            f"largest factor in a flood ({flooded['query']})",
            fixed("ours", flooded["flooded"] / flooded["size"]),
            False,
            fixed("what was sent to us", 1.0),
        ),
    ]


def _factor(sent: float, size: int) -> str:
    return f"{sent / size:.2f}"
