"""Foreign traces for tests: readers fed from memory, and events made up by hypothesis."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from hypothesis import strategies as st

from rumormill.capture.foreign.detect import READERS
from rumormill.capture.foreign.findings import Findings
from rumormill.capture.foreign.rows import Row
from rumormill.capture.foreign.source import ByteSource
from tests.helpers import places
from tests.helpers.capture import trace_oracle as oracle
from tests.helpers.fuzz.fuzzing import pieces

SHARED = places.ROOT.parent / "shared" / "data" / "go" / "traces"
"""A whole network's traces; only who develops rumormill has them."""

VECTORS = places.VECTORS / "go_traces"
"""A part of them that everybody has."""


class MemorySource:
    """Bytes in place of a file, in pieces of one size."""

    def __init__(self, data: bytes, piece: int = 0, damage: str = "") -> None:
        self._pieces = pieces(data, piece)
        self.path = Path("memory")
        self.damage = damage
        self.consumed = 0
        self.size = len(data)

    def __iter__(self) -> Iterator[bytes]:
        return self._pieces


def read_rows(
    form: str, data: bytes, piece: int = 0, damage: str = ""
) -> tuple[list[Row], Findings]:
    """What a reader makes of these bytes."""
    findings = Findings("memory", form)
    source = cast(ByteSource, MemorySource(data, piece, damage))
    rows = [row for block in READERS[form](source, findings).read() for row in block]
    return rows, findings


# ---- events of go-libp2p-pubsub

TOPICS = st.sampled_from(["alpha", "beta", "Zürich", "/eth2/beacon", ""])
PEERS = st.integers(0, 5).map(lambda number: b"\x00\x24\x08\x01\x12\x20" + bytes([number]) * 32)
IDS = st.one_of(
    st.builds(lambda peer, number: peer + number.to_bytes(8, "big"), PEERS, st.integers(0, 9)),
    st.binary(min_size=20, max_size=20),
)
TIMES = st.integers(1_600_000_000_000_000_000, 1_800_000_000_000_000_000)
REASONS = st.sampled_from(["validation queue full", "validation ignored", "invalid signature"])


def _some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A message that has all of these fields."""
    return st.fixed_dictionaries(fields)


META = st.fixed_dictionaries(
    {},
    optional={
        "messages": st.lists(_some(messageID=IDS, topic=TOPICS), max_size=3),
        "subscription": st.lists(_some(subscribe=st.booleans(), topic=TOPICS), max_size=3),
        "control": st.fixed_dictionaries(
            {},
            optional={
                "ihave": st.lists(_some(topic=TOPICS, messageIDs=st.lists(IDS, max_size=3)),
                                  max_size=2),
                "iwant": st.lists(_some(messageIDs=st.lists(IDS, max_size=3)), max_size=2),
                "graft": st.lists(_some(topic=TOPICS), max_size=2),
                "prune": st.lists(_some(topic=TOPICS, peers=st.lists(PEERS, max_size=2)),
                                  max_size=2),
                "idontwant": st.lists(_some(messageIDs=st.lists(IDS, max_size=3)), max_size=2),
            },
        ),
    },
)  # fmt: skip

_OPTIONAL_TOPIC = {"topic": TOPICS, "receivedFrom": PEERS}
_BODIES: tuple[st.SearchStrategy[dict[str, Any]], ...] = (
    _some(messageID=IDS, topic=TOPICS),
    st.fixed_dictionaries({"messageID": IDS}, optional={**_OPTIONAL_TOPIC, "reason": REASONS}),
    st.fixed_dictionaries({"messageID": IDS}, optional=_OPTIONAL_TOPIC),
    st.fixed_dictionaries({"messageID": IDS}, optional=_OPTIONAL_TOPIC),
    st.fixed_dictionaries({"peerID": PEERS}, optional={"proto": st.just("/meshsub/1.3.0")}),
    _some(peerID=PEERS),
    st.fixed_dictionaries({"receivedFrom": PEERS}, optional={"meta": META}),
    st.fixed_dictionaries({"sendTo": PEERS}, optional={"meta": META}),
    st.fixed_dictionaries({"sendTo": PEERS}, optional={"meta": META}),
    _some(topic=TOPICS),
    _some(topic=TOPICS),
    _some(peerID=PEERS, topic=TOPICS),
    _some(peerID=PEERS, topic=TOPICS),
)


def _event(number: int, peer: bytes, time: int, body: dict[str, Any]) -> Any:
    return oracle.TraceEvent(
        type=number, peerID=peer, timestamp=time, **{oracle.BODIES[number]: body}
    )


EVENTS: st.SearchStrategy[Any] = st.integers(0, len(_BODIES) - 1).flatmap(
    lambda number: st.builds(_event, st.just(number), PEERS, TIMES, _BODIES[number])
)
"""Events of every type, as messages of the oracle."""
