"""The JSON lines of go-libp2p-pubsub's tracer.

Bytes are base64, times nanoseconds; the type is a number or, where Go's protojson wrote it, a name,
and the time then a text. Peers joining and leaving have two spellings: ``addPeer`` until v0.15,
``onNewOutboundStream`` since.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rumormill.capture.foreign.errors import BadEventError
from rumormill.capture.foreign.findings import Findings
from rumormill.capture.foreign.json_lines import JsonLines
from rumormill.capture.foreign.names import Cache, base64_id, peer_name, text_name
from rumormill.capture.foreign.rows import LATEST, Row
from rumormill.capture.foreign.source import ByteSource
from rumormill.capture.foreign.translate import Packet, Translator

Json = dict[str, Any]

TYPES = (
    ("PUBLISH_MESSAGE",),
    ("REJECT_MESSAGE",),
    ("DUPLICATE_MESSAGE",),
    ("DELIVER_MESSAGE",),
    ("ON_NEW_OUTBOUND_STREAM", "ADD_PEER"),
    ("ON_CLOSED_OUTBOUND_STREAM", "REMOVE_PEER"),
    ("RECV_RPC",),
    ("SEND_RPC",),
    ("DROP_RPC",),
    ("JOIN",),
    ("LEAVE",),
    ("GRAFT",),
    ("PRUNE",),
)
"""The names of each type; its number is its place."""

KEYS = frozenset(
    ("type", "peerID", "timestamp", "publishMessage", "rejectMessage", "duplicateMessage",
     "deliverMessage", "onNewOutboundStream", "onClosedOutboundStream", "addPeer", "removePeer",
     "recvRPC", "sendRPC", "dropRPC", "join", "leave", "graft", "prune")
)  # fmt: skip
"""What an event may begin with; tells these lines from those of other tools."""

ENVELOPE = 4
"""Keys of an event: type, peerID, timestamp, and what only its type has."""


class GoJsonReader:
    """Reads one file."""

    def __init__(self, source: ByteSource, findings: Findings) -> None:
        self._lines = JsonLines(source, findings, self._handle)
        self._findings = findings
        self._translator = Translator()
        self._peers = Cache(lambda text: peer_name(base64_id(text)))
        self._ids = Cache(base64_id)
        self._texts = Cache(text_name)
        handlers = (
            self._publish, self._reject, self._duplicate, self._deliver, self._add_peer,
            self._remove_peer, self._receive, self._send, self._drop, self._join, self._leave,
            self._graft, self._prune,
        )  # fmt: skip
        self._handlers: dict[Any, Callable[[int, str, Json], None]] = dict(enumerate(handlers))
        for handler, names in zip(handlers, TYPES, strict=True):
            self._handlers.update(dict.fromkeys(names, handler))

    def read(self) -> Iterator[list[Row]]:
        """The rows of each block of the file."""
        for _ in self._lines.read():
            yield self._translator.take()

    def _handle(self, event: Json) -> None:
        kind = event["type"]
        handler = self._handlers.get(kind)
        if handler is None:
            self._findings.leave_out(f"type {str(kind)[:40]}")
            return
        time = event["timestamp"]
        if type(time) is not int:
            time = int(text_name(time))
        if not 0 <= time <= LATEST:
            raise BadEventError("a time out of range")
        node = self._peers[event["peerID"]]
        if node is None:
            raise BadEventError("an event without peerID")
        handler(time, node, event)
        if len(event) > ENVELOPE:
            self._findings.unknown_fields += len(event) - ENVELOPE

    def _unknown(self, found: Json, known: int) -> None:
        if len(found) > known:
            self._findings.unknown_fields += len(found) - known

    # ---- messages

    def _publish(self, time: int, node: str, event: Json) -> None:
        body = event["publishMessage"]
        self._translator.published(
            time, node, self._texts[body.get("topic")], self._ids[body["messageID"]]
        )
        self._unknown(body, 2)

    def _reject(self, time: int, node: str, event: Json) -> None:
        body = event["rejectMessage"]
        self._translator.rejected(
            time,
            node,
            self._texts[body.get("topic")],
            self._ids[body["messageID"]],
            self._peers[body.get("receivedFrom")],
            self._texts[body.get("reason")],
        )
        self._unknown(body, 4)

    def _duplicate(self, time: int, node: str, event: Json) -> None:
        body = event["duplicateMessage"]
        self._translator.duplicate(
            time,
            node,
            self._texts[body.get("topic")],
            self._ids[body["messageID"]],
            self._peers[body.get("receivedFrom")],
        )
        self._unknown(body, 3)

    def _deliver(self, time: int, node: str, event: Json) -> None:
        body = event["deliverMessage"]
        self._translator.delivered(
            time,
            node,
            self._texts[body.get("topic")],
            self._ids[body["messageID"]],
            self._peers[body.get("receivedFrom")],
        )
        self._unknown(body, 3)

    # ---- topics and peers

    def _add_peer(self, time: int, node: str, event: Json) -> None:
        body = event.get("onNewOutboundStream") or event["addPeer"]
        self._translator.peer_joined(
            time, node, self._peers[body["peerID"]], self._texts[body.get("proto")]
        )
        self._unknown(body, 2)

    def _remove_peer(self, time: int, node: str, event: Json) -> None:
        body = event.get("onClosedOutboundStream") or event["removePeer"]
        self._translator.peer_left(time, node, self._peers[body["peerID"]])
        self._unknown(body, 1)

    def _join(self, time: int, node: str, event: Json) -> None:
        body = event["join"]
        self._translator.subscribed(time, node, self._texts[body["topic"]])
        self._unknown(body, 1)

    def _leave(self, time: int, node: str, event: Json) -> None:
        body = event["leave"]
        self._translator.unsubscribed(time, node, self._texts[body["topic"]])
        self._unknown(body, 1)

    def _graft(self, time: int, node: str, event: Json) -> None:
        body = event["graft"]
        self._translator.grafted(
            time, node, self._texts[body["topic"]], self._peers[body["peerID"]]
        )
        self._unknown(body, 2)

    def _prune(self, time: int, node: str, event: Json) -> None:
        body = event["prune"]
        self._translator.pruned(time, node, self._texts[body["topic"]], self._peers[body["peerID"]])
        self._unknown(body, 2)

    # ---- packets

    def _receive(self, time: int, node: str, event: Json) -> None:
        body = event["recvRPC"]
        packet = self._packet(body.get("meta"))
        self._translator.received(time, node, self._peers[body["receivedFrom"]], packet)
        self._unknown(body, 2)

    def _send(self, time: int, node: str, event: Json) -> None:
        body = event["sendRPC"]
        packet = self._packet(body.get("meta"))
        self._translator.sent(time, node, self._peers[body["sendTo"]], packet)
        self._unknown(body, 2)

    def _drop(self, time: int, node: str, event: Json) -> None:
        body = event["dropRPC"]
        packet = self._packet(body.get("meta"))
        self._translator.dropped(time, node, self._peers[body["sendTo"]], packet)
        self._unknown(body, 2)

    def _packet(self, meta: Json | None) -> Packet:
        if not meta:
            return NOTHING
        if len(meta) == 1 and "messages" in meta and len(meta["messages"]) == 1:
            return ONE_MESSAGE  # nine packets of ten
        subscriptions = meta.get("subscription") or ()
        control = meta.get("control") or {}
        wants = control.get("iwant") or ()
        self._unknown(meta, sum(name in meta for name in META))
        self._unknown(control, sum(name in control for name in CONTROL))
        return Packet(
            (
                len(subscriptions),
                len(meta.get("messages") or ()),
                *[len(control.get(name) or ()) for name in CONTROL],
            ),
            [(each.get("subscribe") is True, self._texts[each["topic"]]) for each in subscriptions],
            [self._ids[wanted] for want in wants for wanted in want.get("messageIDs") or ()],
        )


NOTHING, ONE_MESSAGE = Packet(), Packet((0, 1))
META = ("messages", "subscription", "control")
CONTROL = ("ihave", "iwant", "graft", "prune", "idontwant")
