"""The events of Hermes (ProbeLab), whichever sink wrote them: what is in each, by its type.

Peer ids are text, message ids hexadecimal; only that of PUBLISH_MESSAGE is base64, as it passes
through Go's JSON as bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from rumormill.capture.foreign.errors import BadEventError
from rumormill.capture.foreign.findings import Findings
from rumormill.capture.foreign.names import Cache, base64_id, hex_id, peer_text, text_name
from rumormill.capture.foreign.rows import LATEST
from rumormill.capture.foreign.translate import Packet, Translator

Json = dict[str, Any]

_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)")


class HermesEvents:
    """Turns events into rows of its translator."""

    def __init__(self, findings: Findings) -> None:
        self.translator = Translator()
        self.peers = Cache(peer_text)
        self.ids = Cache(hex_id)
        self.texts = Cache(text_name)
        self._findings = findings
        self._handlers: dict[str, Callable[[int, str, Json], None]] = {
            "PUBLISH_MESSAGE": self._publish,
            "DELIVER_MESSAGE": self._deliver,
            "DUPLICATE_MESSAGE": self._duplicate,
            "REJECT_MESSAGE": self._reject,
            "UNDELIVERABLE_MESSAGE": self._undeliverable,
            "ADD_PEER": self._add_peer,
            "ON_NEW_OUTBOUND_STREAM": self._add_peer,
            "REMOVE_PEER": self._remove_peer,
            "ON_CLOSED_OUTBOUND_STREAM": self._remove_peer,
            "JOIN": self._join,
            "LEAVE": self._leave,
            "GRAFT": self._graft,
            "PRUNE": self._prune,
            "CONNECTED": self._connected,
            "DISCONNECTED": self._disconnected,
            "RECV_RPC": self._receive,
            "SEND_RPC": self._send,
            "DROP_RPC": self._drop,
        }

    def handle(self, kind: str, time: int, node: object, data: Json) -> None:
        """One event; raises if it is none."""
        handler = self._handlers.get(kind)
        if handler is None:
            self._findings.leave_out(text_name(kind)[:40])
            return
        handler(checked_time(time), self.node(node), data)

    def node(self, text: object) -> str:
        """Who traced this."""
        name: str | None = self.peers[text]
        if name is None:
            raise BadEventError("an event without PeerID")
        return name

    # ---- messages

    def _publish(self, time: int, node: str, data: Json) -> None:
        self.translator.published(time, node, self.texts[data["Topic"]], base64_id(data["MsgID"]))

    def _deliver(self, time: int, node: str, data: Json) -> None:
        self.translator.delivered(time, node, *self._message(data), size_of(data.get("MsgSize")))

    def _duplicate(self, time: int, node: str, data: Json) -> None:
        self.translator.duplicate(time, node, *self._message(data), size_of(data.get("MsgSize")))

    def _reject(self, time: int, node: str, data: Json) -> None:
        reason, size = self.texts[data.get("Reason")], size_of(data.get("MsgSize"))
        self.translator.rejected(time, node, *self._message(data), reason, size)

    def _undeliverable(self, time: int, node: str, data: Json) -> None:
        self.translator.undelivered(time, node, *self._message(data))

    def _message(self, data: Json) -> tuple[str | None, bytes, str | None]:
        return self.texts[data["Topic"]], self.ids[data["MsgID"]], self.peers[data["PeerID"]]

    # ---- topics and peers

    def _add_peer(self, time: int, node: str, data: Json) -> None:
        protocol = self.texts[data.get("Protocol")]
        self.translator.peer_joined(time, node, self.peers[data["PeerID"]], protocol)

    def _remove_peer(self, time: int, node: str, data: Json) -> None:
        self.translator.peer_left(time, node, self.peers[data["PeerID"]])

    def _join(self, time: int, node: str, data: Json) -> None:
        self.translator.subscribed(time, node, self.texts[data["Topic"]])

    def _leave(self, time: int, node: str, data: Json) -> None:
        self.translator.unsubscribed(time, node, self.texts[data["Topic"]])

    def _graft(self, time: int, node: str, data: Json) -> None:
        self.translator.grafted(time, node, self.texts[data["Topic"]], self.peers[data["PeerID"]])

    def _prune(self, time: int, node: str, data: Json) -> None:
        self.translator.pruned(time, node, self.texts[data["Topic"]], self.peers[data["PeerID"]])

    def _connected(self, time: int, node: str, data: Json) -> None:
        self.translator.connected(
            time,
            node,
            self.peers[data["RemotePeer"]],
            self.texts[data.get("RemoteMaddrs")],
            outbound_of(data.get("Direction")),
        )

    def _disconnected(self, time: int, node: str, data: Json) -> None:
        peer, address = self.peers[data["RemotePeer"]], self.texts[data.get("RemoteMaddrs")]
        self.translator.disconnected(time, node, peer, address)

    # ---- packets

    def _receive(self, time: int, node: str, data: Json) -> None:
        self.translator.received(time, node, self.peers[data["PeerID"]], self._packet(data))

    def _send(self, time: int, node: str, data: Json) -> None:
        self.translator.sent(time, node, self.peers[data["PeerID"]], self._packet(data))

    def _drop(self, time: int, node: str, data: Json) -> None:
        self.translator.dropped(time, node, self.peers[data["PeerID"]], self._packet(data))

    def _packet(self, data: Json) -> Packet:
        subscriptions = data.get("Subs") or ()
        control = data.get("Control") or {}
        wants = control.get("IWant") or ()
        return Packet(
            (
                len(subscriptions),
                len(data.get("Msgs") or ()),
                *[len(control.get(name) or ()) for name in CONTROL],
            ),
            [(each["Subscribe"] is True, self.texts[each["TopicID"]]) for each in subscriptions],
            [self.ids[wanted] for want in wants for wanted in want["MsgIDs"] or ()],
        )


CONTROL = ("IHave", "IWant", "Graft", "Prune", "Idontwant")


def checked_time(time: int) -> int:
    """A time in nanoseconds, if it can be one."""
    if type(time) is not int or not 0 <= time <= LATEST:
        raise BadEventError("a time out of range")
    return time


def size_of(size: object) -> int | None:
    """The size of a message, if it is known."""
    if size is None:
        return None
    if type(size) is not int or not 0 <= size < 1 << 48:
        raise BadEventError("something else where a size should be")
    return size


def outbound_of(direction: object) -> bool | None:
    """Whether we dialed, if Go knew.

    >>> outbound_of("Outbound"), outbound_of("Inbound"), outbound_of("Unknown")
    (True, False, None)
    """
    return {"Outbound": True, "Inbound": False}.get(str(direction))


class Rfc3339:
    """Reads times; the second is looked up, since many events share it.

    >>> Rfc3339().nanoseconds("1970-01-01T01:00:01.000000009+01:00")
    1000000009
    """

    def __init__(self) -> None:
        self._seconds = Cache(_seconds_of, 4096)

    def nanoseconds(self, text: str) -> int:
        """Nanoseconds since 1970."""
        match = _TIME.fullmatch(text)
        if match is None:
            raise BadEventError("a time that is none")
        second, fraction, zone = match.groups()
        whole: int = self._seconds[second + zone] * 1_000_000_000
        return whole + int(fraction.ljust(9, "0")) if fraction else whole


def _seconds_of(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())
