"""Transcripts of our nodes with real peers: what is kept of them, and what must hold of them.

Three sessions with each peer: signed and unsigned gossipsub with two nodes of ours, B in the peer's
mesh and C out of it (``row_of_three``), and floodsub with B alone. The files stand in
``tests/vectors/{rust,js,py}-wire`` and are made by ``tests/interop/test_transcripts.py``.
"""

from __future__ import annotations

from collections.abc import Mapping

from rumormill.libp2p.pubsub.topics.message_id import message_id_function
from rumormill.libp2p.wire import decode_rpc
from rumormill.libp2p.wire.message import WireMessage
from rumormill.libp2p.wire.signing import verify, violation
from tests.helpers.interop import transcript
from tests.helpers.interop.dialects import Dialect, dialect
from tests.helpers.interop.peer_versions import versions
from tests.helpers.interop.transcript import Line, Transcript
from tests.helpers.libp2p.protobuf_oracle import RPC, parse
from tests.helpers.libp2p.rpc_encoding import encode_rpc
from tests.helpers.places import VECTORS

PEERS = ("rust", "js", "py")

Session = Mapping[str, Transcript]
"""The transcripts of one session, by the name of our node."""


def sessions(peer: str) -> dict[str, Dialect]:
    """The sessions that are kept with a peer, and how it was spoken to in each."""
    found = {
        "meshsub-1.0.0": dialect(peer),
        "meshsub-1.0.0-unsigned": dialect(peer, signing="StrictNoSign"),
        "floodsub-1.0.0": dialect(peer, "floodsub"),
    }
    if peer == "py":
        found["floodsub-1.0.0-unsigned"] = dialect(peer, "floodsub", "StrictNoSign")
    return found


def every_session() -> list[tuple[str, str]]:
    """All peers with all their sessions."""
    return [(peer, name) for peer in PEERS for name in sessions(peer)]


# ---- files


def write(peer: str, name: str, session: Session) -> None:
    """Keep a session, in place of the one before."""
    folder = VECTORS / f"{peer}-wire"
    folder.mkdir(parents=True, exist_ok=True)
    began = min(line.time for each in session.values() for line in each.lines)
    speech = sessions(peer)[name]
    for probe, each in session.items():
        for way, ours in (("from", True), ("to", False)):
            sent = "sent to the peer" if ours else "got from the peer"
            library = versions("libp2p")[peer]
            title = (
                f"{library}: frames that our node {probe} {sent}; "
                f"{speech.signing}, ids {speech.message_id}"
            )
            lines = [line for line in each.lines if line.ours is ours]
            transcript.write(folder / f"{name}-{way}-{probe}.hex", title, lines, began)


def read(peer: str, name: str) -> dict[str, Transcript]:
    """A session that was kept."""
    folder = VECTORS / f"{peer}-wire"
    session: dict[str, list[Line]] = {}
    for way, ours in (("from", True), ("to", False)):
        for path in sorted(folder.glob(f"{name}-{way}-?.hex")):
            probe = path.stem.rsplit("-", 1)[1]
            session.setdefault(probe, []).extend(transcript.read(path, ours=ours))
    assert session, f"there is no session {name} with {peer}"
    return {
        probe: Transcript(sorted(lines, key=lambda line: line.time))
        for probe, lines in session.items()
    }


# ---- what must hold of a session


def forgetful(speech: Dialect) -> bool:
    """Whether the peer has one id, an empty one, for all messages without an author.

    It then passes none of them on, and has none to give.
    """
    return speech.peer == "py" and speech.signing == "StrictNoSign"


def check(session: Session, speech: Dialect) -> None:
    """Everything that must hold."""
    for each in session.values():
        for line in each.lines:
            check_frame(line)
            for message in line.rpc.messages:
                check_message(message, speech)
    check_ids(session, speech)
    check_kinds(session, speech)


def check_frame(line: Line) -> None:
    """What we decode and encode again is the same, but for the order of its parts."""
    again = encode_rpc(decode_rpc(line.frame))
    assert len(again) == len(line.frame)
    assert parse(RPC, again) == parse(RPC, line.frame) is not None


def check_message(message: WireMessage, speech: Dialect) -> None:
    """It has the shape that its policy demands; its signature is right, and wrong if changed."""
    assert violation(message, speech.signing) is None
    if speech.signing == "StrictSign":
        assert message.signature is not None
        assert verify(message)
        true = message.signature
        message.signature = true[:-1] + bytes([true[-1] ^ 1])
        assert not verify(message)
        message.signature = true


def check_ids(session: Session, speech: Dialect) -> None:
    """IHAVE and IWANT name messages of the session, by the ids that were agreed on."""
    message_id = message_id_function(speech.message_id)
    known = {
        message_id(message)
        for each in session.values()
        for ours in (True, False)
        for message in each.messages(ours=ours)
    }
    if forgetful(speech):
        known.add(b"")
    for each in session.values():
        for ours in (True, False):
            assert each.told(ours=ours) | each.wanted(ours=ours) <= known


def check_kinds(session: Session, speech: Dialect) -> None:
    """Everything that the script lets the nodes say was said."""
    said = {
        (probe, line.ours, kind)
        for probe, each in session.items()
        for line in each.lines
        for kind in transcript.in_words(line.rpc)
    }
    for ours in (True, False):
        assert {("B", ours, "subscriptions"), ("B", ours, "publish")} <= said
        if speech.router == "gossipsub":
            assert ("C", ours, "subscriptions") in said
            if ours or not forgetful(speech):
                gossip = {("C", ours, "ihave"), ("C", not ours, "iwant"), ("C", ours, "publish")}
                assert gossip <= said
    if speech.router == "gossipsub":
        assert {("B", True, "graft"), ("B", False, "prune")} <= said
